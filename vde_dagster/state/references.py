"""Everything that refers to versions, and which Iceberg snapshots the state names.

Functions of one transaction each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    and_,
    exists,
    func,
    or_,
    select,
)

from vde_dagster.core.clean_up.pinning import Named, NamedEntry, NamedMark, NamedWork
from vde_dagster.core.clean_up.references import (
    OpenWork,
    PlannedVersion,
    References,
    ShownVersions,
    Tombstone,
)
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.unit_of_work import Publication, UnitOfWorkState
from vde_dagster.core.model.snapshot import Revision, VersionKey
from vde_dagster.ports.state import environment_resource, version_resource
from vde_dagster.state import codec, leases, schema
from vde_dagster.state.database import chunks, now
from vde_dagster.state.pairs import is_alike, is_of, key_of, of_versions, pairs

_promotions = schema.promotions
_promoted = schema.promoted_snapshots
_snapshots = schema.snapshots
_tombstones = schema.tombstones
_planned = schema.planned
_work = schema.work
OF_VERSIONS: Final = (
    schema.owners,
    schema.ledger,
    schema.holdings,
    schema.last_looks,
    schema.marks,
    schema.pending,
    schema.unlisted,
    schema.planned,
)
"""The tables with rows of versions that nothing else refers to."""
IS_SHOWN: Final = exists().where(is_alike(_promoted, _snapshots, ("model", "digest")))
_MARKED: Final = select(_tombstones)
_OPEN_WORK: Final[Select[Any]] = select(
    _work.c.environment, _work.c.model, _work.c.version, _work.c.started_at
).where(schema.IS_OPEN)


def references(connection: Connection, among: Collection[VersionKey] | None = None) -> References:
    """Everything that refers to versions now; with ``among``, to these: others are not looked up.

    Open work is always given whole, since it may read any version that its environment showed.
    """
    chosen = _Chosen(connection, among)
    known = frozenset(chosen.known())
    held = leases.resources(connection)
    planned = tuple(
        PlannedVersion(
            environment=row.environment, key=key_of(row), at=codec.decode_instant(row.planned_at)
        )
        for row in chosen.rows(select(_planned), _planned)
    )
    open_work = tuple(
        OpenWork(
            environment=row.environment, key=key_of(row), began=codec.decode_instant(row.started_at)
        )
        for row in connection.execute(_OPEN_WORK)
    )
    shown = chosen.shown()
    history = chosen.history(shown)
    environments = {row.environment for row in history} | {each.environment for each in planned}
    return References(
        now=codec.decode_instant(now(connection)),
        known=known,
        revisions=tuple(sorted(_revisions(shown, history), key=lambda each: each.revision)),
        planned=planned,
        open_work=open_work,
        tombstones={each.key: each for each in map(_tombstone, chosen.rows(_MARKED, _tombstones))},
        busy=frozenset(each for each in environments if environment_resource(each) in held),
        written=frozenset(
            key
            for key in {*known, *(each.key for each in open_work)}
            if version_resource(key) in held
        ),
        removing=frozenset(_removing(history)),
        used=used(connection) if among is None else {},
    )


def used(connection: Connection) -> dict[str, datetime]:
    """When each environment was planned or promoted last."""
    found: dict[str, datetime] = {}
    for table, at in ((_promotions, _promotions.c.promoted_at), (_planned, _planned.c.planned_at)):
        last = select(table.c.environment, func.max(at).label("at")).group_by(table.c.environment)
        for row in connection.execute(last):
            instant = codec.decode_instant(row.at)
            found[row.environment] = max(instant, found.get(row.environment, instant))
    return found


def drops(connection: Connection) -> tuple[Tombstone, ...]:
    """The versions whose drop was started and not finished, sorted."""
    found = map(_tombstone, connection.execute(_MARKED.where(_tombstones.c.dropping)))
    return tuple(sorted(found, key=lambda each: each.key))


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The rows of some versions, or of all of them."""

    connection: Connection
    among: Collection[VersionKey] | None

    def rows(self, query: Select[Any], table: Table, column: str = "version") -> Iterator[Row[Any]]:
        """The rows of a query on a table that are of these versions, by a column that has one."""
        if self.among is None:
            yield from self.connection.execute(query)
            return
        these = query.where(pairs(table.c.model, table.c[column]))
        yield from of_versions(self.connection, these, self.among)

    def known(self) -> Iterator[VersionKey]:
        """Those of which the state has anything."""
        # A snapshot that is shown with another version than its own is not a trace of its own one.
        stored = select(_snapshots.c.model, _snapshots.c.version).where(~IS_SHOWN)
        yield from map(key_of, self.rows(stored.distinct(), _snapshots))
        for each in (*OF_VERSIONS, _work, _promoted):
            yield from map(key_of, self.rows(select(each.c.model, each.c.version).distinct(), each))

    def shown(self) -> dict[Revision, set[VersionKey]]:
        """Those that each revision shows that is still in the history."""
        shown: dict[Revision, set[VersionKey]] = defaultdict(set)
        rows = select(_promoted).join(
            _promotions, is_alike(_promotions, _promoted, ("environment", "revision"))
        )
        kept = rows.where(~_promotions.c.forgotten)
        for row in self.rows(kept, _promoted):
            shown[Revision(row.environment, row.revision)].add(key_of(row))
        # Where nothing is bounded any more, an environment goes back to the unbounded version.
        instead = kept.where(_promoted.c.instead_of != "")
        for row in self.rows(instead, _promoted, "instead_of"):
            key = VersionKey(codec.decode_model(row.model), row.instead_of)
            shown[Revision(row.environment, row.revision)].add(key)
        return shown

    def history(self, shown: Iterable[Revision]) -> Sequence[Row[Any]]:
        """The promotions of all environments, or of those that show one of the versions."""
        every = select(_promotions).order_by(_promotions.c.environment, _promotions.c.revision)
        if self.among is not None:
            names = sorted({each.environment for each in shown})
            every = every.where(_promotions.c.environment.in_(names))
        return self.connection.execute(every).all()


