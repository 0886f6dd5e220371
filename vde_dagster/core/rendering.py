"""From a canonical query to the query of one evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from vde_dagster.core.intervals import Interval, IntervalUnit
from vde_dagster.core.macros import (
    TimeRange,
    date_literal,
    resolve_time_macros,
    timestamp_literal,
    timestamp_ntz_literal,
)
from vde_dagster.core.names import ModelName, TableName


def render_interval(
    query: exp.Query,
    *,
    columns: tuple[str, ...],
    time_column: str,
    time_type: str,
    times: TimeRange,
) -> exp.Select:
    """The rows of an interval: macros as literals, and no row outside the interval.

    The output filter is appended around the query, since the filter that a user writes bounds what
    is read, not what is returned (seed 001, *Time column*).
    """
    if times.end is None:
        raise ValueError("an interval has an end")
    interval = Interval(times.start, times.end)
    inner = resolve_time_macros(query, times).subquery("_rows", copy=False)
    names = [exp.column(_quoted(name), table="_rows").as_(_quoted(name)) for name in columns]
    return (
        exp.select(*names)
        .from_(inner)
        .where(within(_axis(time_column), interval, time_type=time_type))
    )


def _quoted(name: str) -> exp.Identifier:
    """A column's name as it is, also where it is a reserved word."""
    return exp.to_identifier(name, quoted=True)


def _axis(time_column: str) -> exp.Column:
    return exp.column(_quoted(time_column), table="_rows")


def render_whole(query: exp.Query, times: TimeRange) -> exp.Query:
    """A query whose result does not belong to one interval."""
    return resolve_time_macros(query, times)


def within(column: exp.Column, interval: Interval, *, time_type: str) -> exp.Expr:
    """The condition that a time column lies in an interval, in the column's own type.

    A DATE column stands for the midnight that starts the day, so within a day no date lies.
    """
    if time_type.lower() == "date":
        start, end = IntervalUnit.DAY.ceil(interval.start), IntervalUnit.DAY.ceil(interval.end)
    else:
        start, end = interval.start, interval.end
    literal = {"date": date_literal, "timestamp_ntz": timestamp_ntz_literal}.get(
        time_type.lower(), timestamp_literal
    )
    return exp.and_(
        exp.GTE(this=column.copy(), expression=literal(start)),
        exp.LT(this=column.copy(), expression=literal(end)),
    )


def replace_tables(query: exp.Query, target: Callable[[ModelName], TableName | None]) -> exp.Query:
    """A copy of a query in which model names are replaced, their aliases kept.

    Names for which ``target`` returns None (common table expressions, for one) stay.
    """
    replaced = query.copy()
    for table in list(replaced.find_all(exp.Table)):
        name = model_name_of(table)
        found = target(name) if name is not None else None
        if found is None:
            continue
        for key, part in (("catalog", found.catalog), ("db", found.namespace)):
            table.set(key, exp.to_identifier(part, quoted=True) if part else None)
        table.set("this", exp.to_identifier(found.name, quoted=True))
    return replaced


def model_name_of(table: exp.Table) -> ModelName | None:
    """The model that a qualified table reference names; None for a reference without a schema."""
    if not (table.db and table.name):
        return None
    return ModelName(table.db.lower(), table.name.lower(), table.catalog.lower())


def inline(query: exp.Query, bodies: Mapping[ModelName, exp.Query]) -> exp.Query:
    """A copy of a query with views replaced by their own queries, as sub-queries.

    ``bodies`` maps the name of a view to its query, in which its own views are inlined already.
    """
    inlined = query.copy()
    for table in list(inlined.find_all(exp.Table)):
        name = model_name_of(table)
        if name is not None and name in bodies:
            subquery = bodies[name].copy().subquery(table.alias_or_name, copy=False)
            for key in ("joins", "laterals", "pivots", "sample"):
                subquery.set(key, table.args.get(key))
            table.replace(subquery)
    return inlined
