"""What differs between two environments, by the state alone."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld, graph_of
from tests.app.shop_world import EDITED, SALES, SHOP, TOTAL, day, shop_in_production
from vde_dagster.app.inspect.environment_diff import ModelDiff, Rows, diff_environments
from vde_dagster.core.errors import Refused
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.planning.changes.difference import Change


def differences(world: MemoryWorld) -> dict[str, ModelDiff]:
    found = diff_environments(world.services(), "prod", "dev").models
    return {each.node.name.name: each for each in found}


def with_dev(project: dict[str, str]) -> MemoryWorld:
    world = shop_in_production()
    world.build(graph_of(project), "dev")
    return world


def test_an_environment_that_was_just_created_is_the_same() -> None:
    found = differences(with_dev(SHOP))
    assert set(found) == {"sales", "shown", "triple", "total"}
    assert all(each.is_same for each in found.values())


@pytest.mark.full
def test_an_edit_has_other_rows_and_so_has_what_reads_it() -> None:
    found = differences(with_dev(EDITED))
    sales = found["sales"]
    assert (sales.difference.change, sales.difference.category) == (
        Change.DIRECT,
        Category.BREAKING,
    )
    assert (sales.rows, sales.different) == (Rows.DIFFERENT, (day(1, 3),))
    assert found["total"].rows is Rows.DIFFERENT
    assert found["shown"].rows is Rows.NOT_COMPARED  # a view has none of its own


@pytest.mark.full
def test_a_refactoring_that_gives_equal_rows_is_called_equal() -> None:
    same = {**SHOP, "sales": SALES.replace("SUM(amount)", "SUM(amount * 2) - SUM(amount)")}
    found = differences(with_dev(same))["sales"]
    assert found.before is not None
    assert found.after is not None
    assert found.before.version != found.after.version
    assert (found.rows, found.different) == (Rows.EQUAL, ())


@pytest.mark.full
def test_what_only_one_of_them_holds_is_named() -> None:
    world = with_dev(EDITED)
    world.land((80, 1), until=96)
    world.build(graph_of(SHOP))
    found = differences(world)["sales"]
    assert (found.only_before, found.only_after) == ((day(4),), ())
    assert found.different == (day(1, 3),)


def test_models_of_one_environment_alone_are_named() -> None:
    project = {name: text for name, text in SHOP.items() if name != "total"}
    project["least"] = TOTAL.replace("mart.total", "mart.least").replace("SUM", "MIN")
    found = differences(with_dev(project))
    assert found["total"].difference.change is Change.REMOVED
    assert found["total"].after is None
    assert found["least"].difference.change is Change.ADDED
    assert found["least"].before is None


def test_metadata_alone_is_one_table() -> None:
    described = SALES.replace("cron '@daily'", "cron '@daily', description 'What is sold'")
    found = differences(with_dev({**SHOP, "sales": described}))["sales"]
    assert found.difference.change is Change.METADATA
    assert found.rows is Rows.SAME_TABLE
    assert not found.is_same


def test_an_environment_that_is_not_there_is_refused() -> None:
    with pytest.raises(Refused, match="there is no environment"):
        diff_environments(shop_in_production().services(), "prod", "dev")
