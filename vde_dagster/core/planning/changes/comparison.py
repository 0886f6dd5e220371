"""Two graphs side by side: how each model differs, with a category and reasons.

A change is followed from the models that were edited to those that it reaches, by what the rows and
columns of each follow from (seed 000, *Automatic Change Categorization*, down to the column).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.model.snapshot import Category, DecidedBy
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.difference import Change, Difference, Rules
from vde_dagster.core.planning.changes.flow import (
    Flow,
    changed_models,
    flow_of,
    unchanged_flow,
)
from vde_dagster.core.planning.changes.reason_values import Reason, ReasonKind
from vde_dagster.core.planning.changes.reasons import Readers, why_reached
from vde_dagster.core.planning.changes.verdicts import Delta, Verdict, direct_verdict
from vde_dagster.core.sql.meaning.parts import digest_of

DEFAULT_RULES: Final = Rules()

_KEEPING: Final = (
    Category.FORWARD_ONLY,
    Category.INDIRECT_NON_BREAKING,
    Category.METADATA,
)


def compare_graphs(
    before: Graph, after: Graph, rules: Rules = DEFAULT_RULES
) -> dict[ModelName, Difference]:
    """How each model differs: those of ``after`` parents first, then removed ones by name.

    Linear in the models that changed and in what they read.
    """
    changed = changed_models(before, after)
    if not changed:
        return {node.name: Difference(name=node.name, change=Change.NONE) for node in after}
    comparison = _Comparison(
        before=before,
        rules=rules,
        old=_flows(before, changed, _upstream(changed, before, after)),
        readers=Readers.of(before, after),
    )
    found = {
        node.name: comparison.difference(node)
        if node.name in changed
        else comparison.unchanged(node)
        for node in after
    }
    reasons = (Reason(kind=ReasonKind.MODEL_REMOVED),)
    removed = (name for name in before.nodes if name not in after)
    for name in sorted(removed):
        columns = tuple(each.name.lower() for each in before[name].columns)
        found[name] = Difference(
            name=name, change=Change.REMOVED, reasons=reasons, columns_changed=columns
        )
    return found


def _upstream(changed: Collection[ModelName], *graphs: Graph) -> set[ModelName]:
    """What the changed models of two graphs read, also through views."""
    found: set[ModelName] = set()
    for graph in graphs:
        waiting = [graph[name] for name in changed if name in graph]
        while waiting:
            node = waiting.pop()
            for parent in node.model.parents:
                if parent not in found and graph[parent].model.kind.is_inlined:
                    waiting.append(graph[parent])
                found.add(parent)
    return found


def _flows(
    graph: Graph, changed: Collection[ModelName], upstream: Collection[ModelName]
) -> dict[ModelName, Flow]:
    """The flows of changed models, and of the unchanged ones that they read."""
    flows: dict[ModelName, Flow] = {}
    for node in graph:
        if node.name in changed:
            flows[node.name] = flow_of(node, flows)
        elif node.name in upstream:
            flows[node.name] = unchanged_flow(node, flows)
    return flows


@dataclass(slots=True, kw_only=True)
class _Comparison:
    """The differences of a graph's models, parents first: each is judged after those upstream.

    ``new`` has the flow that each model's readers see, ``true`` the one that it would have if all
    were computed again. They differ where a category keeps a change from the readers; ``diverged``
    says that they do.
    """

    before: Graph
    rules: Rules
    old: Mapping[ModelName, Flow]
    readers: Readers
    new: dict[ModelName, Flow] = field(default_factory=dict)
    true: dict[ModelName, Flow] = field(default_factory=dict)
    diverged: bool = False

    def unchanged(self, node: Node) -> Difference:
        """A model that is unchanged, with all that is upstream of it."""
        if node.name in self.old:
            self.new[node.name] = self.true[node.name] = self.old[node.name]
        return Difference(name=node.name, change=Change.NONE)

    def difference(self, node: Node) -> Difference:
        """How a model differs; what it passes on to its readers is kept for them."""
        flow = flow_of(node, self.new)
        true = self.true[node.name] = flow_of(node, self.true) if self.diverged else flow
        if node.name not in self.before:
            self.new[node.name] = flow
            return _added(node, flow)
        old = self.old[node.name]
        change, verdict = self._verdict(node, Delta.between(old, flow))
        rebuilt = verdict.category not in _KEEPING
        drifted = node.name in self.rules.drifted
        if rebuilt and drifted and verdict.decided_by is DecidedBy.AUTOMATIC:
            flow = replace(flow, rows=digest_of("rebuilt", flow.rows))
            verdict = _rebuilt(change, verdict)
        self.new[node.name] = _passed_on(verdict, old, flow)
        self.diverged |= self.new[node.name] is not true
        differs = bool(Delta.between(old, true)) and not verdict.equal
        unseen = verdict.category in (Category.INDIRECT_NON_BREAKING, Category.METADATA)
        return Difference(
            name=node.name,
            change=change,
            category=verdict.category,
            reasons=verdict.reasons,
            decided_by=verdict.decided_by,
            undecidable=verdict.undecidable,
            rebuild=not node.model.kind.is_source and rebuilt,
            columns_changed=() if unseen else Delta.between(old, flow).columns,
            drifted=node.model.kind.stores_rows and not rebuilt and (drifted or differs),
        )

    def _verdict(self, node: Node, delta: Delta) -> tuple[Change, Verdict]:
        before = self.before[node.name]
        upstream = tuple(why_reached(node, self.old, self.new))
        if before.fingerprint.data != node.fingerprint.data:
            verdict = direct_verdict(
                before, node, delta, upstream=upstream, readers=self.readers, rules=self.rules
            )
            return Change.DIRECT, verdict
        if before.fingerprint.parent_data != node.fingerprint.parent_data:
            return Change.INDIRECT, _indirect_verdict(node, delta, upstream, self.rules)
        own = before.fingerprint.metadata != node.fingerprint.metadata
        kinds = [ReasonKind.METADATA if own else ReasonKind.METADATA_UPSTREAM]
        if _audits(before) != _audits(node):
            kinds.append(ReasonKind.AUDITS)
        reasons = tuple(Reason(kind=each) for each in kinds)
        return Change.METADATA, Verdict(category=Category.METADATA, reasons=reasons)


def _audits(node: Node) -> tuple[object, ...]:
    return node.model.audits, node.model.own_audits


def _added(node: Node, flow: Flow) -> Difference:
    return Difference(
        name=node.name,
        change=Change.ADDED,
        reasons=(Reason(kind=ReasonKind.MODEL_ADDED),),
        rebuild=not node.model.kind.is_source,
        columns_changed=tuple(flow.columns),
    )


def _rebuilt(change: Change, verdict: Verdict) -> Verdict:
    """A verdict where the rows that are there follow from earlier definitions, too."""
    breaking = Category.BREAKING if change is Change.DIRECT else Category.INDIRECT_BREAKING
    reasons = (*verdict.reasons, Reason(kind=ReasonKind.DRIFTED))
    return replace(verdict, category=breaking, reasons=reasons)


def _indirect_verdict(
    node: Node, delta: Delta, upstream: tuple[Reason, ...], rules: Rules
) -> Verdict:
    """What changes upstream mean for a model: they reach its rows or columns, or they do not."""
    if not delta:
        reason = Reason(kind=ReasonKind.NOTHING_READ_CHANGED)
        return Verdict(category=Category.INDIRECT_NON_BREAKING, reasons=(reason,))
    if node.name in rules.equal:
        reason = Reason(kind=ReasonKind.EQUAL_ROWS)
        category = Category.INDIRECT_NON_BREAKING
        return Verdict(category=category, reasons=(*upstream, reason), equal=True)
    if rules.settled.get(node.name, node.model.goes_forward):
        reason = Reason(kind=ReasonKind.FORWARD_ONLY_UPSTREAM)
        return Verdict(category=Category.FORWARD_ONLY, reasons=(*upstream, reason))
    return Verdict(category=Category.INDIRECT_BREAKING, reasons=upstream)


def _passed_on(verdict: Verdict, old: Flow, new: Flow) -> Flow:
    """What a model's readers find, as far as a category or a person says so.

    Where a change is not to reach them, what was there before counts as unchanged.
    """
    if verdict.ends_here:
        kept = {name: old.columns.get(name, each) for name, each in new.columns.items()}
        return Flow(rows=old.rows, columns=kept, unknown=old.unknown)
    person = verdict.decided_by is DecidedBy.PERSON
    if person and verdict.category is Category.BREAKING:
        return replace(new, rows=digest_of("decided", new.rows))
    return new
