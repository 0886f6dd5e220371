"""Traces in the ledger: what the rows of an interval were computed from, on every adapter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.state.builders import KEY, OTHER, RAW, ROWS, SALES, change, day, record
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import (
    EntryStatus,
    LedgerChange,
    LedgerMismatch,
    LedgerOperation,
    Trace,
)
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import Lease, State

TRACE = Trace(key="k1", inputs={RAW: "t1", SALES: "t2"}, seconds=1.25)


def traced(number: int, trace: Trace | None = TRACE) -> LedgerChange:
    return replace(change(number), trace=trace)


def kept(number: int, rows: RowSum = ROWS, interval: Interval | None = None) -> LedgerChange:
    return LedgerChange(
        operation=LedgerOperation.KEEP,
        interval=interval or day(number),
        rows=rows,
        kept=day(number),
    )


def traces(state: State, key: VersionKey = KEY) -> list[Trace | None]:
    return [each.trace for each in state.ledger([key])[key]]


@pytest.mark.full
def test_an_entry_has_the_trace_of_its_last_write(state: State) -> None:
    record(state, "w1", traced(0), traced(1))
    assert traces(state) == [TRACE, TRACE]
    later = replace(TRACE, key="k2")
    record(state, "w2", traced(0, later), change(1))
    assert traces(state) == [later, None]


def test_rows_that_are_added_take_the_trace_away(state: State) -> None:
    record(state, "w1", traced(0), traced(1))
    record(state, "w2", change(1, operation=LedgerOperation.ADD))
    assert traces(state) == [TRACE, None]


def test_what_is_outdated_keeps_its_trace_unless_it_is_to_be_computed_again(
    state: State, environment: Lease
) -> None:
    record(state, "w1", traced(0), traced(1))
    record(state, "w2", traced(0), key=OTHER)
    times = {KEY: [day(0)], OTHER: [day(0)]}
    state.outdate(times, reason="restated", lease=environment, rebuilt={KEY})
    assert traces(state) == [None, TRACE]
    assert traces(state, OTHER) == [TRACE]
    assert {each.status for each in state.ledger([OTHER])[OTHER]} == {EntryStatus.OUTDATED}


def test_what_is_kept_is_computed_again_and_nothing_else_of_it_changes(
    state: State, environment: Lease
) -> None:
    record(state, "w1", traced(0), traced(1))
    before = state.ledger([KEY])[KEY]
    state.outdate({KEY: [day(0)]}, reason="restated", lease=environment)
    record(state, "w2", kept(0), change(1))
    after = state.ledger([KEY])[KEY]
    assert after[0] == before[0]
    assert (after[1].work_id, after[1].trace) == ("w2", None)


def test_what_is_kept_may_stand_for_a_longer_time(state: State) -> None:
    record(state, "w1", replace(traced(0), operation=LedgerOperation.REPLACE_ALL))
    (before,) = state.ledger([KEY])[KEY]
    longer = Interval(day(0).start, day(3).end)
    record(state, "w2", kept(0, interval=longer))
    (after,) = state.ledger([KEY])[KEY]
    assert after == replace(before, interval=longer)


def test_what_is_not_there_any_more_is_not_kept(state: State) -> None:
    record(state, "w1", traced(0))
    before = state.ledger([KEY])
    with pytest.raises(LedgerMismatch, match="kept"):
        record(state, "w2", kept(0, RowSum(rows=4)))
    assert state.ledger([KEY]) == before
