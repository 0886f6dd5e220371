"""A state as if its models had been run hour by hour for long: older entries, each with its work.

Going through the state's port would take days for millions of entries, so what one run recorded is
copied by the database: the first entry of each version, its unit of work and what this was decided
from. Copies lie before the first entry, one after the other, without gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Integer,
    MetaData,
    Row,
    Select,
    String,
    Table,
    cast,
    func,
    insert,
    literal,
    select,
    true,
    update,
)

from vde_dagster.core.ledger.holdings import Holding
from vde_dagster.core.time.intervals import Interval, merge
from vde_dagster.state import codec, schema

_BATCH: Final = 50_000
_before: Final = Table(
    "vde_hours_before",
    MetaData(),
    Column("n", Integer, primary_key=True, autoincrement=False),
    prefixes=["TEMPORARY"],
)
_ledger = schema.ledger
_work = schema.work
_questions = schema.questions


def lengthen(connection: Connection, more: int) -> int:
    """Record ``more`` older intervals of each version that has some, each by a unit of work.

    Versions with one entry are those of kinds without intervals: they are left as they are.

    Returns:
        How many versions have a longer history now.
    """
    _before.create(connection)
    for lowest in range(1, more + 1, _BATCH):
        numbers = range(lowest, min(lowest + _BATCH, more + 1))
        connection.execute(insert(_before), [{"n": n} for n in numbers])
    firsts = list(_first_entries(connection))
    for place, first in enumerate(firsts):
        length = first.interval_end - first.interval_start
        for table in (_ledger, _work, _questions):
            query = _older(table, first, length, lowest=place * more)
            names = [each.key for each in table.c]
            connection.execute(insert(table).from_select(names, query))
        _extend(connection, first, more * length)
    _before.drop(connection)
    return len(firsts)


def _first_entries(connection: Connection) -> Iterator[Row[Any]]:
    """The first entry of each version that has several."""
    by = (_ledger.c.model, _ledger.c.version)
    several = (
        select(*by, func.min(_ledger.c.interval_start).label("start"))
        .group_by(*by)
        .having(func.count() > 1)
        .subquery()
    )
    query = select(_ledger).join(
        several,
        (several.c.model == _ledger.c.model)
        & (several.c.version == _ledger.c.version)
        & (several.c.start == _ledger.c.interval_start),
    )
    yield from connection.execute(query.order_by(*by))


def _older(table: Table, first: Row[Any], length: int, *, lowest: int) -> Select[Any]:
    """The rows of an entry once more for each interval before it.

    Units of work are ordered by their numbers. Those that were recorded have positive ones.
    """
    back, n = _before.c.n * length, _before.c.n
    work_id = literal(f"{first.work_id}-") + cast(n, String)
    changed: dict[str, Any] = {"work_id": work_id}
    which = table.c.work_id == first.work_id
    if table is _ledger:
        changed |= {each: table.c[each] - back for each in ("interval_start", "interval_end")}
        which &= table.c.interval_start == first.interval_start
    if table is _work:
        intent = func.replace(table.c.intent_json, first.work_id, work_id)
        changed |= {"number": -(n + lowest), "intent_json": intent}
        changed |= {each: table.c[each] - back for each in ("started_at", "finished_at")}
    columns = (changed.get(each.key, each).label(each.name) for each in table.c)
    each = table.join(_before, true())
    return select(*columns).select_from(each).where(which, *_is_version(table, first))


def _is_version(table: Table, first: Row[Any]) -> tuple[ColumnElement[bool], ...]:
    if table is _questions:
        return ()
    return table.c.model == first.model, table.c.version == first.version


def _extend(connection: Connection, first: Row[Any], by: int) -> None:
    """Let the summary of a version's ledger begin earlier."""
    kept = schema.holdings
    own = _is_version(kept, first)
    row = connection.execute(select(kept).where(*own)).one()
    holding = codec.decode_holding(row.holding_json, number=row.number, removed=row.removed)
    start = codec.decode_instant(first.interval_start)
    older = Interval(codec.decode_instant(first.interval_start - by), start)
    longer = replace(holding, computed=merge((older, *holding.computed)))
    values = {"holding_json": codec.encode(Holding, longer)}
    connection.execute(update(kept).where(*own).values(values))
