"""A plan: the difference between a project and an environment, and the work that follows.

A plan is a value. Making one reads the state, but starts no Spark and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from vde_dagster.core.categorize import Verdict, categorize, reads_every_column
from vde_dagster.core.embedded import embedded_above, stored_parents
from vde_dagster.core.fingerprint import view_version
from vde_dagster.core.graph import Graph, Node
from vde_dagster.core.intervals import Interval
from vde_dagster.core.kind import External, View
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.snapshot import Category, ModelSnapshot, VersionKey


class Change(Enum):
    """How a model differs from what the environment shows."""

    ADDED = "added"
    REMOVED = "removed"
    DIRECT = "direct"
    INDIRECT = "indirect"
    METADATA = "metadata"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange:
    """What a plan does about one model. ``missing`` are the contiguous ranges to evaluate.

    ``complete_to`` is up to when everything that the model reads is whole; None where the
    project's clock has no time yet.
    """

    name: ModelName
    change: Change
    category: Category | None
    reasons: tuple[str, ...]
    previous_version: str | None
    version: str | None
    missing: tuple[Interval, ...] = ()
    complete_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What an environment shows before a plan: its snapshots, and their models as a graph."""

    snapshots: Mapping[ModelName, ModelSnapshot]
    graph: Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that applying it needs. ``base_revision`` is its token (DESIGN.md section 6).

    ``now`` is the project's clock, None where the clock's source has no time yet. ``changes`` are
    in dependency order, removed models last.
    """

    plan_id: str
    environment: str
    base_revision: int
    now: datetime | None
    graph: Graph
    snapshots: Mapping[ModelName, ModelSnapshot]
    changes: tuple[ModelChange, ...]
    promotes: bool

    @property
    def backfills(self) -> tuple[ModelChange, ...]:
        """The models that have something to evaluate, parents first."""
        return tuple(change for change in self.changes if change.missing)

    @property
    def is_empty(self) -> bool:
        """Whether applying the plan would do nothing."""
        return not self.promotes and not self.backfills


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A model's snapshot, and how it differs from what is shown.

    ``verdict`` tells this difference; the snapshot's own category tells the one that it was first
    stored with. None for a new and for an unchanged model.
    """

    change: Change
    snapshot: ModelSnapshot
    verdict: Verdict | None


def resolve_snapshots(
    graph: Graph, shown: Shown, stored: Mapping[tuple[ModelName, str], ModelSnapshot]
) -> dict[ModelName, Resolved]:
    """The snapshot of each model of a project, and how it differs from what is shown.

    Args:
        graph: The project.
        shown: What the environment shows (for a new environment: what production shows).
        stored: Snapshots of these models that an earlier plan stored; they are used as they are.
    """
    resolved: dict[ModelName, Resolved] = {}
    reaching: set[ModelName] = set()
    for node in graph:
        before = shown.snapshots.get(node.name)
        change, verdict = _difference(node, before, shown, reaching)
        if verdict is not None and verdict.category.reaches_children:
            reaching.add(node.name)
        known = stored.get((node.name, node.fingerprint.digest))
        if known is None and before is not None and change is Change.NONE:
            known = before
        resolved[node.name] = Resolved(
            change=change,
            verdict=verdict,
            snapshot=known
            or ModelSnapshot(
                name=node.name,
                fingerprint=node.fingerprint,
                version=_version(node, before, verdict=verdict, resolved=resolved, graph=graph),
                category=verdict.category if verdict else None,
                reasons=verdict.reasons if verdict else ("new model",),
                source=node.model.source,
            ),
        )
    return resolved


def _difference(
    node: Node, before: ModelSnapshot | None, shown: Shown, reaching: set[ModelName]
) -> tuple[Change, Verdict | None]:
    """How a model changed, and what that means; no verdict for a new or an unchanged one."""
    if before is None:
        return Change.ADDED, None
    old, new = before.fingerprint, node.fingerprint
    if old == new:
        return Change.NONE, None
    above = sorted(str(parent) for parent in node.model.parents if parent in reaching)
    reason = f"reads {', '.join(above)}, which changed"
    if old.data != new.data:
        verdict = categorize(shown.graph[node.name], node)
        if above and not verdict.category.reaches_children:
            # Its own change keeps its rows, but those of its parents do not.
            verdict = Verdict(category=Category.BREAKING, reasons=(*verdict.reasons, reason))
        return Change.DIRECT, verdict
    if old.parent_data != new.parent_data:
        return Change.INDIRECT, _indirect(node, reason if above else None)
    return Change.METADATA, Verdict(category=Category.METADATA, reasons=("only metadata changed",))


def _indirect(node: Node, above: str | None) -> Verdict:
    """What a change of parents only means; ``above`` tells which of them change rows or columns."""
    if above is not None:
        return Verdict(category=Category.INDIRECT_BREAKING, reasons=(above,))
    if reads_every_column(node):
        reason = "may read columns that it does not name, and its parents have other ones now"
        return Verdict(category=Category.INDIRECT_BREAKING, reasons=(reason,))
    return Verdict(
        category=Category.INDIRECT_NON_BREAKING, reasons=("nothing that it reads changed",)
    )


