"""Which snapshot, and so which version, each model of a project has beside what is shown."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from vde_dagster.core.changes.comparison import DEFAULT_RULES, compare_graphs
from vde_dagster.core.changes.difference import Change, Difference, Rules
from vde_dagster.core.decisions import decided_rules
from vde_dagster.core.embedded import embedded_above, stored_parents
from vde_dagster.core.fingerprint import hash_parts, view_version
from vde_dagster.core.graph import Graph, Node
from vde_dagster.core.kind import External, View
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.snapshot import Category, DecidedBy, ModelSnapshot, VersionKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What an environment shows before a plan: its snapshots, and their models as a graph.

    ``drifted`` are versions, shown or not, that may hold rows which their definitions would not
    give. Those that are shown by a snapshot that drifted need not be among them: they do not hold
    what this one would compute.
    """

    snapshots: Mapping[ModelName, ModelSnapshot]
    graph: Graph
    drifted: Collection[VersionKey] = frozenset()


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
    rules = replace(
        rules,
        settled=dict(_settled(graph, shown, stored)),
        drifted=frozenset(
            name
            for name, each in shown.snapshots.items()
            if each.drifted or each.key in shown.drifted
        ),
    )
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
                version=_version(node, shown, difference, resolved=resolved, graph=graph),
                category=difference.category,
                reasons=difference.reasons,
                source=node.model.source,
                decided_by=difference.decided_by,
                decided_from=_decided_from(difference, shown),
                drifted=difference.drifted,
            ),
        )
    return resolved


def _decided_from(difference: Difference, shown: Shown) -> str:
    if difference.decided_by is not DecidedBy.PERSON:
        return ""
    return shown.graph[difference.name].fingerprint.data_version


def _settled(
    graph: Graph, shown: Shown, stored: Mapping[tuple[ModelName, str], ModelSnapshot]
) -> Iterator[tuple[ModelName, bool]]:
    """The models whose rows changed and whose snapshot is stored: whether it has what is shown.

    Where it has, it was forward-only for whoever stored it, or what is shown is; or whoever stored
    it concluded that its rows are the same.
    """
    for (name, digest), snapshot in stored.items():
        before = shown.snapshots.get(name)
        if before is None or name not in graph or graph[name].fingerprint.digest != digest:
            continue
        if snapshot.fingerprint.data_version != before.fingerprint.data_version:
            yield name, snapshot.key == before.key


_KEEPING = (Category.INDIRECT_NON_BREAKING, Category.FORWARD_ONLY, Category.METADATA)


def _version(
    node: Node,
    shown: Shown,
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
    before = shown.snapshots.get(node.name)
    if before is not None and difference.category in _KEEPING:
        return before.version
    natural = VersionKey(node.name, node.fingerprint.data_version)
    if natural not in shown.drifted:
        return natural.version
    return hash_parts(natural.version, node.fingerprint.digest)


def _physical(node: Node, snapshot: ModelSnapshot) -> TableName:
    """The name under which a query finds a model's rows: a source keeps its own."""
    if isinstance(node.model.kind, External):
        return TableName(node.name.schema, node.name.name)
    return snapshot.key.table
