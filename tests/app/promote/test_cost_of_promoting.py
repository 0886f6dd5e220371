"""What a promotion and a rollback ask, which does not grow with the models, and no more than once.

Each question about an environment reads all that it shows.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import NoReturn

import pytest
from sqlglot import exp

from tests.app.memory_world import Fuse, MemoryWorld, build, graph_of, made_once, plan
from tests.app.shop_world import done
from vde_dagster.app.apply import visitor
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.promote.promotion import promote
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.app.services import Services
from vde_dagster.app.staleness import remembered_looks
from vde_dagster.core.graph import render_model
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.graph.render_model import query_over_tables
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.ports.state import Environment, Lease

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
    world = MemoryWorld()
    world.land((1, 10), until=24)
    build(world.services(), project(models, "amount"))
    done(world.services(), project(models, "amount * 2"), "dev")
    if shown == "dev":
        apply_plan(world.services(), MAKES["promotion"](world.services()), lambda _: None)
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


@pytest.mark.full
def test_models_that_were_shown_are_not_read_again_for_what_nothing_upstream_touches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise AssertionError("what was shown is read again")

    world = MemoryWorld()
    world.land((1, 10), until=24)
    edited = {
        "kept": "MODEL (name m.kept, kind FULL); SELECT id AS id FROM raw.events",
        "below": "MODEL (name m.below, kind FULL); SELECT id AS id FROM m.kept",
        "other": "MODEL (name m.other, kind FULL); SELECT amount AS amount FROM raw.events",
    }
    build(world.services(), graph_of(edited))
    edited["other"] = edited["other"].replace("SELECT amount", "SELECT amount * 2")
    done(world.services(), graph_of(edited), "dev")
    monkeypatch.setattr(remembered_looks, "stored_graph", refuse)
    apply_plan(world.services(), MAKES["promotion"](world.services()), lambda _: None)
    monkeypatch.undo()
    assert plan(world.services(), graph_of(edited)).is_up_to_date


@pytest.mark.full
@pytest.mark.parametrize("name", MAKES)
def test_no_query_is_looked_at_if_no_input_has_moved(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[ModelName] = []

    def noted(graph: Graph, model: ModelName) -> exp.Query | None:
        looked_at.append(model)
        return query_over_tables(graph, model)

    world = world_of(FEW, shown="dev" if name == "rollback" else "prod")
    monkeypatch.setattr(render_model, "query_over_tables", noted)
    planned = MAKES[name](world.services())
    assert not looked_at
    apply_plan(world.services(), planned, lambda _: None)
    assert not looked_at


@pytest.mark.full
@pytest.mark.parametrize("name", MAKES)
def test_the_garbage_collector_leaves_what_survived_alone_until_the_views_have_moved(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, during = gc.get_threshold(), list[tuple[int, int, int]]()

    def noted(services: Services, plan: Plan, lease: Lease) -> Environment:
        during.append(gc.get_threshold())
        return promote(services, plan, lease)

    monkeypatch.setattr(visitor, "promote", noted)
    world = world_of(FEW, shown="dev" if name == "rollback" else "prod")
    apply_plan(world.services(), MAKES[name](world.services()), lambda _: None)
    assert [each[2] > 1_000 for each in during] == [True], "it is not collected again"
    assert gc.get_threshold() == before
