"""Production goes back to a version of a coarser interval unit in mid-unit: the ways on."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld
from tests.app.plan.identity_edits import STORED, Written
from tests.app.plan.test_kept_identity import EVENTS, at_of, expected, is_sound, landed, loaded
from tests.app.shop_world import done
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.core.errors import Refused
from vde_dagster.core.model.kinds import Full, IncrementalByTimeRange
from vde_dagster.core.model.kinds.facts import KindFacts
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Plan

ACCEPTS = PlanOptions(accept_loss=True)
MORNING = 80
"""Eight hours of the fourth day are loaded."""


def finer(kind: type[KindFacts], *, forward_only: bool) -> tuple[MemoryWorld, Written]:
    """Production showed days, shows hours now, and has some of a day that is not over."""
    before = Written(kind=kind, timed=True, forward_only=forward_only, cron="@daily")
    after = Written(kind=kind, timed=True, forward_only=forward_only, cron="@hourly")
    world = loaded(before)
    world.build(after.graph, forward_only=forward_only)
    landed(world, {73: 9}, MORNING)
    world.build(after.graph, forward_only=forward_only)
    return world, before


def goes_on(world: MemoryWorld, written: Written, lands: dict[int, int]) -> None:
    """The next days are loaded by days, none of them in part, with every row once."""
    landed(world, lands, 124)
    world.build(written.graph, forward_only=bool(written.forward_only))
    assert is_sound(world.services())
    assert at_of(world) == expected(written, {**EVENTS, 73: 9, **lands})
    plan = world.plan(written.graph, forward_only=bool(written.forward_only))
    assert plan.is_up_to_date


def applied(world: MemoryWorld, plan: Plan) -> None:
    world.apply(plan)


@pytest.mark.parametrize("kind", STORED)
def test_a_version_of_days_comes_back_once_the_day_is_over(kind: type[KindFacts]) -> None:
    world, before = finer(kind, forward_only=False)
    services = world.services()
    with pytest.raises(
        Refused, match="2024-01-04 on are not due yet: plan again once they are"
    ) as no:
        applied(world, plan_rollback(services, "prod", options=PlanOptions(allow_empty=True)))
    assert "interval_unit`" not in str(no.value)
    landed(world, {}, 96)
    options = ACCEPTS if before.node.model.kind.keeps_history else PlanOptions()
    applied(world, plan_rollback(services, "prod", options=options))
    goes_on(world, before, {97: 2})


@pytest.mark.full
@pytest.mark.parametrize("kind", STORED)
@pytest.mark.parametrize("moves", ["rollback", "promote"])
def test_a_version_of_days_comes_back_at_once_if_its_loss_is_accepted(
    kind: type[KindFacts], moves: str
) -> None:
    world, before = finer(kind, forward_only=False)
    services = world.services()
    if moves == "promote":
        done(services, before.graph, "dev")

    def plan(options: PlanOptions) -> Plan:
        if moves == "promote":
            return plan_promotion(services, "dev", "prod", options)
        return plan_rollback(services, "prod", options=options)

    with pytest.raises(Refused, match="To show less until then, plan with --accept-loss"):
        applied(world, plan(PlanOptions()))
    assert plan(ACCEPTS).gaps
    applied(world, plan(ACCEPTS))
    assert is_sound(services)
    goes_on(world, before, {81: 3, 97: 2})


@pytest.mark.full
@pytest.mark.parametrize("kind", [each for each in STORED if each is not IncrementalByTimeRange])
def test_a_kept_table_of_hours_is_one_of_days_once_the_day_is_over(kind: type[KindFacts]) -> None:
    world, before = finer(kind, forward_only=True)
    services = world.services()
    if kind is not Full:
        with pytest.raises(Refused) as no:
            applied(world, plan_rollback(services, "prod", options=ACCEPTS))
        assert "Once [2024-01-01, 2024-01-05) is loaded, plan again: `vde rollback" in str(no.value)
        landed(world, {}, 96)
        services = world.services()
        hourly = Written(kind=kind, timed=True, forward_only=True, cron="@hourly")
        world.build(hourly.graph, forward_only=True)
    applied(world, plan_rollback(services, "prod"))
    assert world.plan(before.graph, forward_only=True).is_up_to_date
    goes_on(world, before, {97: 2})
