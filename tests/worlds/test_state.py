"""A state in memory is one database that one thread at a time uses, by the clock of its test."""

from __future__ import annotations

import weakref
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from tests.state.builders import KEY, MINUTE, intent, publication, snapshot
from tests.worlds.clock import ManualClock
from tests.worlds.state import memory_state
from vde_dagster.core.errors import Conflict
from vde_dagster.ports.state import State


@pytest.mark.full
def test_threads_find_one_database_and_lose_nothing_of_each_other() -> None:
    state = memory_state(ManualClock())
    lease = state.acquire_lease(str(KEY), holder="me", ttl=MINUTE)

    def work(number: int) -> None:
        name = f"w{number}"
        state.record_intent(intent(name), lease=lease)
        state.record_staged(name, publication(), lease=lease)
        state.finalize(name, lease=lease)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(40)))
    assert len(state.works([f"w{number}" for number in range(40)])) == 40
    assert state.holdings([KEY])[KEY].number == 40


def test_leases_and_records_go_by_the_clock_that_was_given() -> None:
    clock = ManualClock()
    state = memory_state(clock)
    clock.advance(timedelta(days=200, seconds=1, milliseconds=1))
    lease = state.acquire_lease(str(KEY), holder="me", ttl=MINUTE)
    state.record_intent(intent("w1"), lease=lease)
    work = state.work("w1")
    assert work is not None
    assert work.started_at == clock.now()
    clock.advance(MINUTE - timedelta(milliseconds=1))
    with pytest.raises(Conflict, match="held by me"):
        state.acquire_lease(str(KEY), holder="you", ttl=MINUTE)
    clock.advance(timedelta(milliseconds=1))
    assert state.acquire_lease(str(KEY), holder="you", ttl=MINUTE).epoch == 2


@pytest.mark.full
def test_states_have_nothing_of_each_other_nor_of_one_that_is_gone() -> None:
    def filled() -> State:
        state = memory_state(ManualClock())
        assert state.owners([snapshot().key]) == {}
        state.store_snapshots([snapshot()], environment="dev")
        return state

    both = filled(), filled()
    assert [each.owners([snapshot().key]) for each in both] == [{snapshot().key: "dev"}] * 2
    ended = [weakref.ref(each) for each in both]
    del both
    assert [each() for each in ended] == [None, None]
    assert filled() is not None
