"""SCD Type 2 from a plan to rows that readers see, interval by interval (seed 001)."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.app.memory_world import MemoryWorld, graph_of, hour_of
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.time.intervals import EPOCH

BY_DAY = """
MODEL (
  name mart.prices,
  kind SCD_TYPE_2_BY_COLUMN (
    unique_key item,
    columns [price],
    updated_at_name ds,
    batch_size 1
  ),
  cron '@daily'
);
SELECT 1 AS item, amount AS price, at AS ds FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
VIEW = "mart.prices"
PRICES = ModelName("mart", "prices")


def days_of(world: MemoryWorld) -> list[tuple[object, ...]]:
    """Price, from and to of every row, in order; 1970 as the epoch, times as days of the world."""

    def day(value: object) -> object:
        if not isinstance(value, datetime):
            return value
        return "1970" if value == EPOCH else (value - hour_of(0)).days

    return sorted(
        ((price, day(since), day(until)) for _, price, _, since, until in world.rows(VIEW)),
        key=str,
    )


@pytest.mark.full
def test_a_snapshot_of_each_day_becomes_the_history_of_the_seed() -> None:
    world = MemoryWorld.landed((0, 1), (24, 2), (48, 3), (72, 3), until=96)
    world.build(graph_of({"prices": BY_DAY}))
    assert days_of(world) == [(1, "1970", 1), (2, 1, 2), (3, 2, None)]
    # A day later only the new day is evaluated, against the rows that are open.
    world.land((96, 4), until=120)
    world.build(graph_of({"prices": BY_DAY}))
    assert days_of(world) == [(1, "1970", 1), (2, 1, 2), (3, 2, 4), (4, 4, None)]
    world.build(graph_of({"prices": BY_DAY}))
    assert len(days_of(world)) == 4


def test_two_rows_of_a_day_with_one_key_leave_readers_with_what_they_had() -> None:
    world = MemoryWorld.landed((0, 1), until=24)
    world.build(graph_of({"prices": BY_DAY}))
    world.land((25, 2), (26, 3), until=48)
    with pytest.raises(EvaluationFailed, match=r"rows share the key \(item\) = \(1\)\. A key"):
        world.build(graph_of({"prices": BY_DAY}))
    assert days_of(world) == [(1, "1970", None)]


SWITCHED = """
MODEL (
  name mart.prices,
  kind SCD_TYPE_2_BY_TIME (
    unique_key item,
    updated_at_name ds,
    invalidate_hard_deletes {closes},
    batch_size 1
  ),
  cron '@daily'
);
SELECT amount AS price, DATE_TRUNC('month', at) AS ds, amount % 10 AS item FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""


@pytest.mark.full
@pytest.mark.parametrize("last", ["false", "true"])
def test_what_was_closed_by_a_delete_is_not_valid_twice_once_deletes_close_nothing(
    last: str,
) -> None:
    """Item 1 is there, is gone, and comes back with its old time; the option is switched."""
    world = MemoryWorld.landed((1, 1), (1, 2), until=24)
    world.build(graph_of({"prices": SWITCHED.format(closes="false")}))
    version = world.bound().key(PRICES)
    for number, (closes, items) in enumerate((("true", [2]), (last, [1, 2])), start=1):
        hour = 24 * number
        world.clock.advance(timedelta(days=1))
        world.land(*[(hour + 1, each) for each in items], until=hour + 24)
        world.build(graph_of({"prices": SWITCHED.format(closes=closes)}))
    assert world.bound().key(PRICES) == version
    spans = sorted(row[-2:] for row in world.rows(VIEW) if row[2] == 1)
    (start, closed), (again, until) = spans
    assert (start, until) == (EPOCH, None)
    assert again == closed


BY_TIME = BY_DAY.replace("BY_COLUMN", "BY_TIME").replace("columns [price],", "")


@pytest.mark.full
@pytest.mark.parametrize("text", [BY_DAY, BY_TIME], ids=["by column", "by time"])
def test_a_key_that_comes_after_an_empty_first_load_is_not_valid_from_the_epoch(text: str) -> None:
    """Only the rows of the first load are valid from 1970 (seed 001), even if it had none."""
    world = MemoryWorld.landed(until=24)
    world.build(graph_of({"prices": text}))
    assert days_of(world) == []
    world.clock.advance(timedelta(days=1))
    world.land((24, 2), until=48)
    world.build(graph_of({"prices": text}))
    assert days_of(world) == [(2, 1, None)]


@pytest.mark.full
def test_an_empty_first_batch_is_the_first_load_also_when_all_is_rebuilt() -> None:
    world = MemoryWorld.landed((24, 2), (48, 3), until=72)
    text = BY_DAY.replace("updated_at_name ds,", "updated_at_name ds, disable_restatement false,")
    graph = graph_of({"prices": text})
    world.build(graph)
    expected = [(2, 1, 2), (3, 2, None)]
    assert days_of(world) == expected
    services, again = world.services(), PlanOptions(restate=("mart.prices",))
    apply_plan(services, plan_environment(services, graph, "prod", again), lambda _: None)
    assert days_of(world) == expected