def _revisions(
    shown: Mapping[Revision, Collection[VersionKey]], history: Sequence[Row[Any]]
) -> Iterator[ShownVersions]:
    """What each revision shows that is still in the history, and until when it was shown."""
    later: dict[str, datetime] = {}
    for row in reversed(history):
        if not row.forgotten:
            revision = Revision(row.environment, row.revision)
            yield ShownVersions(
                revision=revision,
                versions=frozenset(shown.get(revision, ())),
                until=later.get(row.environment),
            )
        if row.finished:
            ended = row.promoted_at if row.finished_at is None else row.finished_at
            later[row.environment] = codec.decode_instant(ended)


def _removing(history: Iterable[Row[Any]]) -> Iterator[str]:
    """The environments whose latest revision is a removal that is not finished."""
    for row in {row.environment: row for row in history}.values():
        if row.removed and not row.finished:
            yield row.environment


def _tombstone(row: Row[Any]) -> Tombstone:
    return Tombstone(
        key=key_of(row),
        recorded_at=codec.decode_instant(row.recorded_at),
        is_dropping=row.dropping,
        uuid=row.table_uuid,
        location=row.location,
    )


_ledger = schema.ledger
_marks = schema.marks
_MAY_PUBLISH: Final[ColumnElement[bool]] = or_(
    _work.c.state.in_(schema.OPEN),
    and_(  # audits refused it
        _work.c.state == UnitOfWorkState.ABANDONED.value, _work.c.publication_json.is_not(None)
    ),
)
_HEADS: Final[Select[Any]] = select(
    _work.c.model, _work.c.version, _work.c.iceberg_snapshot_id
).where(
    _work.c.iceberg_snapshot_id.is_not(None),
    _work.c.number.in_(
        select(func.max(_work.c.number))
        .where(_work.c.state == UnitOfWorkState.DONE.value)
        .group_by(_work.c.model, _work.c.version)
    ),
)
_ENTRIES: Final[Select[Any]] = select(
    _ledger.c.model,
    _ledger.c.version,
    _ledger.c.work_id,
    _ledger.c.trace_json,
)
_WORK: Final[Select[Any]] = select(
    _work.c.work_id,
    _work.c.state,
    _work.c.intent_json,
    _work.c.publication_json,
    _work.c.iceberg_snapshot_id,
)


