"""What a unit test of a model runs: its query, over rows that are given in place of tables."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import (
    Target,
    inlined_models,
    inlined_texts,
    interval_conditions,
)
from vde_dagster.core.graph.run_text import authors_query, interval_text, query_text
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import TimeRange, macros_in
from vde_dagster.core.sql.text import SqlText, query_of_cte


def render_tested(
    graph: Graph,
    name: ModelName,
    times: TimeRange,
    *,
    by_interval: bool,
    given: Container[ModelName],
    queries: Mapping[ModelName, SqlText],
    target: Target,
    cte: str | None = None,
) -> str:
    """A model's query as an evaluation runs it, in Spark's dialect, over what is given.

    VIEW and EMBEDDED parents that are not given are sub-queries, as ever.

    Args:
        graph: The models.
        name: The one that is tested.
        times: What the macros stand for.
        by_interval: Whether only rows of the interval are returned, as an evaluation appends that.
        given: The models and sources that are read as tables or as ``queries``.
        queries: Queries in place of some of them.
        target: The table with the rows of each of the others.
        cte: Return the rows of this common table expression instead.

    Raises:
        Refused: The query cannot be written in Spark's SQL.
    """
    node = graph[name]
    axis = node.time_axis if by_interval else None
    if cte is not None:
        query, _ = authors_query(graph, node)
    elif axis is None:
        query = query_text(graph, node)
    else:
        query = interval_text(graph, node, axis, times)
    inlined = inlined_texts(graph, node, times, inline_views=True, given=given)
    filters = interval_conditions(graph, node, times) if by_interval else {}
    filled = query.with_times(times).with_queries(inlined).with_conditions(filters)
    text = filled.with_queries(queries).with_tables(target).text
    return text if cte is None else query_of_cte(text, cte)


def needed_tables(graph: Graph, node: Node, given: Container[ModelName]) -> Iterator[ModelName]:
    """What a test has to give rows of: what a model reads, through views that are not given.

    The model itself is not among them, even if it reads its own rows. A Python model has no query
    in which views could be inlined.
    """
    seen = set[ModelName]()
    inlined = (
        [each.name for each in inlined_models(graph, node, views=True, given=given)]
        if node.canonical is not None
        else []
    )
    for reader in (node.name, *inlined):
        for parent in graph[reader].model.parents:
            if parent not in seen and parent not in inlined:
                seen.add(parent)
                yield parent


def macros_read(graph: Graph, node: Node, given: Container[ModelName]) -> frozenset[str]:
    """The time macros, in lower case, that a model's query and the inlined ones read."""
    readers = (node, *inlined_models(graph, node, views=True, given=given))
    return frozenset(
        name
        for each in readers
        if each.canonical is not None
        for name, _ in macros_in(each.canonical.expression)
    )
