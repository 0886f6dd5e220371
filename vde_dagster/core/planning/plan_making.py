"""Putting a plan together from what differs, what is loaded and what was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from vde_dagster.core.columns import Column
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.ledger.schema_changes import (
    ColumnAdded,
    ColumnIncompatible,
    ColumnWidened,
    SchemaChange,
    schema_changes,
)
from vde_dagster.core.ledger.stored_types import fits, is_nested
from vde_dagster.core.model.row_identity import IdentityChange, identity_changes
from vde_dagster.core.model.snapshot import Bounded, Category, ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.adoption import reads_changed_source
from vde_dagster.core.planning.bounds import effective, why_bounded
from vde_dagster.core.planning.changes.computed_values import computed_changes
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.planning.changes.reason_values import Reason, ReasonKind
from vde_dagster.core.planning.options import DEFAULT_OPTIONS, PlanOptions
from vde_dagster.core.planning.pauses import PausedModel
from vde_dagster.core.planning.plan import (
    Behind,
    ExistingVersion,
    Gap,
    LostTable,
    ModelChange,
    NotRestated,
    Plan,
    Staleness,
    Workload,
)
from vde_dagster.core.planning.resolution import Resolved, Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """What an environment itself shows, where its views are to be; empty for a new one.

    ``revision`` is 0 for a new one, ``hidden`` are models that it binds without a view.
    """

    revision: int = 0
    snapshots: Mapping[ModelName, ModelSnapshot] = field(default_factory=dict)
    hidden: frozenset[ModelName] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was found in the state about the versions of a plan.

    ``work`` and ``reuse`` are by model; a model that is absent has none. ``filled`` are models
    whose shown version was written, so that there is a table. ``foreign`` are those whose version
    another environment writes by its own definition, also while it is empty. ``recorded``
    are the columns of the tables of the plan's versions, as rows were written to them last.
    ``behind`` is what of versions that come back is behind, by model, and ``staleness`` what is of
    those that stay. ``dropped_views``, ``lost_tables``, ``dropped_tables``, ``unfinished``,
    ``shown_heads``, ``pauses`` and ``effective_from`` are those of `Plan`.
    """

    work: Mapping[ModelName, Workload] = field(default_factory=dict)
    reuse: Mapping[ModelName, ExistingVersion] = field(default_factory=dict)
    filled: frozenset[ModelName] = frozenset()
    foreign: frozenset[ModelName] = frozenset()
    recorded: Mapping[ModelName, tuple[Column, ...]] = field(default_factory=dict)
    stored: frozenset[ModelName] = frozenset()
    not_restated: tuple[NotRestated, ...] = ()
    gaps: tuple[Gap, ...] = ()
    behind: Mapping[ModelName, Behind] = field(default_factory=dict)
    staleness: Mapping[ModelName, Staleness] = field(default_factory=dict)
    dropped_views: tuple[ModelName, ...] = ()
    lost_tables: tuple[LostTable, ...] = ()
    dropped_tables: tuple[LostTable, ...] = ()
    unfinished: tuple[ModelName, ...] = ()
    shown_heads: Mapping[ModelName, int] = field(default_factory=dict)
    pauses: tuple[PausedModel, ...] = ()
    effective_from: Mapping[ModelName, datetime] = field(default_factory=dict)


def make_plan(
    *,
    plan_id: str,
    environment: str,
    now: datetime | None,
    graph: Graph,
    shown: Shown,
    current: Current,
    resolved: Mapping[ModelName, Resolved],
    complete_to: Mapping[ModelName, datetime | None],
    findings: Findings,
    options: PlanOptions = DEFAULT_OPTIONS,
    hidden: frozenset[ModelName] = frozenset(),
    left_out: tuple[ModelName, ...] = (),
) -> Plan:
    """Put a plan together.

    Args:
        plan_id: Its identity.
        environment: The environment's canonical name.
        now: The project's clock.
        graph: The project, or what a selection makes of it.
        shown: What the project is compared with.
        current: What the environment itself shows now.
        resolved: The outcome of `resolve_snapshots`.
        complete_to: The outcome of `complete_to`.
        findings: What the versions hold and lack.
        options: What was asked for.
        hidden: Models that get no view.
        left_out: Models whose change is not planned.
    """
    snapshots = {name: each.snapshot for name, each in resolved.items()}
    same = _identities(current.snapshots.values()) == _identities(snapshots.values())
    return Plan(
        plan_id=plan_id,
        environment=environment,
        base_revision=current.revision,
        now=now,
        graph=graph,
        snapshots=snapshots,
        changes=tuple(_changes(graph, shown, resolved, complete_to, findings)),
        promotes=not same or current.hidden != hidden,
        options=options,
        stored=findings.stored,
        views=_moved_views(graph, snapshots, current, hidden),
        removed=_lost_views(graph, shown, current, hidden),
        hidden=hidden,
        left_out=left_out,
        not_restated=findings.not_restated,
        gaps=findings.gaps,
        dropped_views=findings.dropped_views,
        lost_tables=findings.lost_tables,
        dropped_tables=findings.dropped_tables,
        unfinished=findings.unfinished,
        shown_heads=findings.shown_heads,
        pauses=findings.pauses,
        effective_from=findings.effective_from,
    )


