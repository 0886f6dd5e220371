"""A model and what it reads once the columns of the tables are known, from the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vde_dagster.core.columns import Column
from vde_dagster.core.graph.deriving import derive
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import inlined_models
from vde_dagster.core.names import ModelName


def with_columns(graph: Graph, node: Node, columns: Mapping[ModelName, Sequence[Column]]) -> Graph:
    """A model with the views that are inlined in it, and the tables upstream of these.

    It is the graph itself if the tables have the columns that are known.

    Raises:
        QueryInvalid: A query does not fit these columns.
    """
    tables = {name: _known(graph[name].columns, there) for name, there in columns.items()}
    tables = {name: there for name, there in tables.items() if there != graph[name].columns}
    if not tables:
        return graph
    nodes = {each.name: each for each in graph}
    for name, there in tables.items():
        nodes[name] = replace(nodes[name], columns=there)
    for reader in (*inlined_models(graph, node, views=True), node):
        derived = derive(reader.model, nodes, undeclared=True, is_flawed=True)
        nodes[reader.name] = replace(reader, canonical=derived.canonical, columns=derived.columns)
    return Graph(nodes)


def _known(declared: tuple[Column, ...], there: Sequence[Column]) -> tuple[Column, ...]:
    """The columns that are declared, with the types that they have; all if none are."""
    types = {each.name.lower(): each.type for each in there}
    known = (replace(each, type=types.get(each.name.lower(), each.type)) for each in declared)
    return tuple(known) or tuple(there)
