"""Rule R10: what a promotion keeps counts as fresh, whoever promotes what, and whatever lands."""

from __future__ import annotations

from datetime import date
from typing import Final

import pytest

from tests.app.memory_world import (
    DAILY,
    EVENTS,
    PROJECT,
    Fuse,
    MemoryWorld,
    PowerCut,
    build,
    build_due,
    graph_of,
    hour_of,
)
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval

HOURLY: Final = """
MODEL (name mart.hourly, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id AS id, at AS at, amount * 2 AS amount FROM staging.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
BELOW: Final = """
MODEL (name mart.below, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM mart.hourly
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY CAST(at AS DATE)
"""
KEYED: Final = """
MODEL (name mart.keyed, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id), cron '@daily');
SELECT id AS id, amount AS amount FROM staging.events WHERE at BETWEEN @start_dt AND @end_dt
"""
SHOP: Final = {**PROJECT, "hourly": HOURLY, "keyed": KEYED}
WIDER: Final = EVENTS.replace("amount AS amount FROM", "amount AS amount, 1 AS one FROM")
WIDEST: Final = EVENTS.replace("amount AS amount FROM", "amount AS amount, 2 AS two FROM")


def done(world: MemoryWorld, plan: Plan) -> dict[str, list[Interval]]:
    """What applying a plan computed, by model."""
    found: dict[str, list[Interval]] = {}
    for each in world.apply(plan):
        if each.key.model.name != "people" and not each.reused:
            found.setdefault(each.key.model.name, []).append(each.interval)
    return found


@pytest.mark.full
def test_what_an_environment_adopted_of_its_own_is_promoted_as_it_is(world: MemoryWorld) -> None:
    edited = {
        **SHOP,
        "events": EVENTS.replace("amount AS amount FROM", "amount * 3 AS amount FROM"),
    }
    world.build(graph_of(edited), "dev")
    same = edited["events"].replace("amount * 3", "3 * amount + 0")
    computed = world.build(graph_of({**edited, "events": same}), "dev")
    assert {each.key.model.name for each in computed if not each.reused} == {"events"}
    assert done(world, plan_promotion(world.services(), "dev", "prod")) == {}
    assert done(world, world.plan_run()) == {}
    world.land((2, 4), until=72)
    world.build(graph_of(SHOP), "dev")
    done(world, world.plan_run())
    assert world.rows("mart.daily") == [(date(2024, 1, 1), 57), (date(2024, 1, 2), 21)]


@pytest.mark.parametrize("run_first", [True, False])
def test_a_gap_is_computed_and_not_what_is_kept_below_it(
    world: MemoryWorld, *, run_first: bool
) -> None:
    """What production keeps has the rows that came meanwhile, if a run has loaded them there."""
    base = {**SHOP, "below": BELOW}
    world.build(graph_of(base))
    wider = {**base, "hourly": HOURLY.replace("* 2 AS amount", "* 2 AS amount, 1 AS one")}
    world.build(graph_of(wider), "dev")
    world.land((1, 1), (50, 9), until=72)
    if run_first:
        done(world, world.plan_run())
    computed = done(world, plan_promotion(world.services(), "dev", "prod"))
    assert any(each.contains(one(1)) for each in computed["hourly"])
    lacking = {"events", "daily", "totals", "keyed", "below"}
    assert computed.keys() == {"hourly"} | (set() if run_first else lacking)
    found = [(date(2024, 1, 1), 32), (date(2024, 1, 2), 14), (date(2024, 1, 3), 18)]
    assert world.rows("mart.below") == found
    assert done(world, world.plan_run()) == {}


def names(evaluated: tuple[Evaluated, ...]) -> set[str]:
    return {each.key.model.name for each in evaluated}


@pytest.fixture
def world() -> MemoryWorld:
    made = MemoryWorld.landed((1, 10), (3, 5), (26, 7), until=48)
    made.build(graph_of(SHOP))
    return made


@pytest.mark.full
def test_after_a_non_breaking_edit_only_hours_that_got_rows_are_computed(
    world: MemoryWorld,
) -> None:
    assert names(world.build(graph_of({**SHOP, "events": WIDER}))) == {"events"}
    world.land((1, 1), (5, 1), until=49)
    computed = done(world, world.plan_run())["hourly"]
    hours = {hour for each in computed for hour in range(48) if each.contains(one(hour))}
    assert hours == {1, 5}


def test_what_was_stale_when_it_was_kept_is_computed_by_the_next_run(world: MemoryWorld) -> None:
    world.land((1, 1), until=48)
    world.catch_up(ModelName("staging", "events"))
    build_due(world.services(), graph_of({**SHOP, "events": WIDER}))
    assert done(world, world.plan_run())["hourly"] == [one(1)]
    assert done(world, world.plan_run()) == {}


def one(hour: int) -> Interval:
    return Interval(hour_of(hour), hour_of(hour + 1))


@pytest.mark.full
@pytest.mark.parametrize("goes_on", [True, False])
def test_what_was_kept_stays_fresh_when_a_later_promotion_is_cut_before_it_begins(
    world: MemoryWorld, *, goes_on: bool
) -> None:
    world.build(graph_of({**SHOP, "events": WIDER}))
    even_wider = WIDER.replace("1 AS one", "1 AS one, 2 AS two")
    later = graph_of({**SHOP, "events": even_wider})
    with pytest.raises(PowerCut):
        build(world.services(Fuse(cut_name="begin_promotion")), later)
    world.reboot()
    if goes_on:
        assert world.build(later) == ()
    assert done(world, world.plan_run()) == {}


def test_another_environments_promotion_takes_no_decision_of_production_back(
    world: MemoryWorld,
) -> None:
    world.build(graph_of(SHOP), "dev")
    world.build(graph_of({**SHOP, "events": WIDER}))
    world.build(graph_of({**SHOP, "events": WIDEST}), "dev")
    assert done(world, world.plan_run()) == {}


@pytest.mark.full
def test_what_an_environment_kept_by_a_decision_is_promoted_as_it_is(world: MemoryWorld) -> None:
    keyed = KEYED.replace("amount AS", "amount + 1 AS")
    edited = {**SHOP, "daily": DAILY.replace("> 0", "> 5"), "keyed": keyed}
    world.build(graph_of(edited), "dev")
    world.build(graph_of({**edited, "events": WIDER}), "dev")
    assert done(world, plan_promotion(world.services(), "dev", "prod")) == {}
    assert done(world, world.plan_run()) == {}
    assert done(world, plan_rollback(world.services(), "prod")) == {}
    assert done(world, plan_rollback(world.services(), "prod")) == {}
    assert done(world, world.plan_run()) == {}
