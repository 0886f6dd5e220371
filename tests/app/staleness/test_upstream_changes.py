"""Which versions read other rows by a plan than they were computed from, returning or staying."""

from __future__ import annotations

import pytest

from tests.app.memory_world import PROJECT, MemoryWorld, graph_of, made_once
from tests.app.shop_world import DAYS, SALES, SHOP, change, day, shop_in_production, work
from vde_dagster.core.planning.plan import Plan


def returned(plan: Plan, name: str) -> str:
    return str(change(plan, name).behind.reason)


# What the plan computes first
BASE = """
MODEL (name mart.base, kind FULL, cron '@daily');
SELECT id AS id, at AS at, amount AS amount FROM raw.events
"""
CHILD = """
MODEL (name mart.child, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily');
SELECT id AS id, at AS at, amount AS amount FROM mart.base WHERE at BETWEEN @start_dt AND @end_dt
"""
PAIR = {"base": BASE, "child": CHILD}
TWICE = {**PAIR, "child": CHILD.replace("amount AS", "amount * 2 AS")}


@made_once
def pair_world() -> MemoryWorld:
    """Production over three days of a FULL table and what reads it."""
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    world.build(graph_of(PAIR))
    return world


@pytest.mark.full
def test_no_environment_reads_a_time_of_a_full_table_that_its_owner_has_yet_to_make() -> None:
    world = pair_world()
    world.land((75, 1), until=96)
    assert work(world.plan(graph_of(TWICE), "dev")) == {"child": [day(1, 3)]}
    world.build(graph_of(TWICE), "dev")
    world.build(graph_of(TWICE))
    assert world.amounts("mart.child") == [2, 10, 14, 20]


def test_r15_a_full_table_that_is_made_first_is_read_by_what_comes_back() -> None:
    world = pair_world()
    world.build(graph_of(TWICE))
    world.land((2, 100), (75, 1), until=96)
    plan = world.plan(graph_of(PAIR))
    assert work(plan) == {"base": [day(1, 4)], "child": [day(1, 4)]}
    assert "mart.base" in returned(plan, "mart.child")
    world.apply(plan)
    assert world.amounts("mart.child") == [1, 5, 7, 10, 100]
    assert world.plan(graph_of(PAIR)).is_up_to_date


def test_r15_late_rows_that_a_session_loads_first_are_read_by_what_comes_back() -> None:
    world = MemoryWorld.landed((1, 10), (30, 5), until=48)
    world.build(graph_of(PROJECT))
    tenfold = PROJECT["daily"].replace("SUM(amount)", "SUM(amount * 10)")
    world.build(graph_of({**PROJECT, "daily": tenfold}))
    world.land((1.5, 100), (50, 7), until=72)
    plan = world.plan(graph_of(PROJECT))
    assert "staging.events" in returned(plan, "mart.daily")
    world.apply(plan)
    assert world.rows("mart.daily") == [(DAYS[0], 110), (DAYS[1], 5), (DAYS[2], 7)]


# What stays and reads another table
WIDER = {**SHOP, "sales": SALES.replace("AS amount FROM", "AS amount, COUNT(*) AS n FROM")}
STAMPED = {**SHOP, "sales": SALES.replace("cron", "stamp 'two', cron")}


@pytest.mark.full
@pytest.mark.parametrize("edited", [WIDER, STAMPED], ids=["wider", "stamped"])
@pytest.mark.parametrize("first", ["prod", "dev"])
def test_what_reads_a_table_that_is_rebuilt_has_its_late_rows_too(
    edited: dict[str, str], first: str
) -> None:
    world = shop_in_production()
    world.land((2, 100), until=72)
    if first == "dev":
        world.build(graph_of(edited), "dev")
    plan = world.plan(graph_of(edited))
    assert work(plan)["triple"] == [day(1)]
    assert "mart.sales" in returned(plan, "mart.triple")
    world.apply(plan)
    assert world.rows("mart.triple") == [(DAYS[0], 330), (DAYS[1], 15), (DAYS[2], 21)]
    assert world.rows("mart.total") == [(366,)]
    assert world.plan(graph_of(edited)).is_up_to_date


@pytest.mark.parametrize("edited", [WIDER, STAMPED], ids=["wider", "stamped"])
def test_what_reads_a_table_that_is_rebuilt_with_the_same_rows_stays(
    edited: dict[str, str],
) -> None:
    world = shop_in_production()
    plan = world.plan(graph_of(edited))
    assert work(plan).keys() == {"sales", "shown"}
