"""The types of a model's columns, also of those that its query alone does not tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.run_text import query_text
from vde_dagster.core.model.model import Query
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.canonical import UNKNOWN_TYPE
from vde_dagster.core.sql.duckdb.translating import DuckQuery, in_duckdb
from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.macros import EPOCH_DAY


def typed_columns(graph: Graph, name: ModelName) -> tuple[Column, ...]:
    """A model's columns; ``unknown`` is the type of one of which nothing is known.

    A query that DuckDB answers as Spark would has types that are known exactly.
    """
    return graph.once("typed columns", name, lambda: _typed(graph, graph[name]))


def _typed(graph: Graph, node: Node) -> tuple[Column, ...]:
    if all(each.type != UNKNOWN_TYPE for each in node.columns):
        return node.columns
    known = _types_of_query(graph, node)
    return tuple(
        replace(each, type=known.get(each.name.lower(), UNKNOWN_TYPE))
        if each.type == UNKNOWN_TYPE
        else each
        for each in node.columns
    )


def _types_of_query(graph: Graph, node: Node) -> Mapping[str, str]:
    if not isinstance(node.model.body, Query) or node.model.reads_itself:
        return {}

    def tables(name: ModelName) -> Sequence[Column] | None:
        return typed_columns(graph, name) if name in graph else None

    try:
        text = query_text(graph, node).with_times(EPOCH_DAY)
    except (Refused, *SQL_ERRORS):
        return {}
    named = text.with_tables(lambda name: TableName(name.schema, name.name, name.catalog))
    found = in_duckdb(named.text, catalog="", tables=tables)
    if not isinstance(found, DuckQuery):
        return {}
    return {each.name.lower(): each.type for each in found.columns}
