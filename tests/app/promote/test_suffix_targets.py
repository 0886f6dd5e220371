"""Where an environment's name is put in its views' names, and how views move if that changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.app.memory_world import (
    PROJECT,
    SOURCE,
    Fuse,
    MemoryWorld,
    bound,
    build,
    graph_of,
    hour_of,
    plan,
)
from tests.app.promote.iceberg_views import IcebergViews
from tests.app.read_models import reading_once
from tests.worlds.catalog import MemoryCatalog
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import naming_of
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName, SuffixTarget, TableName, ViewNaming, environment_view
from vde_dagster.core.time.intervals import Interval
from vde_dagster.lakehouse.catalogs.iceberg_catalog import open_iceberg_catalog

GRAPH = graph_of(PROJECT)
MODELS = [node.name for node in GRAPH if node.name != SOURCE]
DAYS = [(date(2024, 1, 1), 30), (date(2024, 1, 2), 5)]
NAMINGS = {each: ViewNaming(target=each) for each in SuffixTarget}
IN_A_CIRCLE = {
    SuffixTarget.SCHEMA: SuffixTarget.TABLE,
    SuffixTarget.TABLE: SuffixTarget.CATALOG,
    SuffixTarget.CATALOG: SuffixTarget.SCHEMA,
}
"""The moves of the short form: from each target, and to each."""


def moves(*before: str) -> list[ParameterSet]:
    """From each target to each other one; ``before`` are parameters that come first."""
    return [
        pytest.param(
            *before,
            old,
            new,
            id="-".join((*before, old.value, new.value)),
            marks=[]
            if IN_A_CIRCLE[old] is new and (old is SuffixTarget.SCHEMA or before != ("iceberg",))
            else pytest.mark.full,
        )
        for old in SuffixTarget
        for new in SuffixTarget
        if old is not new
    ]


MOVES = moves()


def views_in(folder: Path) -> IcebergViews:
    """Views in a SQL catalog."""
    uri = f"sqlite:///{folder}/lake.db"
    properties = {"type": "sql", "uri": uri, "warehouse": str(folder / "warehouse")}
    lake = open_iceberg_catalog("lake", properties)
    return IcebergViews(lake, lake)


@pytest.fixture(params=["memory", "iceberg"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryWorld:
    """A source with rows of two days; views in memory, or in a SQL catalog."""
    made: MemoryWorld = landed(MemoryCatalog() if request.param == "memory" else views_in(tmp_path))
    return made


def landed(catalog: MemoryCatalog | None = None) -> MemoryWorld:
    made = MemoryWorld(catalog=catalog or MemoryCatalog())
    made.land((1, 10), (2.5, 20), (30, 5), until=48)
    return made


def named(world: MemoryWorld, target: SuffixTarget, fuse: Fuse | None = None) -> Services:
    """The services of a process whose vde.yaml says this."""
    return replace(world.services(fuse), naming=NAMINGS[target])


@cache
def built(target: SuffixTarget, *environments: str) -> MemoryWorld:
    """Environments of a project whose vde.yaml says this."""
    world = landed()
    for environment in environments:
        build(named(world, target), GRAPH, environment)
    return world


def shown_at(
    world: MemoryWorld, environment: str, names: Collection[ModelName] = MODELS
) -> dict[SuffixTarget, set[ModelName]]:
    """Which models have a view of this environment, by each way of naming."""
    places: Mapping[SuffixTarget, dict[TableName, ModelName]] = {
        each: {environment_view(name, environment, NAMINGS[each]): name for name in names}
        for each in SuffixTarget
    }
    return {each: {at[found] for found in world.catalog.views(at)} for each, at in places.items()}


def only(target: SuffixTarget, names: Collection[ModelName] = MODELS) -> object:
    return {each: set(names) if each is target else set() for each in SuffixTarget}


@pytest.mark.full
@pytest.mark.parametrize("old,new", MOVES)
def test_the_next_plan_moves_an_environments_views_and_computes_nothing(
    old: SuffixTarget, new: SuffixTarget
) -> None:
    world = built(old, "prod", "dev", "test").copied()
    services = named(world, new)
    found = plan(services, GRAPH, "dev")
    assert (found.promotes, found.backfills) == (True, ())
    assert shown_at(world, "dev") == only(old), "planning changes nothing"
    assert apply_plan(services, found, lambda _: None) == ()
    assert shown_at(world, "dev") == only(new)
    assert shown_at(world, "test") == only(old), "another environment waits for its own plan"
    assert world.rows("mart.daily") == DAYS
    assert plan(services, GRAPH, "dev").is_empty
    assert plan(services, GRAPH, "prod").is_empty, "production has nothing to move"


def a_move() -> Fuse:
    fuse = Fuse()
    with reading_once():
        world = built(SuffixTarget.SCHEMA, "dev").copied()
        build(named(world, SuffixTarget.TABLE, fuse), GRAPH, "dev")
    return fuse


def test_all_views_move_in_one_transaction() -> None:
    assert a_move().names.count("swap_views") == 1


@pytest.mark.full
@pytest.mark.parametrize("world,old,new", [*moves("memory"), *moves("iceberg")], indirect=["world"])
def test_until_the_plan_is_applied_new_views_join_the_others(
    world: MemoryWorld, old: SuffixTarget, new: SuffixTarget
) -> None:
    world.land(until=5)
    build(named(world, old), GRAPH, "dev")
    events, daily = ModelName("staging", "events"), ModelName("mart", "daily")
    assert shown_at(world, "dev") == only(old, [events]), "no day has ended yet"
    world.land(until=48)
    services = named(world, new)
    for name in (events, daily):
        evaluate_range(services, bound(services, "dev"), name, Interval(hour_of(0), hour_of(48)))
    assert shown_at(world, "dev", [events, daily]) == only(old, [events, daily])
    assert naming_of(services, "dev").target is old
    build(services, GRAPH, "dev")
    assert shown_at(world, "dev") == only(new)
    assert naming_of(services, "dev").target is new


def model(name: str) -> str:
    return f"MODEL (name {name}, kind FULL);\nSELECT COUNT(*) AS rows FROM raw.events"


def test_a_view_of_another_model_is_never_replaced_when_names_meet(world: MemoryWorld) -> None:
    build(named(world, SuffixTarget.TABLE), graph_of({"m": model("s.m")}), "b")
    assert world.rows("s.m__b") == [(3,)]
    both: Graph = graph_of({"m": model("s.m"), "m__b": model("s.m__b")})
    services = named(world, SuffixTarget.SCHEMA)  # which allows the new name
    with pytest.raises(Refused, match=r"s\.m__b, where prod .* shows s\.m in another environment"):
        build(services, both, "prod")
    assert services.state.environment("prod") is None, "nothing was recorded"
    build(services, both, "b")
    build(services, both, "prod")
    (shown,) = world.catalog.views([TableName("s", "m__b")]).values()
    assert shown.target == bound(services).table(ModelName("s", "m__b"))
    assert world.rows("s__b.m") == [(3,)]
    assert naming_of(services, "b").target is SuffixTarget.SCHEMA


@pytest.mark.full
def test_moving_never_drops_the_view_of_a_model_that_is_named_alike(world: MemoryWorld) -> None:
    services = named(world, SuffixTarget.SCHEMA)
    both = graph_of({"m": model("s.m"), "m__b": model("s.m__b")})
    build(services, both, "prod")
    build(services, both, "b")
    build(services, graph_of({"other": model("s.other")}), "b")
    assert world.rows("s.m__b") == [(3,)]
    assert naming_of(services, "b").target is SuffixTarget.SCHEMA
