"""Computing again what is loaded, on the ports in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.app.memory_world import (
    PROJECT,
    RAW,
    Fuse,
    MemoryWorld,
    PowerCut,
    bound,
    graph_of,
    hour_of,
)
from tests.app.shop_world import (
    AMOUNTS,
    DAYS,
    EVENTS_NAME,
    SALES,
    SALES_NAME,
    SHOP,
    TOTAL,
    TRIPLE_NAME,
    asked,
    change,
    day,
    done,
    entries,
    shop_in_production,
    work,
)
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.apply.visitor import applying
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.ledger.entries import EntryStatus
from vde_dagster.core.planning.restatement import RestatementRefused
from vde_dagster.core.planning.stages import opening_of


# Restating
def corrected(world: MemoryWorld) -> None:
    """The source is corrected: an event of the second day, which is loaded already, is added."""
    world.catalog.append(RAW, [(99, hour_of(31), 1000)])


CORRECTED = [(DAYS[0], 10), (DAYS[1], 1005), (DAYS[2], 7)]
BOUNDS: dict[str, Any] = {"start": day(2).start, "end": day(2).end}


@pytest.mark.full
def test_a_restated_range_is_evaluated_again_with_all_that_reads_it(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(SHOP)
    before = entries(world, "prod", SALES_NAME)
    corrected(world)
    plan = asked(services, graph, "prod", restate=("mart.sales",), **BOUNDS)
    assert work(plan) == {"sales": [day(2)], "triple": [day(2)], "total": [day(1, 3)]}
    assert change(plan, "mart.sales").restated == (day(2),)
    assert change(plan, "mart.sales").missing == ()
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart.sales") == world.rows("mart.shown") == CORRECTED
    assert world.rows("mart.total") == [(3 * 1022,)]
    after = entries(world, "prod", SALES_NAME)
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1].work_id != before[1].work_id
    assert {each.status for each in after} == {EntryStatus.COMPUTED}
    assert asked(services, graph, "prod").is_empty


@pytest.mark.full
def test_what_is_missing_is_evaluated_with_what_is_restated(world: MemoryWorld) -> None:
    corrected(world)
    world.land((80, 4), until=96)
    plan = world.plan(graph_of(SHOP), restate=("mart.sales",), **BOUNDS)
    assert change(plan, "mart.sales").missing == (day(4),)
    assert change(plan, "mart.total").missing == (day(1, 4),)
    assert change(plan, "mart.total").restated == (day(1, 3),)
    assert work(plan)["total"] == [day(1, 4)]  # it is made once
    world.apply(plan)
    assert world.rows("mart.total") == [(3 * 1026,)]


def test_a_model_that_disables_restatement_is_refused_by_name(world: MemoryWorld) -> None:
    kept = SALES.replace("time_column day", "time_column day, disable_restatement true")
    graph = graph_of({**SHOP, "sales": kept})
    world.build(graph)
    with pytest.raises(RestatementRefused, match=r"mart\.sales .* sets disable_restatement"):
        world.plan(graph, restate=("mart.*",))
    plan = world.plan(graph, restate=("raw.events",))
    assert [(str(each.name), each.reason) for each in plan.not_restated] == [
        ("mart.sales", "it sets disable_restatement")
    ]
    assert plan.is_empty


def test_r9_what_production_owns_is_not_restated_elsewhere_and_named(world: MemoryWorld) -> None:
    world.build(graph_of(SHOP), "dev")
    corrected(world)
    plan = world.plan(graph_of(SHOP), "dev", restate=("mart.sales",))
    assert plan.is_empty
    (reported,) = plan.not_restated
    assert str(reported.name) == "mart.sales"
    assert "prod owns its version" in reported.reason
    assert "`vde plan prod --restate-model mart.sales`" in reported.reason
    own = {**SHOP, "total": TOTAL.replace("SUM(amount)", "SUM(amount) + 1")}
    world.build(graph_of(own), "dev")
    plan = world.plan(graph_of(own), "dev", restate=("mart.triple", "mart.total"))
    assert work(plan) == {"total": [day(1, 3)]}
    assert [str(each.name) for each in plan.not_restated] == ["mart.triple"]


def test_what_holds_nothing_is_named(world: MemoryWorld) -> None:
    plan = world.plan(graph_of(SHOP), restate=("mart.sales",), start=day(7).start)
    assert plan.is_empty
    assert [each.reason for each in plan.not_restated] == ["it has no rows of that time"]
    new = {**SHOP, "new": SALES.replace("mart.sales", "mart.new")}
    plan = world.plan(graph_of(new), restate=("mart.new",))
    assert [each.reason for each in plan.not_restated] == ["it has no rows yet"]
    assert work(plan) == {"new": [day(1, 3)]}


def test_r8_late_rows_that_no_session_loaded_yet_stay_out_of_a_restated_interval() -> None:
    world = MemoryWorld.landed((1, 10), (30, 5), until=48)
    world.build(graph_of(PROJECT))
    world.land((2, 1000), until=48)
    plan = world.plan(graph_of(PROJECT), restate=("staging.events",))
    restated = [replace(each, staleness=None) for each in plan.changes]  # without its session
    world.apply(replace(plan, changes=tuple(restated)))
    assert [row[2] for row in world.rows("staging.events")] == [10, 5]
    assert {each.status for each in entries(world, "prod", EVENTS_NAME)} == {EntryStatus.COMPUTED}


@pytest.mark.full
def test_nobody_reads_what_is_marked_and_the_next_plan_evaluates_it(world: MemoryWorld) -> None:
    """A process dies after it marked what it restates; other runs go on meanwhile."""
    services, graph = world.services(), graph_of(SHOP)
    corrected(world)
    plan = asked(services, graph, "prod", restate=("mart.sales",), **BOUNDS)
    with applying(services, plan) as visitor:
        for stage in opening_of(plan):
            list(visitor.visit(stage))
    assert world.rows("mart.sales") == AMOUNTS, "readers see what they saw"
    marked = entries(world, "prod", SALES_NAME)
    assert [each.status is EntryStatus.OUTDATED for each in marked] == [False, True, False]
    assert plan.plan_id in marked[1].reason
    with pytest.raises(Refused, match=r"mart\.sales is not loaded for \[2024-01-02, 2024-01-03\)"):
        evaluate_range(services, bound(services), TRIPLE_NAME, day(2))
    again = asked(services, graph, "prod")
    assert work(again) == {"sales": [day(2)], "triple": [day(2)], "total": [day(1, 3)]}
    apply_plan(services, again, lambda _: None)
    assert world.rows("mart.total") == [(3 * 1022,)]


def test_what_somebody_writes_right_now_is_not_restated(world: MemoryWorld) -> None:
    from vde_dagster.app.leases import leased
    from vde_dagster.ports.state import version_resource

    plan = world.plan(graph_of(SHOP), restate=("mart.sales",))
    key = plan.snapshots[TRIPLE_NAME].key
    with (
        leased(world.services().state, version_resource(key), holder="a run"),
        pytest.raises(Conflict, match="held by a run"),
    ):
        world.apply(plan)
    assert {each.status for each in entries(world, "prod", SALES_NAME)} == {EntryStatus.COMPUTED}


@pytest.mark.full
def test_what_was_staged_from_outdated_rows_is_not_taken_for_new(world: MemoryWorld) -> None:
    """A dead process left staged rows; another run records them after they were marked."""
    corrected(world)
    graph, fuse = graph_of(SHOP), Fuse()
    done(world.services(fuse), graph, "prod", restate=("mart.sales",), **BOUNDS)
    calls = [number for number, name in enumerate(fuse.names, 1) if name == "record_staged"]
    world = shop_in_production()
    corrected(world)
    cut = world.services(Fuse(cut_at=calls[1], after=True))
    with pytest.raises(PowerCut):  # the rows of mart.triple are staged
        done(cut, graph, "prod", restate=("mart.sales",), **BOUNDS)
    world.reboot()
    corrected(world)  # once more
    services = world.services()
    plan = world.plan(graph, restate=("mart.sales",), **BOUNDS)
    with applying(services, plan) as visitor:
        for stage in opening_of(plan):
            list(visitor.visit(stage))
    evaluate_range(services, world.bound(), TRIPLE_NAME, day(1))
    world.build(graph)
    assert world.rows("mart.sales")[1] == (DAYS[1], 2005)
    assert world.rows("mart.triple")[1] == (DAYS[1], 3 * 2005)
