"""By which columns rows belong to time, and what a stateful session reads of what it tracks.

A query that bounds the time that it reads of a tracked source, or reads its rows into the interval
that they belong to by the model's time column, is run as it is. Every other tracked source is read
for the interval alone: its rows whose tracked time is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.model.late_data import TrackedSource
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.places import macros_placed
from vde_dagster.core.sql.reads.input_ranges import TimeAxis, WholeTable, reads, time_column_of
from vde_dagster.core.sql.table_names import model_name_of
from vde_dagster.core.sql.text import SqlText
from vde_dagster.core.time.intervals import Interval, IntervalUnit

_BORDERS = ("start_ts", "end_ts")


def tracked_columns(graph: Graph, node: Node, query: exp.Query) -> dict[ModelName, str]:
    """The tracked sources that are read for the interval alone, with the column that says it.

    Args:
        graph: The models.
        node: A model.
        query: Its query over tables, with time macros.
    """
    policy = node.model.stateful
    tracked = policy.tracked if policy is not None else ()
    axes = axes_of(graph, query, reader=node.name)
    return {
        each.name: column
        for each in tracked
        if each.name in axes
        and (column := tracked_column(graph, each)) is not None
        and bounding_axis(graph, node, query, each.name, _axes(graph, node, each)) is None
    }


def tracked_column(graph: Graph, tracked: TrackedSource) -> str | None:
    """The column with a tracked source's time; None for a model that has no intervals.

    A model of the project is tracked by its own time column.
    """
    source = graph[tracked.name]
    if source.model.kind.is_source:
        return tracked.tracked_by
    axis = input_axis(source)
    return axis.column if axis is not None else None


def tracked_axes(graph: Graph, node: Node) -> dict[ModelName, TimeAxis]:
    """The tracked sources of which a Python model is given the rows of its interval alone.

    A function shows no bounds, so that these are all that have a time.
    """
    policy = node.model.stateful
    found: dict[ModelName, TimeAxis] = {}
    for each in policy.tracked if policy is not None else ():
        source = graph[each.name]
        if source.model.kind.is_source:
            types = {column.name.lower(): column.type for column in source.columns}
            kind = types.get(each.tracked_by, "unknown").lower()
            axis: TimeAxis | None = TimeAxis(
                column=each.tracked_by, unit=node.model.unit, type=kind
            )
        else:
            axis = input_axis(source)
        if axis is not None:
            found[each.name] = axis
    return found


def interval_query(name: ModelName, column: str) -> exp.Query:
    """The rows of a source whose time is in the interval that the macros stand for."""
    start, end = (exp.Parameter(this=exp.Var(this=each)) for each in _BORDERS)
    table = exp.table_(name.name, db=name.schema, catalog=name.catalog or None, quoted=True)
    time = exp.column(exp.to_identifier(column, quoted=True), table=table.name)
    inside = time.between(start, end)
    return exp.select("*").from_(table, copy=False).where(inside, copy=False)


def interval_condition(column: str) -> SqlText:
    """The same condition as text, with the places of its macros."""
    written = exp.to_identifier(column, quoted=True).sql("spark")
    return macros_placed(f"{written} BETWEEN @{_BORDERS[0]} AND @{_BORDERS[1]}")


def bounding_axis(
    graph: Graph,
    node: Node,
    query: exp.Query,
    name: ModelName,
    possible: Iterable[TimeAxis],
) -> TimeAxis | None:
    """The first of some time columns of a source by which every scan of it is bounded.

    Args:
        graph: The models.
        node: A model.
        query: Its query over tables, with time macros.
        name: The source.
        possible: Its time columns.
    """
    axes = axes_of(graph, query, reader=node.name)
    first = node.model.unit.floor(node.model.start)
    example = Interval(first, node.model.unit.following(first))
    for axis in possible:
        known = reads(query, axes={**axes, name: axis}, kept=input_axis(node))
        found = known.at(example).get(name)
        if not isinstance(found, WholeTable):
            return axis
    return None


def _axes(graph: Graph, node: Node, tracked: TrackedSource) -> Iterator[TimeAxis]:
    """The time columns of a source by which a query may bound what it reads."""
    source = graph[tracked.name]
    if not source.model.kind.is_source:
        own = input_axis(source)
        if own is not None:
            yield own
        return
    known = {each.name.lower() for each in source.columns}
    if tracked.tracked_by not in known:
        yield TimeAxis(column=tracked.tracked_by, unit=node.model.unit)
    yield from time_axes(source, node.model.unit)


def axes_of(
    graph: Graph, query: exp.Query, *, reader: ModelName
) -> dict[ModelName, TimeAxis | None]:
    """The time axes of the models and sources that a model's query names, apart from itself."""
    names = {model_name_of(table) for table in query.find_all(exp.Table)}
    known = (name for name in names if name is not None and name in graph and name != reader)
    return {name: input_axis(graph[name]) for name in known}


def input_axis(node: Node) -> TimeAxis | None:
    """How rows of a model are bounded by who reads them; None for kinds without intervals."""
    own = node.time_axis
    if own is None:
        return None
    column = own.column
    return TimeAxis(
        column=column,
        unit=node.model.unit,
        type=_type_of(node, column),
        format=own.format,
    )


def time_axes(node: Node, unit: IntervalUnit) -> Iterator[TimeAxis]:
    """The columns of a table that may hold a time: of such a type, or texts that are ISO dates."""
    for column in node.columns:
        axis = TimeAxis(column=column.name, unit=unit, type=column.type.lower())
        timely = axis.type in ("date", "timestamp", "timestamp_ntz", "string")
        if timely and time_column_of(axis) is not None:
            yield axis


def _type_of(node: Node, column: str) -> str:
    types = {each.name.lower(): each.type for each in node.columns}
    return types.get(column, "unknown")
