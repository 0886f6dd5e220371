# ruff: noqa: E501 - rows of tables stay on one line
"""Every property of a model, in SQL and in Python, and what is reported if it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from tests.project.headers import (
    COLUMNS,
    PYTHON,
    QUERY,
    header_of,
    python_model,
    python_text,
    read,
    refused,
    sql_model,
)
from vde_dagster.core.columns import Column
from vde_dagster.core.graph.graph import build_graph
from vde_dagster.core.model.column_rules import ColumnRules, OnChange
from vde_dagster.core.model.kinds import (
    Embedded,
    Full,
    IncrementalByPartition,
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    IncrementalUnmanaged,
    Kind,
    Managed,
    ScdType2ByColumn,
    ScdType2ByTime,
    Seed,
    View,
)
from vde_dagster.core.model.model import Call, UpdatesOn
from vde_dagster.core.model.storage import PartitionField, Storage, Transform
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import EPOCH, IntervalUnit
from vde_dagster.core.time.schedule import due_interval
from vde_dagster.core.time.windows import Window
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.properties.known_properties import UNSUPPORTED

DOCUMENT = Path(__file__).parents[2] / "docs/reference/models.md"
ORDERS = ModelName("raw", "orders")
DAY = timedelta(days=1)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


# Each row: the property in SQL, the argument of the decorator, the fields of the model.
SAME: list[tuple[str, Mapping[str, object], Mapping[str, object]]] = [
    ("", {}, {"name": ModelName("m", "x"), "kind": Full(), "owner": "", "tags": (), "enabled": True, "cron": "@daily", "cron_tz": "UTC", "unit": IntervalUnit.DAY, "start": EPOCH, "inherits_start": True, "end": None, "freshness": None, "updates_on": UpdatesOn.ANY, "concurrency": None, "stamp": "", "late_data": None, "storage": Storage(), "forward_only": False, "column_rules": ColumnRules(destructive=OnChange.ERROR, additive=OnChange.ALLOW), "warnings": ()}),
    # people
    ("owner 'me'", {"owner": "me"}, {"owner": "me"}),
    ("owner me@example.com", {"owner": "me@example.com"}, {"owner": "me@example.com"}),
    ("owner := 'me'", {"owner": "me"}, {"owner": "me"}),
    ("description 'It''s, (one) row a day'", {"description": "It's, (one) row a day"}, {"description": "It's, (one) row a day"}),
    (r"description 'It\'s'", {"description": "It's"}, {"description": "It's"}),
    ("tags (a, 'b c')", {"tags": ["a", "b c"]}, {"tags": ("a", "b c")}),
    ("tags [a, team-b]", {"tags": ("a", "team-b")}, {"tags": ("a", "team-b")}),
    ("tags (a, a,)", {"tags": ["a", "a"]}, {"tags": ("a",)}),
    ("stamp 'v2'", {"stamp": "v2"}, {"stamp": "v2"}),
    # when
    ("cron '@hourly'", {"cron": "@hourly"}, {"cron": "@hourly", "unit": IntervalUnit.HOUR}),
    ("cron '30  6 * * MON-FRI'", {"cron": "30 6 * * mon-fri"}, {"cron": "30 6 * * mon-fri", "unit": IntervalUnit.DAY}),
    ("cron '*/15 * * * *'", {"cron": "*/15 * * * *"}, {"unit": IntervalUnit.QUARTER_HOUR}),
    ("cron '@monthly'", {"cron": "@monthly"}, {"unit": IntervalUnit.MONTH}),
    ("cron_tz 'Europe/Berlin'", {"cron_tz": "Europe/Berlin"}, {"cron_tz": "Europe/Berlin", "cron": "@daily"}),
    ("cron_tz utc", {"cron_tz": "UTC"}, {"cron_tz": "UTC"}),
    ("interval_unit 'hour'", {"interval_unit": "hour"}, {"unit": IntervalUnit.HOUR, "cron": "@daily"}),
    ("cron '@yearly', interval_unit MONTH", {"cron": "@yearly", "interval_unit": "month"}, {"unit": IntervalUnit.MONTH}),
    ("start '2024-01-31'", {"start": "2024-01-31"}, {"start": utc(2024, 1, 31), "inherits_start": False}),
    ("start '2024-01-31 06:30'", {"start": datetime(2024, 1, 31, 6, 30)}, {"start": utc(2024, 1, 31, 6, 30)}),
    ("start '2024-01-31T06:30:00+02:00'", {"start": "2024-01-31T06:30:00+02:00"}, {"start": utc(2024, 1, 31, 4, 30)}),
    ("end '2024-01-31'", {"end": "2024-01-31"}, {"end": utc(2024, 2, 1)}),
    ("end '2024-01-31 00:00'", {"end": "2024-01-31 00:00"}, {"end": utc(2024, 1, 31)}),
    ("end '2024-01-31 06:30:15'", {"end": "2024-01-31 06:30:15"}, {"end": utc(2024, 1, 31, 6, 30, 15)}),
    ("start '2024-01-31', end '2024-01-31'", {"start": "2024-01-31", "end": "2024-01-31"}, {"start": utc(2024, 1, 31), "end": utc(2024, 2, 1)}),
    ("freshness '4 hours'", {"freshness": "4 hours"}, {"freshness": timedelta(hours=4), "updates_on": UpdatesOn.ANY}),
    ("freshness '1 day 12 hours'", {"freshness": "1 Day 12 Hours"}, {"freshness": timedelta(hours=36)}),
    ("freshness '2 weeks', updates_on all", {"freshness": "2 weeks", "updates_on": "all"}, {"freshness": timedelta(days=14), "updates_on": UpdatesOn.ALL}),
    ("retries 2", {"retries": 2}, {"retries": 2}),
    ("retries '0'", {"retries": 0}, {"retries": 0}),
    ("concurrency '64'", {"concurrency": 64}, {"concurrency": 64}),
    ("on_destructive_change allow", {"on_destructive_change": "allow"}, {"column_rules": ColumnRules(destructive=OnChange.ALLOW)}),
    ("on_additive_change 'ERROR', on_destructive_change = warn", {"on_additive_change": "error", "on_destructive_change": "warn"}, {"column_rules": ColumnRules(destructive=OnChange.WARN, additive=OnChange.ERROR)}),
    ("allow_partials FALSE", {"allow_partials": False}, {"unsupported": ()}),
    ("enabled false", {"enabled": False}, {"enabled": False}),
    # columns and keys
    ("grain id", {"grain": "id"}, {"grains": (("id",),)}),
    ("grain (id, Shop)", {"grain": ["id", "shop"]}, {"grains": (("id", "shop"),)}),
    ("grains (id, (shop, day))", {"grains": ["id", ["shop", "day"]]}, {"grains": (("id",), ("shop", "day"))}),
    ("grain (id), grains (id, shop)", {"grain": ["id"], "grains": ["id", "shop"]}, {"grains": (("id",), ("shop",))}),
    ("references (shop_id, seller AS shop_id)", {"references": ["shop_id", "seller AS shop_id"]}, {"references": (("shop_id",), ("seller as shop_id",))}),
    ("references ((a, b))", {"references": [["a", "b"]]}, {"references": (("a", "b"),)}),
    ("column_descriptions (ID := 'a = b, (c)')", {"column_descriptions": {"ID": "a = b, (c)"}}, {"column_descriptions": {"id": "a = b, (c)"}}),
    # storage
    ("partitioned_by day", {"partitioned_by": "day"}, {"storage": Storage(partitioned_by=(PartitionField(column="day"),))}),
    ("partitioned_by (Shop, days(ts))", {"partitioned_by": ["shop", "days(ts)"]}, {"storage": Storage(partitioned_by=(PartitionField(column="shop"), PartitionField(column="ts", transform=Transform.DAYS)))}),
    ("partitioned_by (years(day))", {"partitioned_by": ["years(day)"]}, {"storage": Storage(partitioned_by=(PartitionField(column="day", transform=Transform.YEARS),))}),
    ("partitioned_by month(day)", {"partitioned_by": "month(day)"}, {"storage": Storage(partitioned_by=(PartitionField(column="day", transform=Transform.MONTHS),))}),
    ("partitioned_by (bucket(16, id), truncate(10, shop))", {"partitioned_by": ["bucket(16, id)", "truncate(10, shop)"]}, {"storage": Storage(partitioned_by=(PartitionField(column="id", transform=Transform.BUCKET, argument=16), PartitionField(column="shop", transform=Transform.TRUNCATE, argument=10)))}),
    ("partitioned_by (truncate(shop, 10))", {"partitioned_by": ["truncate(shop, 10)"]}, {"storage": Storage(partitioned_by=(PartitionField(column="shop", transform=Transform.TRUNCATE, argument=10),))}),
    ("partitioned_by (DATE_TRUNC('month', day))", {"partitioned_by": ["date_trunc('month', day)"]}, {"storage": Storage(partitioned_by=(PartitionField(column="day", transform=Transform.MONTHS),))}),
    ("partitioned_by TIMESTAMP_TRUNC(ts, HOUR)", {"partitioned_by": "timestamp_trunc(ts, hour)"}, {"storage": Storage(partitioned_by=(PartitionField(column="ts", transform=Transform.HOURS),))}),
    ("clustered_by (shop, ID)", {"clustered_by": ["shop", "id"]}, {"storage": Storage(clustered_by=("shop", "id"))}),
    ("table_format iceberg", {"table_format": "ICEBERG"}, {"storage": Storage()}),
    ("storage_format ORC", {"storage_format": "orc"}, {"storage": Storage(storage_format="orc")}),
    ("physical_properties (write.target-file-size-bytes = 134217728)", {"physical_properties": {"write.target-file-size-bytes": 134217728}}, {"storage": Storage(properties=(("write.target-file-size-bytes", "134217728"),))}),
    ("physical_properties ('write.a' = 'x', b TRUE, c.d := -1.5)", {"physical_properties": {"write.a": "x", "b": True, "c.d": -1.5}}, {"storage": Storage(properties=(("b", "true"), ("c.d", "-1.5"), ("write.a", "x")))}),
    # audits and signals
    ("audits (Not_Null (columns := (id, shop)), number_of_rows)", {"audits": [("not_null", {"columns": ["id", "shop"]}), "number_of_rows"]}, {"audits": (Call(name="not_null", arguments=(("columns", "(id, shop)"),)), Call(name="number_of_rows"))}),
    ("audits (unique_values (columns := /* why */ (id, /* not */ shop)))", {"audits": [("unique_values", {"columns": ["id", "shop"]})]}, {"audits": (Call(name="unique_values", arguments=(("columns", "(id, shop)"),)),)}),
    ("audits (accepted_range (column := amount, min_v := 0, max_v = -1 + 2))", {"audits": [("accepted_range", {"max_v": {"sql": "-1 + 2"}, "min_v": 0, "column": "amount"})]}, {"audits": (Call(name="accepted_range", arguments=(("column", "amount"), ("max_v", "-1 + 2"), ("min_v", "0"))),)}),
    ("audits (accepted_values (column shop, is_in ('x', 'y')))", {"audits": [{"name": "accepted_values", "column": "shop", "is_in": ["x", "y"]}]}, {"audits": (Call(name="accepted_values", arguments=(("column", "shop"), ("is_in", "('x', 'y')"))),)}),
    ("audits (number_of_rows (threshold := 1), number_of_rows (threshold := 2))", {"audits": [("number_of_rows", {"threshold": 1}), ("number_of_rows", {"threshold": 2})]}, {"audits": (Call(name="number_of_rows", arguments=(("threshold", "1"),)), Call(name="number_of_rows", arguments=(("threshold", "2"),)))}),
    ("signals (file_arrived (path := 's3://b/c', tries := 3, strict := true))", {"signals": [("file_arrived", {"path": "s3://b/c", "tries": 3, "strict": True})]}, {"signals": (Call(name="file_arrived", arguments=(("path", "'s3://b/c'"), ("strict", "TRUE"), ("tries", "3"))),)}),
    ("signals (a (of := ('x', 'y'), none := null), b)", {"signals": [("a", {"of": ["x", "y"], "none": None}), "b"]}, {"signals": (Call(name="a", arguments=(("none", "NULL"), ("of", "('x', 'y')"))), Call(name="b"))}),
    (r"signals (a (path := 'it\'s'))", {"signals": [("a", {"path": "it's"})]}, {"signals": (Call(name="a", arguments=(("path", r"'it\'s'"),)),)}),
    # parents
    ("depends_on (raw.orders, Raw.Other)", {"depends_on": ["raw.orders", "raw.other"]}, {"parents": (ORDERS, ModelName("raw", "other")), "windows": {}}),
    ("depends_on (raw.orders (before '30 days'))", {"depends_on": {"raw.orders": {"before": "30 days"}}}, {"parents": (ORDERS,), "windows": {ORDERS: Window(before=30 * DAY)}}),
    ("depends_on (raw.orders (before = '1 day 12 hours', after '1 week'), raw.other)", {"depends_on": {"raw.orders": {"before": "36 hours", "after": "7 days"}, "raw.other": None}}, {"parents": (ORDERS, ModelName("raw", "other")), "windows": {ORDERS: Window(before=1.5 * DAY, after=7 * DAY)}}),
    ("depends_on (raw.orders ())", {"depends_on": {"raw.orders": {}}}, {"windows": {ORDERS: Window()}}),
]  # fmt: skip


@pytest.mark.parametrize("sql,arguments,expected", SAME, ids=[row[0] for row in SAME])
def test_a_property_means_the_same_in_sql_and_in_python(
    sql: str, arguments: Mapping[str, object], expected: Mapping[str, object]
) -> None:
    in_sql, in_python = sql_model(sql), python_model(arguments)
    for key, value in expected.items():
        assert getattr(in_sql, key) == value, key
    columns = tuple(Column(name=name, type=kind) for name, kind in COLUMNS.items())
    assert header_of(replace(in_sql, columns=columns)) == header_of(in_python)


WHENS = "WHEN MATCHED AND source.amount > 0 THEN UPDATE SET target.amount = source.amount"


def whens(text: str) -> tuple[exp.When, ...]:
    merge = sqlglot.parse_one(
        f"MERGE INTO t AS target USING s AS source ON 1 = 1 {text}", dialect="spark"
    )
    found = merge.args["whens"].expressions
    assert all(isinstance(each, exp.When) for each in found)
    return tuple(found)


def condition(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, dialect="spark")


KINDS: list[tuple[str, object, Kind]] = [
    ("FULL", "FULL", Full()),
    ("INCREMENTAL_BY_TIME_RANGE (time_column ts)", {"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": "ts"}, IncrementalByTimeRange(time_column="ts")),
    ("INCREMENTAL_BY_TIME_RANGE (time_column TS)", "INCREMENTAL_BY_TIME_RANGE (time_column ts)", IncrementalByTimeRange(time_column="ts")),
    ("INCREMENTAL_BY_TIME_RANGE (time_column (shop, 'yyyyMMdd'))", {"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": ["shop", "yyyyMMdd"]}, IncrementalByTimeRange(time_column="shop", time_format="%Y%m%d")),
    ("INCREMENTAL_BY_TIME_RANGE (time_column (column shop, format 'yyyyMMdd'))", {"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": {"column": "shop", "format": "yyyyMMdd"}}, IncrementalByTimeRange(time_column="shop", time_format="%Y%m%d")),
    ("INCREMENTAL_BY_TIME_RANGE (time_column (shop, '%Y%m%d'))", {"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": {"format": "%Y%m%d", "column": "shop"}}, IncrementalByTimeRange(time_column="shop", time_format="%Y%m%d")),
    ("incremental_by_time_range (time_column ts, lookback 2, batch_size 30, batch_concurrency 1, forward_only true, disable_restatement true, partition_by_time_column false, independent true)",
     {"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": "ts", "lookback": 2, "batch_size": 30, "batch_concurrency": 1, "forward_only": True, "disable_restatement": True, "partition_by_time_column": False, "independent": True},
     IncrementalByTimeRange(time_column="ts", lookback=2, batch_size=30, forward_only=True, disable_restatement=True, partition_by_time_column=False, independent=True)),
    ("INCREMENTAL_BY_TIME_RANGE (time_column ts, lookback 0)", {"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": "ts", "lookback": None, "batch_size": None}, IncrementalByTimeRange(time_column="ts")),
    ("INCREMENTAL_BY_UNIQUE_KEY (unique_key id)", {"name": "INCREMENTAL_BY_UNIQUE_KEY", "unique_key": "id"}, IncrementalByUniqueKey(unique_key=("id",))),
    ("INCREMENTAL_BY_UNIQUE_KEY (unique_key (Id, coalesce(shop,'')), lookback 1, batch_size 5, batch_concurrency 1, forward_only true, disable_restatement true)",
     {"name": "INCREMENTAL_BY_UNIQUE_KEY", "unique_key": ["id", "COALESCE(shop, '')"], "lookback": 1, "batch_size": 5, "batch_concurrency": 1, "forward_only": True, "disable_restatement": True},
     IncrementalByUniqueKey(unique_key=("id", "COALESCE(shop, '')"), lookback=1, batch_size=5, forward_only=True, disable_restatement=True)),
    (f"INCREMENTAL_BY_UNIQUE_KEY (unique_key id, when_matched ({WHENS}))", {"name": "INCREMENTAL_BY_UNIQUE_KEY", "unique_key": "id", "when_matched": WHENS}, IncrementalByUniqueKey(unique_key=("id",), when_matched=whens(WHENS))),
    (f"INCREMENTAL_BY_UNIQUE_KEY (unique_key id, when_matched ({WHENS} WHEN MATCHED THEN DELETE))", {"name": "INCREMENTAL_BY_UNIQUE_KEY", "unique_key": "id", "when_matched": [WHENS, "WHEN MATCHED THEN DELETE"]}, IncrementalByUniqueKey(unique_key=("id",), when_matched=whens(f"{WHENS} WHEN MATCHED THEN DELETE"))),
    ("INCREMENTAL_BY_UNIQUE_KEY (unique_key id, merge_filter source.day > target.day)", {"name": "INCREMENTAL_BY_UNIQUE_KEY", "unique_key": "id", "merge_filter": "source.day > target.day"}, IncrementalByUniqueKey(unique_key=("id",), merge_filter=condition("source.day > target.day"))),
    ("INCREMENTAL_BY_UNIQUE_KEY (unique_key id, merge_filter source.day > target.day AND target.id = 1)", {"name": "INCREMENTAL_BY_UNIQUE_KEY", "unique_key": "id", "incremental_predicates": ["dbt_internal_source.day > dbt_internal_dest.day", "dbt_internal_dest.id = 1"]}, IncrementalByUniqueKey(unique_key=("id",), merge_filter=condition("source.day > target.day AND target.id = 1"))),
    ("INCREMENTAL_BY_PARTITION", "INCREMENTAL_BY_PARTITION", IncrementalByPartition()),
    ("INCREMENTAL_BY_PARTITION (forward_only false, disable_restatement true)", {"name": "INCREMENTAL_BY_PARTITION", "forward_only": False, "disable_restatement": True}, IncrementalByPartition(forward_only=False, disable_restatement=True)),
    ("INCREMENTAL_UNMANAGED", "INCREMENTAL_UNMANAGED", IncrementalUnmanaged()),
    ("INCREMENTAL_UNMANAGED (forward_only false, disable_restatement true)", {"name": "INCREMENTAL_UNMANAGED", "forward_only": False, "disable_restatement": True}, IncrementalUnmanaged(forward_only=False, disable_restatement=True)),
    ("SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name ts)", {"name": "SCD_TYPE_2_BY_TIME", "unique_key": "id", "updated_at_name": "ts"}, ScdType2ByTime(unique_key=("id",), updated_at_name="ts", updated_at_as_valid_from=False, valid_from_name="valid_from", valid_to_name="valid_to", time_data_type="timestamp", invalidate_hard_deletes=False, batch_size=None, forward_only=True, disable_restatement=True)),
    ("SCD_TYPE_2_BY_TIME (unique_key (id, shop), updated_at_name ts, updated_at_as_valid_from true, valid_from_name VF, valid_to_name vt, time_data_type DATE, invalidate_hard_deletes true, batch_size 1, forward_only false, disable_restatement false)",
     {"name": "SCD_TYPE_2_BY_TIME", "unique_key": ["id", "shop"], "updated_at_name": "ts", "updated_at_as_valid_from": True, "valid_from_name": "vf", "valid_to_name": "vt", "time_data_type": "date", "invalidate_hard_deletes": True, "batch_size": 1, "forward_only": False, "disable_restatement": False},
     ScdType2ByTime(unique_key=("id", "shop"), updated_at_name="ts", updated_at_as_valid_from=True, valid_from_name="vf", valid_to_name="vt", time_data_type="date", invalidate_hard_deletes=True, batch_size=1, forward_only=False, disable_restatement=False)),
    ("SCD_TYPE_2_BY_COLUMN (unique_key id, columns (shop, Amount))", {"name": "SCD_TYPE_2_BY_COLUMN", "unique_key": "id", "columns": ["shop", "amount"]}, ScdType2ByColumn(unique_key=("id",), columns=("shop", "amount"), execution_time_as_valid_from=False, updated_at_name=None, forward_only=True, disable_restatement=True)),
    ("SCD_TYPE_2_BY_COLUMN (unique_key id, columns *)", {"name": "SCD_TYPE_2_BY_COLUMN", "unique_key": "id", "columns": "*"}, ScdType2ByColumn(unique_key=("id",), columns=("*",))),
    ("SCD_TYPE_2_BY_COLUMN (unique_key id, columns shop, execution_time_as_valid_from true, updated_at_name day, time_data_type timestamp_ntz, valid_from_name a, valid_to_name b, invalidate_hard_deletes true, batch_size 1, forward_only false, disable_restatement false)",
     {"name": "SCD_TYPE_2_BY_COLUMN", "unique_key": "id", "columns": "shop", "execution_time_as_valid_from": True, "updated_at_name": "day", "time_data_type": "timestamp_ntz", "valid_from_name": "a", "valid_to_name": "b", "invalidate_hard_deletes": True, "batch_size": 1, "forward_only": False, "disable_restatement": False},
     ScdType2ByColumn(unique_key=("id",), columns=("shop",), execution_time_as_valid_from=True, updated_at_name="day", time_data_type="timestamp_ntz", valid_from_name="a", valid_to_name="b", invalidate_hard_deletes=True, batch_size=1, forward_only=False, disable_restatement=False)),
]  # fmt: skip


@pytest.mark.parametrize("sql,python,expected", KINDS, ids=[row[0] for row in KINDS])
def test_a_kind_means_the_same_in_sql_and_in_python(
    sql: str, python: object, expected: Kind
) -> None:
    partitioned = ", partitioned_by (day)" if isinstance(expected, IncrementalByPartition) else ""
    arguments = {"kind": python, **({"partitioned_by": "day"} if partitioned else {})}
    assert sql_model(f"kind {sql}{partitioned}").kind == expected
    assert python_model(arguments).kind == expected


@pytest.mark.parametrize(
    "kind,expected",
    [
        ("", View()),
        ("kind VIEW", View()),
        ("kind view ()", View()),
        ("kind VIEW (materialized false)", View()),
        ("kind EMBEDDED", Embedded()),
        ("kind MANAGED", Managed()),
        ("kind SEED (path '../seeds/a.csv')", Seed(path="../seeds/a.csv")),
    ],
)
def test_kinds_that_only_sql_has(kind: str, expected: Kind) -> None:
    query = "" if "SEED" in kind else "SELECT 1 AS id"
    found = read(f"MODEL (name m.x{f', {kind}' if kind else ''}); {query}", attachments={"../seeds/a.csv": "id\n1\n"})  # fmt: skip
    assert found.kind == expected
    assert found.warnings == ()


@pytest.mark.parametrize(
    "dialect,header,expected",
    [
        ("bigquery", "time_column (day, '%Y%m%d')", "%Y%m%d"),
        ("postgres", "time_column (day, 'YYYYMMDD')", "%Y%m%d"),
        ("snowflake", "time_column (day, 'yyyy-mm-dd')", "%Y-%m-%d"),
        ("spark", "time_column (day, 'yyyy-MM')", "%Y-%m"),
        ("spark", "time_column (day, '%Y%m')", "%Y%m"),
    ],
)
def test_a_time_format_is_in_the_models_dialect(dialect: str, header: str, expected: str) -> None:
    kind = f"kind INCREMENTAL_BY_TIME_RANGE ({header}), dialect {dialect}"
    found = sql_model(kind, "SELECT day FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds")
    assert found.kind == IncrementalByTimeRange(time_column="day", time_format=expected)


TYPES = [
    ("spark", "BIGINT", "bigint"),
    ("spark", "decimal( 10 , 2 )", "decimal(10, 2)"),
    ("spark", "TIMESTAMP_NTZ", "timestamp_ntz"),
    ("spark", "array<map<string,struct<a:int,b:array<date>>>>", "array<map<string, struct<a: int, b: array<date>>>>"),
    ("spark", "STRUCT<userId: INT, `A b`: ARRAY<STRING>>", "struct<userId: int, `A b`: array<string>>"),
    ("duckdb", "VARCHAR", "string"),
    ("duckdb", "timestamp", "timestamp_ntz"),
    ("duckdb", "INT[]", "array<int>"),
    ("postgres", "timestamptz", "timestamp"),
    ("bigquery", "INT64", "bigint"),
    ("postgres", "NUMERIC(10, 2)", "decimal(10, 2)"),
    ("bigquery", "STRUCT<a STRING, b ARRAY<INT64>>", "struct<a: string, b: array<bigint>>"),
    ("snowflake", "varchar(12)", "varchar(12)"),
]  # fmt: skip


@pytest.mark.parametrize("dialect,written,expected", TYPES)
def test_types_of_columns_become_sparks(dialect: str, written: str, expected: str) -> None:
    header = f"dialect {dialect}, columns (id {written} COMMENT 'the, key', shop {written})"
    columns = (
        Column(name="id", type=expected, description="the, key"),
        Column(name="shop", type=expected),
    )
    assert sql_model(header).columns == columns
    arguments = {"dialect": dialect, "columns": {"ID": f"{written} COMMENT 'the, key'", "shop": written}}  # fmt: skip
    assert python_model(arguments).columns == columns


def test_declared_types_win_over_inferred_ones_and_the_others_stay() -> None:
    found = sql_model("kind FULL, columns (n string)", "SELECT 1 AS n, 2 AS m")
    (node,) = build_graph([found])
    assert [(each.name, each.type) for each in node.columns] == [("n", "string"), ("m", "int")]


@pytest.mark.parametrize(
    "header,query,expected",
    [
        ("", "SELECT 1 AS n -- beside\n", "beside"),
        ("columns (n int COMMENT 'declared')", "SELECT 1 AS n", "declared"),
        ("columns (n int COMMENT 'declared')", "SELECT 1 AS n -- beside\n", "declared"),
        ("columns (n int)", "SELECT 1 AS n -- beside\n", "beside"),
        ("column_descriptions (n = 'described')", "SELECT 1 AS n -- beside\n", "described"),
        ("columns (n int COMMENT 'declared'), column_descriptions (n = 'described')", "SELECT 1 AS n -- beside\n", "described"),
        ("column_descriptions (N = 'described')", "SELECT 1 AS n", "described"),
    ],
)  # fmt: skip
def test_what_a_column_is_comes_from_its_description_then_its_declaration_then_its_comment(
    header: str, query: str, expected: str
) -> None:
    (node,) = build_graph([sql_model(header, query)])
    assert [each.description for each in node.columns] == [expected]


def test_a_projects_defaults_stand_in_for_what_a_model_does_not_say() -> None:
    defaults = Defaults(dialect="duckdb", start=utc(2024, 5, 1), cron="@hourly")
    for model in (
        sql_model("columns (id INT8)", defaults=defaults),
        python_model({"columns": {"id": "INT8"}}, defaults=defaults),
    ):
        assert (model.cron, model.unit) == ("@hourly", IntervalUnit.HOUR)
        assert (model.start, model.inherits_start) == (utc(2024, 5, 1), False)
        assert model.columns == (Column(name="id", type="bigint"),)
    own = sql_model("dialect spark, cron '@daily', start '2024-06-01'", defaults=defaults)
    assert (own.cron, own.start) == ("@daily", utc(2024, 6, 1))


def test_a_projects_freshness_reaches_what_is_recomputed_and_nothing_else() -> None:
    defaults = Defaults(freshness=timedelta(hours=36), updates_on=UpdatesOn.ALL)
    assert Defaults.from_texts(defaults.as_texts()) == defaults
    assert Defaults().as_texts().keys().isdisjoint({"freshness", "updates_on"})
    for model in (sql_model("", defaults=defaults), python_model({}, defaults=defaults)):
        assert (model.freshness, model.updates_on) == (timedelta(hours=36), UpdatesOn.ALL)
    own = sql_model("freshness '1 hour', updates_on any", defaults=defaults)
    assert (own.freshness, own.updates_on) == (timedelta(hours=1), UpdatesOn.ANY)
    view = read("SELECT 1 AS a", Path("models/m/v.sql"), defaults=defaults)
    assert (view.freshness, view.updates_on) == (None, UpdatesOn.ANY)


def test_a_projects_retries_reach_what_is_computed_and_nothing_else() -> None:
    defaults = Defaults(retries=3)
    assert Defaults.from_texts(defaults.as_texts()) == defaults
    assert "retries" not in Defaults().as_texts()
    assert sql_model("", defaults=defaults).retries == 3
    assert python_model({}, defaults=defaults).retries == 3
    assert sql_model("retries 0", defaults=defaults).retries == 0
    assert read("SELECT 1 AS a", Path("models/m/v.sql"), defaults=defaults).retries == 0


@pytest.mark.parametrize("path,expected", [("models/mart/revenue.sql", "mart.revenue"), ("models/a/b/c.sql", "b.c"), ("models/orders.sql", "default.orders")])  # fmt: skip
def test_a_path_names_a_model_that_has_no_name(path: str, expected: str) -> None:
    for text in ("SELECT 1 AS a", "MODEL (owner 'me'); SELECT 1 AS a"):
        assert str(read(text, Path(path)).name) == expected


# Bad input. The property is on line 3; the problem is reported there.
WRONG: list[tuple[str, str, str]] = [
    ("ownr 'me'", "unknown property 'ownr'", "Did you mean owner?"),
    ("pre_statements ('SET a = 1')", "the property 'pre_statements' is only for Python models", "after the query"),
    ("deterministic true", "the property 'deterministic' is only for Python models", "derived from its SQL"),
    ("name m.y", "the property 'name' is given twice", "Remove one."),
    ("owner", "the property 'owner' has no value", "Write `owner ...`."),
    ("owner 'me' cron '@daily'", "cron '@daily' does not belong to the property 'owner'", "Put a comma"),
    ("owner me ;", "; does not belong to the property 'owner'", "Put a comma"),
    ("tags (a) grain id", "grain id does not belong to the property 'tags'", "Put a comma"),
    ("owner 'me' 'you'", "owner has to be one text, not 'me' 'you'", "Write it in quotes."),
    ("owner (me, you)", "owner has to be one text, not (me, you)", "in quotes"),
    ("tags (a b)", "the tag a b is not a single word", "commas"),
    ("tags (a, '')", "the tag '' is not a single word", "commas"),
    ("cron 'often'", "the cron 'often' is not valid", "five fields"),
    ("cron '* * * * *'", "every 5 minutes", "five fields"),
    ("cron_tz 'Europe/Berlim'", "unknown time zone 'Europe/Berlim'", "Did you mean 'Europe/Berlin'?"),
    ("interval_unit 'week'", "interval_unit 'week' is not a known value", "Known: five_minute"),
    ("interval_unit 'month'", "the interval unit month is longer than the time between two cron ticks", "Use day, a finer unit"),
    ("start 'soon'", "start 'soon' is not a date", "'2024-01-31'"),
    ("end '9999-12-31'", "is after the last possible date", "Leave it out"),
    ("end '2024-01-01', start '2024-01-02'", "the model ends before it starts", "Correct `start` or `end`"),
    ("freshness 'soon'", "freshness 'soon' is not a valid duration", "Write it like '4 hours' or '2 days'."),
    ("freshness '-4 hours'", "is not a valid duration", "Write it like '4 hours'"),
    ("freshness '0 hours'", "freshness '0 hours' is shorter than a minute", "omit it"),
    ("freshness '4 hours' updates_on all", "updates_on all does not belong to the property 'freshness'", "Put a comma"),
    ("updates_on some", "updates_on 'some' is not a known value", "Known: any, all."),
    ("retries -1", "retries '-1' is not a whole number", "Write, for example, 1."),
    ("on_destructive_change ignore", "on_destructive_change 'ignore' is not a known value", "Known: allow, warn, error."),
    ("retries 11", "retries '11' is not a whole number of 0 to 10", "Write, for example, 1."),
    ("concurrency 0", "concurrency '0' is not a whole number of 1 to 64", "Write, for example, 1."),
    ("concurrency 65", "concurrency '65' is not a whole number of 1 to 64", "Write, for example, 1."),
    ("allow_partials yes", "allow_partials 'yes' is neither true nor false", "Write true or false."),
    ("grain (id + 1)", "grain 'id + 1' is not a valid column name", "only the name"),
    ("columns (id)", "the column id has no type", "Write `name type`."),
    ("columns (id nonsense)", "'nonsense' is not a column type", "such as bigint"),
    ("columns (id int COMMENT)", "'int COMMENT' is not a column type", "such as bigint"),
    ("columns (id interval year)", "is not a column type", "such as bigint"),
    ("columns (id int, nope int)", "the declared column 'nope' is not among the columns", "Known: amount"),
    ("column_descriptions (idd = 'a')", "the described column 'idd' is not among the columns", "Did you mean id?"),
    ("partitioned_by (days(tss))", "the partitioned_by column 'tss' is not among the columns", "Did you mean ts?"),
    ("grain (id, tss)", "the grain column 'tss' is not among the columns", "Did you mean ts?"),
    ("columns (id int, ID string)", "the column 'id' is given twice", "Remove one."),
    ("column_descriptions (id)", "the option id has no value", "Write `id ...`."),
    ("column_descriptions (id = 'a', id = 'b')", "the column 'id' is described twice", "Remove one."),
    ("column_descriptions (id = ('a'))", "the description of 'id' has to be one text", "in quotes"),
    ("dialect klingon", "unknown dialect 'klingon'", "spark, spark2"),
    ("partitioned_by (id + 1)", "'id + 1' is not a partitioning that Iceberg supports", "bucket(16, column)"),
    ("partitioned_by (bucket(0, id))", "is not a partitioning that Iceberg supports", "bucket(16, column)"),
    ("partitioned_by (weeks(ts))", "is not a partitioning that Iceberg supports", "bucket(16, column)"),
    ("partitioned_by (date_trunc('week', ts))", "is not a partitioning that Iceberg supports", "bucket(16, column)"),
    ("clustered_by (id, lower(shop))", "is not a valid column name", "only the name"),
    ("table_format delta", "the table format 'delta' is not supported", "iceberg"),
    ("storage_format csv", "'csv' is not a file format of Iceberg", "parquet, orc, avro"),
    ("physical_properties (a)", "the table property a has no value", "name = value"),
    ("physical_properties (a = 1, a = 2)", "the table property 'a' is given twice", "Remove one."),
    ("physical_properties (a = (1, 2))", "the table property 'a' has the value (1, 2)", "in quotes"),
    ("audits (not_null id)", "not_null id is not a name with arguments", "name (argument := value)"),
    ("audits (not_null (id))", "the argument id has no value", "name := value"),
    ("audits (a (x := 1, X := 2))", "the argument 'x' is given twice", "Remove one."),
    ("audits (a (x := 1 +))", "is not a SQL expression", "dialect"),
    ("audits (not_null (columns := SELECT 1 UNION SELECT 2))", "is not a SQL expression", "dialect"),
    ("signals (a (x := )", "the parenthesis of MODEL is never closed", "Close it"),
    ("signals ((a))", "(a) is not a name with arguments", "name (argument := value)"),
    ("signals (a (path := 1) -- )", "the parenthesis of MODEL is never closed", "after `--`"),
    ("depends_on (a.b.c.d)", "has 4 parts", "Write name, schema.name"),
    ("depends_on (raw.orders, raw.orders)", "the parent raw.orders is given twice", "Remove one."),
    ("depends_on (raw.orders before '1 day')", "is not a parent with a window", "before '30 days'"),
    ("depends_on (raw.orders (befor '1 day'))", "the window of raw.orders has no option 'befor'", "Did you mean before?"),
    ("depends_on (raw.orders (before '1 month'))", "'1 month' is not a length of time", "'7 days'"),
    ("depends_on (raw.orders (before '1 day', before '2 days'))", "the option 'before' is given twice", "Remove one."),
]  # fmt: skip


@pytest.mark.parametrize("header,words,advice", WRONG, ids=[row[0] for row in WRONG])
def test_a_wrong_property_is_reported_once_at_its_line_with_advice(
    header: str, words: str, advice: str
) -> None:
    (problem,) = refused(f"MODEL (name m.x, kind FULL,\n\n{header}\n);\n{QUERY}")
    assert words in problem.message
    assert advice in problem.advice
    assert problem.place.line == (1 if "never closed" in words else 3)


@pytest.mark.parametrize(
    "name,words",
    [
        ("a.é", "'é' in the name 'a.é' is not a plain identifier"),
        ("../x", "the empty part in the name '../x' is not a plain identifier"),
        ("@{x}.y", "blueprints, which create several models from one file, are not supported"),
        ("a.b-c", "'b-c' in the name 'a.b-c' is not a plain identifier"),
        ("(a)", "'(a)' in the name '(a)' is not a plain identifier"),
        ("a.b c", "'b c' in the name 'a.b c' is not a plain identifier"),
        ("`a` . b", ""),
    ],
)  # fmt: skip
def test_a_wrong_name_is_one_problem_that_shows_what_is_wrong_in_it(name: str, words: str) -> None:
    text = f"MODEL (\nname {name},\nkind FULL\n);\nSELECT 1 AS a"
    found = [(each.place.line, each.message) for each in refused(text)] if words else []
    assert found == ([(2, words)] if words else [])
    assert words or read(text).name == ModelName("a", "b")


WRONG_KINDS: list[tuple[str, str, str]] = [
    ("kind FULLL", "unknown kind FULLL", "Did you mean FULL?"),
    ("kind CUSTOM (materialization 'mine')", "the kind CUSTOM, whose rows are loaded by a class of the project, is not supported", "INCREMENTAL_UNMANAGED"),
    ("kind SEED (path 'a.csv', csv_settings (delimiter = ';'))", "the option 'csv_settings' is not supported", "remove the option"),
    ("kind FULL cron '@daily'", "cron '@daily' does not belong to the property 'kind'", "Put a comma"),
    ("kind INCREMENTAL_BY_TIME_RANGE (time_colum ts)", "has no option 'time_colum'", "Did you mean time_column?"),
    ("kind INCREMENTAL_BY_TIME_RANGE (time_column ts, time_column day)", "the option 'time_column' is given twice", "Remove one."),
    ("kind INCREMENTAL_BY_TIME_RANGE (time_column)", "the option time_column has no value", "Write `time_column ...`."),
    ("kind INCREMENTAL_BY_TIME_RANGE (time_column (day, 'dd.MM.yyyy'))", "do not sort like time", "dialect"),
    ("kind INCREMENTAL_BY_TIME_RANGE (time_column ts, lookback -1)", "lookback '-1' is not a whole number of at least 0", "for example, 1"),
    ("kind INCREMENTAL_BY_TIME_RANGE (time_column ts, batch_size 0)", "batch_size '0' is not a whole number of at least 1", "for example, 1"),
    ("kind INCREMENTAL_BY_TIME_RANGE (time_column ts, forward_only maybe)", "forward_only 'maybe' is neither true nor false", "Write true or false."),
    ("kind INCREMENTAL_BY_TIME_RANGE (time_column ts lookback 2)", "'ts lookback 2' is not a valid column name", "only the name"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key (id, shopp))", "the unique_key column 'shopp' is not among the columns", "Did you mean shop?"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, when_matched (WHEN MATCHED THEN UPDATE SET amount = source.amount))", "may belong to either side", "`source.amount` or `target.amount`"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, when_matched (WHEN NOT MATCHED THEN INSERT *))", "rows that do not match", "inserted automatically"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, when_matched (WHEN MATCHED THEN UPDATE SET source.shop = target.shop))", "when_matched sets 'source.shop', which is not a column of the target", "UPDATE SET target.a"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, when_matched (WHEN MATCHED THEN UPDATE SET 3 = 4))", "when_matched sets '3'", "UPDATE SET target.a"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, when_matched (WHEN MATCHED THEN DO NOTHING))", "contains DO NOTHING, which Spark's MERGE does not have", "UPDATE SET or DELETE"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, when_matched (WHEN MATCHED AND EXISTS (SELECT 1 FROM raw.gone WHERE gone.i = source.id) THEN DELETE))", "when_matched has a subquery", "model's query"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, merge_filter target.id IN (SELECT id FROM raw.gone))", "merge_filter has a subquery", "model's query"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, when_matched (nonsense))", "is not a list of WHEN MATCHED clauses", "WHEN MATCHED THEN UPDATE"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, merge_filter day > 1)", "merge_filter has the column", "`source.day` or `target.day`"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, merge_filter source.day > 1 AS late)", "which is not a condition", "Write a comparison"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, merge_filter source.day > 1, incremental_predicates ['source.day > 1'])", "mean the same", "Remove one of them."),
    ("kind SCD_TYPE_2_BY_TIME (unique_key id)", "the updated_at column 'updated_at' is not among the columns", "Known:"),
    ("kind SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name ts, time_data_type bigint)", "is not a date or timestamp type", "timestamp_ntz"),
    ("kind SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name (ts, day))", "updated_at_name has to be one column, not 2", "`updated_at_name column`"),
    ("kind SCD_TYPE_2_BY_COLUMN (unique_key id)", "needs columns", "(columns ...)"),
    ("kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns (shop, nope))", "the compared column 'nope' is not among the columns", "Known:"),
    ("kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns shop, updated_at_as_valid_from true)", "has no option 'updated_at_as_valid_from'", "Did you mean updated_at_name?"),
]  # fmt: skip


@pytest.mark.parametrize("kind,words,advice", WRONG_KINDS, ids=[row[0] for row in WRONG_KINDS])
def test_a_wrong_kind_is_reported_once_with_line_and_advice(
    kind: str, words: str, advice: str
) -> None:
    (problem,) = refused(f"MODEL (name m.x,\n\n{kind}\n);\n{QUERY}")
    assert words in problem.message
    assert advice in problem.advice
    assert problem.place.line == 3


@pytest.mark.parametrize("kind", ["kind FULLL", "kind FULL (lookback 1)", "kind SCD_TYPE_2 (valid_from_name begins)"])  # fmt: skip
def test_an_unknown_kind_hides_no_other_problem_of_its_file(kind: str) -> None:
    text = (
        f"MODEL (name m.x,\n{kind},\ncron 'often',\ngrain (nope),\npartitioned_by (begins),\n"
        "audits (not_nul (columns := id), unique_values,\nsmall (x := 1))\n);\n"
        "SELECT id, 1 AS begins FROM raw.orders WHERE ts > @start_dt;\n"
        "AUDIT (name small);\nSELECT * FROM @this_model WHERE id < 3"
    )
    found = [(each.place.line, each.message) for each in refused(text)]
    expected = {
        2: "kind",
        3: "often",
        4: "the grain column 'nope' is not among the columns",
        6: "the audit not_nul is neither built in",
        7: "the audit small has no argument 'x'",
    }
    assert {line for line, _ in found} == {*expected}, found
    for line, message in found:
        assert line is not None
        assert expected[line] in message or "unique_values" in message


def test_an_unknown_kind_invents_no_problem() -> None:
    """What the kind may add as a column, and what it lets a query refer to, is not known."""
    text = (
        "MODEL (name m.x,\nkind SCD_TYPE_2_BY_TIM (unique_key id, valid_from_name begins),\n"
        "partitioned_by (begins), columns (id bigint, begins timestamp, valid_to timestamp)\n);\n"
        "SET a = 1;\nSELECT id FROM raw.orders WHERE ts > @start_dt"
    )
    (problem,) = refused(text)
    assert problem.message == "unknown kind SCD_TYPE_2_BY_TIM"


def test_a_query_with_problems_hides_none_of_its_audits() -> None:
    text = (
        "MODEL (name m.x, kind FULL,\naudits (not_nul, other)\n);\nSELECT FROM WHERE;\n"
        "AUDIT (name other);\nSELECT * FROM @this_model JOIN raw.unread"
    )
    found = sorted((each.place.line or 0, each.message) for each in refused(text))
    assert [line for line, _ in found] == [2, 4]
    assert "the audit not_nul is neither built in" in found[0][1]


@pytest.mark.parametrize("keyword", ["VIEW", "EMBEDDED", "MANAGED", "SEED (path 'a.csv')", "seed", "View (materialised true)"])  # fmt: skip
def test_python_models_of_some_kinds_are_refused(keyword: str) -> None:
    (problem,) = refused(python_text({"kind": keyword}), PYTHON)
    assert (
        f"a Python model cannot be of kind {keyword.split(maxsplit=1)[0].upper()}"
        in problem.message
    )
    assert "write it in SQL" in problem.advice
    assert problem.place.line == 7


WRONG_PYTHON: list[tuple[dict[str, object], str, str]] = [
    ({"ownr": "me"}, "unknown property 'ownr'", "Did you mean owner?"),
    ({"owner": ["me"]}, "owner has to be one text", "in quotes"),
    ({"cron": "often"}, "'often' is not valid", "five fields"),
    ({"start": 5}, "start '5' is not a date", "2024-01-31"),
    ({"kind": {"time_column": "ts"}}, "the argument 'kind' has no \"name\"", '{"name": "FULL"}'),
    ({"kind": {"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": "nope"}}, "the time column 'nope' is not among the columns", "Known: amount"),
    ({"kind": {"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": "ts", "lookbak": 1}}, "has no option 'lookbak'", "Did you mean lookback?"),
    ({"kind": {"name": "INCREMENTAL_UNMANAGED", "batch_size": 1}}, "has no option 'batch_size'", "Known:"),
    ({"kind": "INCREMENTAL_BY_PARTITION"}, "needs partitioned_by", "partitioned_by"),
    ({"grain": [1]}, "is not a valid column name", "only the name"),
    ({"partitioned_by": "nope"}, "the partitioned_by column 'nope' is not among the columns", "Known: amount"),
    ({"tags": [["a"]]}, "is not a single word", "commas"),
    ({"columns": {"id": 5}}, "'5' is not a column type", "such as bigint"),
    ({"columns": {"id": "int", "ID": "int"}}, "the column 'id' is given twice", "Remove one."),
    ({"columns": [("id", "int")]}, "('id', 'int') is not a column with its type", "columns={'name': 'type'}"),
    ({"columns": ["id int"]}, "the column 'id int' has no type", "columns={'name': 'type'}"),
    ({"columns": {}}, "a Python model has to declare its columns", "Name each column"),
    ({"audits": [("not_null", {"columns": "a b c"})]}, "is not a SQL expression", "dialect"),
    ({"audits": [{"columns": "a"}]}, "is not a name with arguments", "name (argument"),
    ({"depends_on": {"raw.orders": {"befor": "1 day"}}}, "has no option 'befor'", "Did you mean before?"),
    ({"depends_on": {"raw.orders": "1 day"}}, "is not a parent with a window", "before '30 days'"),
    ({"physical_properties": {"a": [1]}}, "the table property 'a' has the value", "in quotes"),
    ({"physical_properties": {"a": float("nan")}}, "the argument 'physical_properties' cannot be used", "texts, numbers"),
    ({"pre_statements": [5]}, "pre_statements: 5 is not a text", "text with SQL"),
    ({"pre_statements": ["SET a = 1", "DROP TABLE ("]}, "pre_statements: the query does not parse", "dialect"),
    ({"pre_statements": ["SELECT ${x} FROM"]}, "does not parse: Expected table name near `FROM`", "dialect"),
    ({"pre_statements": ["DELETE FROM a WHERE ("]}, "does not parse: Something is missing near `(`", "dialect"),
    ({"pre_statements": ["SET a = 1; SELECT 1"]}, "is a query, and its rows are not used", "Remove it"),
    ({"post_statements": "DROP TABLE @nope"}, "post_statements: unknown macro @nope", "Known"),
    ({"post_statements": "{{ jinja }}"}, "post_statements: the query contains Jinja", "macros"),
    ({"enabled": "perhaps"}, "enabled 'perhaps' is neither true nor false", "Write true or false."),
]  # fmt: skip


@pytest.mark.parametrize("arguments,words,advice", WRONG_PYTHON, ids=[str(row[0]) for row in WRONG_PYTHON])  # fmt: skip
def test_a_wrong_argument_is_reported_once_at_its_line(
    arguments: dict[str, object], words: str, advice: str
) -> None:
    text = python_text({**arguments, "tail": None}).replace("nan", "float('nan')")
    (problem,) = refused(text, PYTHON)
    assert words in problem.message
    assert advice in problem.advice
    (key,) = arguments
    line = next(
        at for at, line in enumerate(text.splitlines(), 1) if line.startswith(f"    {key}=")
    )
    assert problem.place.line == line


def test_a_seed_with_a_query_is_refused() -> None:
    text = "MODEL (name m.x, kind SEED (path 'a.csv'));\nSELECT 1 AS id"
    (problem,) = refused(text, attachments={"a.csv": "id\n1\n"})
    assert "cannot have a query or other statements" in problem.message
    bare = text.replace("SELECT 1 AS id", ";-- end")
    assert read(bare, attachments={"a.csv": "id\n1\n"}).kind == Seed(path="a.csv")


@pytest.mark.parametrize(
    "text,lines",
    [
        ("MODEL (name m.x, kind FULL,\nownr 'me',\ncron 'often',\nstart 'soon',\ntags (a b),\naudits (a b),\ndialect x\n);\nSELECT 1 AS a", [2, 3, 4, 5, 6, 7]),
        ("MODEL (name m.x.y.z.u,\nkind FULLL\n);\nSELECT a FROM\nWHERE a >", [1, 2, 5]),
        ("MODEL (name m.x\nkind FULL,\nstart 'soon'\n); SELECT 1 AS a", [2, 3]),
    ],
)  # fmt: skip
def test_all_problems_of_a_file_are_reported_at_once(text: str, lines: list[int]) -> None:
    assert [each.place.line for each in refused(text)] == lines


@pytest.mark.parametrize("key", UNSUPPORTED)
def test_properties_of_others_that_have_no_effect_are_warned_of_by_name(key: str) -> None:
    sql = read(f"MODEL (name m.x, kind FULL,\n\n{key} (a = 1)); SELECT 1 AS a")
    python = python_model({key: {"a": 1}})
    for model, line in ((sql, 3), (python, 7)):
        (warning,) = model.warnings
        assert f"{key!r} is not supported and has no effect" in warning.message
        assert (warning.place.line, warning.advice) == (line, "Remove it.")


BORDERS: list[tuple[str, list[tuple[str, str]]]] = [
    ("start '2026-01-15', cron '@monthly'", [("start '2026-01-15' is inside [2026-01-01, 2026-02-01), which is skipped; the first interval is [2026-02-01, 2026-03-01)", "'2026-01-01' or '2026-02-01'")]),
    ("start '2026-01-15', end '2026-01-20', cron '@monthly'", [("start '2026-01-15' is inside", "'2026-01-01' or"), ("end '2026-01-20' is inside [2026-01-01, 2026-02-01), which is skipped; no whole interval precedes it", "'2025-12-31' or '2026-01-31'")]),
    ("end '2026-03-15', cron '@monthly'", [("end '2026-03-15' is inside [2026-03-01, 2026-04-01), which is skipped; the last interval is [2026-02-01, 2026-03-01)", "'2026-02-28' or '2026-03-31'")]),
    ("start '2026-01-15 06:30'", [("inside [2026-01-15, 2026-01-16), which is skipped; the first interval is [2026-01-16, 2026-01-17)", "'2026-01-15' or '2026-01-16'")]),
    ("end '2026-01-15 06:30', cron '@hourly'", [("the last interval is [2026-01-15 05:00, 2026-01-15 06:00)", "'2026-01-15 06:00' or '2026-01-15 07:00'")]),
    ("end '2026-01-15 00:30', cron '@hourly'", [("the last interval is [2026-01-14 23:00, 2026-01-15)", "'2026-01-14' or '2026-01-15 01:00'")]),
    ("start '2026-01-15', cron '@yearly', interval_unit month", [("the first interval is [2026-02-01, 2026-03-01)", "'2026-01-01'")]),
    ("start '2026-01-15', cron '@yearly'", [("the first interval is [2027-01-01, 2028-01-01)", "'2026-01-01'")]),
    ("start '2026-01-01', end '2026-01-31', cron '@monthly'", []),
    ("start '2026-01-15', end '2026-01-20'", []),
    ("start '2026-01-15 06:00', cron '@hourly'", []),
    ("kind VIEW, start '2026-01-15', cron '@monthly'", []),
]  # fmt: skip


@pytest.mark.parametrize("header,expected", BORDERS, ids=[row[0] for row in BORDERS])
def test_a_start_or_end_that_cuts_an_interval_is_reported_with_the_interval_that_counts(
    header: str, expected: list[tuple[str, str]]
) -> None:
    query = "SELECT id FROM raw.orders" if "VIEW" in header else QUERY
    model = sql_model(header, query)
    assert len(model.warnings) == len(expected)
    for warning, (words, advice) in zip(model.warnings, expected, strict=True):
        assert words in warning.message
        assert advice in warning.advice


@pytest.mark.parametrize(
    "header", ["start '9999-12-31 06:30'", "start '0001-01-01', end '0001-01-01 06:30'"]
)
def test_what_cuts_an_interval_at_the_ends_of_the_calendar_is_read(header: str) -> None:
    assert sql_model(f"{header}, cron '@yearly'").warnings == ()


@pytest.mark.full
def test_the_documentation_of_start_and_end_says_which_intervals_are_due() -> None:
    section = DOCUMENT.read_text().split("### Start and end")[1].split("\n## ")[0]
    rows = [line.split("|")[1:4] for line in section.splitlines() if line.startswith("| `")]
    assert len(rows) == 6
    for header, first, last in ([cell.strip(" `") for cell in row] for row in rows):
        model = sql_model(header)
        whole = due_interval(model, utc(2030, 1, 1))
        assert whole is not None
        cells = list(model.unit.cells(whole))
        assert first in ("", str(cells[0]))
        assert last in ("", str(cells[-1]))


def test_the_projects_own_start_may_cut_an_interval() -> None:
    defaults = Defaults(start=utc(2026, 1, 15), cron="@monthly")
    assert sql_model("", defaults=defaults).warnings == ()


@pytest.mark.parametrize(
    "kind,words",
    [
        ("VIEW (materialized true)", "no materialized views"),
        ("INCREMENTAL_UNMANAGED (auto_restatement_cron '@weekly')", "'auto_restatement_cron' is not supported"),
        ("SCD_TYPE_2_BY_COLUMN (unique_key id, columns *, auto_restatement_intervals 3)", "'auto_restatement_intervals' is not supported"),
    ],
)  # fmt: skip
def test_options_of_others_that_change_no_row_are_warned_of_by_name(kind: str, words: str) -> None:
    query = "SELECT id FROM raw.orders" if kind.startswith("VIEW") else QUERY
    (warning,) = sql_model(f"kind {kind}", query).warnings
    assert words in warning.message
    assert warning.advice
