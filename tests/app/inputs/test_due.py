"""What is due of one model: the same as a plan says, without looking at other models."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.app.memory_world import (
    PROJECT,
    START,
    MemoryWorld,
    bound,
    graph_of,
    hour_of,
    instead,
    made_once,
)
from vde_dagster.app.inputs.completeness import due_of
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

HISTORY = """
MODEL (
  name mart.history,
  kind SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name at),
  cron '@daily'
);
SELECT id, at, amount FROM staging.events WHERE at BETWEEN @start_dt AND @end_dt
"""
BY_KEY = """
MODEL (name mart.by_key, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id), cron '@daily');
SELECT id, amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
APART = """
MODEL (name other.apart, kind FULL);
SELECT COUNT(*) AS events FROM raw.events
"""


def project() -> Graph:
    return graph_of({**PROJECT, "history": HISTORY, "by_key": BY_KEY, "apart": APART})


@made_once
def built_for_a_day() -> MemoryWorld:
    world = MemoryWorld.landed((1, 10), (5, 20), until=24)
    world.build(project())
    return world


@pytest.mark.full
@pytest.mark.parametrize("until", [24, 30, 48, 80])
def test_it_is_what_a_plan_of_the_environment_says(until: float) -> None:
    world = built_for_a_day()
    world.land((until - 0.5, 7), until=until)
    services = world.services()
    binding = world.bound()
    plan = plan_environment(services, binding.graph, "prod")
    said = {each.name: (each.missing, each.complete_to) for each in plan.changes}
    found = {name: due_of(services, binding, name) for name in said}
    assert {name: (due.missing, due.complete_to) for name, due in found.items()} == said
    assert any(missing for missing, _ in said.values()) is (until > 24)


def test_nothing_is_asked_of_models_that_it_does_not_read() -> None:
    world = built_for_a_day()
    services = world.services()
    names: set[ModelName] = set()

    def holdings(keys: Iterable[VersionKey]) -> object:
        asked = [*keys]
        names.update(key.model for key in asked)
        return services.state.holdings(asked)

    noting = instead(services, "state", holdings=holdings)
    due_of(noting, bound(services), ModelName("mart", "by_key"))
    assert names == {ModelName("mart", "by_key"), ModelName("raw", "events")}


HOURLY = """
MODEL (name mart.hourly, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id, at FROM mart.latest WHERE at BETWEEN @start_dt AND @end_dt
"""
LATEST = """
MODEL (name mart.latest, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id), cron '@daily');
SELECT id, at FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
FOLLOWING = HOURLY.replace("mart.hourly", "mart.following").replace("mart.latest", "mart.hourly")
BY_SESSIONS = FOLLOWING.replace(
    "@hourly'", "@hourly', late_data (mode stateful, sources (mart.hourly (tracked_by at)))"
)


EDITED = HOURLY.replace("SELECT id", "SELECT id + 1 AS id")


def test_a_day_that_is_not_over_holds_no_hour_back_in_an_environment_that_shares_its_table() -> (
    None
):
    """A table without times is read as it is, whoever computes it: no hour of today is in it."""
    world = MemoryWorld.landed((1, 10), until=30)
    world.build(graph_of({"latest": LATEST, "hourly": HOURLY}))
    world.build(graph_of({"latest": LATEST, "hourly": EDITED}), "dev")
    key = world.bound("dev").key(ModelName("mart", "hourly"))
    assert world.services().state.holdings([key])[key].recorded == (Interval(START, hour_of(30)),)


def test_a_day_that_is_not_over_holds_no_hour_back_of_sessions_further_down() -> None:
    graph = graph_of({"latest": LATEST, "hourly": HOURLY, "following": BY_SESSIONS})
    world = MemoryWorld.landed((1, 10), until=30)
    world.build(graph)
    assert plan_environment(world.services(), graph, "prod").is_empty
