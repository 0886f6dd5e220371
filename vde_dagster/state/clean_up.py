"""Forgetting versions to which nothing refers (rule R12), and what is old.

Functions of one transaction each, which `while_deciding` keeps apart from those that refer.

What is old is compacted: totals stay, and single records go. Of a unit of work that the ledger
names its intent stays, since it says what was read (rule R14). What it published is in the ledger
by then, entry by entry, and need not be stored twice.

Each transaction is about a bounded part, so that others never wait long for the database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import chain, groupby
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    and_,
    delete,
    except_,
    exists,
    func,
    select,
    tuple_,
    update,
)

from vde_dagster.core.clean_up.references import ReadingView, Times
from vde_dagster.core.clean_up.sweeping import Sweep, by_version, readers, sweep
from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.ports.state import Lease, environment_resource, version_resource
from vde_dagster.state import codec, leases, schema
from vde_dagster.state.database import chunks, now, upsert
from vde_dagster.state.pairs import is_alike, is_of, of_version, while_deciding
from vde_dagster.state.references import IS_SHOWN, OF_VERSIONS, references

_promotions = schema.promotions
_promoted = schema.promoted_snapshots
_snapshots = schema.snapshots
_tombstones = schema.tombstones
_planned = schema.planned
_work = schema.work


def identity(connection: Connection) -> str:
    """The id of this state."""
    return str(connection.execute(select(schema.identity.c.state_id)).scalar_one())


def record_sweep(connection: Connection, views: Sequence[ReadingView], times: Times) -> Sweep:
    """Decide what is unreachable, and record it."""
    while_deciding(connection)
    found = references(connection)
    swept = sweep(found, views, times)
    for name, past in groupby(swept.forgotten, key=lambda each: each.environment):
        _forget_revisions(connection, name, [each.number for each in past])
    at = codec.encode_instant(found.now)
    new = {"recorded_at": at, "dropping": False, "table_uuid": "", "location": ""}
    upsert(connection, _tombstones, [{**of_version(key), **new} for key in swept.marked])
    for key in swept.cleared:
        _delete_of(connection, _tombstones, key)
    return swept


def begin_drop(
    connection: Connection,
    key: VersionKey,
    views: Sequence[ReadingView],
    times: Times,
    *,
    lease: Lease,
    uuid: str = "",
    location: str = "",
) -> bool:
    """Forget a version that may still be dropped. Returns whether it may.

    Raises:
        LeaseLost: The lease on the version is not held any more.
    """
    while_deciding(connection)
    leases.check(connection, lease)
    views = readers(key, by_version(views))
    # Only what may keep this version is read: thousands may be dropped in one pass.
    found = references(connection, {key, *(each.key for each in views if each.key is not None)})
    found = replace(found, written=found.written - {key})
    if key not in sweep(found, views, times).due:
        return False
    work_ids = select(_work.c.work_id).where(is_of(_work, key))
    connection.execute(
        delete(schema.questions).where(schema.questions.c.work_id.in_(work_ids.scalar_subquery()))
    )
    looks = schema.last_looks
    # A version that is made again counts its changes from one: no look may remember the old ones.
    connection.execute(
        delete(looks).where(looks.c.look_json.contains(key.version, autoescape=True))
    )
    for table in (*OF_VERSIONS, _work, _promoted):
        _delete_of(connection, table, key)
    connection.execute(delete(_snapshots).where(is_of(_snapshots, key), ~IS_SHOWN))
    connection.execute(
        update(_tombstones)
        .where(is_of(_tombstones, key))
        .values(dropping=True, table_uuid=uuid, location=location)
    )
    return True


def finish_drop(connection: Connection, key: VersionKey) -> None:
    """Record that nothing is left of a version that was being dropped.

    If another process recorded that before, the version may be made again by now, and its lease is
    that of its writer.
    """
    ended = delete(_tombstones).where(is_of(_tombstones, key), _tombstones.c.dropping)
    if connection.execute(ended).rowcount:
        held = schema.leases
        connection.execute(delete(held).where(held.c.resource == version_resource(key)))


def closed_before(
    connection: Connection, work_ids: Collection[str], ttl: timedelta
) -> frozenset[str]:
    """Those of these units of work that were closed longer ago than this."""
    closed = select(_work.c.work_id).where(_is_closed_before(ago(connection, ttl)))
    found = (
        connection.execute(closed.where(_work.c.work_id.in_(chunk))).scalars()
        for chunk in chunks(work_ids)
    )
    return frozenset(chain.from_iterable(found))


def prune(connection: Connection, until: int) -> int:
    """Delete what old plans were to show, and what is left of environments; returns how much."""
    held = leases.resources(connection)
    is_old = _planned.c.planned_at <= until
    names = connection.execute(select(_planned.c.environment).where(is_old).distinct()).scalars()
    planned = 0
    for name in [each for each in names if environment_resource(each) not in held]:
        own = delete(_planned).where(_planned.c.environment == name, is_old)
        planned += connection.execute(own).rowcount
    return planned + _forget_removed(connection, until)


def delete_work(connection: Connection, work_ids: Collection[str]) -> None:
    """Delete units of work, with what they were decided from."""
    for table in (schema.questions, _work):
        connection.execute(delete(table).where(table.c.work_id.in_(work_ids)))


def old_work(connection: Connection, until: int) -> set[str]:
    """Units of work that were closed before, that nothing names, and that are not last ones.

    It stays so: a unit of work is named only by what it does itself before it is closed, and it is
    never again the last one. So they may be deleted later, in other transactions.
    """
    by = (_work.c.model, _work.c.version)
    is_done = _work.c.state == UnitOfWorkState.DONE.value
    lasts = (
        select(func.max(_work.c.number)).group_by(*by, _work.c.state, _work.c.is_session),
        select(func.max(_work.c.number)).where(_work.c.drifted, is_done).group_by(*by),
    )
    is_old = and_(_is_closed_before(until), ~_work.c.accepted, *map(_work.c.number.not_in, lasts))
    old = select(_work.c.work_id).where(is_old)
    if connection.execute(old.limit(1)).first() is None:
        return set()
    named = (
        select(table.c.work_id).where(table.c.work_id.is_not(None))
        for table in (schema.ledger, schema.marks, schema.unlisted)
    )
    return {*connection.execute(except_(old, *named)).scalars()}


def _forget_removed(connection: Connection, until: int) -> int:
    """Delete what is left of environments that were removed, once nothing of them is history."""
    ended = select(_promotions).where(
        _promotions.c.removed, _promotions.c.finished, _promotions.c.finished_at <= until
    )
    gone = 0
    for row in connection.execute(ended).all():
        own = _promotions.c.environment == row.environment
        others = own & (_promotions.c.revision != row.revision)
        later = others & (~_promotions.c.forgotten | (_promotions.c.revision > row.revision))
        if connection.execute(select(func.count()).where(later)).scalar_one():
            continue
        connection.execute(delete(_promoted).where(_promoted.c.environment == row.environment))
        gone += connection.execute(delete(_promotions).where(own)).rowcount
    return gone


def ago(connection: Connection, ttl: timedelta) -> int:
    """The instant this long ago by the database's clock, as it is stored."""
    return now(connection) - ttl // timedelta(microseconds=1)


