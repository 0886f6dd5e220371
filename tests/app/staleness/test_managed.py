"""MANAGED tables are made by a plan once, and again when what they read has changed (seed 001)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from tests.app.memory_world import RAW, START, MemoryWorld, graph_of, hour_of, made_once
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Staleness
from vde_dagster.core.sql.reads import bounds, input_ranges
from vde_dagster.core.time.intervals import ALWAYS, Interval

LIVE = """
MODEL (name mart.live, kind MANAGED, physical_properties (target_lag = '1 hour'));
SELECT id AS id, amount AS amount FROM raw.events
"""
SUMS = """
MODEL (name mart.sums, kind MANAGED);
SELECT SUM(amount) AS amount FROM mart.live
"""
GRAPH = graph_of({"live": LIVE, "sums": SUMS})
PARENT = "MODEL (name mart.parent, kind FULL, cron '@daily'); SELECT id, amount FROM raw.events"
OVER = "MODEL (name mart.over, kind MANAGED); SELECT SUM(amount) AS amount FROM mart.parent"
HOURS = """
MODEL (name mart.hours, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id, at, amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
BEGAN = f"""
MODEL (name mart.began, kind MANAGED);
SELECT SUM(amount) AS amount FROM mart.hours
WHERE at >= TIMESTAMP '{START:%Y-%m-%d %H:%M:%S}'
  AND at < TIMESTAMP '{hour_of(6):%Y-%m-%d %H:%M:%S}'
"""
DAY = Interval(START, hour_of(24))


@made_once
def made() -> MemoryWorld:
    world = MemoryWorld.landed((1, 10), until=24)
    done = world.build(GRAPH)
    assert [(each.key.model.name, each.interval) for each in done] == [
        ("live", ALWAYS),
        ("sums", ALWAYS),
    ]
    return world


def stale(world: MemoryWorld, environment: str = "prod") -> Mapping[str, Staleness]:
    changes = world.plan_run(environment).changes
    return {each.name.name: each.staleness for each in changes if each.staleness is not None}


def run(world: MemoryWorld) -> dict[str, int]:
    """What a run computes, with the rows of each."""
    found = world.plan_run()
    done = world.apply(found)
    return {each.key.model.name: each.rows for each in done if not each.reused}


def test_a_plan_makes_it_once_and_no_cron_makes_it_again() -> None:
    world = made()
    assert world.rows("mart.live") == [(1, 10)]
    world.clock.advance(timedelta(days=30))
    assert world.plan(GRAPH).is_empty
    assert (dict(stale(world)), run(world)) == ({}, {})


@pytest.mark.parametrize("lag, minutes", [("'1 hour'", 60), ("'2 days'", 2880)])
def test_it_stays_until_its_target_lag_is_over_whatever_lands(lag: str, minutes: int) -> None:
    world, graph = MemoryWorld(), graph_of({"live": LIVE.replace("'1 hour'", lag)})
    world.land((1, 10), until=24)
    world.build(graph)
    world.land((2, 20), until=24)
    world.clock.advance(timedelta(minutes=minutes - 1))
    assert "raw.events changed, and it waits until" in stale(world)["live"].why_kept
    assert run(world) == {}
    world.clock.advance(timedelta(minutes=1))
    assert stale(world)["live"].reason == "its inputs from raw.events have changed since"
    assert run(world) == {"live": 2}


def test_it_is_made_again_with_those_that_read_it_and_then_is_up_to_date() -> None:
    world = made()
    world.land((2, 20), (3, 30), until=24)
    world.clock.advance(timedelta(hours=2))
    assert run(world) == {"live": 3, "sums": 1}
    assert world.rows("mart.sums") == [(60,)]
    assert world.plan_run().is_empty


def test_a_compaction_of_what_it_reads_changes_nothing() -> None:
    world = made()
    world.catalog.compact(RAW)
    world.clock.advance(timedelta(hours=2))
    assert stale(world) == {}


def test_a_model_that_was_computed_again_with_equal_rows_changes_nothing() -> None:
    world, parent = MemoryWorld(), ModelName("mart", "parent")
    world.land((1, 10), until=24)
    services = world.services()
    world.build(graph_of({"parent": PARENT, "over": OVER}))
    evaluate(services, world.bound(), parent, DAY, force=True)
    assert stale(world) == {}
    world.land((2, 5), until=24)
    evaluate(services, world.bound(), parent, DAY)
    assert run(world) == {"over": 1}
    assert world.rows("mart.over") == [(15,)]


def test_only_the_environment_that_owns_the_table_computes_it() -> None:
    world = made()
    world.build(GRAPH, "dev")
    world.land((2, 20), until=24)
    world.clock.advance(timedelta(hours=2))
    assert "`vde run prod` computes this version" in stale(world, "dev")["live"].why_kept


def test_it_is_compared_at_once_and_not_day_by_day(monkeypatch: pytest.MonkeyPatch) -> None:
    world = MemoryWorld.landed((1, 10), (8, 20), until=10)
    world.build(graph_of({"hours": HOURS, "began": BEGAN}))
    asked = 0
    meeting = bounds.instants_meeting

    def counted(*args: Any) -> Any:
        nonlocal asked
        asked += 1
        assert asked < 1000, "each day of all time is looked at"
        return meeting(*args)

    monkeypatch.setattr(input_ranges, "instants_meeting", counted)
    world.land((8.5, 5), until=10)
    assert run(world) == {"hours": 2}
    world.land((1.5, 7), until=10)
    assert run(world) == {"hours": 2, "began": 1}
    assert world.rows("mart.began") == [(17,)]
