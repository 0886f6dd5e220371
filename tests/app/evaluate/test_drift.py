"""A version has drifted if rows of another definition were written to it, or are about to be."""

from __future__ import annotations

import pytest

from tests.app.memory_world import Fuse, MemoryWorld, PowerCut, graph_of
from tests.app.shop_world import SALES, SALES_NAME, SHOP, TRIPLE, TRIPLE_NAME, change, done
from vde_dagster.app.apply.applying import walking
from vde_dagster.core.model.snapshot import Category

DOUBLED = {**SHOP, "sales": SALES.replace("SUM(amount)", "SUM(amount * 2)")}
WIDER = {**SHOP, "sales": SALES.replace("AS amount FROM", "AS amount, COUNT(*) AS n FROM")}
WORDS = {**SHOP, "sales": SALES.replace("cron", "owner 'me', cron")}


def only_stored(world: MemoryWorld, environment: str) -> None:
    """A forward-only plan that stored its snapshots and was stopped then."""
    with walking(world.services(), world.plan(graph_of(DOUBLED), environment, forward_only=True)):
        pass


def died_after(world: MemoryWorld, name: str, environment: str) -> None:
    """A forward-only plan of the fourth day whose process ended after a call."""
    world.land((73, 9), until=96)
    cut = world.services(Fuse(cut_name=name, after=True))
    with pytest.raises(PowerCut):
        done(cut, graph_of(DOUBLED), environment, forward_only=True)
    world.reboot()


def test_a_plan_that_was_never_promoted_changes_nothing_for_others(world: MemoryWorld) -> None:
    undisturbed = world.plan(graph_of(WIDER))
    only_stored(world, "feat")
    found = world.plan(graph_of(WIDER))
    assert change(found, "mart.sales").category is Category.NON_BREAKING
    assert change(found, "mart.triple").category is Category.INDIRECT_NON_BREAKING
    assert [each.category for each in found.changes] == [
        each.category for each in undisturbed.changes
    ]
    assert [each.version for each in found.changes] == [
        each.version for each in undisturbed.changes
    ]


def test_what_another_environment_promoted_without_writing_is_no_drift(world: MemoryWorld) -> None:
    world.build(graph_of(DOUBLED), "feat", forward_only=True)
    found = world.plan(graph_of(WIDER))
    assert change(found, "mart.sales").category is Category.NON_BREAKING


def test_whoever_promoted_it_knows_that_the_rows_are_of_another_definition(
    world: MemoryWorld,
) -> None:
    world.build(graph_of(DOUBLED), "feat", forward_only=True)
    wider = {**SHOP, "sales": WIDER["sales"].replace("SUM(amount)", "SUM(amount * 2)")}
    found = world.plan(graph_of(wider), "feat")
    assert change(found, "mart.sales").category is Category.BREAKING
    assert change(found, "mart.triple").category is Category.INDIRECT_BREAKING


def test_production_has_drifted_once_it_was_promoted(world: MemoryWorld) -> None:
    key = world.bound("prod").key(SALES_NAME)
    world.build(graph_of(DOUBLED), forward_only=True)
    assert world.state.drifted([key]) == {key}
    found = world.plan(graph_of(WORDS))
    assert change(found, "mart.sales").version != key.version


@pytest.mark.full
@pytest.mark.parametrize("name,drifts", [("record_intent", False), ("record_staged", True)])
def test_what_was_staged_by_a_plan_that_died_before_its_promotion_is_drift(
    world: MemoryWorld, name: str, drifts: bool
) -> None:
    key = world.bound("prod").key(SALES_NAME)
    died_after(world, name, "prod")
    assert (world.state.drifted([key]) == {key}) is drifts
    found = world.plan(graph_of(WIDER))
    expected = Category.BREAKING if drifts else Category.NON_BREAKING
    assert change(found, "mart.sales").category is expected


def test_a_model_downstream_of_a_forward_only_change_has_drifted_with_it(
    world: MemoryWorld,
) -> None:
    key = world.bound("prod").key(TRIPLE_NAME)
    world.build(graph_of(DOUBLED), forward_only=True)
    assert world.state.drifted([key]) == {key}
    wider = {**DOUBLED, "triple": TRIPLE.replace("AS amount FROM", "AS amount, 1 AS n FROM")}
    found = world.plan(graph_of(wider))
    assert change(found, "mart.triple").category is Category.BREAKING