def _is_closed_before(until: int) -> Any:  # noqa: ANN401 - a condition of SQLAlchemy
    return _work.c.state.not_in(schema.OPEN) & (_work.c.finished_at <= until)


def _forget_revisions(connection: Connection, name: str, numbers: Iterable[int]) -> None:
    """Take revisions out of the history of an environment.

    Of their snapshots only the first of each version stays, and of what it was decided by: it may
    say that the version has rows of another definition.
    """
    said = [_promoted.c[each] for each in ("model", "version", "drifted", "decided_by")]
    first = func.min(_promoted.c.revision).over(partition_by=said)
    every = (
        select(_promoted.c.revision, _promoted.c.model, first.label("at"))
        .where(_promoted.c.environment == name)
        .subquery()
    )
    for chunk in chunks(numbers):
        again = select(every.c.revision, every.c.model).where(
            every.c.revision.in_(chunk), every.c.at < every.c.revision
        )
        connection.execute(
            delete(_promoted).where(
                _promoted.c.environment == name,
                tuple_(_promoted.c.revision, _promoted.c.model).in_(again),
            )
        )
        connection.execute(
            update(_promotions)
            .where(_promotions.c.environment == name, _promotions.c.revision.in_(chunk))
            .values(forgotten=True)
        )


def _delete_of(connection: Connection, table: Table, key: VersionKey) -> None:
    connection.execute(delete(table).where(is_of(table, key)))


_later: Final = _work.alias("later")
_questions = schema.questions
_SPAN: Final = 5_000
"""How many numbers of units of work a transaction is about."""
_IS_DONE: Final = _work.c.state == UnitOfWorkState.DONE.value


def _is_followed(*more: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether later work of the same version is done, too, which is ``more``."""
    return exists().where(
        is_alike(_later, _work),
        _later.c.state == UnitOfWorkState.DONE.value,
        _later.c.number > _work.c.number,
        *more,
    )


def spans(connection: Connection) -> range:
    """The first numbers of the parts of all units of work; see `forget_publications`."""
    ends = (func.min(_work.c.number), func.max(_work.c.number))
    first, last = connection.execute(select(*(select(e).scalar_subquery() for e in ends))).one()
    return range(0) if first is None else range(first, last + 1, _SPAN)


def forget_publications(connection: Connection, until: int, first: int) -> int:
    """Take away what old units of work published; returns of how many.

    What sessions and people published stays, and what a version's last unit of work did.

    Args:
        connection: One that writes.
        until: When they were done at the latest.
        first: Where the part of them begins, one of `spans`.
    """
    is_old = (
        _work.c.number >= first,
        _work.c.number < first + _SPAN,
        _IS_DONE,
        _work.c.finished_at <= until,
        _work.c.publication_json.is_not(None),
        ~_work.c.is_session,
        ~_work.c.accepted,
        _is_followed(),
    )
    forgotten = update(_work).where(*is_old).values(publication_json=None)
    return int(connection.execute(forgotten).rowcount)


def forget_questions(connection: Connection, until: int) -> int:
    """Delete what old sessions that are done were decided from; returns how many.

    That of a version's last one stays. A session that was abandoned keeps its own as long as it is
    recorded: if audits refused its rows, a person may still accept them, and then the same has to
    be pending as when it was decided.
    """
    # Each question that is there looks up its session, of which there may be many more.
    old = exists().where(
        _work.c.work_id == _questions.c.work_id,
        _work.c.is_session,
        _IS_DONE,
        _work.c.finished_at <= until,
        _is_followed(_later.c.is_session),
    )
    return int(connection.execute(delete(_questions).where(old)).rowcount)
