"""What is due of one model: the same as a plan says, without looking at other models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.app.memory_world import PROJECT, MemoryWorld, bound, build, graph_of, made_once
from vde_dagster.app.inputs.due import due_of
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName

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
    world = MemoryWorld()
    world.land((1, 10), (5, 20), until=24)
    build(world.services(), project())
    return world


@pytest.mark.full
@pytest.mark.parametrize("until", [24, 30, 48, 80])
def test_it_is_what_a_plan_of_the_environment_says(until: float) -> None:
    world = built_for_a_day()
    world.land((until - 0.5, 7), until=until)
    services = world.services()
    binding = bound(services)
    plan = plan_environment(services, binding.graph, "prod")
    said = {each.name: (each.missing, each.complete_to) for each in plan.changes}
    found = {name: due_of(services, binding, name) for name in said}
    assert {name: (due.missing, due.complete_to) for name, due in found.items()} == said
    assert any(missing for missing, _ in said.values()) is (until > 24)


@dataclass
class Asked:
    """A state that notes whose intervals it was asked for."""

    state: Any
    names: set[ModelName] = field(default_factory=set)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.state, name)

    def holdings(self, keys: Iterable[VersionKey]) -> Any:
        asked = [*keys]
        self.names |= {key.model for key in asked}
        return self.state.holdings(asked)


def test_nothing_is_asked_of_models_that_it_does_not_read() -> None:
    world = built_for_a_day()
    services = world.services()
    asked = Asked(services.state)
    binding = bound(services)
    due_of(replace(services, state=asked), binding, ModelName("mart", "by_key"))
    assert asked.names == {ModelName("mart", "by_key"), ModelName("raw", "events")}
