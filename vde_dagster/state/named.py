"""Which Iceberg snapshots the state names. Functions of one transaction each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, and_, func, or_, select

from vde_dagster.core.clean_up.pinning import Named, NamedEntry, NamedMark, NamedWork
from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.state import codec, schema
from vde_dagster.state.database import chunks

_ledger = schema.ledger
_marks = schema.marks
_work = schema.work
_OPEN: Final = (UnitOfWorkState.INTENT.value, UnitOfWorkState.STAGED.value)
_MAY_PUBLISH: Final[ColumnElement[bool]] = or_(
    _work.c.state.in_(_OPEN),
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
    _ledger.c.iceberg_snapshot_id,
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
        heads={_key(row): row.iceberg_snapshot_id for row in connection.execute(_HEADS)},
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
    heads = connection.execute(_HEADS.where(*_is_of(_work, key)))
    return replace(
        found,
        heads={_key(row): row.iceberg_snapshot_id for row in heads},
        entries=_distinct(connection, _ENTRIES.where(*_is_of(_ledger, key))),
    )


def _is_of(table: Table, key: VersionKey) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.c.model == codec.encode_model(key.model), table.c.version == key.version


def _distinct(connection: Connection, entries: Select[Any]) -> tuple[NamedEntry, ...]:
    return tuple(dict.fromkeys(map(_entry, connection.execute(entries))))


def _entry(row: Row[Any]) -> NamedEntry:
    trace = codec.decode_trace(row.trace_json)
    return NamedEntry(
        key=_key(row),
        iceberg_snapshot_id=row.iceberg_snapshot_id,
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
            may_publish=as_open or bool(is_refused) or row.state in _OPEN,
            own=tuple(each for each in own if each is not None),
            inputs={name: each for name, each in intent.inputs.items() if each is not None},
            beside=intent.beside,
        )


def _published(row: Row[Any]) -> int | None:
    """What a unit of work published; of what audits refused, what it would have published."""
    if row.iceberg_snapshot_id is not None or row.publication_json is None:
        return None if row.iceberg_snapshot_id is None else int(row.iceberg_snapshot_id)
    return codec.decode_publication(row.publication_json).iceberg_snapshot_id


def _all_marks(connection: Connection) -> Iterator[NamedMark]:
    for row in connection.execute(select(_marks)):
        found = codec.decode_mark(row.mark_json)
        yield NamedMark(key=_key(row), iceberg_snapshot_id=found.iceberg_snapshot_id)


def _key(row: Row[Any]) -> VersionKey:
    return VersionKey(codec.decode_model(row.model), row.version)
