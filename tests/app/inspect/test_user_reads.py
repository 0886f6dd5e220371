"""What a user's own code reads of models, on the ports in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from tests.app.memory_world import (
    PROJECT,
    MemoryWorld,
    bound,
    graph_of,
    hour_of,
    instead,
    made_once,
)
from vde_dagster.app.binding import Binding, bind_plan
from vde_dagster.app.inspect.user_reads import user_read
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.engine import UserFrame

EVENTS, DAILY = ModelName("staging", "events"), ModelName("mart", "daily")
TOTALS, PEOPLE = ModelName("mart", "totals"), ModelName("mart", "people")


@pytest.fixture
@made_once
def world() -> MemoryWorld:
    world = MemoryWorld.landed((1, 10), (2.5, 20), (30, 5), until=48)
    world.build(graph_of(PROJECT))
    return world


def frame(
    world: MemoryWorld, binding: Binding, name: ModelName, interval: Interval | None = None
) -> UserFrame:
    services = world.services()
    wanted = user_read(services, binding, name, None if interval is None else [interval])
    return services.engine.read(wanted.rows)


def read(
    world: MemoryWorld, binding: Binding, name: ModelName, interval: Interval | None = None
) -> list[tuple[object, ...]]:
    return sorted(frame(world, binding, name, interval).collect(), key=str)


def test_a_model_is_read_whole_or_by_interval(world: MemoryWorld) -> None:
    binding = world.bound()
    days = [(date(2024, 1, 1), 30), (date(2024, 1, 2), 5)]
    assert read(world, binding, DAILY) == days
    assert read(world, binding, DAILY, Interval(hour_of(24), hour_of(48))) == days[1:]
    assert read(world, binding, TOTALS) == [(2, 35)]
    assert read(world, binding, PEOPLE) == days
    assert [row[2] for row in read(world, binding, EVENTS, Interval(hour_of(2), hour_of(31)))] == [
        20,
        5,
    ]


@pytest.mark.full
def test_what_was_read_stays_as_it_was(world: MemoryWorld) -> None:
    before = frame(world, world.bound(), TOTALS)
    world.land((50, 7), until=72)
    world.build(graph_of(PROJECT))
    assert list(before.collect()) == [(2, 35)]
    assert read(world, world.bound(), TOTALS) == [(3, 42)]


def test_what_is_not_loaded_is_refused(world: MemoryWorld) -> None:
    binding = world.bound()
    lacks = (
        r"^mart\.daily is not loaded for \[2024-01-03, 2024-01-04\) in prod\. "
        r"Materialize it first\.$"
    )
    with pytest.raises(Refused, match=lacks):
        read(world, binding, DAILY, Interval(hour_of(24), hour_of(72)))
    new = "MODEL (name mart.new, kind FULL);\nSELECT COUNT(*) AS days FROM mart.daily"
    planned = bind_plan(world.plan(graph_of({**PROJECT, "new": new})))
    with pytest.raises(Refused, match=r"^mart\.new is not loaded yet in prod\.$"):
        read(world, planned, ModelName("mart", "new"))


def test_columns_are_those_of_the_table_and_not_of_the_last_interval(world: MemoryWorld) -> None:
    services = world.services()
    binding = bound(services)
    key = binding.key(DAILY)
    newest = services.state.holdings([key])[key].columns[-1].name

    def ledger(keys: Any) -> Any:
        """The last interval was written before the table got its newest column."""
        found = services.state.ledger(keys)
        return {
            key: (*each[:-1], replace(each[-1], columns=each[-1].columns[:-1]))
            for key, each in found.items()
        }

    late = instead(services, "state", ledger=ledger)
    assert user_read(late, binding, DAILY, columns=[newest]).rows.columns == (newest,)
