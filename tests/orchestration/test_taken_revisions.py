"""Dagster after a promotion or a rollback: it goes on with what the environment shows."""

from __future__ import annotations

import pytest

from tests.app.memory_world import PROJECT
from tests.orchestration.launchpad import Launchpad, Make, materialize
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.promote.taking import plan_rollback
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration.location import open_location


def edited_in_dev(make: Make) -> Launchpad:
    """Two days in production; dev shows them ten times as large, after having shown the same."""
    shop = make(PROJECT)
    shop.apply("dev")
    shop.edit("daily", "SUM(amount)", "SUM(amount * 10)")
    shop.apply("dev")
    assert amounts(shop, "mart__dev.daily") == [10, 100]
    return shop


def amounts(shop: Launchpad, view: str) -> list[int]:
    return sorted(int(str(row[1])) for row in shop.world.rows(view))


def roll_back(shop: Launchpad, environment: str) -> None:
    services = shop.project().services
    apply_plan(services, plan_rollback(services, environment), lambda _: None)
    shop._locations.clear()


@pytest.mark.full
def test_an_environment_that_was_rolled_back_does_not_follow_the_files(make: Make) -> None:
    shop = edited_in_dev(make)
    roll_back(shop, "dev")
    assert amounts(shop, "mart__dev.daily") == [1, 10]
    location = open_location(shop.project(), "dev")
    assert location.followed is None
    key = location.key(ModelName("mart", "totals"))
    materialize(shop.definitions("dev"), shop.instance, key.to_user_string())
    assert amounts(shop, "mart__dev.daily") == [1, 10]


def test_it_follows_them_again_once_a_person_has_applied_a_plan_of_them(make: Make) -> None:
    shop = edited_in_dev(make)
    roll_back(shop, "dev")
    shop.apply("dev")
    assert amounts(shop, "mart__dev.daily") == [10, 100]
    shop.edit("daily", "amount * 10", "amount * 100")
    location = open_location(shop.project(), "dev")
    assert location.followed is not None
