"""Removing an environment: its views go, and what it owned goes to whoever shows it (rule R9)."""

from __future__ import annotations

from functools import partial

import pytest

from tests.app.clean_up.between import Between
from tests.app.memory_world import MemoryWorld, graph_of
from tests.app.shop_world import AMOUNTS, EDITED, TENFOLD, shop_in_production
from vde_dagster.app.inspect.environment_diff import history
from vde_dagster.app.leases import leased
from vde_dagster.app.promote.promotion import remove_environment
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.app.publish.shown_views import show_first
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import TableName
from vde_dagster.ports.state import environment_resource


def with_dev(project: dict[str, str] | None = None) -> MemoryWorld:
    world = shop_in_production()
    world.build(graph_of(project or EDITED), "dev")
    return world


def views_of(world: MemoryWorld, environment: str) -> list[TableName]:
    return sorted(n for n in world.catalog._views if n.namespace.endswith(f"__{environment}"))


def keys(world: MemoryWorld, environment: str) -> set[VersionKey]:
    shown = world.bound(environment).snapshots
    return {each.key for each in shown.values() if not each.is_source}


@pytest.mark.full
def test_its_views_are_gone_and_its_tables_and_all_others_stay() -> None:
    world = with_dev()
    tables = set(world.catalog.tables)
    assert views_of(world, "dev")
    remove_environment(world.services(), "dev")
    assert views_of(world, "dev") == []
    assert set(world.catalog.tables) == tables
    assert world.state.environment("dev") is None
    assert world.state.environments() == ("prod",)
    assert world.rows("mart.shown") == AMOUNTS


@pytest.mark.full
def test_an_environment_that_a_plan_holds_is_not_removed() -> None:
    world = with_dev()
    with (
        leased(world.state, environment_resource("dev"), holder="a plan"),
        pytest.raises(Conflict, match="a plan"),
    ):
        remove_environment(world.services(), "dev")
    assert world.rows("mart__dev.shown") == TENFOLD


def test_r9_what_it_owned_and_another_one_shows_is_owned_by_that_one() -> None:
    world = with_dev()
    for name in ("staging", "other"):
        world.build(graph_of(EDITED), name)
    shared = keys(world, "dev") - keys(world, "prod")
    assert set(world.state.owners(shared).values()) == {"dev"}
    remove_environment(world.services(), "dev")
    assert world.state.owners(shared) == dict.fromkeys(shared, "other")
    remove_environment(world.services(), "other")
    assert world.state.owners(shared) == dict.fromkeys(shared, "staging")
    remove_environment(world.services(), "staging")
    assert world.state.owners(shared) == {}
    assert set(world.state.owners(keys(world, "prod")).values()) == {"prod"}


def test_it_can_be_made_again_and_does_not_go_back_to_what_it_was() -> None:
    world = with_dev()
    remove_environment(world.services(), "dev")
    assert world.build(graph_of(EDITED), "dev") == ()
    assert world.rows("mart__dev.shown") == TENFOLD
    assert set(world.state.owners(keys(world, "dev") - keys(world, "prod")).values()) == {"dev"}
    with pytest.raises(Refused, match="nothing to roll back to"):
        plan_rollback(world.services(), "dev")
    with pytest.raises(Refused, match="removed dev"):
        plan_rollback(world.services(), "dev", 2)
    assert [each.shown.is_removed for each in history(world.services(), "dev", limit=9)] == [
        False,
        True,
        False,
    ]
    with pytest.raises(Refused, match="no environment other"):
        plan_promotion(world.services(), "other", "prod")


@pytest.mark.full
def test_work_that_ends_after_the_removal_leaves_no_view() -> None:
    world = with_dev()
    binding = world.bound("dev")
    key = next(binding.key(name) for name in binding.snapshots if name.name == "sales")
    columns = world.state.holdings([key])[key].columns
    removed = partial(remove_environment, world.services(), "dev")
    late = Between(world, "environment", after=True, then=removed)
    show_first(late.services(), "dev", key, columns)
    assert late.came
    assert views_of(world, "dev") == []
