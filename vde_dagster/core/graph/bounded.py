"""Graphs in which some models begin later than they say: versions that are bounded.

A bounded version is computed as if its model began at an instant. So its model does begin there,
for everybody who looks at when it is due, what it lacks and what its macros stand for. Its
fingerprint is that of the model as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.names import ModelName


def bounded_graph(graph: Graph, since: Mapping[ModelName, datetime]) -> Graph:
    """A graph in which exactly these of its models are bounded, each from an instant on."""
    if all(since.get(node.name) == node.bounded_from for node in graph):
        return graph
    return Graph({node.name: _bounded(node, since.get(node.name)) for node in graph})


def _bounded(node: Node, since: datetime | None) -> Node:
    if node.bounded_from == since:
        return node
    start = node.own_start or node.model.start
    if since is None:
        model = replace(node.model, start=start)
        return replace(node, model=model, bounded_from=None, own_start=None)
    model = replace(node.model, start=max(start, since))
    return replace(node, model=model, bounded_from=since, own_start=start)
