"""Time and identity, the machine's and those of tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.worlds.clock import ManualClock
from tests.worlds.ids import CountingIds
from vde_dagster.ports.clock import Clock, Ids
from vde_dagster.project.machine import RandomIds, SystemClock


@pytest.mark.parametrize("ids", [CountingIds(), RandomIds()])
def test_ids_are_32_hexadecimal_digits_and_all_different(ids: Ids) -> None:
    made = [ids.new() for _ in range(1000)]
    assert len(set(made)) == 1000
    assert all(len(each) == 32 and int(each, 16) >= 0 for each in made)


@pytest.mark.parametrize("clock", [ManualClock(), SystemClock()])
def test_clocks_give_utc(clock: Clock) -> None:
    assert clock.now().tzinfo is UTC


def test_the_systems_clock_is_the_machines() -> None:
    assert abs(SystemClock().now() - datetime.now(UTC)) < timedelta(seconds=5)


def test_a_manual_clock_moves_only_forward_and_only_when_told() -> None:
    clock = ManualClock(datetime(2024, 5, 1, tzinfo=UTC))
    clock.advance(timedelta(hours=1))
    assert clock.now() == clock.now() == datetime(2024, 5, 1, 1, tzinfo=UTC)
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(timedelta(seconds=-1))


@pytest.mark.parametrize("clock", [ManualClock(), SystemClock()])
def test_after_waiting_it_is_later(clock: Clock) -> None:
    length = timedelta(milliseconds=20)
    before = clock.now()
    clock.wait(length)
    assert clock.now() - before >= length / 2  # the machine's clock may be set meanwhile
