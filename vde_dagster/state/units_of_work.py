"""Units of work: intent, staged, done or abandoned. Functions of one transaction each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, Subquery, bindparam, exists, insert, select, update

from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.entries import LedgerEntry, entries_of, touched
from vde_dagster.core.ledger.unit_of_work import (
    Intent,
    Publication,
    UnitOfWork,
    UnitOfWorkState,
    ending_of,
)
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.ports.state import Lease
from vde_dagster.state import codec, leases, schema
from vde_dagster.state.database import chunks, insert_absent, now
from vde_dagster.state.late_data import list_later, move_marks, record_question
from vde_dagster.state.ledger import entries_within, write_difference
from vde_dagster.state.pairs import (
    given,
    is_alike,
    key_of,
    of_version,
    of_versions,
    refer,
    while_adding,
)

_work = schema.work
_WRITTEN: Final = (UnitOfWorkState.STAGED.value, UnitOfWorkState.DONE.value)

_WORK: Final = select(_work).where(_work.c.work_id == bindparam("work_id")).with_for_update()
_WORKS: Final = select(_work).where(_work.c.work_id.in_(bindparam("work_ids", expanding=True)))
_WORK_OF: Final = select(_work).where(
    _work.c.model == bindparam("model"), _work.c.version == bindparam("version")
)
_OPEN_WORK: Final = _WORK_OF.where(schema.IS_OPEN).order_by(_work.c.number)
_UNFINISHED: Final = select(_work.c.model, _work.c.version).where(schema.IS_OPEN).distinct()
_CHANGE_WORK: Final = update(_work).where(_work.c.work_id == bindparam("changed"))

_given = given("model", "version")


def _newest(state: UnitOfWorkState) -> Subquery:
    """The number of the newest unit of work in a state of each given version, which may be NULL.

    It is sought from the newest on: the other units of work of a version are not read.
    """
    last = _work.alias("last")
    number = (
        select(last.c.number)
        .where(is_alike(last, _given), last.c.state == state.value)
        .order_by(last.c.number.desc())
        .limit(1)
        .scalar_subquery()
    )
    return select(number.label("number")).select_from(_given).subquery("newest")


def _failed() -> Select[Any]:
    """The last abandoned work of each given version, unless other work was started since.

    To name both values of `is_session` lets the index of sessions answer the second part without
    reading other rows.
    """
    newest, later = _newest(UnitOfWorkState.ABANDONED), _work.alias("later")
    begun_since = exists().where(
        is_alike(later, _work),
        later.c.is_session.in_([False, True]),
        later.c.number > _work.c.number,
    )
    return select(_work).join(newest, newest.c.number == _work.c.number).where(~begun_since)


_done = _newest(UnitOfWorkState.DONE)
_LAST_DONE: Final = select(_work.c.model, _work.c.version, _work.c.iceberg_snapshot_id).join(
    _done, _done.c.number == _work.c.number
)
_FAILED: Final = _failed()
# Of the given versions, whatever the work's state: with a condition on the state SQLite would read
# all work in these states, of which most is.
_DRIFTED: Final = (
    select(_work.c.model, _work.c.version, _work.c.state)
    .join(_given, is_alike(_work, _given))
    .where(_work.c.drifted)
    .distinct()
)
_ACCEPTED: Final = (
    select(_work)
    .join(_given, is_alike(_work, _given))
    .where(_work.c.accepted)
    .order_by(_work.c.number)
)


def heads(connection: Connection, keys: Iterable[VersionKey]) -> dict[VersionKey, int]:
    """The Iceberg snapshot of the last recorded work of each version that wrote rows."""
    rows = of_versions(connection, _LAST_DONE, keys)
    heads = {key_of(row): row.iceberg_snapshot_id for row in rows}
    return {key: head for key, head in heads.items() if head is not None}


def drifted(connection: Connection, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
    """Those of these versions for which rows of another definition were staged or written."""
    rows = of_versions(connection, _DRIFTED, keys)
    return frozenset(key_of(row) for row in rows if row.state in _WRITTEN)


def record_intent(connection: Connection, intent: Intent, *, lease: Lease) -> None:
    """Record a unit of work. The same one again changes nothing.

    Raises:
        Conflict: The version is being dropped.
        LeaseLost: The lease was taken over.
        Refused: Another unit of work has this id.
    """
    while_adding(connection)
    leases.check(connection, lease)
    refer(connection, [intent.key])
    row = {
        "work_id": intent.work_id,
        **of_version(intent.key),
        "environment": intent.environment,
        "state": UnitOfWorkState.INTENT.value,
        "is_session": intent.session is not None,
        "drifted": intent.drifted,
        "accepted": intent.accepted is not None,
        "intent_json": codec.encode_intent(intent),
        "started_at": now(connection),
    }
    before = _row(connection, intent.work_id)
    if before is None:
        connection.execute(insert(_work), row)
        if intent.session is not None and intent.session.question is not None:
            record_question(connection, intent.work_id, intent.session.question)
    elif codec.decode_intent(before.intent_json) != intent:
        raise Refused(
            f"work {intent.work_id} is recorded with another intent", advice="take a new id"
        )


def record_staged(
    connection: Connection, work_id: str, publication: Publication, *, lease: Lease
) -> None:
    """Record what a unit of work is about to publish; staging again replaces it.

    An environment that writes a version without an owner owns it (rule R9).

    Raises:
        LeaseLost: The lease was taken over.
        Refused: The work is unknown, abandoned, or done with another publication.
    """
    leases.check(connection, lease)
    row = _known(connection, work_id)
    encoded = codec.encode(Publication, publication)
    if row.state == UnitOfWorkState.DONE.value and _is_published(row, publication, encoded):
        return
    if row.state not in schema.OPEN:
        raise Refused(f"work {work_id} is {row.state}; it cannot be staged any more")
    _set(
        connection,
        work_id,
        state=UnitOfWorkState.STAGED.value,
        publication_json=encoded,
        iceberg_snapshot_id=publication.iceberg_snapshot_id,
    )
    owner = {name: getattr(row, name) for name in ("model", "version", "environment")}
    insert_absent(connection, schema.owners, [owner])


def _is_published(row: Row[Any], publication: Publication, encoded: str) -> bool:
    """Whether this is what a unit of work published that is done."""
    if row.publication_json is None:  # it was recorded long ago: see `state.clean_up`
        return bool(row.iceberg_snapshot_id == publication.iceberg_snapshot_id)
    return bool(row.publication_json == encoded)


def finalize(connection: Connection, work_id: str, *, lease: Lease) -> tuple[LedgerEntry, ...]:
    """Record a published unit of work, once; what the ledger has of it then.

    Raises:
        LeaseLost: The lease was taken over.
        Refused: The work is unknown, not staged, or abandoned.
        LedgerMismatch: The changes do not fit the ledger.
    """
    leases.check(connection, lease)
    row = _known(connection, work_id)
    key = key_of(row)
    if row.state not in _WRITTEN:
        raise Refused(f"work {work_id} is {row.state}, not staged; it cannot be recorded")
    if row.publication_json is None:  # it was recorded long ago: see `state.clean_up`
        every = entries_within(connection, key, None)
        return tuple(each for each in every if each.work_id == work_id)
    publication = codec.decode(Publication, row.publication_json)
    times = touched(publication.changes)
    before = entries_within(connection, key, times)
    if row.state == UnitOfWorkState.DONE.value:
        return entries_of(before, publication.changes)
    after = publication.recorded(before, work_id)
    write_difference(connection, key, before, after)
    move_marks(connection, key, codec.decode_intent(row.intent_json), publication)
    if row.is_session:
        list_later(connection, key, work_id)
    _set(connection, work_id, state=UnitOfWorkState.DONE.value, finished_at=now(connection))
    return entries_of(after, publication.changes)


def abandon(
    connection: Connection,
    work_id: str,
    *,
    reason: str,
    lease: Lease,
    refused: Publication | None = None,
) -> None:
    """Record that a unit of work will not be published. Repeating it is not an error.

    Raises:
        LeaseLost: The lease was taken over.
        Refused: The work is unknown or done.
    """
    leases.check(connection, lease)
    row = _known(connection, work_id)
    if row.state == UnitOfWorkState.ABANDONED.value:
        return
    if row.state == UnitOfWorkState.DONE.value:
        raise Refused(f"work {work_id} is done; it cannot be abandoned")
    staged = {} if refused is None else {"publication_json": codec.encode(Publication, refused)}
    _set(
        connection,
        work_id,
        state=UnitOfWorkState.ABANDONED.value,
        reason=reason,
        finished_at=now(connection),
        **staged,
    )
    if row.is_session:
        list_later(connection, key_of(row), work_id)


def record_audits(
    connection: Connection, work_id: str, results: Sequence[AuditResult], *, lease: Lease
) -> None:
    """Record what audits found among the rows of a unit of work; repeating it replaces them.

    Raises:
        LeaseLost: The lease was taken over.
        Refused: The work is unknown.
    """
    leases.check(connection, lease)
    _known(connection, work_id)
    _set(connection, work_id, audits_json=codec.encode(tuple[AuditResult, ...], results))


def record_accepted(
    connection: Connection,
    intent: Intent,
    results: Sequence[AuditResult],
    publication: Publication,
    *,
    lease: Lease,
) -> None:
    """Record a unit of work as staged, with its intent and what its audits found.

    Raises:
        Conflict: The version is being dropped.
        LeaseLost: The lease was taken over.
        Refused: Another unit of work has this id.
    """
    record_intent(connection, intent, lease=lease)
    record_audits(connection, intent.work_id, results, lease=lease)
    record_staged(connection, intent.work_id, publication, lease=lease)


def audited(connection: Connection, key: VersionKey, *, limit: int) -> tuple[UnitOfWork, ...]:
    """Units of work whose rows were audited, newest first."""
    was_audited = _work.c.audits_json.is_not(None)
    query = _WORK_OF.where(was_audited).order_by(_work.c.number.desc()).limit(limit)
    return tuple(_decode_work(row) for row in connection.execute(query, of_version(key)))


def accepted(
    connection: Connection, keys: Iterable[VersionKey]
) -> dict[VersionKey, tuple[UnitOfWork, ...]]:
    """The units of work of these versions that were published on a person's word, oldest first."""
    found: dict[VersionKey, list[UnitOfWork]] = {}
    rows = of_versions(connection, _ACCEPTED, keys)
    done = (row for row in rows if row.state == UnitOfWorkState.DONE.value)
    for work in map(_decode_work, done):
        found.setdefault(work.intent.key, []).append(work)
    return {key: tuple(works) for key, works in found.items()}


