"""A tracked source whose files do not say which times they have, in memory: why, and the way on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.app.memory_world import RAW, MemoryWorld, bound, build, graph_of, hour_of, plan
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.inspect.interval_report import waiting_models
from vde_dagster.app.services import VALID_TO, Services
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan_text import work_text

NAME = ModelName("a", "sums")
GRAPH = graph_of(
    {
        "sums": "MODEL (name a.sums, kind INCREMENTAL_BY_TIME_RANGE (time_column at), "
        "cron '@hourly', late_data (mode stateful, sources ('raw.events|at'))); "
        "SELECT at AS at, SUM(amount) AS amount FROM raw.events "
        "WHERE at BETWEEN @start_ts AND @end_ts GROUP BY at"
    }
)


def without_bounds(*, declared: bool = False) -> MemoryWorld:
    """A source with rows of three hours, whose files say nothing of their times."""
    world = MemoryWorld()
    world.catalog.set_property(RAW, "write.metadata.metrics.default", "none")
    world.land((0.5, 10), (1.5, 20), (2.5, 30), until=3)
    if not declared:
        del world.catalog.tables[RAW].properties[VALID_TO]
    world.clock.advance(timedelta(hours=3))
    return world


def test_a_session_that_waits_names_the_cause_and_the_way_on() -> None:
    world = without_bounds()
    services = by_the_wall(world)
    apply_plan(services, plan(services, GRAPH), lambda _: None)
    decision = detect(services, bound(services), NAME)
    assert isinstance(decision, NothingToLoad)
    for said in (decision.reason, " ".join(waits(world))):
        assert "it is not known up to when raw.events is complete" in said
        assert "`vde.valid-to`" in said
        assert "no data" not in said
    (change,) = (each for each in plan(services, GRAPH).changes if each.name == NAME)
    assert [*work_text(plan(services, GRAPH), change)] == [
        "waits: how far its tracked sources are complete is not known yet"
    ]


def test_it_goes_on_as_soon_as_the_source_says_so() -> None:
    world = without_bounds()
    services = by_the_wall(world)
    apply_plan(services, plan(services, GRAPH), lambda _: None)
    world.catalog.set_property(RAW, VALID_TO, hour_of(3).isoformat())
    apply_plan(services, plan_run(services, "prod"), lambda _: None)
    assert amounts(world) == [10, 20, 30]
    assert waits(world) == []
    world.land((0.7, 5), (3.5, 40), until=4)  # whose times are not known, either: nothing is lost
    world.clock.advance(timedelta(hours=1))
    apply_plan(services, plan_run(services, "prod"), lambda _: None)
    assert amounts(world) == [5, 10, 20, 30, 40]


def test_a_source_without_a_table_or_a_row_has_no_data() -> None:
    world = MemoryWorld()
    del world.catalog.tables[RAW].properties[VALID_TO]
    services = by_the_wall(world)
    world.clock.advance(timedelta(hours=3))
    build(services, GRAPH)
    assert waits(world) == ["raw.events has no data"]


def by_the_wall(world: MemoryWorld) -> Services:
    """The clock on the wall: the source declares no time."""

    return replace(world.services(), clock_sources=())


def waits(world: MemoryWorld) -> list[str]:
    services = by_the_wall(world)
    found = dict(waiting_models(services, plan_run(services, "prod")))
    return [str(each) for each in found.get(NAME, ())]


def amounts(world: MemoryWorld) -> list[int]:
    return sorted(int(str(row[1])) for row in world.rows("a.sums"))
