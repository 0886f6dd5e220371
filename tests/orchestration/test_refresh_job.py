"""MANAGED tables from the launchpad: explained, rebuilt if they are out of date, and reported."""

from __future__ import annotations

import dagster as dg
import pytest

from tests.orchestration.launchpad import Launchpad, Make, failure, made_in, shown, written

LIVE = """MODEL (
  name mart.live, kind MANAGED, audits (accepted_range(column := n, max_v := 3))
);
SELECT COUNT(*) AS n FROM raw.events"""
BEYOND = "MODEL (name mart.beyond, kind MANAGED);\nSELECT MAX(n) + 1 AS n FROM mart.live"


@pytest.fixture
def shop(tmp_path_factory: pytest.TempPathFactory, instance: dg.DagsterInstance) -> Launchpad:
    make: Make = made_in(lambda: tmp_path_factory.mktemp("project"), instance, {})
    return make({"live": LIVE, "beyond": BEYOND})


def test_tables_are_only_rebuilt_if_their_inputs_changed(shop: Launchpad) -> None:
    nothing = shop.start("vde_refresh")
    assert written(nothing) == set()
    assert "- mart.live is fresh: what it reads has not changed" in shown(nothing)["vde/tables"]
    shop.world.land((7.5, 5), until=48)
    explained = shop.start("vde_refresh", {"explain": True})
    assert (
        "- mart.live would be rebuilt, since raw.events changed" in (shown(explained)["vde/tables"])
    )
    assert shop.world.rows("mart.live") == [(2,)]
    done = shop.start("vde_refresh")
    assert written(done) == {("mart/live", None), ("mart/beyond", None)}
    assert shown(done)["vde/rows_written"] == 2
    assert [each.passed for each in done.get_asset_check_evaluations()] == [True]
    assert shop.world.rows("mart.beyond") == [(4,)]
    event = done.asset_materializations_for_node("refresh")[0]
    assert "dagster/input_event_pointer/raw/events" in (event.tags or {})


def test_a_failed_audit_keeps_the_table_and_is_reported(shop: Launchpad) -> None:
    shop.world.land((7.5, 5), (8.5, 5), until=48)
    result = shop.start("vde_refresh", fails=True)
    assert "accepted_range" in failure(result)
    assert [each.passed for each in result.get_asset_check_evaluations()] == [False]
    assert shop.world.rows("mart.live") == [(2,)]


def test_an_environment_that_shows_nothing_yet_is_refused(shop: Launchpad) -> None:
    said = failure(shop.start("vde_refresh", environment="dev", fails=True))
    assert said.startswith("dev shows nothing yet")
