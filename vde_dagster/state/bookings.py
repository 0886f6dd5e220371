"""Units of work, the ledger and the marks. Functions of one transaction each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.dsha import Column, RowSum
from vde_dagster.core.errors import Refused
from vde_dagster.core.holding import (
    Holding,
    holding_changed,
    holding_of,
)
from vde_dagster.core.intervals import Interval
from vde_dagster.core.last_look import LastLook
from vde_dagster.core.late_data import HighWaterMark, marks_after
from vde_dagster.core.ledger import LedgerEntry, Standing, apply_changes, entries_of, touched
from vde_dagster.core.ledger import outdate as outdated
from vde_dagster.core.names import ModelName
from vde_dagster.core.schema_changes import newest_columns
from vde_dagster.core.snapshot import VersionKey
from vde_dagster.core.work import Intent, Publication, Work, WorkState
from vde_dagster.state import codec, schema
from vde_dagster.state.database import chunks, few_pairs, in_pairs, now, pairs, upsert

_work = schema.work
_ledger = schema.ledger
_marks = schema.marks
_holdings = schema.holdings
_looks = schema.last_looks
_OPEN: Final = (WorkState.INTENT.value, WorkState.STAGED.value)
_WRITTEN: Final = (WorkState.STAGED.value, WorkState.DONE.value)

_LEDGERS: Final = (
    select(_ledger)
    .where(pairs(_ledger.c.model, _ledger.c.version))
    .order_by(_ledger.c.model, _ledger.c.version, _ledger.c.interval_start)
)
_HOLDINGS: Final = select(_holdings).where(few_pairs(_holdings.c.model, _holdings.c.version))
_LOOKS: Final = select(_looks).where(few_pairs(_looks.c.model, _looks.c.version))
_LEDGER: Final = select(_ledger).where(
    _ledger.c.model == bindparam("model"), _ledger.c.version == bindparam("version")
)
_LAST_ENTRY: Final = _LEDGER.order_by(_ledger.c.interval_start.desc()).limit(1)
_CHANGED: Final = _LEDGER.where(_ledger.c.number > bindparam("after")).order_by(
    _ledger.c.interval_start
)
_WITHIN: Final = _LEDGER.where(
    _ledger.c.interval_start < bindparam("until"), _ledger.c.interval_end > bindparam("since")
).order_by(_ledger.c.interval_start)
_OWN_MARKS: Final = (
    select(_marks.c.mark_json)
    .where(_marks.c.model == bindparam("model"), _marks.c.version == bindparam("version"))
    .order_by(_marks.c.source)
)
_WORK: Final = select(_work).where(_work.c.work_id == bindparam("work_id")).with_for_update()
_WORKS: Final = select(_work).where(_work.c.work_id.in_(bindparam("work_ids", expanding=True)))
_WORK_OF: Final = select(_work).where(
    _work.c.model == bindparam("model"), _work.c.version == bindparam("version")
)
_OPEN_WORK: Final = _WORK_OF.where(_work.c.state.in_(_OPEN)).order_by(_work.c.number)
_LAST_DONE: Final = select(_work).where(
    _work.c.number.in_(
        select(func.max(_work.c.number))
        .where(pairs(_work.c.model, _work.c.version), _work.c.state == WorkState.DONE.value)
        .group_by(_work.c.model, _work.c.version)
    )
)
_CHANGE_WORK: Final = update(_work).where(_work.c.work_id == bindparam("changed"))


def held(
    connection: Connection, keys: Iterable[VersionKey]
) -> dict[VersionKey, tuple[LedgerEntry, ...]]:
    """The ledgers of these versions, sorted by interval."""
    found: dict[VersionKey, tuple[LedgerEntry, ...]] = {}
    for chunk in chunks((codec.encode_model(key.model), key.version) for key in keys):
        rows = connection.execute(_LEDGERS, in_pairs(chunk)).all()
        for (model, version), entries in groupby(rows, key=lambda row: (row.model, row.version)):
            key = VersionKey(codec.decode_model(model), version)
            found[key] = tuple(map(_decode_entry, entries))
    return found


def holdings(connection: Connection, keys: Iterable[VersionKey]) -> dict[VersionKey, Holding]:
    """These versions' ledgers as a whole; absent where a version has no entry."""
    wanted = list(dict.fromkeys(keys))
    kept = _kept_holdings(connection, wanted)
    # written before ledgers were kept as a whole
    uncounted = held(connection, [key for key in wanted if key not in kept])
    told = kept | {key: holding_of(entries) for key, entries in uncounted.items()}
    return {key: each for key in wanted if (each := told.get(key)) is not None and each.recorded}


