"""The types of a model's columns that are known for certain, or that nobody knows.

sqlglot's rules, by which `Graph` derives columns, guess where Spark's differ. Rows of a unit test
that are read in a wrong type make a wrong test pass, so here a type is Spark's or ``unknown``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.run_text import query_text
from vde_dagster.core.model.model import SESSION, Query
from vde_dagster.core.model.session_settings import may_decide_types
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.canonical import UNKNOWN_TYPE
from vde_dagster.core.sql.dialects import is_spark
from vde_dagster.core.sql.duckdb.translating import DuckQuery, in_duckdb
from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.macros import EPOCH_DAY, resolve_time_macros
from vde_dagster.core.sql.rendering import model_name_of
from vde_dagster.core.sql.spark.exact_types import exact_types
from vde_dagster.core.sql.spark.reading import read_spark

_WHAT: Final = "typed columns"
_STORED_AS: Final[Mapping[str, str]] = {"tinyint": "int", "smallint": "int"}
"""Types of Spark that its Iceberg tables give back as another one."""
_OF_ALL_SETTINGS: Final = ("boolean", "string", "binary", "date", "int", "bigint")
"""Types that a query returns with whichever settings of Spark's session."""


def typed_columns(graph: Graph, name: ModelName) -> tuple[Column, ...]:
    """A model's columns; ``unknown`` is the type of one that is not known for certain.

    Declared types are those of the table. Others follow from the query by Spark's rules.
    """
    for each in graph.above([name]):  # parents first: a chain of models may be long
        _known(graph, each.name)
    return _known(graph, name)


def _known(graph: Graph, name: ModelName) -> tuple[Column, ...]:
    return graph.once(_WHAT, name, lambda: _typed(graph, graph[name]))


def _typed(graph: Graph, node: Node) -> tuple[Column, ...]:
    body, stores = node.model.body, node.model.kind.stores_rows
    if not isinstance(body, Query) or node.canonical is None:
        return node.columns
    # No view casts what its query returns to a declared type, as the write of a table does.
    declared = {each.name.lower() for each in node.model.columns}
    returned = {each.name.lower() for each in node.canonical.columns}
    sought = returned - declared if stores else returned
    known = _of_query(graph, node, body, sought) if sought else {}
    if may_decide_types(node.model.source.defaults.get(SESSION, "")):
        known = {name: kind for name, kind in known.items() if kind in _OF_ALL_SETTINGS}
    kinds = {name: known.get(name, UNKNOWN_TYPE) for name in sought - (declared - known.keys())}
    stored = _STORED_AS if stores else {}
    return tuple(
        replace(each, type=stored.get(kind, kind))
        if (kind := kinds.get(each.name.lower())) is not None
        else each
        for each in node.columns
    )


def _of_query(graph: Graph, node: Node, body: Query, sought: set[str]) -> Mapping[str, str]:
    """The types of a query's columns that are known: by Spark's rules, or as DuckDB computes it."""
    query = _analysed(graph, node, body)
    found = exact_types(query, lambda table: _columns_of(graph, node, table)) if query else {}
    if sought <= found.keys() or node.model.reads_itself:
        return found
    text = _text(graph, node)

    def tables(name: ModelName) -> Sequence[Column] | None:
        return _known(graph, name) if name in graph else None

    answered = in_duckdb(text, catalog="", tables=tables) if text is not None else None
    if not isinstance(answered, DuckQuery):
        return found
    return {**{each.name.lower(): each.type for each in answered.columns}, **found}


def _analysed(graph: Graph, node: Node, body: Query) -> exp.Query | None:
    """A qualified query in Spark's dialect; None where names could not be bound."""
    if node.canonical is None or not node.canonical.is_bound:
        return None
    if is_spark(body.dialect):
        return resolve_time_macros(node.canonical.expression, EPOCH_DAY)
    text = _text(graph, node)
    parsed = read_spark(text) if text is not None else None
    return parsed if isinstance(parsed, exp.Query) else None


def _text(graph: Graph, node: Node) -> str | None:
    """What a model runs, over the names of models; None where it cannot run."""
    try:
        text = query_text(graph, node).with_times(EPOCH_DAY)
    except (Refused, *SQL_ERRORS):
        return None
    return text.with_tables(lambda name: TableName(name.schema, name.name, name.catalog)).text


def _columns_of(graph: Graph, node: Node, table: exp.Table) -> Sequence[Column]:
    """The columns of a table that a model's query names; of itself those that it declares."""
    name = model_name_of(table)
    if name is not None and name not in graph:
        name = ModelName(name.schema, name.name)
    if name is None or name not in graph:
        return ()
    return node.model.columns if name == node.name else _known(graph, name)
