"""What becomes of a dbt project, by what the script and dbt wrote of the one in `dbt_shop`."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.calling import call
from vde_dagster.core.names import ModelName
from vde_dagster.project.importing.dbt_nodes import plain
from vde_dagster.project.importing.dbt_project import dbt_draft
from vde_dagster.project.importing.dbt_target import read_target
from vde_dagster.project.importing.draft import Draft, Group
from vde_dagster.project.importing.writing import files_of
from vde_dagster.project.loading import load_for_comparison

HERE = Path(__file__).parent
WRITTEN = HERE / "dbt_written"


@cache
def shop() -> Draft:
    return dbt_draft(read_target(WRITTEN), name="shop")


def text_of(path: str) -> str:
    return " ".join(files_of(shop())[path].split())


def said(group: Group, path: str) -> str:
    found = [each for each in shop().remarks if each.group is group and each.path == path]
    return "\n".join(f"{each.line}: {each.message}" for each in found)


@dataclass(frozen=True)
class Imported:
    folder: Path
    stdout: str


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    folder = tmp_path_factory.mktemp("imported") / "shop"
    done = call("import", "dbt", WRITTEN, "--to", folder)
    assert done.exit_code == 0, done.stderr
    return Imported(folder, done.stdout)


def test_what_stops_the_project_is_named(imported: Imported) -> None:
    report = (imported.folder / "IMPORT.md").read_text()
    assert "## Errors (3)" in report
    for group in Group:
        assert f"## {group.value} (" in report
    named = [line.strip() for line in imported.stdout.splitlines() if line.startswith("  ")]
    assert named == [
        "models/finance/revenue_by_country.sql",
        "models/intermediate/int_customer_orders.sql",
        "models/marts/customer_firsts.sql",
        "models/marts/customer_scores.py",
        "models/marts/order_history.sql",
        "models/shop_utils/calendar.sql",
        "models/sources.yml",
        "snapshots/snapshots.yml",
    ]


def test_the_project_loads_once_three_files_are_edited(imported: Imported) -> None:
    models = imported.folder / "models"
    history, calendar = models / "marts/order_history.sql", models / "shop_utils/calendar.sql"
    history.write_text(history.read_text().replace("  h.is_gone,\n", ""))
    calendar.write_text("SELECT DATE '2025-03-01' AS day, FALSE AS is_weekend, 'x' AS iso_week")
    calendar.write_text(f"MODEL (name dev_util.calendar, kind FULL);\n{calendar.read_text()};")
    windows = models / "intermediate" / "int_customer_orders.sql"
    windows.write_text(windows.read_text().replace("kind VIEW", "kind FULL"))
    graph = load_for_comparison(imported.folder).graph
    for name in ("dev.fct_orders", "dev.dim_customers_v1", "dev_history.snap_orders"):
        assert ModelName.parse(name) in graph


def test_every_node_is_carried_over_or_named() -> None:
    manifest = json.loads((WRITTEN / "full" / "manifest.json").read_text())
    remarks = " ".join(f"{each.path} {each.message} {each.model}" for each in shop().remarks)
    written = " ".join(files_of(shop()).values()) + " ".join(files_of(shop()))
    sections = ("nodes", "sources", "exposures", "metrics", "semantic_models", "unit_tests")
    for section in sections:
        for node in manifest[section].values():
            names = {node["name"], node.get("alias", ""), node["original_file_path"]} - {""}
            about = node.get("test_metadata", {}).get("name", "")
            if about in ("not_null", "unique", "accepted_values") and node.get("attached_node"):
                continue  # by the audits of its model
            assert any(each.removeprefix("./") in remarks + written for each in names), names


def test_models_have_the_kinds_of_what_dbt_makes() -> None:
    assert "kind VIEW" in text_of("models/staging/stg_orders.sql")
    assert "kind FULL" in text_of("models/marts/dim_customers_v1.sql")
    assert "kind EMBEDDED" in text_of("models/staging/stg_payments.sql")


def test_ephemeral_models_are_read_by_their_names() -> None:
    text = text_of("models/marts/dim_customers_v2.sql")
    assert "LEFT JOIN dev_staging.int_order_payments AS p" in text
    assert "__dbt__cte__" not in "".join(files_of(shop()).values())
    assert "FROM dev_staging.stg_payments" in text_of("models/intermediate/int_order_payments.sql")


def test_versions_are_named_by_their_alias() -> None:
    assert "JOIN dev.dim_customers_v1 AS c" in text_of("models/marts/order_history.sql")
    assert "JOIN dev.dim_customers_v2 AS c" in text_of("models/reports/country_report.sql")
    assert "deprecation_date" in said(Group.MISSING, "models/marts/dim_customers_v1.sql")


def test_names_with_blanks_become_plain() -> None:
    assert "name dev_reports.country_report" in text_of("models/reports/country_report.sql")
    assert "Country Report" in said(Group.CHANGED, "models/reports/country_report.sql")
    assert "FROM web.page_events AS `Page Events`" in text_of(
        "models/staging/page_events_clean.sql"
    )
    assert "Page Events" in said(Group.EDIT, "models/sources.yml")


def test_a_contract_gives_columns_and_its_constraints_audits() -> None:
    text = text_of("models/marts/dim_products.sql")
    assert "`Price (EUR)` decimal(18, 2)" in text
    assert "forall (criteria := (`Price (EUR)` > 0))" in text
    assert "not_null (columns := (sku))" in text
    assert "unique_combination_of_columns (columns := (sku))" in text
    assert "grain (sku)" in text
    old = text_of("models/marts/dim_customers_v1.sql")
    assert " columns (" not in old
    assert "forall" not in old
    assert "constraints" in said(Group.MISSING, "models/marts/dim_customers_v1.sql")


def test_owners_tags_and_descriptions_come_along() -> None:
    text = text_of("models/marts/dim_customers_v2.sql")
    assert "owner '@ida', tags (mart)" in text
    assert "column_descriptions (`Country Name` = 'name of the country'" in text
    assert "owner 'Money people', tags (finance, daily, board)" in text_of(
        "models/finance/daily_revenue.sql"
    )
    assert "sla" in said(Group.MISSING, "models/marts/dim_customers_v2.sql")


def test_an_incremental_model_by_time() -> None:
    text = text_of("models/finance/fct_payments.sql")
    assert "kind INCREMENTAL_BY_TIME_RANGE ( time_column loaded_at )" in text
    assert text.endswith("WHERE loaded_at BETWEEN @start_ts AND @end_ts;")


def test_incremental_models_by_key() -> None:
    lines = text_of("models/marts/fct_order_lines.sql")
    assert "unique_key (order_no, line_no), lookback 3" in lines
    assert "incremental_predicates target.ordered_at >= CAST('2025-01-01' AS DATE)" in lines
    assert "disable_restatement true" in lines
    assert "on_destructive_change error" in lines
    assert "o.ordered_at BETWEEN @start_ts AND @end_ts" in lines
    orders = text_of("models/marts/fct_orders.sql")
    assert "target.updated_at = source.updated_at)" in orders
    assert "target.first_seen_at" not in orders
    revenue = text_of("models/finance/daily_revenue.sql")
    assert "unique_key day, lookback 2" in revenue
    assert "AS DATE) BETWEEN @start_date AND @end_date" in revenue
    state = text_of("models/marts/customer_state.sql")
    assert "unique_key (customer_id, country)" in state
    assert "@start" not in state


def test_what_no_interval_stands_for_is_left_to_a_person() -> None:
    assert "kind FULL" in text_of("models/marts/customer_firsts.sql")
    assert "not in (select customer_id from {{ this }})" in said(
        Group.EDIT, "models/marts/customer_firsts.sql"
    )
    assert "kind FULL" in text_of("models/finance/revenue_by_country.sql")
    assert "partitioned_by (month)" in text_of("models/finance/revenue_by_country.sql")
    assert "grants" in said(Group.MISSING, "models/finance/revenue_by_country.sql")


def test_a_microbatch_reads_its_parents_by_their_time() -> None:
    text = text_of("models/marts/page_views_daily.sql")
    assert "INCREMENTAL_BY_TIME_RANGE ( time_column day, lookback 2 )" in text
    assert "start '2025-03-01', cron '@daily'" in text
    parent = "SELECT * FROM dev_staging.page_events_clean WHERE happened_at BETWEEN @start_ts"
    assert parent in text
    assert "LEFT JOIN dev_util.calendar AS c" in text


def test_snapshots_are_histories() -> None:
    orders = text_of("models/snapshots/snap_orders.sql")
    assert "kind SCD_TYPE_2_BY_TIME ( unique_key (order_no, line_no)" in orders
    assert "valid_from_name valid_from_ts, valid_to_name valid_to_ts" in orders
    assert "updated_at_name updated_at, updated_at_as_valid_from true" in orders
    customers = text_of("models/snapshots/snap_customers.sql")
    assert "kind SCD_TYPE_2_BY_COLUMN ( unique_key id" in customers
    assert "columns (full_name, e_mail, country)" in customers
    products = text_of("models/snapshots/snap_products.sql")
    assert "columns *" in products
    assert "invalidate_hard_deletes true" in products
    assert "invalidate_hard_deletes true" in text_of("models/snapshots/snap_payments.sql")
    missing = said(Group.MISSING, "snapshots/snapshots.yml")
    assert "dbt_scd_id and dbt_updated_at" in missing
    assert "9999-12-31" in missing
    assert "new_record" in said(Group.EDIT, "snapshots/snapshots.yml")


def test_seeds_come_with_types() -> None:
    files = files_of(shop())
    text = text_of("models/seeds/tax_rates.sql")
    assert "path '../../seeds/tax_rates.csv'" in text
    assert "columns (country string, valid_from date, rate decimal(6, 4))" in text
    assert files["seeds/tax_rates.csv"].startswith("country,valid_from,rate\nAT,")
    assert "`Country Name` string, eu boolean" in text_of("models/seeds/country_codes.sql")


def test_generic_tests_are_built_in_audits() -> None:
    customers = text_of("models/staging/stg_customers.sql")
    assert "not_null_non_blocking (columns := (e_mail), condition := (country = 'DE'))" in customers
    unique = "unique_values (columns := (customer_id), condition := customer_id IS NOT NULL)"
    assert unique in customers
    orders = text_of("models/staging/stg_orders.sql")
    assert "is_in := ('placed', 'shipped', 'returned')" in orders
    assert "condition := (ordered_on >= CAST('2025-03-01' AS DATE))" in orders
    assert "warn_if >3, error_if >100 of the test not_null_stg_customers_e_mail" in said(
        Group.MISSING, "models/staging/staging.yml"
    )
    assert "among rows that are loaded together" in said(Group.LOOK, "models/finance/finance.yml")


def test_other_tests_are_audits_of_their_own() -> None:
    text = text_of("audits/positive_fct_orders_n_items.sql")
    assert "FROM @this_model AS fct_orders WHERE n_items <= 0" in text
    relation = "relationships_fct_orders_customer_id__customer_id__ref_dim_customers_v_1"
    text = text_of(f"audits/{relation}.sql")
    assert "blocking false" in text
    assert "FROM dev.dim_customers_v1" in text
    assert "WHERE state <> 'returned'" in text
    assert "depends_on (dev.dim_customers_v1)" in text_of("models/marts/fct_orders.sql")
    singular = text_of("audits/no_payment_before_order.sql")
    assert "FROM @this_model AS p JOIN dev.fct_orders AS o" in singular
    assert "description 'Payments that are older than their order.'" in singular
    assert "depends_on (dev.fct_orders)" in text_of("models/finance/fct_payments.sql")


def test_tests_without_a_counterpart_are_shown() -> None:
    assert "the test relationships_stg_customers" in said(
        Group.MISSING, "models/staging/staging.yml"
    )
    messages = said(Group.MISSING, "models/sources.yml")
    assert "the table is written outside the project: `select order_no from" in messages
    assert "freshness of the source erp.orders (error_after count 3" in messages


def test_unit_tests_come_along_or_are_named() -> None:
    (test,) = yaml.safe_load(files_of(shop())["tests/fct_orders.yaml"]).values()
    assert test["model"] == "dev.fct_orders"
    assert test["vars"] == {"start": "1970-01-01", "end": "2099-12-31"}
    assert test["inputs"]["dev_staging.stg_orders"][1]["qty"] == "2"
    assert test["outputs"]["partial"] is True
    (test,) = yaml.safe_load(files_of(shop())["tests/stg_customers.yaml"]).values()
    (row,) = test["outputs"]["query"]
    assert (row["full_name"], row["e_mail"], row["signed_up_on"]) == ("Ada B.", None, "2025-01-04")
    assert "SELECT 1 AS id" in " ".join(test["inputs"]["dev_seeds.raw_customers"]["query"].split())
    missing = said(Group.MISSING, "models/marts/marts.yml")
    for name in ("vip_from_the_limit", "all_orders_at_first", "only_newer_orders"):
        assert f"the unit test {name}" in missing


def test_sources_have_columns_of_the_catalog() -> None:
    sources: dict[str, Any] = {each.name: each for each in shop().sources}
    assert set(sources) == {"erp.orders", "erp.pay", "web.page_events"}
    assert sources["erp.pay"].columns["paid_at"] == "timestamp"
    assert sources["web.page_events"].columns["payload"] == "string"
    # The table of a seed that is read as a source is the seed.
    assert "FROM dev_seeds.tax_rates" in text_of("models/staging/stg_tax_rates.sql")


def test_hooks_that_are_no_plain_sql_are_shown() -> None:
    path = "models/marts/dim_customers_v2.sql"
    assert "`{{ note_load(this) }}`" in said(Group.MISSING, path)
    assert "`analyze dev.dim_customers_v2`" in said(Group.MISSING, path)
    assert "`select 1`" in said(Group.CHANGED, path)
    assert "create table if not exists dev_ops.load_log" in said(Group.MISSING, "dbt_project.yml")


def changed(unique_id: str, *, text: str = "", **config: object) -> Draft:
    """The project with another configuration or text of one model."""
    target = read_target(WRITTEN)
    manifest = json.loads(json.dumps(target.manifest))
    node = manifest["nodes"][unique_id]
    node["config"] |= {key.replace("_hook", "-hook"): value for key, value in config.items()}
    if text:
        node["compiled_code"] = text
    return dbt_draft(replace(target, manifest=manifest), name="shop")


def test_hooks_of_plain_sql_are_statements() -> None:
    hooks = [{"sql": "insert into ops.log select '{{ this }}', now();"}, {"sql": "vacuum"}]
    draft = changed("model.shop.dim_products", post_hook=hooks)
    text = files_of(draft)["models/marts/dim_products.sql"]
    assert "INSERT INTO ops.log\nSELECT\n  'dev.dim_products'" in text
    assert any("`vacuum`" in each.message for each in draft.remarks)
    view = changed("model.shop.stg_orders", post_hook=hooks)
    assert "INSERT" not in files_of(view)["models/staging/stg_orders.sql"]


def test_a_configuration_that_is_not_known_is_named() -> None:
    draft = changed("model.shop.dim_products", materialized="external", location="s3://x")
    messages = " ".join(each.message for each in draft.remarks)
    assert "the materialization external was written as FULL" in messages
    assert "location (s3://x) was left out" in messages


def test_a_query_that_is_not_understood_is_left_as_it_is() -> None:
    draft = changed("model.shop.dim_products", text="select ((")
    assert "select ((" in files_of(draft)["models/marts/dim_products.sql"]
    assert any("could not be translated" in each.message for each in draft.remarks)


@pytest.mark.parametrize(
    "written, name",
    [
        ("stg_stripe__payments", "stg_stripe__payments"),
        ("_Tmp", "_tmp"),
        ("Country Report", "country_report"),
        ("2024 (EUR)", "_2024_eur"),
        ("%", "_"),
    ],
)
def test_names_stay_where_they_can(written: str, name: str) -> None:
    assert plain(written) == name


def test_an_adapter_without_a_dialect_is_named() -> None:
    target = read_target(WRITTEN)
    about = {**target.manifest["metadata"], "adapter_type": "own"}
    draft = dbt_draft(replace(target, manifest={**target.manifest, "metadata": about}), name="x")
    assert any("no dialect for own" in each.message for each in draft.remarks)


def test_partitions_of_bigquery_are_transforms() -> None:
    partition = {"field": "Ordered_On", "data_type": "date", "granularity": "month"}
    draft = changed("model.shop.dim_products", partition_by=partition, cluster_by=["kind"])
    text = files_of(draft)["models/marts/dim_products.sql"]
    assert "partitioned_by (months(ordered_on))" in text
    assert "clustered_by (kind)" in text


def test_functions_that_mean_something_else_are_named_with_their_lines() -> None:
    assert "3: `isodow`" in said(Group.LOOK, "dbt_packages/shop_utils/models/calendar.sql")
    assert "4: `len`" in said(Group.LOOK, "models/marts/dim_products.sql")


def test_a_manifest_without_compiled_code_is_refused(tmp_path: Path) -> None:
    manifest = json.loads((WRITTEN / "full" / "manifest.json").read_text())
    for node in manifest["nodes"].values():
        node.pop("compiled_code", None)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    done = call("import", "dbt", tmp_path, "--to", tmp_path / "new")
    assert done.exit_code == 1
    assert "no compiled code" in done.stderr
    assert "vde import script dbt" in done.stderr


def test_one_manifest_alone_leaves_incremental_models_to_a_person(tmp_path: Path) -> None:
    manifest = (WRITTEN / "full" / "manifest.json").read_text()
    (tmp_path / "manifest.json").write_text(manifest)
    draft = dbt_draft(read_target(tmp_path), name="shop")
    kinds = {each.name: each.kind for each in draft.models}
    assert kinds["dev.fct_payments"] == "FULL"
    assert kinds["dev.customer_state"] == "INCREMENTAL_BY_UNIQUE_KEY"
    edits = {each.path for each in draft.remarks if each.group is Group.EDIT}
    assert "models/finance/fct_payments.sql" in edits
    other = WRITTEN / "incremental" / "manifest.json"
    both = dbt_draft(read_target(tmp_path, other), name="shop")
    assert "INCREMENTAL_BY_TIME_RANGE" in {each.kind for each in both.models}


@pytest.mark.parametrize("text", ["[1]", "{}", "no JSON"])
def test_what_dbt_did_not_write_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    done = call("import", "dbt", tmp_path, "--to", tmp_path / "new")
    assert done.exit_code == 1
    assert "manifest.json" in done.stderr


def test_a_python_without_dbt_is_named(tmp_path: Path) -> None:
    done = call("import", "dbt", tmp_path, "--to", tmp_path / "new", "--python", "python3")
    assert done.exit_code == 1
    assert "dbt is not installed in the environment of python3" in done.stderr