def newest_number(connection: Connection) -> int:
    """The number of the newest unit of work; 0 if there is none."""
    return int(connection.execute(select(func.coalesce(func.max(_work.c.number), 0))).scalar_one())


def everything(connection: Connection, number: int) -> Named:
    """Everything that names Iceberg snapshots.

    Args:
        connection: To the state.
        number: That of a unit of work that was the newest one a moment ago.
    """
    entries = _distinct(connection, _ENTRIES)
    wanted = dict.fromkeys(each.work_id for each in entries)
    found = chain(
        connection.execute(_WORK.where(_MAY_PUBLISH)),
        *(
            connection.execute(_WORK.where(_work.c.work_id.in_(chunk), ~_MAY_PUBLISH))
            for chunk in chunks(wanted)
        ),
    )
    return Named(
        number=number,
        heads={key_of(row): row.iceberg_snapshot_id for row in connection.execute(_HEADS)},
        entries=entries,
        works=tuple(_named(found)),
        marks=tuple(_all_marks(connection)),
    )


def since(connection: Connection, number: int, key: VersionKey | None = None) -> Named:
    """What may name Iceberg snapshots of a version, or of others, since a moment ago."""
    later = connection.execute(_WORK.where(or_(_MAY_PUBLISH, _work.c.number > number)))
    found = Named(
        number=number,
        works=tuple(_named(later, as_open=True)),
        marks=tuple(_all_marks(connection)),
    )
    if key is None:
        return found
    heads = connection.execute(_HEADS.where(is_of(_work, key)))
    return replace(
        found,
        heads={key_of(row): row.iceberg_snapshot_id for row in heads},
        entries=_distinct(connection, _ENTRIES.where(is_of(_ledger, key))),
    )


def _distinct(connection: Connection, entries: Select[Any]) -> tuple[NamedEntry, ...]:
    return tuple(dict.fromkeys(map(_entry, connection.execute(entries))))


def _entry(row: Row[Any]) -> NamedEntry:
    trace = codec.decode_trace(row.trace_json)
    return NamedEntry(
        key=key_of(row),
        work_id=row.work_id,
        told=frozenset(trace.inputs if trace is not None else ()),
    )


def _named(rows: Iterable[Row[Any]], *, as_open: bool = False) -> Iterator[NamedWork]:
    for row in rows:
        intent = codec.decode_intent(row.intent_json)
        is_refused = row.state == UnitOfWorkState.ABANDONED.value and row.publication_json
        own = (intent.base, _published(row))
        yield NamedWork(
            work_id=intent.work_id,
            key=intent.key,
            may_publish=as_open or bool(is_refused) or row.state in schema.OPEN,
            own=tuple(each for each in own if each is not None),
            inputs={name: each for name, each in intent.inputs.items() if each is not None},
            beside=intent.beside,
        )


def _published(row: Row[Any]) -> int | None:
    """What a unit of work published; of what audits refused, what it would have published."""
    if row.iceberg_snapshot_id is not None or row.publication_json is None:
        return None if row.iceberg_snapshot_id is None else int(row.iceberg_snapshot_id)
    return codec.decode(Publication, row.publication_json).iceberg_snapshot_id


def _all_marks(connection: Connection) -> Iterator[NamedMark]:
    for row in connection.execute(select(_marks)):
        found = codec.decode(HighWaterMark, row.mark_json)
        yield NamedMark(key=key_of(row), iceberg_snapshot_id=found.iceberg_snapshot_id)
