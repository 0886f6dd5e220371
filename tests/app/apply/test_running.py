"""Runs that no person asks for: what is due and stale, as models permit, and never in circles.

Expected rows and times are counted by hand from the events that land.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.app.memory_world import DAILY, PROJECT, MemoryWorld, graph_of, hour_of, made_once, there
from tests.app.memory_world import bound as bind
from vde_dagster.app.apply.applying import applied_units
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.apply.running import end_without_work
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan, Staleness
from vde_dagster.core.planning.setting_aside import set_aside
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import environment_resource

STAGED, DAY = ModelName("staging", "events"), ModelName("mart", "daily")
TOTALS, OTHER = ModelName("mart", "totals"), ModelName("mart", "other")
HOURLY = """
MODEL (name core.hourly, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id AS id, at AS at, amount AS amount FROM staging.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
LUCKY = """
MODEL (name mart.lucky, kind FULL, cron '@daily');
SELECT MAX(amount + 0 * RAND()) AS amount FROM mart.daily
"""
KEYED = """
MODEL (name mart.keyed, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id), cron '@daily');
SELECT id AS id, amount AS amount FROM staging.events WHERE at BETWEEN @start_dt AND @end_dt
"""
COUNTED = """
MODEL (name mart.counted, kind FULL, cron '@daily');
SELECT COUNT(*) AS events FROM raw.events
"""

UP_TO = """
MODEL (name mart.up_to, kind FULL, cron '@daily');
SELECT SUM(amount) AS amount FROM core.hourly WHERE at <= @end_dt
"""


@made_once
def world_of(texts: dict[str, str]) -> MemoryWorld:
    """A project in production, with one event at 5:30 of the first of two days."""
    world = MemoryWorld.landed((5.5, 10), (30.5, 1), until=48)
    world.build(graph_of(texts))
    return world


def computed(done: tuple[Evaluated, ...]) -> list[tuple[str, str]]:
    """What was computed: each interval that was written, by model."""
    return [
        (str(each.key.model), str(entry.interval))
        for each in done
        if not each.reused
        for entry in each.entries
    ]


def stale(plan: Plan, name: ModelName) -> Staleness:
    (found,) = [each.staleness for each in plan.changes if each.name == name]
    assert found is not None
    return found


def bound(text: str, *properties: str) -> str:
    return text.replace("cron '@daily'", ", ".join(["cron '@daily'", *properties]))


@pytest.mark.full
def test_what_nobody_promoted_to_cannot_be_run_and_the_command_that_makes_it_is_named() -> None:
    with pytest.raises(Refused, match=r"no environment prod.*`vde plan prod` creates it\.$"):
        MemoryWorld().plan_run()


def test_a_late_row_is_computed_where_it_is_and_the_next_run_has_nothing_to_do() -> None:
    world = world_of({**PROJECT, "hourly": HOURLY})
    assert world.plan_run().is_up_to_date
    world.land((7.5, 5), until=48)
    day = Interval(hour_of(0), hour_of(24))
    assert computed(world.run()) == [
        ("staging.events", str(Interval(hour_of(7), hour_of(8)))),
        ("core.hourly", str(Interval(hour_of(7), hour_of(8)))),
        ("mart.daily", str(day)),
        ("mart.totals", str(Interval(hour_of(0), hour_of(48)))),
    ]
    assert [row[1] for row in world.rows("mart.daily")] == [15, 1]
    assert world.plan_run().is_up_to_date


def test_r14_no_model_is_made_stale_by_its_own_run() -> None:
    """Random results, merged keys, tables of other models and of sources: one run is enough."""
    world = world_of(
        {**PROJECT, "hourly": HOURLY, "lucky": LUCKY, "keyed": KEYED, "counted": COUNTED}
    )
    assert world.plan_run().is_up_to_date
    for hour, until in ((7.5, 48), (49.5, 72), (31.5, 73), (8.5, 96)):
        world.clock.advance(timedelta(hours=1))
        world.land((hour, 5), until=until)
        assert world.run()
        assert world.plan_run().is_up_to_date, (hour, until)


def test_r14_later_rows_than_a_table_reads_do_not_make_it_stale() -> None:
    world = world_of({**PROJECT, "hourly": HOURLY, "up_to": UP_TO})
    for rows, amount in (((49.5, 5), 11), ((7.5, 2), 13)):
        world.land(rows, until=50)
        assert ("mart.up_to" in dict(computed(world.run()))) is (amount == 13)
        assert world.plan_run().is_up_to_date
        assert world.rows("mart.up_to") == [(amount,)]


def test_stale_rows_wait_until_they_are_as_old_as_the_freshness_says() -> None:
    texts = {**PROJECT, "daily": bound(DAILY, "freshness '4 hours'")}
    world = world_of(texts)
    world.clock.advance(timedelta(minutes=30))
    world.land((7.5, 5), until=48)
    # What the sessions load is not held back, and what reads the table that waits has no reason.
    assert computed(world.run()) == [("staging.events", str(Interval(hour_of(7), hour_of(8))))]
    plan = world.plan_run()
    assert plan.is_empty
    assert not plan.is_up_to_date
    found = stale(plan, DAY)
    assert (found.intervals, found.kept) == ((), (Interval(hour_of(0), hour_of(24)),))
    assert found.inputs == (STAGED,)
    assert found.why_kept == (
        "staging.events changed, and it waits until 2024-01-01 04:00 UTC (freshness '4 hours')"
    )
    world.clock.advance(timedelta(hours=3, minutes=29))
    assert world.plan_run().is_empty
    world.clock.advance(timedelta(minutes=1))
    assert [name for name, _ in computed(world.run())] == ["mart.daily", "mart.totals"]
    assert [row[1] for row in world.rows("mart.daily")] == [15, 1]
    assert world.plan_run().is_up_to_date


def test_a_day_waits_by_when_it_was_computed_itself_and_what_is_due_does_not() -> None:
    world = world_of({**PROJECT, "daily": bound(DAILY, "freshness '4 hours'")})
    world.clock.advance(timedelta(hours=3))
    world.land((49.5, 3), until=72)
    world.run()  # the third day, at 3:00
    world.clock.advance(timedelta(hours=2))
    world.land((7.5, 5), (50.5, 4), until=96)
    done = computed(world.run())  # at 5:00: the first day is old enough, the third is not
    assert ("mart.daily", str(Interval(hour_of(0), hour_of(24)))) in done
    assert ("mart.daily", str(Interval(hour_of(72), hour_of(96)))) in done
    assert [row[1] for row in world.rows("mart.daily")] == [15, 1, 3]
    assert stale(world.plan_run(), DAY).kept == (Interval(hour_of(48), hour_of(72)),)


def test_a_person_who_plans_waits_for_no_freshness() -> None:
    graph = graph_of({**PROJECT, "daily": bound(DAILY, "freshness '4 hours'")})
    world = world_of({**PROJECT, "daily": bound(DAILY, "freshness '4 hours'")})
    world.land((7.5, 5), until=48)
    world.build(graph)
    assert [row[1] for row in world.rows("mart.daily")] == [15, 1]


@pytest.mark.full
def test_what_is_set_aside_waits_with_what_reads_it_and_the_rest_goes_on() -> None:
    other = DAILY.replace("mart.daily", "mart.other").replace("staging.events", "raw.events")
    world = world_of({**PROJECT, "other": other})
    world.land((49.5, 3), until=72)
    plan = world.plan_run()
    assert [each.name for each in plan.backfills] == [OTHER, STAGED, DAY, TOTALS]
    left = set_aside(plan, {DAY}, "it failed")
    assert [each.name for each in left.backfills] == [OTHER, STAGED]
    assert set_aside(plan, set(), "") is plan


@pytest.mark.full
def test_a_walk_yields_what_is_done_before_it_raises_what_failed() -> None:
    graph = graph_of(PROJECT)
    world = world_of(PROJECT)
    world.build(graph)
    world.land((49.5, 3), until=72)
    services = world.services()
    plan = world.plan_run()
    walk = applied_units(services, plan)
    assert next(walk).key.model == STAGED
    # Whoever stops gives back what the walk reserved, so that somebody else can go on.
    assert services.state.lease_holder("environment:prod")
    walk.close()
    assert not services.state.lease_holder("environment:prod")
    assert [name for name, _ in computed(world.run())] == ["mart.daily", "mart.totals"]


def test_a_table_that_goes_while_a_run_is_planned_stops_it_before_anything_is_done() -> None:
    world = world_of(PROJECT)
    world.land((7.5, 5), until=48)
    plan = world.plan_run()
    shown = there(world.services().state.environment("prod"))
    world.catalog.drop_table(shown.snapshots[STAGED].key.table)
    with pytest.raises(Refused, match=r"staging\.events is missing"):
        world.apply(plan)


@pytest.mark.full
def test_a_look_from_before_a_promotion_takes_no_decision_of_it_back() -> None:
    """A non-breaking edit computes nothing downstream, even if an idle run ends after it (R10)."""
    child = """
    MODEL (name core.below, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
    SELECT id AS id, at AS at FROM core.hourly WHERE at BETWEEN @start_dt AND @end_dt
    """
    world = world_of({**PROJECT, "hourly": HOURLY, "below": child})
    idle = world.plan_run()
    assert idle.is_up_to_date
    wider = HOURLY.replace("amount AS amount", "amount AS amount, amount + 1 AS more")
    edited = world.build(graph_of({**PROJECT, "hourly": wider, "below": child}))
    assert {str(each.key.model) for each in edited} == {"core.hourly"}
    assert world.plan_run().is_up_to_date
    end_without_work(world.services(), idle)
    assert world.plan_run().is_up_to_date


@pytest.mark.full
def test_while_somebody_is_at_work_a_run_that_has_nothing_to_do_keeps_nothing() -> None:
    world = world_of(PROJECT)
    services = world.services()
    world.land((50.5, 3), until=72)
    third = Interval(hour_of(48), hour_of(72))
    for name, each in ((STAGED, third), (DAY, third), (TOTALS, Interval(hour_of(0), hour_of(72)))):
        evaluate_range(services, bind(services), name, each)
    idle = world.plan_run()
    assert idle.is_empty
    before = services.state.last_looks([bind(services).key(DAY)])
    hour = timedelta(hours=1)
    lease = services.state.acquire_lease(environment_resource("prod"), holder="h", ttl=hour)
    end_without_work(services, idle)
    assert services.state.last_looks([bind(services).key(DAY)]) == before
    services.state.release_lease(lease)
    end_without_work(services, idle)
    assert services.state.last_looks([bind(services).key(DAY)]) != before
