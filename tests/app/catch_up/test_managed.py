"""MANAGED tables are built by a plan once, and refreshed when their inputs change (seed 001)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.app.memory_world import (
    RAW,
    SOURCE,
    START,
    MemoryWorld,
    bound,
    build,
    graph_of,
    hour_of,
    made_once,
    plan,
)
from vde_dagster.app.catch_up.managed import Freshness, managed_tables, refresh_managed
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import ALWAYS, Interval

LIVE = """
MODEL (name mart.live, kind MANAGED, physical_properties (target_lag = '1 hour'));
SELECT id AS id, amount AS amount FROM raw.events
"""
SUMS = """
MODEL (name mart.sums, kind MANAGED);
SELECT SUM(amount) AS amount FROM mart.live
"""
LIVE_NAME, SUMS_NAME = ModelName("mart", "live"), ModelName("mart", "sums")
GRAPH = graph_of({"live": LIVE, "sums": SUMS})


@made_once
def made() -> MemoryWorld:
    world = MemoryWorld()
    world.land((1, 10), until=24)
    done = build(world.services(), GRAPH)
    assert [(each.key.model, each.interval) for each in done] == [
        (LIVE_NAME, ALWAYS),
        (SUMS_NAME, ALWAYS),
    ]
    return world


def freshness(world: MemoryWorld) -> dict[ModelName, Freshness]:
    services = world.services()
    return {each.name: each for each in managed_tables(services, bound(services))}


def refreshed(world: MemoryWorld) -> list[Evaluated]:
    services = world.services()
    return [done for _, done in refresh_managed(services, bound(services)) if done is not None]


def test_a_plan_makes_it_once_and_no_plan_or_cron_makes_it_again() -> None:
    world = made()
    assert world.rows("mart.live") == [(1, 10)]
    for day in (2, 30):
        world.land((24 * day - 1, 5), until=24 * day)
        world.clock.advance(timedelta(days=day))
        assert plan(world.services(), GRAPH).is_empty


def test_it_is_fresh_until_its_target_lag_is_over_whatever_lands() -> None:
    world = made()
    world.land((2, 20), until=24)
    world.clock.advance(timedelta(minutes=59))
    found = freshness(world)[LIVE_NAME]
    assert not found.is_stale
    assert "its target lag lasts until 2024-01-01 01:00" in found.reason
    assert refreshed(world) == []
    world.clock.advance(timedelta(minutes=1))
    found = freshness(world)[LIVE_NAME]
    assert (found.is_stale, found.changed) == (True, (SOURCE,))
    assert "raw.events changed since" in found.reason


def test_where_nothing_changed_nothing_is_made_however_old_it_is() -> None:
    world = made()
    world.clock.advance(timedelta(days=30))
    assert {name: each.is_stale for name, each in freshness(world).items()} == {
        LIVE_NAME: False,
        SUMS_NAME: False,
    }
    assert "has not changed since 2024-01-01 UTC" in freshness(world)[LIVE_NAME].reason
    assert refreshed(world) == []


def test_a_stale_table_is_rebuilt_with_those_that_read_it_and_then_is_fresh() -> None:
    world = made()
    world.land((2, 20), (3, 30), until=24)
    world.clock.advance(timedelta(hours=2))
    assert [(each.key.model, each.rows) for each in refreshed(world)] == [
        (LIVE_NAME, 3),
        (SUMS_NAME, 1),
    ]
    assert world.rows("mart.sums") == [(60,)]
    world.clock.advance(timedelta(hours=2))
    assert refreshed(world) == []


def test_what_stands_for_a_change_is_another_text_after_each_change() -> None:
    world = made()
    tokens = set()
    for hour in (2, 3):
        world.land((hour, 20), until=24)
        world.clock.advance(timedelta(hours=2))
        token = freshness(world)[LIVE_NAME].token
        assert token == freshness(world)[LIVE_NAME].token
        tokens.add(token)
    assert len(tokens) == 2


def test_a_compaction_of_what_it_reads_changes_nothing() -> None:
    world = made()
    world.catalog.compact(RAW)
    world.clock.advance(timedelta(hours=2))
    assert not freshness(world)[LIVE_NAME].is_stale


def test_a_model_that_was_rebuilt_with_equal_rows_changes_nothing() -> None:
    day = Interval(START, hour_of(24))
    parent = ModelName("mart", "parent")
    graph = graph_of(
        {
            "parent": "MODEL (name mart.parent, kind FULL, cron '@daily'); "
            "SELECT id AS id, amount AS amount FROM raw.events",
            "over": "MODEL (name mart.over, kind MANAGED); "
            "SELECT SUM(amount) AS amount FROM mart.parent",
        }
    )
    world = MemoryWorld()
    world.land((1, 10), until=24)
    services = world.services()
    build(services, graph)
    world.clock.advance(timedelta(hours=1))
    evaluate(services, bound(services), parent, day, force=True)
    assert [each.is_stale for each in managed_tables(services, bound(services))] == [False]
    world.land((2, 5), until=24)
    evaluate(services, bound(services), parent, day)
    assert [each.is_stale for each in managed_tables(services, bound(services))] == [True]
    assert [each.rows for each in refreshed(world)] == [1]
    assert refreshed(world) == []
    assert world.rows("mart.over") == [(15,)]


@pytest.mark.full
def test_it_reads_what_its_parents_hold_now_though_they_lack_what_is_due() -> None:
    hourly = """
    MODEL (name staging.hourly, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
    SELECT at AS at, amount AS amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
    """
    over = "MODEL (name mart.over, kind MANAGED); SELECT SUM(amount) AS s FROM staging.hourly"
    world = MemoryWorld()
    world.land((1, 10), until=3)
    graph = graph_of({"hourly": hourly, "over": over})
    build(world.services(), graph)
    world.land((3.5, 7), until=5)
    world.clock.advance(timedelta(days=2))
    assert refreshed(world) == []  # its parent has not loaded the new rows
    build(world.services(), graph)
    assert [each.rows for each in refreshed(world)] == [1]
    assert world.rows("mart.over") == [(17,)]


def test_only_the_environment_that_owns_the_table_refreshes_it() -> None:
    world = made()
    services = world.services()
    build(services, GRAPH, "dev")
    world.land((2, 20), until=24)
    world.clock.advance(timedelta(hours=2))
    assert managed_tables(services, bound(services, "dev")) == ()
    assert [each.is_stale for each in managed_tables(services, bound(services))] == [True, False]


@pytest.mark.parametrize("lag, fresh", [("'30 minutes'", False), ("'2 days'", True)])
def test_the_lag_is_that_of_the_model(lag: str, fresh: bool) -> None:
    world = MemoryWorld()
    world.land((1, 10), until=24)
    build(world.services(), graph_of({"live": LIVE.replace("'1 hour'", lag)}))
    world.land((2, 20), until=24)
    world.clock.advance(timedelta(hours=1))
    assert freshness(world)[LIVE_NAME].is_stale is not fresh


@pytest.mark.full
def test_what_reads_a_model_that_is_to_be_restated_waits_and_keeps_no_other_from_being_made() -> (
    None
):
    parent, over = ModelName("mart", "a_parent"), ModelName("mart", "b_over")
    texts = {
        "a_parent": "MODEL (name mart.a_parent, kind FULL, cron '@daily'); "
        "SELECT id AS id, amount AS amount FROM raw.events",
        "a_view": "MODEL (name mart.a_view, kind VIEW); SELECT amount FROM mart.a_parent",
        "b_over": "MODEL (name mart.b_over, kind MANAGED); "
        "SELECT SUM(amount) AS amount FROM mart.a_view",
        "live": LIVE,
    }
    world, graph = MemoryWorld(), graph_of(texts)
    world.land((1, 10), until=24)
    services = world.services()
    build(services, graph)
    world.land((2, 5), until=24)
    evaluate(services, bound(services), parent, Interval(START, hour_of(24)))
    lease = services.state.acquire_lease("test", holder="test", ttl=timedelta(minutes=1))
    key = bound(services).key(parent)
    services.state.outdate({key: (ALWAYS,)}, reason="restated", lease=lease)
    world.clock.advance(timedelta(hours=2))

    found = {each.name: (each, done) for each, done in refresh_managed(services, bound(services))}
    waiting, done = found[over]
    assert (waiting.is_stale, waiting.is_due, done) == (True, False, None)
    assert waiting.waits_for == "mart.a_parent is to be evaluated first"
    assert found[LIVE_NAME][1] is not None
    assert world.rows("mart.live") == [(1, 10), (2, 5)]

    build(services, graph)
    assert [each.key.model for each in refreshed(world)] == [over]
    assert world.rows("mart.b_over") == [(15,)]
