"""What a stateful session overwrites, and what it leaves pending: one case for each rule."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from vde_dagster.core.ledger.late.decision import Load, NothingToLoad, SourceFound, Stop
from vde_dagster.core.ledger.late.history import (
    ProcessingUri,
    SourceChange,
    SourceHistory,
    SourceOperation,
    SourceStatus,
)
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.pending import Pending, PendingReason
from vde_dagster.core.ledger.late.question import LateRows, StatefulQuestion, TrackedHistory
from vde_dagster.core.ledger.late.stateful import decide_stateful
from vde_dagster.core.model.late_data import (
    LateDataMode,
    LateDataPolicy,
    LoadType,
    OnSourceRewrite,
    TrackedSource,
)
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import EPOCH, Interval, IntervalUnit

A, B = ModelName("raw", "a"), ModelName("raw", "b")
POLICY = LateDataPolicy(
    mode=LateDataMode.STATEFUL, tracked=(TrackedSource(name=A), TrackedSource(name=B))
)
URI = ProcessingUri(partition=(("hour", 3),), files=1, rows=2)


def at(hours: float) -> datetime:
    return EPOCH + timedelta(hours=hours)


def span(first: int, last: int) -> Interval:
    """From an hour to the end of another one."""
    return Interval(at(first), at(last + 1))


def mark(source: ModelName, number: int) -> HighWaterMark:
    return HighWaterMark(
        source=source,
        table_uuid="u",
        iceberg_snapshot_id=1000 + number,
        sequence_number=number,
        committed_at=at(number),
        complete_to=None,
    )


def tracked(
    name: ModelName,
    status: SourceStatus = SourceStatus.CHANGED,
    *operations: SourceOperation,
    complete_to: float = 6,
) -> TrackedHistory:
    changes = tuple(
        SourceChange(iceberg_snapshot_id=1001 + number, operation=each, added=(URI,))
        for number, each in enumerate(operations)
    )
    head = None if status is SourceStatus.MISSING else mark(name, 1 + len(changes))
    history = SourceHistory(status=status, head=head, changes=changes)
    return TrackedHistory(
        name=name, mark=mark(name, 1), history=history, complete_to=at(complete_to)
    )


APPENDED = tracked(A, SourceStatus.CHANGED, SourceOperation.APPEND)
STILL = tracked(B, SourceStatus.UNCHANGED)
ASKED = StatefulQuestion(
    policy=POLICY,
    sources=(APPENDED, STILL),
    late=(),
    missing=(),
    loaded=(span(0, 5),),
    unit=IntervalUnit.HOUR,
    start=at(0),
    now=at(6),
    limit=at(6),
)


def late(first: int, last: int, *, removed: bool = False, tracked: bool = True) -> LateRows:
    return LateRows(interval=span(first, last), sources=(A,), removed=removed, tracked=tracked)


def loads(**asked: Any) -> Load:
    """What is loaded if this is another answer or setting than usual."""
    found = decide_stateful(replace(ASKED, **asked))
    assert isinstance(found, Load)
    return found


def loads_nothing(**asked: Any) -> NothingToLoad:
    found = decide_stateful(replace(ASKED, **asked))
    assert isinstance(found, NothingToLoad)
    return found


def test_the_changed_hours_are_overwritten_as_of_the_new_marks() -> None:
    found = decide_stateful(replace(ASKED, late=(late(2, 3),)))
    assert found == Load(
        mode=LateDataMode.STATEFUL,
        sources=(
            SourceFound(before=mark(A, 1), after=mark(A, 2), evidence=(URI,)),
            SourceFound(before=mark(B, 1), after=mark(B, 1)),
        ),
        fill=(span(2, 3),),
        late=(span(2, 3),),
        limit=at(6),
    )
    assert found.why_again == "rows of raw.a have changed since it was loaded"


def test_what_is_due_is_loaded_with_what_is_late() -> None:
    found = loads(late=(late(2, 2),), missing=(span(6, 6),), limit=at(7), now=at(7))
    assert (found.fill, found.late) == ((span(2, 2), span(6, 6)), (span(2, 2),))


def test_load_type_range_overwrites_everything_between() -> None:
    policy = replace(POLICY, load_type=LoadType.RANGE)
    changed = (late(1, 1), late(3, 3))
    due = {"missing": (span(6, 6),), "limit": at(7), "now": at(7)}
    found = loads(policy=policy, late=changed, **due)
    assert (found.fill, found.late) == ((span(1, 6),), (span(1, 5),))


def test_what_is_beyond_the_threshold_stays_pending() -> None:
    policy = replace(POLICY, catchup_threshold=timedelta(hours=3))
    found = loads(policy=policy, late=(late(1, 4),))
    assert found.fill == (span(3, 4),)
    assert found.pending == (
        Pending(interval=span(1, 2), sources=(A,), reason=PendingReason.BEYOND_THRESHOLD),
    )


def test_a_range_does_not_reach_over_what_is_beyond_the_threshold() -> None:
    policy = replace(POLICY, catchup_threshold=timedelta(hours=3), load_type=LoadType.RANGE)
    changed = (late(1, 1), late(3, 3), late(5, 5))
    found = loads(policy=policy, late=changed)
    assert found.fill == (span(3, 5),)


def test_a_range_leaves_out_what_lies_within_it_and_stays_pending() -> None:
    policy = replace(POLICY, load_type=LoadType.RANGE)
    changed = (late(1, 1), late(3, 3, removed=True), late(5, 5))
    found = loads(policy=policy, late=changed)
    assert found.fill == (span(1, 2), span(4, 5))
    assert [each.interval for each in found.pending] == [span(3, 3)]


def test_what_a_source_has_beyond_the_limit_is_pending_and_not_loaded() -> None:
    ahead = tracked(A, SourceStatus.CHANGED, SourceOperation.APPEND, complete_to=8)
    found = loads(sources=(ahead, STILL), late=(late(4, 5),), now=at(9), limit=at(5.5))
    assert found.fill == (span(4, 4),)
    assert found.pending == (
        Pending(interval=span(5, 5), sources=(A,), reason=PendingReason.INCOMPLETE),
        Pending(interval=span(6, 7), sources=(A,), reason=PendingReason.INCOMPLETE),
    )


def test_nothing_is_loaded_while_it_is_not_known_how_far_a_source_goes() -> None:
    found = loads_nothing(late=(late(2, 2),), limit=None)
    assert found.pending[0].reason is PendingReason.INCOMPLETE


def test_rows_that_a_source_has_lost_are_listed_and_never_loaded() -> None:
    found = loads(late=(late(0, 1, removed=True), late(4, 4)))
    assert found.fill == (span(4, 4),)
    assert [(each.interval, each.reason) for each in found.pending] == [
        (span(0, 1), PendingReason.REMOVED)
    ]


def test_a_change_of_a_source_that_is_not_tracked_is_reported() -> None:
    found = loads_nothing(late=(late(2, 2, tracked=False),))
    assert [each.reason for each in found.pending] == [PendingReason.UNTRACKED]
    assert "the changed source is not listed in late_data" in found.reason


def test_a_compaction_alone_moves_the_mark() -> None:
    compacted = tracked(A, SourceStatus.CHANGED, SourceOperation.REPLACE)
    found = loads_nothing(sources=(compacted, STILL))
    assert found.has_moved
    assert [each.after for each in found.sources] == [mark(A, 2), mark(B, 1)]


def test_without_any_change_no_mark_moves() -> None:
    found = loads_nothing(sources=(tracked(A, SourceStatus.UNCHANGED), STILL))
    assert not found.has_moved


REWRITES = [
    (tracked(A, SourceStatus.CHANGED, SourceOperation.OVERWRITE), "overwrites rows"),
    (tracked(A, SourceStatus.CHANGED, SourceOperation.DELETE), "deletes rows"),
    (tracked(A, SourceStatus.ROLLED_BACK), "rolled back"),
    (tracked(A, SourceStatus.EXPIRED), "has been expired"),
    (tracked(A, SourceStatus.RECREATED), "dropped and created again"),
]


@pytest.mark.parametrize("source,word", REWRITES)
def test_a_rewrite_overwrites_what_it_touched_or_stops_by_policy(
    source: TrackedHistory, word: str
) -> None:
    asked = replace(ASKED, sources=(source, STILL), late=(late(2, 2),))
    found = decide_stateful(asked)
    assert isinstance(found, Load)
    assert found.fill == (span(2, 2),)
    assert word in found.rewrite
    stopping = replace(POLICY, on_source_rewrite=OnSourceRewrite.STOP)
    stopped = decide_stateful(replace(asked, policy=stopping))
    assert isinstance(stopped, Stop)
    assert word in stopped.reason


@pytest.mark.parametrize("source,word", REWRITES)
def test_a_rewrite_of_what_is_not_loaded_stops_nothing(source: TrackedHistory, word: str) -> None:
    stopping = replace(POLICY, on_source_rewrite=OnSourceRewrite.STOP)
    asked = replace(ASKED, policy=stopping, sources=(source, STILL), missing=(span(6, 6),))
    found = decide_stateful(replace(asked, limit=at(7), now=at(7)))
    assert isinstance(found, Load), word
    assert found.fill == (span(6, 6),)


def test_a_missing_source_stops_with_its_name() -> None:
    found = decide_stateful(replace(ASKED, sources=(tracked(A, SourceStatus.MISSING), STILL)))
    assert isinstance(found, Stop)
    assert "raw.a" in found.reason


def test_a_source_without_rows_has_no_mark_yet() -> None:
    empty = TrackedHistory(
        name=A, mark=None, history=SourceHistory(status=SourceStatus.INITIAL, head=None)
    )
    found = loads(sources=(empty, STILL), missing=(span(5, 5),))
    assert [each.name for each in found.sources] == [B]
