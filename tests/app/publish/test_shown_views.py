"""What the views of an environment show after a process slept while it moved them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.clean_up.between import Between
from tests.app.memory_world import MemoryWorld, build, graph_of
from tests.app.promote.rest_shop import Shop, shop_in
from tests.app.shop_world import EDITED, SALES_NAME, SHOP, TOTAL_NAME, shop_in_production
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.app.promote.taking import plan_rollback
from vde_dagster.app.publish.shown_views import show
from vde_dagster.core.errors import Conflict
from vde_dagster.core.names import TableName
from vde_dagster.ports.state import LeaseLost

FEWER = {name: text for name, text in SHOP.items() if name != "total"}
EMBEDDED = {**FEWER, "total": "MODEL (name mart.total, kind EMBEDDED);\nSELECT 1 AS amount"}
TOTAL_VIEW = TableName("mart", "total")
TABLES = [TableName("mart", name) for name in SHOP]


def without_total() -> MemoryWorld:
    """Production over three days of events, without the model that reads all others."""
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    world.build(graph_of(FEWER))
    return world


def shown(world: MemoryWorld) -> dict[TableName, TableName]:
    return {name: each.target for name, each in world.catalog.views(TABLES).items()}


def rolled_back(world: MemoryWorld) -> None:
    world.apply(plan_rollback(world.services(), "prod"))


def without_it(world: MemoryWorld) -> None:
    world.build(graph_of(FEWER))


def with_it_inlined(world: MemoryWorld) -> None:
    world.build(graph_of(EMBEDDED))


def with_it_edited(world: MemoryWorld) -> None:
    world.build(graph_of(EDITED))


@pytest.mark.full
@pytest.mark.parametrize("goes_on", [rolled_back, without_it, with_it_inlined])
def test_a_view_that_a_sleeper_makes_of_a_model_that_was_removed_meanwhile_goes_again(
    goes_on: Callable[[MemoryWorld], None],
) -> None:
    world = without_total()
    before = shown(world)

    def meanwhile() -> None:
        world.reboot()
        assert finish_promotions(world.services(), "prod")
        assert TOTAL_VIEW in shown(world)
        goes_on(world)
        assert shown(world) == before

    slept = Between(world, "swap_views", after=False, then=meanwhile).services()
    with suppress(Conflict):
        build(slept, graph_of(SHOP))
    assert shown(world) == before


def test_a_sleeper_drops_no_view_that_shows_no_version_of_the_removed_model() -> None:
    world = without_total()

    def meanwhile() -> None:
        world.reboot()
        finish_promotions(world.services(), "prod")
        without_it(world)

    def replaced() -> None:
        view = world.catalog.view(TOTAL_VIEW)
        sales = world.catalog.view(TableName("mart", "sales"))
        assert view is not None, "the sleeper has made it"
        assert sales is not None
        world.catalog.swap_views([], [TOTAL_VIEW])
        world.catalog.swap_views([replace(sales, name=TOTAL_VIEW)], [])

    slept = Between(world, "swap_views", after=False, then=meanwhile).services()
    finishing = Between(world, "finish_promotion", after=False, then=replaced)
    slept = finishing.services(slept)
    with suppress(Conflict):
        build(slept, graph_of(SHOP))
    assert shown(world)[TOTAL_VIEW] == shown(world)[TableName("mart", "sales")]


@pytest.mark.full
@pytest.mark.parametrize("goes_on", [without_it, with_it_edited])
def test_a_view_that_is_shown_by_an_earlier_reading_follows_what_was_promoted_since(
    goes_on: Callable[[MemoryWorld], None],
) -> None:
    world, later = shop_in_production(), []

    def meanwhile() -> None:
        goes_on(world)
        later.append(shown(world))

    slept = Between(world, "swap_views", after=False, then=meanwhile).services()
    show(slept, "prod", [SALES_NAME, TOTAL_NAME])
    assert [shown(world)] == later


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with shop_in(tmp_path, monkeypatch) as made:
        yield made


@pytest.mark.full
def test_a_sleeper_whose_other_views_were_overtaken_takes_back_what_it_made(shop: Shop) -> None:
    """Where views move one by one, the view of a removed model has no number that is higher."""
    world, fewer = shop.world, graph_of(FEWER)
    world.build(fewer)
    before = shown(world)
    assert TOTAL_VIEW not in before
    edited = {**SHOP, "sales": EDITED["sales"]}

    def meanwhile() -> None:
        world.reboot()
        assert finish_promotions(world.services(), "prod")
        assert TOTAL_VIEW in shown(world)
        rolled_back(world)
        assert shown(world) == before

    slept = Between(world, "swap_views", after=False, then=meanwhile).services()
    with pytest.raises(LeaseLost):
        build(slept, graph_of(edited))
    assert shown(world) == before
