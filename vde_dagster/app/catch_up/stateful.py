"""What a stateful session of a version would do now, from metadata and state (seed 003)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from vde_dagster.app.inputs.completeness import Due, due_of
from vde_dagster.app.inputs.seen import Seen
from vde_dagster.app.inputs.staying import StaleLook, stale_looks
from vde_dagster.core.graph.graph import Node, sources
from vde_dagster.core.ledger.late.history import SourceHistory, SourceOperation, SourceStatus
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.pending import Pending, PendingReason
from vde_dagster.core.ledger.late.question import LateRows, StatefulQuestion, TrackedHistory
from vde_dagster.core.ledger.staleness import Stale
from vde_dagster.core.model.late_data import TrackedSource
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import EVER, Interval, common, meets, merge, subtract
from vde_dagster.core.time.intervals import due as whole_units


def stateful_question(
    seen: Seen,
    node: Node,
    now: datetime,
    *,
    reload: bool,
    within: Interval | None,
    asked: Interval | None,
) -> StatefulQuestion:
    """All that a session of a model is decided from; see `detect` for the arguments."""
    services, binding = seen.services, seen.binding
    policy, key = node.model.stateful, binding.key(node.name)
    assert policy is not None, f"{node.name} has sessions in stateful mode"
    due = due_of(services, binding, node.name, alone=True, asked=asked, seen=seen)
    marks = {} if reload else services.state.marks(key)
    tracked = tuple(_history(seen, each, marks.get(each.name), due) for each in policy.tracked)
    loaded, pending = seen.holding(key).recorded, seen.pending.get(key, ())
    histories = {each.name: each.history for each in tracked}
    late = late_rows(seen, node, histories, pending)
    if reload:
        late = tuple(LateRows(interval=each, sources=policy.sources) for each in loaded)
        policy = replace(policy, catchup_threshold=None)
    unit, bounds = node.model.unit, EVER if within is None else within
    inside = (whole_units(each.start, each.end, unit) for each in common(due.missing, [bounds]))
    missing = subtract((each for each in inside if each is not None), loaded)
    if node.model.reads_itself:  # an interval behind a gap lacks the one before it
        missing = common(missing, merge([*loaded, *missing])[:1])
    return StatefulQuestion(
        policy=policy,
        sources=tracked,
        late=late,
        missing=missing,
        loaded=loaded,
        unit=unit,
        start=node.model.start,
        now=now,
        limit=due.complete_to,
    )


def _history(
    seen: Seen,
    tracked: TrackedSource,
    mark: HighWaterMark | None,
    due: Due,
) -> TrackedHistory:
    name = tracked.name
    if seen.binding.graph[name].model.kind.is_source:
        history = seen.services.catalog.history(name, mark)
    else:
        history = _of_model(seen, tracked, mark, due)
    return TrackedHistory(name=name, mark=mark, history=history, complete_to=due.inputs.get(name))


def _of_model(
    seen: Seen,
    tracked: TrackedSource,
    mark: HighWaterMark | None,
    due: Due,
) -> SourceHistory:
    """A model of the project as a source: its mark counts the changes of its ledger."""
    name, key = tracked.name, seen.binding.key(tracked.name)
    holding, head = seen.holding(key), seen.heads.get(key)
    if head is None:
        return SourceHistory(status=SourceStatus.INITIAL, head=None)
    now = HighWaterMark(
        source=name,
        table_uuid=key.version,
        iceberg_snapshot_id=head,
        sequence_number=holding.number,
        committed_at=seen.services.clock.now(),
        complete_to=due.inputs.get(name),
    )
    if mark is None:
        return SourceHistory(status=SourceStatus.INITIAL, head=now)
    if (mark.table_uuid, mark.sequence_number) == (now.table_uuid, now.sequence_number):
        return SourceHistory(status=SourceStatus.UNCHANGED, head=mark)
    return SourceHistory(status=SourceStatus.CHANGED, head=now)


_KNOWN: Final = (SourceStatus.UNCHANGED, SourceStatus.CHANGED)
"""Where it is known what happened to a source since its mark."""


def late_rows(
    seen: Seen,
    node: Node,
    histories: Mapping[ModelName, SourceHistory],
    pending: tuple[Pending, ...],
) -> tuple[LateRows, ...]:
    """The loaded intervals whose inputs have other rows now, by the traces of what is loaded.

    Args:
        seen: What is read of it and of what is upstream.
        node: A model with sessions in stateful mode.
        histories: The tracked sources since the marks.
        pending: What an earlier session left.
    """
    look = _look(seen, node)
    if look is None:
        return ()
    policy = node.model.stateful
    assert policy is not None, f"{node.name} has sessions in stateful mode"
    removals = _Removals(look=look, histories=histories, pending=pending)
    tracked = set(policy.sources)
    return tuple(
        LateRows(
            interval=each.entry.interval,
            sources=tuple(name for name in each.inputs if name in tracked) or each.inputs,
            removed=removals.only(each),
            tracked=bool(tracked & set(each.inputs)),
        )
        for each in look.stale
    )


def _look(seen: Seen, node: Node) -> StaleLook | None:
    """A look at the version, from where the last one ended; None if nothing is stale."""
    graph = seen.binding.graph.above([node.name])
    snapshots = {name: seen.binding.snapshots[name] for name in graph.nodes}
    tables = {each: seen.source(each) for each in sources(graph)}
    looks = stale_looks(
        seen.services, graph, snapshots, seen.holdings, tables, last=seen.last_looks
    )
    return next((look for _, look, _ in looks.found([node.name])), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Removals:
    """Whether intervals are late only because a source has lost rows, as by its retention."""

    look: StaleLook
    histories: Mapping[ModelName, SourceHistory]
    pending: tuple[Pending, ...]

    def only(self, stale: Stale) -> bool:
        """Whether rows of an entry were only removed."""
        return all(self._removed(name, stale) for name in stale.inputs)

    def _removed(self, name: ModelName, stale: Stale) -> bool:
        history = self.histories.get(name) if self.look.inputs.states.is_source(name) else None
        read = self.look.inputs.read(name, stale.entry)
        if history is None or read is None or history.status not in _KNOWN:
            return False
        operations = list(self._operations(name, history, read))
        if operations:
            return all(each is SourceOperation.DELETE for each in operations)
        return any(
            each.reason is PendingReason.REMOVED
            and name in each.sources
            and meets([each.interval], stale.entry.interval)
            for each in self.pending
        )

    def _operations(
        self, name: ModelName, history: SourceHistory, read: Interval
    ) -> Iterator[SourceOperation]:
        """What the Iceberg snapshots after the mark did to rows of this time."""
        known = {each.iceberg_snapshot_id: each.operation for each in history.changes}
        bounds = self.look.inputs.bounds
        column = bounds[name].column if name in bounds else ""
        changes = self.look.inputs.states.newest_changes(name, column, len(known))
        for change in changes:
            if change is None or change.times is None or meets(change.times, read):
                found = None if change is None else known.get(change.iceberg_snapshot_id)
                yield found or SourceOperation.OVERWRITE
