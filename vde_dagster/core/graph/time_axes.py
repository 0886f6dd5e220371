"""The columns by which rows of models and sources belong to time."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import TimeAxis, time_column_of
from vde_dagster.core.sql.rendering import model_name_of
from vde_dagster.core.time.intervals import IntervalUnit


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
