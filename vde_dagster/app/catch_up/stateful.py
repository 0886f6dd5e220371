"""What a stateful session of a version would do now, from metadata and state (seed 003)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from vde_dagster.app.catch_up.late_rows import late_rows
from vde_dagster.app.inputs.due import Due, due_of
from vde_dagster.app.inputs.seen import Seen
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.late.history import SourceHistory, SourceStatus
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.question import LateRows, StatefulQuestion, TrackedHistory
from vde_dagster.core.model.late_data import TrackedSource
from vde_dagster.core.time.intervals import EVER, Interval, common, merge, subtract


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
    missing = subtract(subtract(due.missing, _outside(within)), loaded)
    if node.model.reads_itself:  # an interval behind a gap lacks the one before it
        missing = common(missing, merge([*loaded, *missing])[:1])
    return StatefulQuestion(
        policy=policy,
        sources=tracked,
        late=late,
        missing=missing,
        loaded=loaded,
        unit=node.model.unit,
        start=node.model.start,
        now=now,
        limit=due.complete_to,
    )


def _outside(within: Interval | None) -> tuple[Interval, ...]:
    return () if within is None else subtract([EVER], [within])


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
