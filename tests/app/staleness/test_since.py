"""Since when an interval is stale: the first change of an input after it was read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from tests.app.memory_world import RAW, MemoryWorld, bound, graph_of, plan, there
from tests.app.shop_world import day
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.plan import Plan, Staleness
from vde_dagster.ports.catalog import Catalog

MINUTE = timedelta(minutes=1)
HOURLY = """
MODEL (name staging.events, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id AS id, at AS at, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
TWO_DAYS = """
MODEL (
  name mart.window,
  kind INCREMENTAL_BY_TIME_RANGE (time_column day, batch_size 1),
  cron '@daily'
);
SELECT CAST(@start_ds AS DATE) AS day, SUM(amount) AS amount FROM staging.events
WHERE at BETWEEN DATE_SUB(@start_dt, 1) AND @end_dt
"""
ALL = "MODEL (name mart.all, kind FULL, cron '@hourly'); SELECT SUM(amount) AS s FROM raw.events"


def staleness(of: Plan, name: str) -> Staleness | None:
    return {str(each.name): each.staleness for each in of.changes}[name]


def since(of: Plan, name: str) -> datetime | None:
    found = there(staleness(of, name))
    return found.since


def landed(world: MemoryWorld, *events: tuple[float, int], until: float) -> datetime:
    """Rows arrive a minute later than whatever was done before; the time at which they do."""
    world.clock.advance(MINUTE)
    world.land(*events, until=until)
    return world.clock.now()


def built(graph: Graph) -> MemoryWorld:
    world = MemoryWorld.landed((0.5, 1), (1.5, 2), until=3)
    world.build(graph)
    return world


@pytest.mark.full
def test_of_a_source_it_is_the_commit_of_the_first_rows_of_the_times_that_were_read() -> None:
    graph = graph_of({"events": HOURLY})
    world = built(graph)
    landed(world, (3.5, 5), until=4)  # of no hour that was read
    first = landed(world, (0.6, 3), until=4)
    landed(world, (0.7, 4), until=4)
    assert since(world.plan(graph), "staging.events") == first


@pytest.mark.full
def test_a_source_that_is_read_as_a_whole_is_behind_since_its_next_commit() -> None:
    graph = graph_of({"all": ALL})
    world = built(graph)
    world.clock.advance(MINUTE)
    world.catalog.compact(RAW)
    first = landed(world, (3.5, 5), until=3)
    landed(world, (0.6, 3), until=3)
    assert since(world.plan(graph), "mart.all") == first


@pytest.mark.full
def test_what_an_interval_has_seen_already_does_not_count_for_it() -> None:
    graph = graph_of({"events": HOURLY, "window": TWO_DAYS})
    world = MemoryWorld.landed((1, 1), (25, 2), (49, 3), until=72)
    world.build(graph)
    landed(world, (1.1, 3), until=72)
    world.build(graph)  # the first two days, and not the third one
    landed(world, (25.1, 3), until=72)
    world.clock.advance(MINUTE)
    written = world.clock.now()
    only_events(world, graph)
    found = world.plan(graph)
    stale = there(staleness(found, "mart.window"))
    assert (stale.intervals, stale.since) == ((day(2, 3),), written)


def test_if_the_first_change_is_not_retained_no_time_is_reported() -> None:
    graph = graph_of({"all": ALL})
    world = built(graph)
    landed(world, (0.6, 3), until=3)
    landed(world, (0.7, 3), until=3)
    world.catalog.expire(RAW)
    assert since(world.plan(graph), "mart.all") is None


@dataclass
class Asked:
    """A catalog that notes of which tables it was asked what their Iceberg snapshots changed."""

    catalog: Any
    tables: list[TableName] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.catalog, name)

    def row_changes(self, name: TableName, **kwargs: Any) -> Any:
        self.tables.append(name)
        return self.catalog.row_changes(name, **kwargs)


def test_of_a_model_the_ledger_says_it_however_many_iceberg_snapshots_came_since() -> None:
    graph = graph_of({"events": HOURLY, "window": TWO_DAYS})
    world = MemoryWorld()
    world.land((1, 1), (25, 2), until=48)
    world.build(graph)
    landed(world, (1.1, 3), until=48)
    world.clock.advance(MINUTE)
    written = world.clock.now()
    only_events(world, graph)
    landed(world, (1.2, 3), until=48)
    asked = Asked(world.catalog)
    found = plan(replace(world.services(), catalog=cast("Catalog", asked)), graph)
    stale = there(staleness(found, "mart.window"))
    assert (stale.intervals, stale.since) == ((day(1, 2),), written)
    assert set(asked.tables) == {RAW}


def only_events(world: MemoryWorld, graph: Graph) -> None:
    """Compute what is stale of the first model, and of no other one."""
    services: Services = world.services()
    name = ModelName("staging", "events")
    stale = there(staleness(plan(services, graph), str(name)))
    for each in stale.intervals:
        evaluate_range(services, bound(services), name, each)