def _changes(
    graph: Graph,
    shown: Shown,
    resolved: Mapping[ModelName, Resolved],
    complete_to: Mapping[ModelName, datetime | None],
    findings: Findings,
) -> Iterator[ModelChange]:
    """The change of each model of the project, then of those that are in it no more."""
    for node in graph:
        found, until = resolved[node.name], complete_to[node.name]
        change = _change(graph, node, shown, found, complete_to=until, findings=findings)
        reasons = why_bounded(shown.snapshots.get(node.name), found.snapshot)
        if node.name in findings.effective_from:
            reasons = (*reasons, effective(findings.effective_from[node.name]))
        yield replace(change, reasons=(*reasons, *change.reasons)) if reasons else change
    yield from (_removed(name, shown) for name in sorted(shown.snapshots) if name not in graph)


def _identities(
    snapshots: Iterable[ModelSnapshot],
) -> set[tuple[ModelName, str, str, Bounded | None]]:
    return {(e.name, e.fingerprint.digest, e.version, e.bounded) for e in snapshots}


def _change(
    graph: Graph,
    node: Node,
    shown: Shown,
    found: Resolved,
    *,
    complete_to: datetime | None,
    findings: Findings,
) -> ModelChange:
    snapshot, difference = found.snapshot, found.difference
    before = shown.snapshots.get(node.name)
    work = findings.work.get(node.name, Workload())
    return ModelChange(
        name=node.name,
        change=difference.change,
        category=difference.category,
        reasons=(*difference.reasons, *_of_tables(node, shown, found, findings)),
        previous_version=before.version if before else None,
        version=snapshot.version,
        missing=work.missing,
        complete_to=complete_to,
        decided_by=difference.decided_by,
        undecidable=difference.undecidable,
        columns_changed=difference.columns_changed,
        restated=work.restated,
        skipped=work.skipped,
        reuse=findings.reuse.get(node.name),
        may_adopt=bool(work.missing)
        and node.name in findings.filled
        and _is_only_downstream(graph, node, shown, found),
        schema_changes=_schema_changes(node, shown, snapshot, findings),
        identity_changes=tuple(_identity_changes(graph, node, shown, found, findings)),
        behind=findings.behind.get(node.name),
        staleness=findings.staleness.get(node.name),
        bounded=snapshot.bounded,
    )


def _is_only_downstream(graph: Graph, node: Node, shown: Shown, found: Resolved) -> bool:
    """Whether a model is as it was, and gets another version for what it reads (rule R6).

    What is bounded adopts nothing, and nothing adopts it.
    """
    before = shown.snapshots.get(node.name)
    return (
        before is not None
        and before.bounded is None
        and found.snapshot.bounded is None
        and not node.model.kind.is_view  # which is made at no cost
        and (found.difference.category is Category.INDIRECT_BREAKING or _gives_back(before, found))
        and found.snapshot.version != before.version
        and node.fingerprint.data == shown.graph[node.name].fingerprint.data
        and not reads_changed_source(shown.graph, graph, node.name)
    )


def _gives_back(before: ModelSnapshot | None, found: Resolved) -> bool:
    """Whether a model gives back the version that it had adopted, which has other rows by now."""
    return (
        before is not None
        and before.is_adopted
        and before.bounded is None
        and found.snapshot.bounded is None
        and found.difference.keeps_rows
        and found.snapshot.version != before.version
    )


def _of_tables(node: Node, shown: Shown, found: Resolved, findings: Findings) -> Iterator[Reason]:
    """What becomes of the table that is shown, where that does not follow from the edit alone."""
    before = shown.snapshots.get(node.name)
    if _gives_back(before, found):
        yield _GIVEN_BACK
    if (
        before is not None
        and before.version != found.snapshot.version
        and node.name in findings.filled
        and node.name not in findings.reuse
        and shown.graph[node.name].model.kind.keeps_history
    ):
        yield Reason(kind=ReasonKind.HISTORY_ENDS)


