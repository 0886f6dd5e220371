"""What a person sees and does in Dagster's UI, in a real browser, on runs with real Spark."""

from __future__ import annotations

import re
from typing import Final

import pytest
from playwright.sync_api import expect

from tests.browser.shop import Shop
from tests.browser.ui import Ui

pytestmark = [pytest.mark.browser, pytest.mark.full]

STATUS_CHECKS: Final = (
    "vde_no_foreign_write",
    "vde_no_missing_intervals",
    "vde_not_stale",
    "vde_schema",
)


def test_the_page_of_an_asset_says_what_it_is_and_what_it_has(ui: Ui) -> None:
    ui.open_asset("mart/revenue")
    ui.sees("Revenue by day")
    expect(ui.row("day")).to_contain_text("date")
    expect(ui.row("day")).to_contain_text("Day, UTC")
    expect(ui.row("revenue")).to_contain_text("bigint")
    expect(ui.row("revenue")).to_contain_text("In cents")
    expect(ui.row("vde/rows")).to_contain_text("1")
    expect(ui.row("vde/source")).to_contain_text("name mart.revenue")
    ui.see(ui.page.get_by_role("link", name="vde_automation_prod"))
    for upstream in ("staging / orders", "mart / best_days"):
        ui.see(ui.page.get_by_role("link", name=upstream).first)


def test_audits_and_the_checks_of_the_state_are_checks_of_an_asset(ui: Ui) -> None:
    ui.open_asset("mart/revenue", "checks")
    ui.sees("Checks (5)")
    for name in (*STATUS_CHECKS, "not_null"):  # the first of the list is open already
        ui.page.get_by_text(name, exact=True).first.click()
        ui.page.wait_for_url(re.compile(f"checkDetail={name}"))
        ui.see(ui.page.get_by_text("Evaluation result"))
        expect(ui.page.get_by_text("Succeeded", exact=True).last).to_be_visible()


def test_an_asset_is_materialized_by_a_click_and_shows_its_result(ui: Ui, shop: Shop) -> None:
    shop.land_prices(("cheese", 250))
    ui.open_asset("mart/articles")
    ui.materialize()
    ui.sees("Success")
    ui.sees("ASSET_MATERIALIZATION")
    ui.open_asset("mart/articles")
    ui.sees("Row count")
    expect(ui.row("vde/rows")).to_contain_text("3")
    expect(ui.row("vde/reused")).to_contain_text("false")


def test_an_audit_that_finds_rows_is_a_failed_check_with_a_sample(ui: Ui, shop: Shop) -> None:
    shop.land_prices(("fish", -1))
    ui.open_asset("mart/prices")
    ui.materialize()
    ui.sees("Failure")
    ui.open_asset("mart/prices", "checks")
    ui.page.get_by_text("accepted_range", exact=True).first.click()
    ui.sees(re.compile("1 row fails"))
    ui.sees(re.compile("Nothing is published, and readers see the same rows as before"))
    expect(ui.row("vde/failing_rows")).to_contain_text("1")
    sample = ui.row("vde/sample")
    for text in ("article", "fish", "price", "-1"):
        expect(sample).to_contain_text(text)
    assert "fish" not in shop.vde("query", "SELECT article FROM mart.prices")


def test_a_catch_up_run_from_the_launchpad_loads_late_rows(ui: Ui, shop: Shop) -> None:
    shop.land_orders([(100, 30.5, 7)], until=48)
    ui.launch("prod", "vde_automation", "ops: {run: {config: {only_late_data: true}}}")
    ui.sees("Success")
    ui.sees("vde/late_rows_session")
    ui.open_asset("staging/orders", "partitions")
    ui.page.get_by_text("2024-01-02-06:00", exact=True).first.click()
    expect(ui.row("dagster/partition_row_count")).to_contain_text("2")
