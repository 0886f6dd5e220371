"""An environment is called up to date only after checking its tables and views (rule R14)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from tests.app.memory_world import PROJECT, Fuse, MemoryWorld, PowerCut, graph_of, made_once, there
from tests.app.shop_world import AMOUNTS, EDITED, EVENTS_NAME, SALES_NAME, SHOP, TOTAL
from tests.app.shop_world import shop_in_production as shop
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.visitor import applying
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.inspect.status import look_at_environment
from vde_dagster.app.inspect.verify import damaged_tables
from vde_dagster.app.plan.catalog_look import replaced_views
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_text import remarks
from vde_dagster.core.planning.stages import Promote, stages_of

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


def replaced(world: MemoryWorld, how: str) -> None:
    """Another program replaces the view of a model in production."""
    view = there(world.catalog.view(TableName("mart", "sales")))
    if how == "another version":
        world.build(graph_of(EDITED), "dev")
        world.catalog.swap_views([replace(view, target=world.bound("dev").table(SALES_NAME))], [])
    else:
        world.catalog.swap_views([], [view.name])
        world.catalog.queries[view.name] = "SELECT 1 AS day, 2 AS amount"


REPLACED: Final = pytest.mark.parametrize("how", ["another version", "its own"])


@REPLACED
def test_a_view_that_another_program_replaced_is_seen_and_put_back(how: str) -> None:
    world = shop()
    replaced(world, how)
    plan, _ = found(world)
    assert (plan.dropped_views, plan.backfills, plan.promotes) == ((SALES_NAME,), (), False)
    assert "replaced by another program" in "\n".join(remarks(plan))
    status = look_at_environment(world.services(), "prod")
    assert (status.dropped_views, status.is_behind) == ((SALES_NAME,), True)
    assert [each.split(" is ")[0] for each in damaged_tables(world.services())] == [
        "the view of mart.sales in prod"
    ]
    if how == "its own":
        with pytest.raises(Refused, match=r"mart\.sales is .* no view can be created there"):
            world.apply(plan)
        del world.catalog.queries[TableName("mart", "sales")]
        plan = world.plan_run()
    fuse = Fuse()
    apply_plan(world.services(fuse), plan, lambda _: None)
    assert "stage" not in fuse.names
    assert world.rows("mart.sales") == AMOUNTS
    assert found(world)[0].is_up_to_date
    assert list(damaged_tables(world.services())) == []


def test_no_promotion_begins_where_another_program_replaced_a_view() -> None:
    world = shop()
    replaced(world, "its own")
    before = world.state.environment("prod")
    with pytest.raises(Refused, match=r"mart\.sales already exists in the catalog"):
        world.build(graph_of({**SHOP, "total": TOTAL.replace("amount)", "amount + 1)")}))
    assert world.state.environment("prod") == before


def test_views_that_a_promotion_moves_meanwhile_are_no_news() -> None:
    world = shop()
    services = world.services()
    shown = there(services.state.environment("prod"))
    world.build(graph_of(EDITED))
    sound = {each.key for each in shown.snapshots.values()}
    assert replaced_views(services, shown, sound, naming=services.naming) == ()


def test_a_physical_view_that_somebody_dropped_is_made_again() -> None:
    world = shop()
    del world.catalog.queries[world.bound().table(SHOWN_NAME)]
    plan, _ = found(world)
    assert [each.name for each in plan.backfills] == [SHOWN_NAME]
    world.apply(plan)
    assert world.rows("mart.shown") == AMOUNTS
    assert found(world)[0].is_up_to_date


def test_a_physical_view_of_production_is_reported_elsewhere_until_production_rebuilds_it() -> None:
    world = shop()
    graph = graph_of(SHOP)
    other = graph_of({**SHOP, "total": SHOP["total"].replace("SUM(amount)", "SUM(amount * 2)")})
    world.build(graph, "dev")
    view = world.bound().table(SHOWN_NAME)
    del world.catalog.queries[view]
    plan = world.plan(graph, "dev")
    assert not plan.is_up_to_date
    assert [(each.table, each.owner) for each in plan.lost_tables] == [(str(view), "prod")]
    with pytest.raises(Refused, match=r"mart\.shown is missing.* plan prod, which rebuilds it"):
        world.build(other, "dev")
    with pytest.raises(Refused, match="plan prod"):
        world.build(graph, "new")
    world.build(graph)
    assert world.plan(graph, "dev").is_up_to_date
    world.build(other, "dev")
    assert world.rows("mart__dev.shown") == AMOUNTS


LESS = {**EDITED, "total": TOTAL.replace("SUM(amount)", "SUM(amount * 2)")}


def dropped_in_dev() -> tuple[MemoryWorld, Plan, TableName]:
    """A plan of an edit for dev, over whose table of sales somebody then drops."""
    world = shop()
    world.build(graph_of(EDITED), "dev")
    plan = world.plan(graph_of(LESS), "dev")
    table = world.bound("dev").table(SALES_NAME)
    return world, plan, table


def shown_by(world: MemoryWorld, environment: str) -> tuple[int, bool]:
    """The revision of an environment, and whether it is being promoted."""
    shown = there(world.services().state.environment(environment))
    return shown.revision, shown.promoting


@pytest.mark.full
def test_what_was_dropped_since_the_plan_was_made_is_reported_before_a_promotion_begins() -> None:
    world, plan, table = dropped_in_dev()
    with applying(world.services(), plan) as work:
        for stage in stages_of(plan):
            if isinstance(stage, Promote):
                world.catalog.drop_table(table)
                with pytest.raises(
                    Refused, match=r"mart\.sales is missing.*Plan again(?s:.*)No view"
                ):
                    list(work.visit(stage))
            else:
                list(work.visit(stage))
    assert table not in world.catalog.tables, "a promotion was about to begin"
    assert shown_by(world, "dev") == (1, False)


@made_once
def late_world() -> MemoryWorld:
    """Production over a source in which a late row has landed since."""
    world = MemoryWorld.landed((1, 10), (30, 5), (47, 1), until=48)
    world.build(LATE)
    world.land((1.5, 100), until=48)
    return world


def stopped(after: str) -> MemoryWorld:
    """A session died after a call."""
    world = late_world()
    with pytest.raises(PowerCut):
        catch_up(world.services(Fuse(cut_name=after, after=True)), world.bound(), EVENTS_NAME)
    return world


def test_what_is_being_written_right_now_is_left_to_whoever_writes_it() -> None:
    world = stopped("stage")
    plan = plan_environment(world.services(), LATE, "prod")  # its lease has not expired
    assert plan.unfinished == (EVENTS_NAME,)
    key = world.bound().key(EVENTS_NAME)
    before = world.services().state.open_work(key)
    with pytest.raises(Conflict):  # nor does another session run meanwhile
        world.apply(plan)
    assert world.services().state.open_work(key) == before


@pytest.mark.full
def test_what_cannot_be_ended_since_the_catalog_is_busy_is_no_success(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = stopped("record_staged")
    world.reboot()
    plan = plan_environment(world.services(), LATE, "prod")
    left = replace(
        plan, changes=tuple(replace(e, missing=(), staleness=None) for e in plan.changes)
    )
    assert (left.unfinished, left.backfills) == ((EVENTS_NAME,), ())

    def busy(*_: object, **__: object) -> None:
        raise Conflict("the catalog is busy")

    monkeypatch.setattr(world.catalog, "publish", busy)
    with pytest.raises(Conflict, match="busy"):
        world.apply(left)
    monkeypatch.undo()
    world.apply(left)
    assert len(world.rows("staging.events")) == 4
