"""The project `dbt_shop`, imported: it plans, its tests pass, and the rows are dbt's on DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
import yaml

from tests.cli.calling import call, run_vde
from tests.project.importing.dbt_building import Shop, built_shop
from tests.project.importing.rows_of_both import built, comparable, rows_of_ours
from vde_dagster.composition import VdeProject

pytestmark = [pytest.mark.full, pytest.mark.spark]

_BY: Final = "PARTITION BY customer_id "
_WINDOW: Final = """
  WINDOW w AS (
    PARTITION BY customer_id
    ORDER BY ordered_at NULLS LAST, line_no NULLS LAST
    rows BETWEEN UNBOUNDED preceding AND CURRENT ROW
  )"""
_EDITS: Final = {
    "shop_utils/calendar.sql": (  # generate_series, isodow, a week in strftime
        ("(DAYOFWEEK(d) % 7) + 1", "WEEKDAY(d) + 1"),
        ("DATE_FORMAT(d, 'yyyy-W%V')", "CONCAT(YEAR(d), '-W', LPAD(WEEKOFYEAR(d), 2, '0'))"),
        ("FROM EXPLODE(", "FROM (SELECT EXPLODE("),
        ("\n  ),\n  _u(t)\n);", "\n  )) AS d);"),
    ),
    "marts/order_history.sql": (("  h.is_gone,\n", ""),),  # a history does not say it
    "intermediate/int_customer_orders.sql": (  # listagg and list over a window
        ("LISTAGG(sku, '+') WITHIN GROUP (", f"ARRAY_JOIN(COLLECT_LIST(sku) OVER ({_BY}"),
        ("NULLS LAST) OVER w", "NULLS LAST), '+')"),
        ("COLLECT_LIST(DISTINCT sku) OVER", "COLLECT_SET(sku) OVER"),
        (_WINDOW, ""),
    ),
    "marts/dim_products.sql": (("LENGTH(tags)", "SIZE(tags)"),),  # len of a list
    "marts/page_views_daily.sql": (  # quantile_cont, and an ordered list
        ("PERCENTILE_CONT(e.ms, 0.5)", "PERCENTILE(e.ms, 0.5)"),
        ("COLLECT_LIST(DISTINCT e.customer_id)", "SORT_ARRAY(COLLECT_SET(e.customer_id))"),
    ),
    "staging/page_events_clean.sql": (  # epoch_ms of a time
        ("TIMESTAMP_MILLIS(happened_at)", "UNIX_MILLIS(CAST(happened_at AS TIMESTAMP))"),
    ),
    "staging/stg_products.sql": (  # ::json of a text
        ("GET_JSON_OBJECT(TO_JSON(attributes), '$.weight')",
         "GET_JSON_OBJECT(attributes, '$.weight')"),
        ("CAST((\n    GET_JSON_OBJECT(TO_JSON(attributes), '$.tags')\n  ) AS ARRAY<STRING>)",
         "FROM_JSON(GET_JSON_OBJECT(attributes, '$.tags'), 'array<string>')"),
    ),
}  # fmt: skip
"""What IMPORT.md asks for, or names as translated to something else: file, text, its place."""
_SCORES: Final = """\
from vde_dagster import model


@model(
    "dev.customer_scores",
    depends_on=["dev.dim_customers_v2", "erp.pay"],
    columns={"customer_id": "int", "score": "double", "n_payments": "bigint"},
)
def customer_scores(context):
    found = context.table("dev.dim_customers_v2").toPandas()[["customer_id", "paid_cents"]]
    found["score"] = [min(1.0, int(each) / 10000) for each in found.pop("paid_cents")]
    found["n_payments"] = context.table("erp.pay").count()
    return found
"""
_EXCEPT: Final = {
    "dev.fct_orders": ("first_seen_at",),  # the clock
    "dev.daily_revenue": ("per_order",),  # 36.205 is rounded to 36.21, as its digits say
    "dev_history.snap_customers": ("dbt_valid_from",),  # the time of the run
    "dev_history.snap_products": ("dbt_valid_from",),
    "dev_history.snap_orders": ("is_gone", "valid_to_ts"),  # an open row has NULL here
    "dev.order_history": ("is_gone", "valid_to_ts"),
}
"""Columns that are not compared."""
_OF_DBT: Final = ("dbt_scd_id", "dbt_updated_at")
_NAMES: Final = {"dev_reports.country_report": 'dev_reports."Country Report"'}
_ARROW: Final = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return built_shop(tmp_path_factory.mktemp("dbt"))


@pytest.fixture(scope="module")
def ours(shop: Shop) -> Path:
    """The project, imported and edited, with the sources in its catalog."""
    folder = shop.folder.parent / "ours"
    done = call("import", "dbt", shop.folder, "--python", shop.peer.python, "--to", folder)
    assert done.exit_code == 0, done.stderr
    edited(folder)
    _make_sources(folder, shop)
    return folder


def edited(folder: Path) -> None:
    """Do what IMPORT.md says."""
    for name, edits in _EDITS.items():
        path = folder / "models" / name
        text = path.read_text()
        for old, new in edits:
            assert old in text, (name, old)
            text = text.replace(old, new)
        path.write_text(text)
    (folder / "models" / "marts" / "customer_scores.py").write_text(_SCORES)
    (folder / "vde.yaml").write_text("name: shop\ndefaults: {start: 2025-01-01}\n")


def _make_sources(folder: Path, shop: Shop) -> None:
    catalog = VdeProject.load(folder).iceberg_catalog()
    relations = {"web.page_events": 'landing.web."Page Events"'}
    for source in yaml.safe_load((folder / "external_models.yaml").read_text()):
        name = source["name"]
        relation = relations.get(name, f"landing.{name}")
        schema = pa.schema([(key, _ARROW[kind]) for key, kind in source["columns"].items()])
        rows = [_typed(row, source["columns"]) for row in shop.rows(relation)[relation]]
        catalog.create_namespace_if_not_exists(name.partition(".")[0])
        catalog.create_table(name, schema).append(pa.Table.from_pylist(rows, schema))


def _typed(row: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, object]:
    return {
        name: datetime.fromisoformat(value) if types[name].startswith("timestamp") else value
        for name, value in row.items()
    }


def test_every_table_has_the_rows_of_dbt(shop: Shop, ours: Path) -> None:
    tested = run_vde("test", "--project", ours)
    assert "2 unit tests: 2 passed" in tested.stdout, tested.stdout + tested.stderr
    built(ours)
    manifest = yaml.safe_load((shop.folder / "target" / "manifest.json").read_text())
    names = [
        _name(node)
        for node in manifest["nodes"].values()
        if node["resource_type"] in ("model", "seed", "snapshot")
        and node["config"]["materialized"] != "ephemeral"
    ]
    relations = {name: f"shop.{_NAMES.get(name, name)}" for name in names}
    theirs = shop.rows(*relations.values())
    assert len(names) == 30
    differ = [
        name
        for name in names
        if comparable(_without(rows_of_ours(ours, name), name))
        != comparable(_without(theirs[relations[name]], name))
    ]
    assert differ == []


def _name(node: Mapping[str, Any]) -> str:
    return f"{node['schema']}.{node['alias'].lower().replace(' ', '_')}"


def _without(rows: Sequence[Mapping[str, Any]], name: str) -> list[dict[str, object]]:
    """Rows without columns that are not compared; lists without an order have one."""
    left_out = {*_OF_DBT, *_EXCEPT.get(name, ())}
    return [
        {
            key.lower(): tuple(sorted(value)) if isinstance(value, list) else value
            for key, value in row.items()
            if key not in left_out
        }
        for row in rows
    ]
