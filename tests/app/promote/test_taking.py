"""Promoting what one environment shows to another one, and going back to what one showed before."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from tests.app.memory_world import MemoryWorld, graph_of
from tests.app.shop_world import (
    AMOUNTS,
    EDITED,
    SALES,
    SALES_NAME,
    TENFOLD,
    TOTAL,
    day,
    shop_in_production,
    work,
)
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.inspect.environment_diff import history
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.core.errors import Refused
from vde_dagster.core.model.snapshot import Revision
from vde_dagster.core.planning.plan import Plan

SHOWN: Final = "mart.shown"


def with_dev(project: dict[str, str] | None = None) -> MemoryWorld:
    world = shop_in_production()
    world.build(graph_of(project or EDITED), "dev")
    return world


def applied(world: MemoryWorld, plan: Plan) -> tuple[Evaluated, ...]:
    return world.apply(plan)


def promoted(world: MemoryWorld, source: str = "dev", target: str = "prod") -> Plan:
    plan = plan_promotion(world.services(), source, target)
    applied(world, plan)
    return plan


def rows(world: MemoryWorld, view: str = SHOWN) -> list[tuple[object, ...]]:
    return world.rows(view)


# Promoting


@pytest.mark.full
@pytest.mark.parametrize(
    "source,target,said",
    [
        ("dev", "dev", "cannot be promoted to itself"),
        ("nobody", "prod", "there is no environment nobody"),
    ],
)
def test_what_cannot_be_promoted_is_refused(source: str, target: str, said: str) -> None:
    world = with_dev()
    with pytest.raises(Refused, match=said):
        plan_promotion(world.services(), source, target)


# Going back
@pytest.mark.full
def test_going_back_and_forward_computes_nothing() -> None:
    world = with_dev()
    promoted(world)
    back = plan_rollback(world.services(), "prod")
    assert (back.taken, work(back)) == (Revision("prod", 1), {})
    assert applied(world, back) == ()
    assert rows(world) == AMOUNTS
    forward = plan_rollback(world.services(), "prod")
    assert forward.taken == Revision("prod", 2)
    assert applied(world, forward) == ()
    assert rows(world) == TENFOLD


def test_any_revision_can_be_named() -> None:
    world = with_dev()
    promoted(world)
    world.build(graph_of({**EDITED, "total": TOTAL.replace("SUM", "MAX")}))
    applied(world, plan_rollback(world.services(), "prod", 1))
    assert rows(world) == AMOUNTS
    assert rows(world, "mart.total") == [(66,)]


@pytest.mark.parametrize("number", [0, 7])
def test_a_revision_that_never_was_is_refused(number: int) -> None:
    world = with_dev()
    with pytest.raises(Refused, match=f"revision {number} of prod does not exist"):
        plan_rollback(world.services(), "prod", number)


def test_an_environment_that_never_changed_has_nothing_to_go_back_to() -> None:
    world = shop_in_production()
    with pytest.raises(Refused, match="never showed anything else"):
        plan_rollback(world.services(), "prod")


# What is recorded
@pytest.mark.full
def test_the_history_says_who_took_what() -> None:
    world = with_dev()
    services = replace(world.services(), author="ann@desk")
    apply_plan(services, plan_promotion(services, "dev", "prod"), lambda _: None)
    apply_plan(services, plan_rollback(services, "prod"), lambda _: None)
    found = list(history(services, "prod", limit=9))
    assert [(each.shown.revision, each.shown.taken) for each in found] == [
        (3, Revision("prod", 1)),
        (2, Revision("dev", 1)),
        (1, None),
    ]
    assert [each.shown.author for each in found] == ["ann@desk", "ann@desk", ""]
    assert SALES_NAME in found[1].versions
    assert found[0].versions == found[1].versions
    assert SALES_NAME in found[2].added
    assert [each.shown.revision for each in history(services, "prod", limit=2)] == [3, 2]
    assert list(history(services, "nobody", limit=2)) == []


CHAIN: Final = {
    "first": SALES.replace("mart.sales", "mart.first"),
    "second": """
MODEL (name mart.second, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT day AS day, amount * 2 AS amount FROM mart.first WHERE day BETWEEN @start_ds AND @end_ds
""",
    "third": """
MODEL (name mart.third, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT day AS day, amount + 1 AS amount FROM mart.second WHERE day BETWEEN @start_ds AND @end_ds
""",
}


@pytest.mark.parametrize("landed", ["nothing", "in dev", "in both"])
def test_r10_promoting_a_non_breaking_edit_computes_nothing_below_then_or_later(
    landed: str,
) -> None:
    """Only what landed since is computed, and by each environment what it owns."""
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    world.build(graph_of(CHAIN))
    wider = CHAIN["first"].replace("SUM(amount) AS amount", "SUM(amount) AS amount, 1 AS one")
    world.build(graph_of({**CHAIN, "first": wider}), "dev")
    if landed != "nothing":
        world.land((80, 1), until=96)
        world.build(graph_of({**CHAIN, "first": wider}), "dev")
    if landed == "in both":
        applied(world, world.plan_run())
    plan = plan_promotion(world.services(), "dev", "prod")
    below = {"nothing": {}, "in dev": {"second": [day(4)], "third": [day(4)]}, "in both": {}}
    assert work(plan) == below[landed]
    applied(world, plan)
    later = world.plan_run()
    assert not later.backfills
    assert not any(each.staleness for each in later.changes)
    expected = [10, 5, 7] if landed == "nothing" else [10, 5, 7, 1]
    assert [row[1] for row in rows(world, "mart.third")] == [2 * each + 1 for each in expected]
