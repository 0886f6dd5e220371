"""Which snapshot, and so which version, each model of a project has beside what is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vde_dagster.core.changes.comparison import DEFAULT_RULES, compare_graphs
from vde_dagster.core.changes.difference import Change, Difference, Rules
from vde_dagster.core.decisions import decided_rules
from vde_dagster.core.embedded import embedded_above, stored_parents
from vde_dagster.core.fingerprint import view_version
from vde_dagster.core.graph import Graph, Node
from vde_dagster.core.kind import External, View
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.snapshot import Category, ModelSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What an environment shows before a plan: its snapshots, and their models as a graph."""

    snapshots: Mapping[ModelName, ModelSnapshot]
    graph: Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A model's snapshot, and how it differs from what is shown.

    ``difference`` tells how it differs; the snapshot's own category tells the one that it was first
    stored with.
    """

    difference: Difference
    snapshot: ModelSnapshot


def resolve_snapshots(
    graph: Graph,
    shown: Shown,
    stored: Mapping[tuple[ModelName, str], ModelSnapshot],
    rules: Rules = DEFAULT_RULES,
) -> dict[ModelName, Resolved]:
    """The snapshot of each model of a project, and how it differs from what is shown.

    Args:
        graph: The project.
        shown: What the environment shows (for a new environment: what production shows).
        stored: Snapshots of these models that an earlier plan stored; they are used as they are.
        rules: How changes are judged. What a person decided about a stored snapshot goes on.

    Raises:
        DecisionsRefused: The rules decide what there is nothing to decide about.
    """
    rules = decided_rules(rules, before=shown.graph, after=graph, stored=stored)
    differences = compare_graphs(shown.graph, graph, rules)
    resolved: dict[ModelName, Resolved] = {}
    for node in graph:
        before = shown.snapshots.get(node.name)
        difference = differences[node.name]
        known = stored.get((node.name, node.fingerprint.digest))
        if known is None and before is not None and difference.change is Change.NONE:
            known = before
        resolved[node.name] = Resolved(
            difference=difference,
            snapshot=known
            or ModelSnapshot(
                name=node.name,
                fingerprint=node.fingerprint,
                version=_version(node, before, difference, resolved=resolved, graph=graph),
                category=difference.category,
                reasons=difference.reasons,
                source=node.model.source,
                decided_by=difference.decided_by,
            ),
        )
    return resolved


_KEEPING = (Category.INDIRECT_NON_BREAKING, Category.FORWARD_ONLY, Category.METADATA)


def _version(
    node: Node,
    before: ModelSnapshot | None,
    difference: Difference,
    *,
    resolved: Mapping[ModelName, Resolved],
    graph: Graph,
) -> str:
    if isinstance(node.model.kind, View):
        stored = stored_parents(graph, node.name)
        reads = [_physical(graph[parent], resolved[parent].snapshot) for parent in stored]
        inside = [graph[each].fingerprint.data for each in embedded_above(graph, node.name)]
        return view_version(node.fingerprint.data, reads, embedded=inside)
    if before is not None and difference.category in _KEEPING:
        return before.version
    return node.fingerprint.data_version


def _physical(node: Node, snapshot: ModelSnapshot) -> TableName:
    """The name under which a query finds a model's rows: a source keeps its own."""
    if isinstance(node.model.kind, External):
        return TableName(node.name.schema, node.name.name)
    return snapshot.key.table
