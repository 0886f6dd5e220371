"""An environment is called up to date only after a look at what is there (rule R14)."""

from __future__ import annotations

import pytest

from tests.app.memory_world import PROJECT, Fuse, MemoryWorld, PowerCut, bound, build, graph_of
from tests.app.shop_world import (
    AMOUNTS,
    EDITED,
    EVENTS_NAME,
    SALES_NAME,
    SHOP,
    asked,
    done,
    entries,
)
from tests.app.shop_world import shop_in_production as shop
from vde_dagster.app.apply import apply_plan, evaluate_range
from vde_dagster.app.catch_up import catch_up
from vde_dagster.app.planning import plan_environment
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.plan import Plan
from vde_dagster.core.work import WorkState

GRAPH, SHOWN_NAME = graph_of(SHOP), ModelName("mart", "shown")
LATE = graph_of(PROJECT)


def found(world: MemoryWorld) -> tuple[Plan, list[str]]:
    """The next plan, and what was asked for it."""
    fuse = Fuse()
    return plan_environment(world.services(fuse), GRAPH, "prod"), fuse.names


def test_nothing_is_to_be_done_after_one_look_at_the_catalog() -> None:
    plan, asked_for = found(shop())
    assert plan.is_empty
    assert plan.is_up_to_date
    assert asked_for.count("present") == 1
    assert asked_for.count("table") == 2  # the source: for the clock, and for its own time
    assert asked_for.count("unfinished") == 1


@pytest.mark.parametrize("name", [SALES_NAME, SHOWN_NAME])
def test_a_view_that_somebody_dropped_is_made_again(name: ModelName) -> None:
    world = shop()
    world.catalog.swap_views([], [TableName(name.schema, name.name)])
    plan, _ = found(world)
    assert not plan.is_empty
    assert (plan.dropped_views, plan.backfills, plan.promotes) == ((name,), (), False)
    fuse = Fuse()
    apply_plan(world.services(fuse), plan, lambda _: None)
    assert "stage" not in fuse.names
    assert world.rows(str(name)) == AMOUNTS
    assert found(world)[0].is_up_to_date


def test_a_view_of_a_small_environment_that_somebody_dropped_is_made_again() -> None:
    world = shop()
    edited = graph_of(EDITED)
    done(world.services(), edited, "dev", include_unmodified=False)
    before = world.rows("mart__dev.sales")
    world.catalog.swap_views([], [TableName("mart__dev", "sales")])
    plan = asked(world.services(), edited, "dev", include_unmodified=False)
    assert plan.dropped_views == (SALES_NAME,)
    apply_plan(world.services(), plan, lambda _: None)
    assert world.rows("mart__dev.sales") == before
    assert asked(world.services(), edited, "dev", include_unmodified=False).is_up_to_date


def test_a_physical_view_that_somebody_dropped_is_made_again() -> None:
    world = shop()
    del world.catalog.queries[bound(world.services()).table(SHOWN_NAME)]
    plan, _ = found(world)
    assert [each.name for each in plan.backfills] == [SHOWN_NAME]
    apply_plan(world.services(), plan, lambda _: None)
    assert world.rows("mart.shown") == AMOUNTS
    assert found(world)[0].is_up_to_date


def test_a_table_that_somebody_dropped_is_told_and_nothing_is_promoted_over_it() -> None:
    world = shop()
    table = bound(world.services()).table(SALES_NAME)
    world.catalog.drop_table(table)
    plan, _ = found(world)
    assert not plan.is_up_to_date
    assert [(each.name, each.table) for each in plan.lost_tables] == [(SALES_NAME, str(table))]
    other = graph_of({**SHOP, "total": SHOP["total"].replace("SUM(amount)", "SUM(amount * 2)")})
    with pytest.raises(Refused, match=r"mart\.sales is gone.*stamp"):
        done(world.services(), other, "prod")
    shown = world.services().state.environment("prod")
    assert shown is not None
    assert (shown.revision, shown.promoting) == (1, False)
    stamped = {**SHOP, "sales": SHOP["sales"].replace("cron", "stamp 'again', cron")}
    done(world.services(), graph_of(stamped), "prod")
    assert world.rows("mart.sales") == AMOUNTS