_GIVEN_BACK: Final = Reason(kind=ReasonKind.GIVEN_BACK)


def _schema_changes(
    node: Node, shown: Shown, snapshot: ModelSnapshot, findings: Findings
) -> tuple[SchemaChange, ...]:
    """What becomes of the table of a version that is kept by a model that differs (rule R11).

    Both sides are what queries are known to return: a table's own types may be spelled otherwise.
    """
    before, recorded = shown.snapshots.get(node.name), findings.recorded.get(node.name, ())
    if not node.model.kind.stores_rows:
        return ()
    if before is None or before.version != snapshot.version:
        stored_for_others = snapshot.version != snapshot.fingerprint.data_version
        return tuple(_lacking(node, recorded)) if stored_for_others else ()
    if before.fingerprint == snapshot.fingerprint or node.name not in findings.filled:
        return ()
    changes = schema_changes(shown.graph[node.name].columns, node.columns)
    return tuple(_of_table(node, each, recorded) for each in changes)


def _identity_changes(
    graph: Graph, node: Node, shown: Shown, found: Resolved, findings: Findings
) -> Iterator[IdentityChange]:
    """What of a model that differs says otherwise which rows of its kept table are the same.

    A preview is made to be kept one day, so it counts as what it is shown instead of.
    """
    before, snapshot = shown.snapshots.get(node.name), found.snapshot
    if (
        before is None
        or not node.model.kind.stores_rows
        or before.unbounded.version != snapshot.unbounded.version
        or before.fingerprint == snapshot.fingerprint
        or node.name not in findings.filled | findings.foreign
    ):
        return
    after = node.model if node.own_start is None else replace(node.model, start=node.own_start)
    yield from identity_changes(shown.graph[node.name].model, after)
    if not found.difference.keeps_rows:
        yield from computed_changes(shown.graph, graph, node.name)


def _lacking(node: Node, recorded: Sequence[Column]) -> Iterator[SchemaChange]:
    """What a table lacks of a model that was stored for it, and is shown for the first time.

    Another environment stored it, which does not change production's table.
    """
    for change in schema_changes(recorded, node.columns) if recorded else ():
        match change:
            case ColumnAdded():
                yield change
            case ColumnWidened() if node.model.declares(change.column) or is_nested(change.after):
                yield change


def _of_table(node: Node, change: SchemaChange, recorded: Sequence[Column]) -> SchemaChange:
    """A change, where what it adds was dropped once and is in the table still, with a type."""
    there = [each for each in recorded if each.name.lower() == change.column.lower()]
    if isinstance(change, ColumnWidened) and is_nested(change.after):
        return next(
            (
                ColumnIncompatible(column=found.name, before=found.type, after=change.after)
                for found in there
                if not fits(found.type, change.after)
            ),
            change,
        )
    if not isinstance(change, ColumnAdded):
        return change
    wanted = [Column(name=change.column, type=change.type)]
    for found in schema_changes(there, wanted) if there else ():
        certain = isinstance(found, ColumnWidened) or node.model.declares(change.column)
        return found if certain else change
    return change


def _moved_views(
    graph: Graph,
    snapshots: Mapping[ModelName, ModelSnapshot],
    current: Current,
    hidden: frozenset[ModelName],
) -> tuple[ModelName, ...]:
    """The models whose view is made or shows another version."""
    return tuple(
        node.name
        for node in graph
        if node.model.kind.is_physical
        and node.name not in hidden
        and (
            node.name in current.hidden
            or node.name not in current.snapshots
            or current.snapshots[node.name].version != snapshots[node.name].version
        )
    )


def _lost_views(
    graph: Graph, shown: Shown, current: Current, hidden: frozenset[ModelName]
) -> tuple[ModelName, ...]:
    """The models whose view is dropped: they are removed, hidden, or have none any more."""
    return tuple(
        sorted(
            name
            for name in current.snapshots
            if name not in current.hidden
            and shown.graph[name].model.kind.is_physical
            and (name not in graph or name in hidden or not graph[name].model.kind.is_physical)
        )
    )


def _removed(name: ModelName, shown: Shown) -> ModelChange:
    return ModelChange(
        name=name,
        change=Change.REMOVED,
        category=None,
        reasons=(Reason(kind=ReasonKind.MODEL_REMOVED),),
        previous_version=shown.snapshots[name].version,
        version=None,
    )
