"""What production or another environment has of an equal definition is not built again."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld, graph_of
from tests.app.shop_world import (
    AMOUNTS,
    SALES,
    SALES_NAME,
    SHOP,
    TOTAL_NAME,
    TRIPLE,
    TRIPLE_NAME,
    change,
    versions,
    work,
)
from vde_dagster.core.model.snapshot import Category

DOUBLED = {**SHOP, "sales": SALES.replace("SUM(amount)", "SUM(amount * 2)")}
WIDER = {**SHOP, "sales": SALES.replace("AS amount FROM", "AS amount, COUNT(*) AS n FROM")}
OWNED = {**WIDER, "triple": TRIPLE.replace("cron", "owner 'me', cron")}
ROWS = [(at, 3 * amount) for at, amount in AMOUNTS]


def empty_world() -> MemoryWorld:
    """Three days of events, and no environment."""
    return MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)


@pytest.mark.full
@pytest.mark.parametrize("texts", [WIDER, OWNED], ids=["as it was", "with other metadata"])
def test_an_environment_that_went_another_way_takes_what_production_has(
    world: MemoryWorld, texts: dict[str, str]
) -> None:
    production = versions(world, "prod")
    world.build(graph_of(DOUBLED), "dev")
    assert versions(world, "dev")[TRIPLE_NAME] != production[TRIPLE_NAME]
    plan = world.plan(graph_of(texts), "dev")
    assert set(work(plan)) == {"sales", "shown"}
    world.build(graph_of(texts), "dev")
    assert {versions(world, "dev")[name] for name in (TRIPLE_NAME, TOTAL_NAME)} == {
        production[name] for name in (TRIPLE_NAME, TOTAL_NAME)
    }
    assert world.rows("mart__dev.triple") == ROWS
    assert world.rows("mart__dev.total") == [(66,)]
    world.build(graph_of(texts))
    after = versions(world, "prod")
    assert {name: after[name] for name in (TRIPLE_NAME, TOTAL_NAME)} == {
        name: production[name] for name in (TRIPLE_NAME, TOTAL_NAME)
    }
    assert after[SALES_NAME] == versions(world, "dev")[SALES_NAME]


@pytest.mark.full
def test_production_stays_on_its_table_where_another_one_was_built_for_the_same_rows() -> None:
    world = empty_world()
    world.build(graph_of(WIDER), "dev")
    world.build(graph_of(SHOP))
    before = versions(world, "prod")
    plan = world.plan(graph_of(WIDER))
    assert change(plan, "mart.triple").category is Category.INDIRECT_NON_BREAKING
    world.build(graph_of(WIDER))
    after = versions(world, "prod")
    assert after[TRIPLE_NAME] == before[TRIPLE_NAME] != versions(world, "dev")[TRIPLE_NAME]
    assert after[SALES_NAME] == versions(world, "dev")[SALES_NAME]
    assert world.state.environment("prod") is not None
    assert world.plan(graph_of(WIDER)).is_empty
    assert world.rows("mart.triple") == ROWS


def test_what_another_environment_has_filled_with_equal_data_is_not_built() -> None:
    world = empty_world()
    world.build(graph_of(SHOP), "one")
    world.build(graph_of(WIDER), "one")
    kept = versions(world, "one")
    assert kept[TRIPLE_NAME] == graph_of(SHOP)[TRIPLE_NAME].fingerprint.data_version
    plan = world.plan(graph_of(OWNED), "two")
    assert work(plan) == {}
    world.build(graph_of(OWNED), "two")
    assert versions(world, "two")[TRIPLE_NAME] == kept[TRIPLE_NAME]
    assert world.rows("mart__two.triple") == ROWS


@pytest.mark.full
def test_what_drifted_elsewhere_is_built() -> None:
    world = empty_world()
    world.build(graph_of(SHOP), "one")
    world.build(graph_of(DOUBLED), "one", forward_only=True)
    owned = {**DOUBLED, "sales": DOUBLED["sales"].replace("cron", "owner 'me', cron")}
    world.build(graph_of(owned), "two")
    assert versions(world, "two")[SALES_NAME] != versions(world, "one")[SALES_NAME]
    assert world.rows("mart__two.sales") == [(at, 2 * amount) for at, amount in AMOUNTS]


@pytest.mark.full
def test_production_that_drifted_is_no_measure_for_an_environment_of_its_own_way(
    world: MemoryWorld,
) -> None:
    world.build(graph_of(DOUBLED), forward_only=True)
    world.build(graph_of(WIDER), "dev")
    owned = {**DOUBLED, "sales": DOUBLED["sales"].replace("cron", "owner 'me', cron")}
    before = versions(world, "prod")
    world.build(graph_of(owned), "dev")
    assert world.rows("mart__dev.sales") == [(at, 2 * amount) for at, amount in AMOUNTS]
    assert world.rows("mart__dev.triple") == [(at, 6 * amount) for at, amount in AMOUNTS]
    world.build(graph_of(owned))
    assert versions(world, "prod") == before
    assert world.rows("mart.sales") == AMOUNTS