def _kept_holdings(connection: Connection, keys: Iterable[VersionKey]) -> dict[VersionKey, Holding]:
    found: dict[VersionKey, Holding] = {}
    for chunk in chunks((codec.encode_model(key.model), key.version) for key in keys):
        for row in connection.execute(_HOLDINGS, in_pairs(chunk)).all():
            key = VersionKey(codec.decode_model(row.model), row.version)
            found[key] = codec.decode_holding(
                row.holding_json, number=row.number, removed=row.removed
            )
    return found


def changed_since(connection: Connection, key: VersionKey, number: int) -> tuple[LedgerEntry, ...]:
    """The entries that later changes wrote, sorted by interval."""
    rows = connection.execute(_CHANGED, {**_encode_key(key), "after": number}).all()
    return tuple(map(_decode_entry, rows))


def held_within(
    connection: Connection, key: VersionKey, times: Sequence[Interval] | None
) -> tuple[LedgerEntry, ...]:
    """The entries that overlap some merged times, sorted by interval; all of them for None."""
    if times is None:
        return held(connection, [key]).get(key, ())
    found: dict[Interval, LedgerEntry] = {}
    for each in times:
        since, until = codec.encode_instant(each.start), codec.encode_instant(each.end)
        times_of_key = {**_encode_key(key), "since": since, "until": until}
        rows = connection.execute(_WITHIN, times_of_key).all()
        found |= {entry.interval: entry for entry in map(_decode_entry, rows)}
    return tuple(found.values())


def _encode_key(key: VersionKey) -> dict[str, object]:
    return {"model": codec.encode_model(key.model), "version": key.version}


def last_looks(connection: Connection, keys: Iterable[VersionKey]) -> dict[VersionKey, LastLook]:
    """The last look at each of these versions that was looked at."""
    found: dict[VersionKey, LastLook] = {}
    for chunk in chunks((codec.encode_model(key.model), key.version) for key in keys):
        for row in connection.execute(_LOOKS, in_pairs(chunk)).all():
            key = VersionKey(codec.decode_model(row.model), row.version)
            found[key] = codec.decode_look(row.look_json)
    return found


def record_looks(connection: Connection, looks: Mapping[VersionKey, LastLook]) -> None:
    """Keep what was seen of versions, in place of what was seen before."""
    rows = [
        {
            "model": codec.encode_model(key.model),
            "version": key.version,
            "look_json": codec.encode_look(each),
        }
        for key, each in looks.items()
    ]
    upsert(connection, _looks, rows)


def heads(connection: Connection, keys: Iterable[VersionKey]) -> dict[VersionKey, int]:
    """The Iceberg snapshot of the last booked work of each version that wrote rows."""
    found: dict[VersionKey, int] = {}
    for chunk in chunks((codec.encode_model(key.model), key.version) for key in keys):
        for row in connection.execute(_LAST_DONE, in_pairs(chunk)):
            published = codec.decode_published(row.publication_json)
            if published is not None:
                found[VersionKey(codec.decode_model(row.model), row.version)] = published
    return found


