"""Looking through EMBEDDED models: they have no table, so their readers read what they read.

Seed 001, *EMBEDDED*: "an EMBEDDED model's query is injected directly into the query of each
downstream model that references it, as a subquery."
"""

from __future__ import annotations

from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName


def embedded_upstream(graph: Graph, name: ModelName) -> tuple[ModelName, ...]:
    """The EMBEDDED models that are inlined in a model's query, directly or in one another."""
    found: set[ModelName] = set()
    waiting = [*graph[name].model.parents]
    while waiting:
        parent = waiting.pop()
        if graph[parent].model.kind.is_embedded and parent not in found:
            found.add(parent)
            waiting += graph[parent].model.parents
    return tuple(sorted(found))


def stored_parents(graph: Graph, name: ModelName) -> tuple[ModelName, ...]:
    """What a model's query names once EMBEDDED models are inlined: tables, views and sources."""
    readers = (name, *embedded_upstream(graph, name))
    every = {parent for reader in readers for parent in graph[reader].model.parents}
    return tuple(sorted(each for each in every if not graph[each].model.kind.is_embedded))
