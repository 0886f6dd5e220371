"""A power cut at any call of a port while late rows land; one more run always converges."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime
from typing import cast

import pytest

from tests.app.memory_world import (
    PROJECT,
    RAW,
    START,
    Fuse,
    MemoryWorld,
    PowerCut,
    bound,
    graph_of,
    hour_of,
    made_once,
)
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.core.ledger.entries import loaded_intervals
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

EVENTS_NAME = ModelName("staging", "events")
GRAPH = graph_of(PROJECT)


@made_once
def built_on_nothing() -> MemoryWorld:
    """Production is built before any row lands."""
    world = MemoryWorld.landed(until=3)
    world.build(GRAPH)
    return world


def run_session(world: MemoryWorld, fuse: Fuse | None = None) -> None:
    services = world.services(fuse)
    catch_up(services, bound(services), EVENTS_NAME)


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(each, marks=pytest.mark.full) for each in range(3, 60))]
)
def test_random_landings_sessions_and_power_cuts_neither_lose_nor_double_a_row(seed: int) -> None:
    chance = random.Random(seed)
    world = built_on_nothing()
    until = 3.0
    for _ in range(12):
        until += chance.choice([0, 1, 2, 5])
        hours = [chance.uniform(0, until + 4) for _ in range(chance.randrange(4))]
        world.land(*((hour, chance.randrange(100)) for hour in hours), until=until)
        fuse = Fuse(cut_at=chance.randrange(1, 25), after=chance.random() < 0.5)
        try:
            run_session(world, fuse)
        except PowerCut:
            world.reboot()
        assert_table_is_the_source_as_of_the_mark(world)
    world.land(until=until + 1)
    run_session(world)
    services = world.services()
    key = world.bound().key(EVENTS_NAME)
    assert not services.state.open_work(key)
    loaded = loaded_intervals(services.state.ledger([key])[key])
    assert loaded == (Interval(START, hour_of(until + 1)),)
    table = world.catalog.tables[RAW]
    end = hour_of(until + 1)
    landed = [row for row in table.rows_at(table.head) if cast("datetime", row[1]) < end]
    assert world.rows("staging.events") == sorted(landed)
    assert_ledger_is_true(world)


def assert_ledger_is_true(world: MemoryWorld) -> None:
    """What the ledger says of each hour is what a reader counts there."""
    key = world.bound().key(EVENTS_NAME)
    counted = Counter(
        int((row[1] - START).total_seconds() // 3600)  # type: ignore[operator]
        for row in world.rows("staging.events")
    )
    entries = world.services().state.ledger([key])[key]
    assert {
        int((entry.interval.start - START).total_seconds() // 3600): entry.rows.rows
        for entry in entries
        if entry.rows.rows
    } == counted


def assert_table_is_the_source_as_of_the_mark(world: MemoryWorld) -> None:
    """The invariant of stateless versions, unless work is open that the next run will finish."""
    services = world.services()
    binding = world.bound()
    key = binding.key(EVENTS_NAME)
    if services.state.open_work(key):
        return
    mark = next(iter(services.state.marks(key).values()), None)
    entries = services.state.ledger([key]).get(key, ())
    loaded = loaded_intervals(entries)
    if not loaded:
        return  # nothing was loaded yet, so there may be no table
    source = world.catalog.tables[RAW].rows_at(mark.iceberg_snapshot_id if mark else None)
    expected = sorted(
        row
        for row in source
        if any(each.start <= row[1] < each.end for each in loaded)  # type: ignore[operator]
    )
    assert world.rows("staging.events") == expected