def find(connection: Connection, work_ids: Iterable[str]) -> dict[str, UnitOfWork]:
    """Units of work by their ids; ids that were never recorded are absent."""
    found: dict[str, UnitOfWork] = {}
    for chunk in chunks(work_ids):
        rows = connection.execute(_WORKS, {"work_ids": chunk})
        found |= {row.work_id: _decode_work(row) for row in rows}
    return found


def open_work(connection: Connection, key: VersionKey) -> tuple[UnitOfWork, ...]:
    """Units of work that are neither done nor abandoned, oldest first."""
    return tuple(_decode_work(row) for row in connection.execute(_OPEN_WORK, of_version(key)))


def unfinished(connection: Connection, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
    """Those of these versions with work that is neither done nor abandoned, from an index alone."""
    return frozenset(map(key_of, connection.execute(_UNFINISHED))).intersection(keys)


def failed(connection: Connection, keys: Iterable[VersionKey]) -> dict[VersionKey, UnitOfWork]:
    """The newest unit of work of each of these versions, where it was abandoned."""
    rows = of_versions(connection, _FAILED, keys)
    return {work.intent.key: work for work in map(_decode_work, rows)}


def sessions(connection: Connection, key: VersionKey, *, limit: int) -> tuple[UnitOfWork, ...]:
    """Catch-up sessions, newest first."""
    query = _WORK_OF.where(_work.c.is_session).order_by(_work.c.number.desc()).limit(limit)
    return tuple(_decode_work(row) for row in connection.execute(query, of_version(key)))


def _decode_work(row: Row[Any]) -> UnitOfWork:
    publication, finished = row.publication_json, row.finished_at
    state = UnitOfWorkState(row.state)
    ending, reason = ending_of(row.reason or "")
    return UnitOfWork(
        intent=codec.decode_intent(row.intent_json),
        state=state,
        publication=None if publication is None else codec.decode(Publication, publication),
        started_at=codec.decode_instant(row.started_at),
        finished_at=None if finished is None else codec.decode_instant(finished),
        audits=codec.decode(tuple[AuditResult, ...], row.audits_json) if row.audits_json else (),
        reason=reason,
        ending=ending if state is UnitOfWorkState.ABANDONED else None,
    )


def _row(connection: Connection, work_id: str) -> Row[Any] | None:
    return connection.execute(_WORK, {"work_id": work_id}).one_or_none()


def _known(connection: Connection, work_id: str) -> Row[Any]:
    row = _row(connection, work_id)
    if row is None:
        raise Refused(f"no unit of work {work_id} is recorded")
    return row


def _set(connection: Connection, work_id: str, **values: object) -> None:
    connection.execute(_CHANGE_WORK, {"changed": work_id, **values})