def _version(
    node: Node,
    before: ModelSnapshot | None,
    *,
    verdict: Verdict | None,
    resolved: Mapping[ModelName, Resolved],
    graph: Graph,
) -> str:
    if isinstance(node.model.kind, View):
        stored = stored_parents(graph, node.name)
        reads = [_physical(graph[parent], resolved[parent].snapshot) for parent in stored]
        inside = [graph[each].fingerprint.data for each in embedded_above(graph, node.name)]
        return view_version(node.fingerprint.data, reads, embedded=inside)
    keeps = (Category.INDIRECT_NON_BREAKING, Category.METADATA)
    if before is not None and verdict is not None and verdict.category in keeps:
        return before.version
    return node.fingerprint.data_version


def _physical(node: Node, snapshot: ModelSnapshot) -> TableName:
    """The name under which a query finds a model's rows: a source keeps its own."""
    if isinstance(node.model.kind, External):
        return TableName(node.name.schema, node.name.name)
    return snapshot.key.table


def complete_to(
    graph: Graph,
    now: datetime | None,
    *,
    valid_to: Mapping[ModelName, datetime],
    unborn: Collection[ModelName],
    capped: Mapping[ModelName, datetime | None],
) -> dict[ModelName, datetime | None]:
    """Up to when all that each model reads is whole, at the project's time.

    Args:
        graph: The project.
        now: The project's clock.
        valid_to: The valid-to times of the sources that declare one (seed 003, VTTS).
        unborn: Sources without any Iceberg snapshot, so without anything that a high-water mark
            could name: models that load them by sessions wait for their first one.
        capped: Up to where versions are held that this environment may not write (rule R9).
    """
    horizons: dict[ModelName, datetime | None] = {}
    for node in graph:
        own = None if _waits(node, unborn) else valid_to.get(node.name, now)
        own = capped.get(node.name, own)
        times = [now, own, *(horizons[parent] for parent in node.model.parents)]
        known = [time for time in times if time is not None]
        horizons[node.name] = min(known) if len(known) == len(times) else None
    return horizons


def _waits(node: Node, unborn: Collection[ModelName]) -> bool:
    policy = node.model.stateless
    return policy is not None and any(source in unborn for source in policy.sources)


def make_plan(
    *,
    plan_id: str,
    environment: str,
    base_revision: int,
    now: datetime | None,
    graph: Graph,
    shown: Shown,
    current: Mapping[ModelName, ModelSnapshot],
    resolved: Mapping[ModelName, Resolved],
    horizons: Mapping[ModelName, datetime | None],
    missing: Callable[[Node, VersionKey], tuple[Interval, ...]],
) -> Plan:
    """Put a plan together.

    Args:
        plan_id: Its identity.
        environment: The environment's canonical name.
        base_revision: The revision that the plan was made against; 0 for a new environment.
        now: The project's clock.
        graph: The project.
        shown: What the changes are told against.
        current: What the environment itself shows now; empty for a new one.
        resolved: The outcome of `resolve_snapshots`.
        horizons: The outcome of `complete_to`.
        missing: What a version lacks.
    """
    snapshots = {name: each.snapshot for name, each in resolved.items()}
    changes = [
        replace(_change(node, shown, resolved[node.name], missing), complete_to=horizons[node.name])
        for node in graph
    ]
    changes += [_removed(name, shown) for name in sorted(shown.snapshots) if name not in graph]
    return Plan(
        plan_id=plan_id,
        environment=environment,
        base_revision=base_revision,
        now=now,
        graph=graph,
        snapshots=snapshots,
        changes=tuple(changes),
        promotes=_identities(current.values()) != _identities(snapshots.values()),
    )


def _identities(snapshots: Iterable[ModelSnapshot]) -> set[tuple[ModelName, str]]:
    return {(each.name, each.fingerprint.digest) for each in snapshots}


def _change(
    node: Node,
    shown: Shown,
    found: Resolved,
    missing: Callable[[Node, VersionKey], tuple[Interval, ...]],
) -> ModelChange:
    snapshot, verdict = found.snapshot, found.verdict
    before = shown.snapshots.get(node.name)
    return ModelChange(
        name=node.name,
        change=found.change,
        category=verdict.category if verdict else None,
        reasons=_reasons(found),
        previous_version=before.version if before else None,
        version=snapshot.version,
        missing=missing(node, snapshot.key),
    )


def _reasons(found: Resolved) -> tuple[str, ...]:
    if found.verdict is not None:
        return found.verdict.reasons
    return ("new model",) if found.change is Change.ADDED else ()


def _removed(name: ModelName, shown: Shown) -> ModelChange:
    return ModelChange(
        name=name,
        change=Change.REMOVED,
        category=None,
        reasons=("no longer in the project",),
        previous_version=shown.snapshots[name].version,
        version=None,
    )
