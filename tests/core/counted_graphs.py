"""Graphs of which it is counted how often a model is looked up, and some with many ways up."""

from __future__ import annotations

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.names import ModelName


class CountedNodes(dict[ModelName, Node]):
    """The nodes of a graph, and how often one of them was looked up."""

    looked_up = 0

    def __getitem__(self, name: ModelName) -> Node:
        self.looked_up += 1
        return super().__getitem__(name)


def counted(graph: Graph) -> tuple[Graph, CountedNodes]:
    """The same graph, and its nodes as they count."""
    nodes = CountedNodes(graph.nodes)
    return Graph(nodes), nodes


def diamonds(depth: int) -> dict[str, str]:
    """Pairs of views over m.base, each of which reads both of the pair before it.

    The last ones are m.left and m.right with the number ``depth``.
    """
    texts = {"m.base": "MODEL (kind FULL);\nSELECT a FROM raw.t"}
    left, right = "m.base", "m.base"
    for number in range(1, depth + 1):
        text = f"SELECT l.a FROM {left} AS l JOIN {right} AS r ON l.a = r.a"
        left, right = f"m.left{number}", f"m.right{number}"
        texts |= dict.fromkeys((left, right), f"MODEL (kind VIEW);\n{text}")
    return texts