def test_a_promotion_that_was_begun_is_found_and_finished() -> None:
    world, edited = shop(), graph_of(EDITED)
    plan, fuse = asked(world.services(), edited, "prod"), Fuse()
    twin = shop()
    apply_plan(twin.services(fuse), asked(twin.services(), edited, "prod"), lambda _: None)
    cut = fuse.names.index("begin_promotion") + 1
    with pytest.raises(PowerCut):
        apply_plan(world.services(Fuse(cut_at=cut, after=True)), plan, lambda _: None)
    assert world.rows("mart.sales") == AMOUNTS
    world.reboot()
    left = plan_environment(world.services(), edited, "prod")
    assert not left.is_up_to_date
    apply_plan(world.services(), left, lambda _: None)
    assert world.rows("mart.sales")[0][1] == 100
    assert plan_environment(world.services(), edited, "prod").is_up_to_date


def late_world() -> MemoryWorld:
    """Production over a source in which a late row has landed since."""
    world = MemoryWorld()
    world.land((1, 10), (30, 5), (47, 1), until=48)
    build(world.services(), LATE)
    world.land((1.5, 100), until=48)
    return world


def session_calls() -> list[str]:
    world, fuse = late_world(), Fuse()
    services = world.services(fuse)
    catch_up(services, bound(services), EVENTS_NAME)
    return fuse.names


@pytest.mark.parametrize("call", ["record_intent", "stage", "record_staged", "publish"])
def test_a_session_that_was_stopped_is_found_and_ended(call: str) -> None:
    world, names = late_world(), session_calls()
    services = world.services(Fuse(cut_at=names.index(call) + 1, after=True))
    with pytest.raises(PowerCut):
        catch_up(services, bound(world.services()), EVENTS_NAME)
    world.reboot()
    plan = plan_environment(world.services(), LATE, "prod")
    assert plan.unfinished == (EVENTS_NAME,)
    apply_plan(world.services(), plan, lambda _: None)
    assert len(world.rows("staging.events")) == 4
    assert plan_environment(world.services(), LATE, "prod").is_up_to_date


def test_a_session_that_was_given_up_is_run_again() -> None:
    world, names = late_world(), session_calls()
    services = world.services(Fuse(cut_at=names.index("record_intent") + 1, after=True))
    with pytest.raises(PowerCut):
        catch_up(services, bound(world.services()), EVENTS_NAME)
    world.reboot()
    services = world.services()
    first = entries(world, "prod", EVENTS_NAME)[0].interval
    evaluate_range(services, bound(services), EVENTS_NAME, first)  # whoever writes gives it up
    key = bound(services).key(EVENTS_NAME)
    assert services.state.sessions(key, limit=1)[0].state is WorkState.ABANDONED
    plan = plan_environment(world.services(), LATE, "prod")
    assert [each.name for each in plan.backfills] == [EVENTS_NAME]
    apply_plan(world.services(), plan, lambda _: None)
    assert len(world.rows("staging.events")) == 4
    assert plan_environment(world.services(), LATE, "prod").is_up_to_date


def test_what_is_being_written_right_now_is_left_to_whoever_writes_it() -> None:
    world, names = late_world(), session_calls()
    services = world.services(Fuse(cut_at=names.index("stage") + 1, after=True))
    with pytest.raises(PowerCut):
        catch_up(services, bound(world.services()), EVENTS_NAME)
    plan = plan_environment(world.services(), LATE, "prod")  # its lease has not expired
    assert plan.unfinished == (EVENTS_NAME,)
    key = bound(world.services()).key(EVENTS_NAME)
    before = world.services().state.open_work(key)
    with pytest.raises(Conflict):  # nor does another session run meanwhile
        apply_plan(world.services(), plan, lambda _: None)
    assert world.services().state.open_work(key) == before
