"""Rule R8 for FULL tables and restated intervals: rows go only if a person says so, in memory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.app.memory_world import RAW, START, MemoryWorld, graph_of, hour_of
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.errors import Refused, VdeError
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.time.intervals import Interval

FULL = (
    "MODEL (name m.large, kind FULL, cron '@daily'); "
    "SELECT id AS id, amount AS amount FROM raw.events WHERE amount > 15"
)
HOURLY = (
    "MODEL (name m.hours, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly'); "
    "SELECT id AS id, at AS at, amount AS amount FROM raw.events "
    "WHERE at BETWEEN @start_ts AND @end_ts"
)
KEYS = (
    "MODEL (name m.keys, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id), cron '@daily'); "
    "SELECT id AS id, amount AS amount FROM raw.events WHERE at BETWEEN @start_ts AND @end_ts"
)
LARGE, HOURS = ModelName("m", "large"), ModelName("m", "hours")
DAY = Interval(START, START + timedelta(days=1))


def built(**texts: str) -> MemoryWorld:
    world = MemoryWorld.landed((0.5, 20), (2.5, 30), until=24)
    world.build(graph_of(texts))
    return world


def keep(world: MemoryWorld, *amounts: int) -> None:
    """The source loses all rows but these."""
    world.catalog.delete(RAW, [row for row in world.rows("raw.events") if row[2] in amounts])


def planned(world: MemoryWorld, options: PlanOptions, **texts: str) -> None:
    plan = plan_environment(world.services(), graph_of(texts), "prod", options)
    world.apply(plan)


def test_r8_a_full_table_with_rows_is_not_replaced_by_none_whoever_computes_it() -> None:
    world = built(large=FULL)
    before = world.rows("m.large")
    keep(world)
    with pytest.raises(Refused, match=r"m.large was not loaded: its inputs have no rows") as e:
        evaluate(world.services(), world.bound(), LARGE, DAY)
    assert "vde run prod --restate-model m.large --allow-empty" in e.value.advice
    with pytest.raises(Refused, match="no rows left"):
        world.run()
    with pytest.raises(Refused, match="no rows left"):
        planned(world, PlanOptions(), large=FULL)
    assert world.rows("m.large") == before
    planned(world, PlanOptions(allow_empty=True), large=FULL)
    assert world.rows("m.large") == []
    assert world.plan_run().is_empty


@pytest.mark.full
def test_a_full_table_that_only_gets_smaller_or_never_had_rows_is_computed() -> None:
    world = built(large=FULL, none=FULL.replace("m.large", "m.none").replace("15", "99"))
    keep(world, 30)
    world.run()
    assert len(world.rows("m.large")) == 1
    assert world.rows("m.none") == []


def test_r8_a_restated_interval_keeps_its_rows_unless_that_is_said() -> None:
    world = built(hours=HOURLY)
    before = world.rows("m.hours")
    keep(world, 20)
    restated = PlanOptions(
        restate=(str(HOURS),), start=hour_of(2), end=hour_of(3), allow_empty=False
    )
    with pytest.raises(VdeError, match=r"no rows left for .*where its table has rows"):
        planned(world, restated, hours=HOURLY)
    with pytest.raises(VdeError, match="no rows left"):  # and by nobody who goes on with it
        world.run()
    assert world.rows("m.hours") == before
    planned(world, PlanOptions(restate=(str(HOURS),), allow_empty=True), hours=HOURLY)
    assert [row[2] for row in world.rows("m.hours")] == [20]


def test_r8_an_interval_whose_source_lost_its_beginning_is_not_restated() -> None:
    world = built(hours=HOURLY)
    before = world.rows("m.hours")
    keep(world, 30)
    with pytest.raises(Refused) as caught:
        planned(world, PlanOptions(restate=(str(HOURS),)), hours=HOURLY)
    assert (
        "m.hours cannot be computed again without losing rows: raw.events no longer has the rows"
        in str(caught.value)
    )
    assert world.rows("m.hours") == before
    planned(
        world, PlanOptions(restate=(str(HOURS),), start=hour_of(2), end=hour_of(3)), hours=HOURLY
    )
    assert world.rows("m.hours") == before
    planned(world, PlanOptions(restate=(str(HOURS),), allow_empty=True), hours=HOURLY)
    assert [row[2] for row in world.rows("m.hours")] == [30]


def test_a_table_that_builds_on_itself_is_restated_with_fewer_rows_but_not_with_none() -> None:
    world = built(keys=KEYS)
    keep(world, 20)
    restated = PlanOptions(restate=("m.keys",))
    planned(world, restated, keys=KEYS)
    assert [row[1] for row in world.rows("m.keys")] == [20]
    keep(world)
    with pytest.raises(VdeError, match=r"m.keys"):
        planned(world, restated, keys=KEYS)
    assert len(world.rows("m.keys")) == 1
    planned(world, PlanOptions(restate=("m.keys",), allow_empty=True), keys=KEYS)
    assert world.rows("m.keys") == []
