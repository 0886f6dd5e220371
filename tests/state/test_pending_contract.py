"""What every state promises about high-water marks without rows, and about what is pending."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.state.builders import (
    KEY,
    MINUTE,
    OTHER,
    RAW,
    change,
    day,
    intent,
    load,
    mark,
    publication,
    publish,
    stage,
)
from vde_dagster.core.ledger.entries import LedgerOperation
from vde_dagster.core.ledger.late.pending import Pending, PendingReason
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import Lease, LeaseLost, State

LEFT = Pending(
    interval=Interval(day(0).start, day(2).end),
    sources=(RAW,),
    reason=PendingReason.BEYOND_THRESHOLD,
)


def session(state: State, lease: Lease, work_id: str, *left: Pending) -> None:
    """A recorded session that loads the first day and leaves something."""
    publish(state, lease, intent(work_id), replace(publication(moves=mark(2)), pending=left))


def test_what_a_session_leaves_is_recorded_with_its_rows(state: State, lease: Lease) -> None:
    session(state, lease, "w1", LEFT)
    assert state.pending([KEY, OTHER]) == {KEY: (LEFT,)}
    session(state, lease, "w2")
    assert state.pending([KEY]) == {}


def test_a_session_that_is_not_recorded_leaves_nothing(state: State, lease: Lease) -> None:
    stage(state, lease, intent("w1"), replace(publication(moves=mark(2)), pending=(LEFT,)))
    assert (state.pending([KEY]), state.marks(KEY)) == ({}, {})


def test_what_is_detected_moves_marks_and_replaces_what_is_pending(
    state: State, lease: Lease
) -> None:
    session(state, lease, "w1", LEFT)
    other = mark(1, ModelName("raw", "cancels"))
    less = replace(LEFT, interval=day(1))
    state.record_detected(KEY, [mark(3), other], (less,), lease=lease)
    assert state.marks(KEY) == {RAW: mark(3), other.source: other}
    assert state.pending([KEY]) == {KEY: (less,)}
    state.record_detected(KEY, [], (), lease=lease)
    assert (state.marks(KEY)[RAW], state.pending([KEY])) == (mark(3), {})


def test_who_lost_the_lease_records_nothing_that_was_detected(state: State, lease: Lease) -> None:
    state.acquire_lease(lease.resource, holder="me", ttl=MINUTE)
    with pytest.raises(LeaseLost):
        state.record_detected(KEY, [mark(3)], (LEFT,), lease=lease)
    assert (state.marks(KEY), state.pending([KEY])) == ({}, {})


def test_an_evaluation_takes_what_it_computed_out_of_what_is_pending(
    state: State, lease: Lease
) -> None:
    session(state, lease, "w1", LEFT)
    publish(state, lease, intent("w2"), replace(publication(change(1)), marks_stay=True))
    assert [each.interval for each in state.pending([KEY])[KEY]] == [day(0), day(2)]
    assert state.marks(KEY) == {RAW: mark(2)}


def test_a_table_that_is_replaced_whole_has_nothing_pending(state: State, lease: Lease) -> None:
    session(state, lease, "w1", LEFT)
    load(state, lease, "w2", change(0, operation=LedgerOperation.REPLACE_ALL))
    assert state.pending([KEY]) == {}
