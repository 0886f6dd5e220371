"""What a promotion and a rollback ask, which does not grow with the models, and no more than once.

Each question about an environment reads all that it shows.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.app.memory_world import Fuse, MemoryWorld, graph_of, made_once
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.planning.plan import Plan

FEW, MANY = 2, 5
HOLDINGS = 5
MAKES: dict[str, Callable[[Services], Plan]] = {
    "promotion": lambda services: plan_promotion(services, "dev", "prod"),
    "rollback": lambda services: plan_rollback(services, "prod"),
}


def project(models: int, amount: str) -> Graph:
    return graph_of(
        {
            f"x{number}": f"MODEL (name m.x{number}, kind FULL); "
            f"SELECT id AS id, {amount} AS amount FROM raw.events"
            for number in range(models)
        }
    )


@made_once
def world_of(models: int, *, shown: str = "prod") -> MemoryWorld:
    """Production and dev have other versions of all models; production shows those of dev, too."""
    world = MemoryWorld.landed((1, 10), until=24)
    world.build(project(models, "amount"))
    world.build(project(models, "amount * 2"), "dev")
    if shown == "dev":
        world.apply(MAKES["promotion"](world.services()))
    return world


def asked(models: int, name: str) -> tuple[list[str], list[str]]:
    """The calls of ports of a plan that computes nothing, and of applying it."""
    world = world_of(models, shown="dev" if name == "rollback" else "prod")
    planning, applying = Fuse(), Fuse()
    plan = MAKES[name](world.services(planning))
    assert (len(plan.views), plan.backfills) == (models, ())
    apply_plan(world.services(applying), plan, lambda _: None)
    return planning.names, applying.names


@pytest.mark.full
@pytest.mark.parametrize("name", MAKES)
def test_no_port_is_asked_once_for_each_model(name: str) -> None:
    assert asked(FEW, name) == asked(MANY, name)


@pytest.mark.parametrize("name, planning", [("promotion", 4), ("rollback", 3)])
def test_environments_are_read_no_more_often_than_is_needed(name: str, planning: int) -> None:
    planned, applied = asked(FEW, name)
    assert planned.count("environment") == planning
    assert applied.count("environment") == 2, "to see what would be lost; and when views move"
    assert applied.count("holdings") == HOLDINGS, "before anything; stored; begun; moved; looked at"
    assert applied.count("snapshots") == 0, "nothing is new"
