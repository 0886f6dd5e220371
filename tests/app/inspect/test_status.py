"""Which models of an environment are behind: each sort, and none if all is up to date."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.app.generated_models import Form, Made, project
from tests.app.memory_world import PROJECT, MemoryWorld, graph_of, hour_of, there
from tests.app.shop_world import EDITED, SALES_NAME, SHOP, day, shop_in_production
from vde_dagster.app.inspect.status import EnvironmentStatus, ModelStatus, look_at_environment
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import Interval

LATE, GRAPH = graph_of(PROJECT), graph_of(SHOP)
MINUTE = timedelta(minutes=1)


def status(world: MemoryWorld, environment: str = "prod") -> EnvironmentStatus:
    return look_at_environment(world.services(), environment)


def of(found: EnvironmentStatus, name: str) -> ModelStatus:
    return {str(each.node.name): each for each in found.models}[name]


def named(found: EnvironmentStatus) -> list[str]:
    return [str(each.node.name) for each in found.models]


def test_what_was_looked_at_and_is_as_it_would_be_computed_now_is_up_to_date() -> None:
    world = shop_in_production()
    found = status(world)
    assert (found.models, found.looked_at) == ((), 4)
    assert (found.at, found.now) == (world.clock.now(), hour_of(72))
    assert found.is_up_to_date
    assert not found.is_behind


def test_what_is_stale_and_what_follows_from_it_are_distinguished() -> None:
    world = shop_in_production()
    world.clock.advance(MINUTE)
    world.land((26, 9), until=72)
    found = status(world)
    assert named(found) == ["mart.sales", "mart.triple", "mart.total"]
    sales, triple = of(found, "mart.sales").staleness, of(found, "mart.triple").staleness
    assert sales is not None
    assert (sales.intervals, sales.following) == ((day(2),), ())
    assert sales.since == world.clock.now()
    assert sales.reason == "its inputs from raw.events have changed since"
    assert triple is not None
    assert (triple.intervals, triple.following, triple.since) == ((day(2),), (day(2),), None)
    assert found.is_behind


def test_what_is_due_is_reported_and_elsewhere_waits_for_who_computes_it() -> None:
    world = shop_in_production()
    world.build(GRAPH, "dev")
    world.land((75, 1), until=96)
    assert of(status(world), "mart.sales").due == (day(4),)
    elsewhere = status(world, "dev")
    assert of(elsewhere, "mart.sales").due == ()
    (wait,) = of(elsewhere, "mart.sales").waits
    assert str(wait) == "the environment prod fills this version, with `vde run prod`"
    assert (elsewhere.is_behind, elsewhere.is_up_to_date) == (False, False)
    world.build(GRAPH)
    assert status(world).is_up_to_date
    assert status(world, "dev").is_up_to_date


def test_a_session_that_has_late_rows_is_reported_with_its_hours() -> None:
    world = MemoryWorld.landed((0.5, 10), (1.5, 5), until=24)
    world.build(LATE)
    world.clock.advance(MINUTE)
    world.land((1.6, 2), until=24)
    events = there(of(status(world), "staging.events").staleness)
    assert events.session
    assert events.intervals == (Interval(hour_of(1), hour_of(2)),)
    assert events.since == world.clock.now()


def test_what_another_environment_computes_is_reported_there_too() -> None:
    world = shop_in_production()
    world.build(graph_of({**SHOP, "total": EDITED["total"] + " -- same"}), "dev")
    assert status(world, "dev").is_up_to_date
    world.clock.advance(MINUTE)
    world.land((26, 9), until=72)
    sales = of(status(world, "dev"), "mart.sales")
    assert sales.owner == "prod"
    assert sales.staleness is not None
    assert (sales.staleness.intervals, sales.staleness.kept) == ((), (day(2),))
    assert sales.staleness.why_kept == (
        "`vde run prod` computes this version, which that environment owns"
    )
    assert sales.staleness.since == world.clock.now()


def test_late_rows_of_what_another_environment_loads_are_reported_there_too() -> None:
    world = MemoryWorld.landed((0.5, 10), (1.5, 5), until=24)
    world.build(LATE)
    world.build(LATE, "dev")
    assert status(world, "dev").is_up_to_date
    world.land((1.6, 2), until=24)
    events = of(status(world, "dev"), "staging.events")
    assert events.owner == "prod"
    assert events.staleness is not None
    assert events.staleness.kept == (Interval(hour_of(1), hour_of(2)),)


def test_a_table_that_somebody_dropped_and_a_view_are_reported() -> None:
    world = shop_in_production()
    world.catalog.drop_table(world.bound().table(SALES_NAME))
    world.catalog.swap_views([], [TableName("mart", "triple")])
    found = status(world)
    assert of(found, "mart.sales").lost is not None
    assert found.dropped_views == (ModelName("mart", "triple"),)
    assert found.is_behind


def test_what_must_not_be_computed_again_is_reported_and_kept() -> None:
    fixed = {
        **SHOP,
        "sales": SHOP["sales"].replace("column day", "column day, disable_restatement true"),
    }
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    world.build(graph_of(fixed))
    world.land((26, 9), until=72)
    found = status(world)
    assert named(found) == ["mart.sales"]
    sales = there(of(found, "mart.sales").staleness)
    assert (sales.intervals, sales.kept) == ((), (day(2),))
    assert "disable_restatement" in sales.why_kept


def test_an_environment_says_that_another_one_has_to_run_only_if_that_one_says_so() -> None:
    """Dev shows production's table over a parent of its own, which production never reads."""
    world = shop_in_production()
    wider = SHOP["sales"].replace("SUM(amount) AS amount", "SUM(amount) AS amount, 1 AS one")
    world.build(graph_of({**SHOP, "sales": wider}), "dev")
    world.clock.advance(MINUTE)
    world.land((26, 9), until=72)
    for environment in ("prod", "dev"):
        world.clock.advance(MINUTE)
        plan = world.plan_run(environment)
        world.apply(plan)
    assert named(status(world)) == []
    assert not status(world, "dev").is_behind


def test_a_version_that_a_run_would_show_instead_is_not_called_up_to_date() -> None:
    """It was adopted, its owner went on to the version of the model's own, with a late row."""
    above = Made(name="m0", form=Form.CHANCE, parents=("raw.events",))
    reader = Made(name="m1", form=Form.COPY, parents=("gen.m0",), daily=True)
    edited = project((replace(above, layout="days(at)"), reader))
    world = MemoryWorld.landed((0, 1), (11, 2), until=30)
    world.build(project((above, reader)))
    world.build(edited, "qa")
    assert look_at_environment(world.services(), "qa").is_up_to_date
    world.clock.advance(timedelta(minutes=1))
    world.land((16, 76), until=30)
    world.build(edited)
    status = look_at_environment(world.services(), "qa")
    assert (status.is_up_to_date, status.is_behind) == (False, True)
    assert status.dropped_views == (reader.key,)
    world.run("qa")
    assert look_at_environment(world.services(), "qa").is_up_to_date
    assert [row[2] for row in world.rows("gen__qa.m1")] == [1, 2, 76]
