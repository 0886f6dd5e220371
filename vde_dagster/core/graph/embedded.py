"""Looking through EMBEDDED models: they have no table, so their readers read what they read.

Seed 001, *EMBEDDED*: "an EMBEDDED model's query is injected directly into the query of each
downstream model that references it, as a subquery."
"""

from __future__ import annotations

from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName


def embedded_upstream(graph: Graph, name: ModelName) -> tuple[ModelName, ...]:
    """The EMBEDDED models that are inlined in a model's query, directly or in one another."""
    return _named(graph, name, embedded=True)


def stored_parents(graph: Graph, name: ModelName) -> tuple[ModelName, ...]:
    """What a model's query names once EMBEDDED models are inlined: tables, views and sources."""
    return _named(graph, name, embedded=False)


def _named(graph: Graph, name: ModelName, *, embedded: bool) -> tuple[ModelName, ...]:
    parents = graph[name].model.parents
    near = graph.upstream(parents, through=lambda each: each.model.kind.is_embedded)
    return tuple(sorted(each.name for each in near if each.model.kind.is_embedded is embedded))