def drifted(connection: Connection, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
    """Those of these versions that rows of another definition were staged for, or written to."""
    found: set[VersionKey] = set()
    for chunk in chunks((codec.encode_model(key.model), key.version) for key in keys):
        rows = connection.execute(
            select(_work.c.model, _work.c.version)
            .where(pairs(_work.c.model, _work.c.version))
            .where(_work.c.drifted, _work.c.state.in_(_WRITTEN))
            .distinct(),
            in_pairs(chunk),
        ).all()
        found.update(VersionKey(codec.decode_model(row.model), row.version) for row in rows)
    return frozenset(found)


def record_intent(connection: Connection, intent: Intent) -> None:
    """Record a unit of work. The same one again changes nothing.

    Raises:
        Refused: Another unit of work has this id.
    """
    row = {
        "work_id": intent.work_id,
        "model": codec.encode_model(intent.key.model),
        "version": intent.key.version,
        "environment": intent.environment,
        "state": WorkState.INTENT.value,
        "is_session": intent.session is not None,
        "drifted": intent.drifted,
        "intent_json": codec.encode_intent(intent),
        "started_at": now(connection),
    }
    before = _row(connection, intent.work_id)
    if before is None:
        connection.execute(insert(_work), row)
    elif codec.decode_intent(before.intent_json) != intent:
        raise Refused(f"work {intent.work_id} is recorded with another intent; take a new id")


def record_staged(connection: Connection, work_id: str, publication: Publication) -> None:
    """Record what a unit of work is about to publish; staging again replaces it.

    Raises:
        Refused: The work is unknown, abandoned, or done with another publication.
    """
    row = _known(connection, work_id)
    encoded = codec.encode_publication(publication)
    if row.state == WorkState.DONE.value and row.publication_json == encoded:
        return
    if row.state not in _OPEN:
        raise Refused(f"work {work_id} is {row.state}; it cannot be staged any more")
    _set(connection, work_id, state=WorkState.STAGED.value, publication_json=encoded)


def finalize(connection: Connection, work_id: str) -> tuple[LedgerEntry, ...]:
    """Book a published unit of work, once.

    Raises:
        Refused: The work is unknown, not staged, or abandoned.
        LedgerMismatch: The changes do not fit the ledger.
    """
    row = _known(connection, work_id)
    key = VersionKey(codec.decode_model(row.model), row.version)
    if row.state not in _WRITTEN:
        raise Refused(f"work {work_id} is {row.state}, not staged; it cannot be booked")
    publication = codec.decode_publication(row.publication_json)
    times = touched(publication.changes)
    before = held_within(connection, key, times)
    if row.state == WorkState.DONE.value:
        return entries_of(before, publication.changes)
    after = apply_changes(
        before,
        publication.changes,
        columns=publication.columns,
        work_id=work_id,
        iceberg_snapshot_id=publication.iceberg_snapshot_id,
        algorithm=publication.algorithm,
    )
    _write_difference(connection, key, before, after)
    _move_marks(connection, key, codec.decode_intent(row.intent_json), publication)
    _set(connection, work_id, state=WorkState.DONE.value, finished_at=now(connection))
    return entries_of(after, publication.changes)


def outdate(
    connection: Connection,
    times: Mapping[VersionKey, Sequence[Interval]],
    *,
    reason: str,
    anew: Collection[VersionKey] = (),
) -> None:
    """Mark what versions hold of these times as to be evaluated again."""
    for key, before in held(connection, times).items():
        after = outdated(before, times[key], reason=reason, anew=key in anew)
        _write_difference(connection, key, before, after)


def abandon(connection: Connection, work_id: str, *, reason: str) -> None:
    """Record that a unit of work will never be published. Again is no error.

    Raises:
        Refused: The work is unknown or done.
    """
    row = _known(connection, work_id)
    if row.state == WorkState.ABANDONED.value:
        return
    if row.state == WorkState.DONE.value:
        raise Refused(f"work {work_id} is done; it cannot be abandoned")
    _set(
        connection,
        work_id,
        state=WorkState.ABANDONED.value,
        reason=reason,
        finished_at=now(connection),
    )


def record_audits(connection: Connection, work_id: str, results: Sequence[AuditResult]) -> None:
    """Keep what audits found among the rows of a unit of work; again replaces it.

    Raises:
        Refused: The work is unknown.
    """
    _known(connection, work_id)
    _set(connection, work_id, audits_json=codec.encode_audits(results))


def audited(connection: Connection, key: VersionKey, *, limit: int) -> tuple[Work, ...]:
    """Units of work whose rows were audited, newest first."""
    was_audited = _work.c.audits_json.is_not(None)
    query = _WORK_OF.where(was_audited).order_by(_work.c.number.desc()).limit(limit)
    return tuple(_decode_work(row) for row in connection.execute(query, _encode_key(key)))


def find(connection: Connection, work_ids: Iterable[str]) -> dict[str, Work]:
    """Units of work by their ids; those that nobody recorded are absent."""
    found: dict[str, Work] = {}
    for chunk in chunks(work_ids):
        rows = connection.execute(_WORKS, {"work_ids": chunk})
        found |= {row.work_id: _decode_work(row) for row in rows}
    return found


def open_work(connection: Connection, key: VersionKey) -> tuple[Work, ...]:
    """What is neither done nor abandoned, oldest first."""
    return tuple(_decode_work(row) for row in connection.execute(_OPEN_WORK, _encode_key(key)))


def unfinished(connection: Connection) -> frozenset[VersionKey]:
    """All versions with work that is neither done nor abandoned; an index has all of it."""
    query = select(_work.c.model, _work.c.version).where(_work.c.state.in_(_OPEN)).distinct()
    return frozenset(
        VersionKey(codec.decode_model(row.model), row.version) for row in connection.execute(query)
    )


def sessions(connection: Connection, key: VersionKey, *, limit: int) -> tuple[Work, ...]:
    """Catch-up sessions, newest first."""
    query = _WORK_OF.where(_work.c.is_session).order_by(_work.c.number.desc()).limit(limit)
    return tuple(_decode_work(row) for row in connection.execute(query, _encode_key(key)))


def marks(connection: Connection, key: VersionKey) -> dict[ModelName, HighWaterMark]:
    """The high-water marks of a version, by source."""
    rows = connection.execute(_OWN_MARKS, _encode_key(key)).all()
    found = [codec.decode_mark(row.mark_json) for row in rows]
    return {mark.source: mark for mark in found}


def _write_difference(
    connection: Connection,
    key: VersionKey,
    before: Sequence[LedgerEntry],
    after: Sequence[LedgerEntry],
) -> None:
    """Write what stands in place of some entries, which are all that it meets, and the whole."""
    old = {entry.interval.start: entry for entry in before}
    new = {entry.interval.start: entry for entry in after}
    whole = _whole(connection, key)
    for chunk in chunks(codec.encode_instant(start) for start in old if start not in new):
        connection.execute(
            delete(_ledger).where(
                _ledger.c.model == codec.encode_model(key.model),
                _ledger.c.version == key.version,
                _ledger.c.interval_start.in_(chunk),
            )
        )
    changed = [entry for start, entry in new.items() if old.get(start) != entry]
    if changed or not old.keys() <= new.keys():
        number = whole.number + 1
        upsert(connection, _ledger, [_encode_entry(key, entry, number) for entry in changed])
        columns = _columns_after(connection, key, whole, before, after)
        whole = holding_changed(whole, before, after, columns)
        upsert(connection, _holdings, [_encode_holding(key, whole)])


def _whole(connection: Connection, key: VersionKey) -> Holding:
    """A ledger as a whole, also where it was written before that was kept."""
    kept = _kept_holdings(connection, [key]).get(key)
    return kept or holding_of(held(connection, [key]).get(key, ()))


def _columns_after(
    connection: Connection,
    key: VersionKey,
    whole: Holding,
    before: Sequence[LedgerEntry],
    after: Sequence[LedgerEntry],
) -> tuple[Column, ...]:
    """The columns of a version's table, of which some entries were changed."""
    is_more = {each.interval for each in before} <= {each.interval for each in after}
    if is_more and all(_are_alike(each.columns, whole.columns) for each in (*before, *after)):
        last = connection.execute(_LAST_ENTRY, _encode_key(key)).one()
        columns = codec.decode_columns(last.columns_json)
        if _are_alike(columns, whole.columns):
            return columns
    query = (
        select(_ledger.c.columns_json)
        .where(_ledger.c.model == codec.encode_model(key.model), _ledger.c.version == key.version)
        .group_by(_ledger.c.columns_json)
        .order_by(func.max(_ledger.c.interval_start))
    )
    schemas = [codec.decode_columns(each) for each in connection.execute(query).scalars()]
    return newest_columns(schemas) if schemas else ()


def _are_alike(left: Sequence[Column], right: Sequence[Column]) -> bool:
    """Whether columns differ by nothing but their words."""
    return [(each.name, each.type) for each in left] == [(each.name, each.type) for each in right]


def _move_marks(
    connection: Connection, key: VersionKey, intent: Intent, publication: Publication
) -> None:
    before = marks(connection, key)
    after = marks_after(before, publication.changes, moved=publication.mark, inputs=intent.inputs)
    for source in before.keys() - after.keys():
        connection.execute(
            delete(_marks).where(
                _marks.c.model == codec.encode_model(key.model),
                _marks.c.version == key.version,
                _marks.c.source == codec.encode_model(source),
            )
        )
    moved = [mark for source, mark in after.items() if before.get(source) != mark]
    upsert(connection, _marks, [_encode_mark(key, mark) for mark in moved])


def _encode_mark(key: VersionKey, mark: HighWaterMark) -> dict[str, object]:
    return {
        "model": codec.encode_model(key.model),
        "version": key.version,
        "source": codec.encode_model(mark.source),
        "mark_json": codec.encode_mark(mark),
    }


def _encode_holding(key: VersionKey, holding: Holding) -> dict[str, object]:
    return {
        "model": codec.encode_model(key.model),
        "version": key.version,
        "number": holding.number,
        "removed": holding.removed,
        "holding_json": codec.encode_holding(holding),
    }


def _encode_entry(key: VersionKey, entry: LedgerEntry, number: int) -> dict[str, object]:
    upper, lower = entry.rows.halves
    return {
        "model": codec.encode_model(key.model),
        "version": key.version,
        "interval_start": codec.encode_instant(entry.interval.start),
        "interval_end": codec.encode_instant(entry.interval.end),
        "row_count": entry.rows.rows,
        "high": str(upper),
        "low": str(lower),
        "columns_json": codec.encode_columns(entry.columns),
        "digest": entry.digest,
        "work_id": entry.work_id,
        "iceberg_snapshot_id": entry.iceberg_snapshot_id,
        "standing": entry.standing.value,
        "reason": entry.reason,
        "algorithm": entry.algorithm,
        "trace_json": codec.encode_trace(entry.trace),
        "number": number,
    }


def _decode_entry(row: Row[Any]) -> LedgerEntry:
    return LedgerEntry(
        interval=Interval(
            codec.decode_instant(row.interval_start), codec.decode_instant(row.interval_end)
        ),
        rows=RowSum.of_halves(row.row_count, int(row.high), int(row.low)),
        columns=codec.decode_columns(row.columns_json),
        digest=row.digest,
        work_id=row.work_id,
        iceberg_snapshot_id=row.iceberg_snapshot_id,
        standing=Standing(row.standing),
        reason=row.reason,
        algorithm=row.algorithm,
        trace=codec.decode_trace(row.trace_json),
    )


def _decode_work(row: Row[Any]) -> Work:
    publication, finished = row.publication_json, row.finished_at
    return Work(
        intent=codec.decode_intent(row.intent_json),
        state=WorkState(row.state),
        publication=None if publication is None else codec.decode_publication(publication),
        started_at=codec.decode_instant(row.started_at),
        finished_at=None if finished is None else codec.decode_instant(finished),
        audits=codec.decode_audits(row.audits_json) if row.audits_json else (),
        reason=row.reason or "",
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
