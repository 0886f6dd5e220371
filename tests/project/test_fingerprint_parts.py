# ruff: noqa: E501 - rows of tables stay on one line
"""Which part of a fingerprint each property belongs to, and what in a header does not count."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.project.headers import COLUMNS, QUERY, python_model, sql_model
from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import build_graph
from vde_dagster.core.model.fingerprint import Fingerprint
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import ModelName
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import external_source, read_model

RANGE = "kind INCREMENTAL_BY_TIME_RANGE (time_column ts)"
KEY = "kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id)"
TIME = "kind SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name ts)"
COLUMN = "kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns shop)"
PARTS = "kind INCREMENTAL_BY_PARTITION, partitioned_by shop"
UNMANAGED = "kind INCREMENTAL_UNMANAGED"
STATELESS = f"{RANGE}, late_data (mode stateless, sources raw.orders)"
LATE = f"{RANGE}, late_data (mode stateful, sources raw.orders)"
TIMELESS = "SELECT id, shop, amount, ts, day FROM raw.orders"


def source(name: str) -> Model:
    place = Place(path=Path("external_models.yaml"))
    return read_model(
        external_source(ModelName.parse(name), COLUMNS, place=place, defaults=Defaults())
    )


def fingerprint_of(model: Model) -> Fingerprint:
    graph = build_graph([source("raw.orders"), source("raw.other"), model])
    return graph[ModelName("m", "x")].fingerprint


def changed(one: Model, other: Model) -> set[str]:
    before, after = fingerprint_of(one), fingerprint_of(other)
    parts = ("data", "parent_data", "metadata", "parent_metadata")
    return {part for part in parts if getattr(before, part) != getattr(after, part)}


DATA: list[tuple[str, str]] = [
    # storage
    (RANGE, f"{RANGE}, partitioned_by (day)"),
    (RANGE, f"{RANGE}, partitioned_by (days(ts))"),
    (f"{RANGE}, partitioned_by (day)", f"{RANGE}, partitioned_by (shop)"),
    (f"{RANGE}, partitioned_by (day, shop)", f"{RANGE}, partitioned_by (shop, day)"),
    ("partitioned_by (bucket(8, id))", "partitioned_by (bucket(16, id))"),
    ("partitioned_by (bucket(8, id))", "partitioned_by (truncate(8, id))"),
    (RANGE, "kind INCREMENTAL_BY_TIME_RANGE (time_column ts, partition_by_time_column false)"),
    ("", "clustered_by (shop)"),
    ("clustered_by (shop, id)", "clustered_by (id, shop)"),
    ("", "storage_format orc"),
    ("", "physical_properties (a = 1)"),
    # rows
    ("", "stamp 'again'"),
    ("", "columns (id int)"),
    ("", RANGE),
    (RANGE, "kind INCREMENTAL_BY_TIME_RANGE (time_column day)"),
    ("kind INCREMENTAL_BY_TIME_RANGE (time_column (shop, 'yyyyMMdd'))", "kind INCREMENTAL_BY_TIME_RANGE (time_column (shop, 'yyyy-MM-dd'))"),
    (RANGE, f"{RANGE}, interval_unit hour"),
    (RANGE, f"{RANGE}, cron '@hourly'"),
    (KEY, f"{KEY}, interval_unit hour"),
    (KEY, "kind INCREMENTAL_BY_UNIQUE_KEY (unique_key (id, shop))"),
    (KEY, "kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, when_matched (WHEN MATCHED THEN UPDATE SET target.amount = source.amount))"),
    (KEY, "kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, merge_filter source.day > target.day)"),
    (KEY, UNMANAGED),
    (TIME, "kind SCD_TYPE_2_BY_TIME (unique_key shop, updated_at_name ts)"),
    (TIME, "kind SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name day)"),
    (TIME, "kind SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name ts, updated_at_as_valid_from true)"),
    (TIME, "kind SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name ts, valid_from_name f)"),
    (TIME, "kind SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name ts, valid_to_name t)"),
    (TIME, "kind SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name ts, time_data_type date)"),
    (TIME, "kind SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name ts, invalidate_hard_deletes true)"),
    (COLUMN, "kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns *)"),
    (COLUMN, "kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns (shop, amount))"),
    (COLUMN, "kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns shop, execution_time_as_valid_from true)"),
    (COLUMN, "kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns shop, updated_at_name ts)"),
    (RANGE, LATE),
    (LATE, STATELESS),
    (LATE, f"{RANGE}, late_data (mode stateful, sources 'raw.orders|ts')"),
    # the values of macros in a query that is run as a whole
    ("kind FULL", "kind FULL, start '2024-01-01'"),
    ("kind FULL", "kind FULL, end '2024-01-31'"),
    # an earlier piece would be merged over the later ones
    (KEY, f"{KEY}, start '2024-01-01'"),
    (PARTS, f"{PARTS}, start '2024-01-01'"),
    ("", "depends_on (raw.orders (before '1 day'))"),
    ("depends_on (raw.orders (before '1 day'))", "depends_on (raw.orders (before '2 days'))"),
]  # fmt: skip
METADATA: list[tuple[str, str]] = [
    ("cron '@daily'", "cron '@weekly'"),
    (f"{RANGE}, cron '@daily'", f"{RANGE}, cron '@weekly'"),
    ("", "cron_tz 'Europe/Berlin'"),
    ("", "freshness '4 hours'"),
    ("", "updates_on all"),
    ("", "retries 2"),
    ("", "concurrency 1"),
    ("", "on_destructive_change warn"),
    (RANGE, f"{RANGE}, on_additive_change error"),
    (RANGE, f"{RANGE}, freshness '4 hours', updates_on all"),
    (UNMANAGED, f"{UNMANAGED}, start '2024-01-01'"),
    (TIME, f"{TIME}, start '2024-01-01'"),
    (COLUMN, f"{COLUMN}, start '2024-01-01'"),
    (RANGE, f"{RANGE}, end '2024-01-31'"),
    (KEY, f"{KEY}, end '2024-01-31'"),
    ("", "end '2024-01-31'"),
    ("grain (id, shop)", "grains (id, shop)"),
    ("", "references (shop)"),
    ("", "audits (not_null (columns := (id)))"),
    ("", "signals (ready)"),
    ("signals (ready (path := 'a'))", "signals (ready (path := 'b'))"),
    ("", "column_descriptions (id = 'the key')"),
    ("columns (id bigint)", "columns (id bigint COMMENT 'the key')"),
    (RANGE, "kind INCREMENTAL_BY_TIME_RANGE (time_column ts, lookback 2)"),
    (RANGE, "kind INCREMENTAL_BY_TIME_RANGE (time_column ts, batch_size 2)"),
    (RANGE, "kind INCREMENTAL_BY_TIME_RANGE (time_column ts, independent true)"),
    (RANGE, "kind INCREMENTAL_BY_TIME_RANGE (time_column ts, forward_only true)"),
    (KEY, "kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, lookback 2)"),
    (KEY, "kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, forward_only true)"),
    (PARTS, "kind INCREMENTAL_BY_PARTITION (forward_only false), partitioned_by shop"),
    (UNMANAGED, "kind INCREMENTAL_UNMANAGED (disable_restatement true)"),
    (TIME, "kind SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name ts, batch_size 1)"),
    (TIME, "kind SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name ts, disable_restatement false)"),
    (LATE, f"{LATE[:-1]}, catchup_threshold '7 days')"),
    (LATE, f"{LATE[:-1]}, load_type range)"),
    (LATE, f"{LATE[:-1]}, on_source_rewrite stop)"),
    (LATE, f"{RANGE}, late_data (mode stateful, sources raw.orders (offset '1 hour'))"),
    (LATE, f"{RANGE}, late_data (mode stateful, sources raw.orders (idle_after '1 hour'))"),
]  # fmt: skip
NOTHING: list[tuple[str, str]] = [
    # formatting
    ("tags (a, b)", "tags [b, 'a']"),
    ("", "on_destructive_change error, on_additive_change allow"),
    (f"{RANGE}, on_destructive_change warn", "kind INCREMENTAL_BY_TIME_RANGE (time_column ts, on_destructive_change 'WARN')"),
    ("partitioned_by (days(ts), shop)", "partitioned_by [DAY( `TS` ), Shop]"),
    ("audits (not_null (columns := (id, shop)))", "audits (NOT_NULL (COLUMNS (Id,`shop`)))"),
    ("audits (forall (criteria := id > 1 and lower(shop) = 'X'))", "audits forall (criteria = id>1 AND LOWER( shop )='X')"),
    ("signals (s (a := 1, b := 'x'))", "signals s (b 'x', a = 1)"),
    (RANGE, "KIND incremental_by_time_range(TIME_COLUMN = `TS`)"),
    (RANGE, "kind INCREMENTAL_BY_TIME_RANGE (time_column ts, lookback 0, forward_only false, partition_by_time_column true, independent false)"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key coalesce(id, 0))", "kind INCREMENTAL_BY_UNIQUE_KEY (unique_key 'COALESCE( `id`,0 )')"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, when_matched (WHEN MATCHED THEN UPDATE SET target.amount = source.amount))", "kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, when_matched (when matched then update set TARGET.`amount`=SOURCE.Amount))"),
    ("kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, merge_filter source.day > target.day)", "kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, incremental_predicates ['dbt_internal_source.DAY>dbt_internal_dest.day'])"),
    ("kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns *)", "kind SCD_TYPE_2_BY_COLUMN (unique_key [id], columns [*], forward_only true, disable_restatement true)"),
    (TIME, f"{TIME[:-1]}, valid_from_name VALID_FROM, time_data_type TIMESTAMP, invalidate_hard_deletes false)"),
    # defaults that are written out
    (RANGE, f"{RANGE}, partitioned_by ts"),
    (f"{RANGE}, partitioned_by shop", f"{RANGE}, partitioned_by (ts, shop)"),
    ("cron '@daily'", "cron '@daily', interval_unit day"),
    ("depends_on raw.orders", ""),
    (LATE, f"{RANGE}, late_data (sources ('raw.orders|event_landing_ts'), MODE = STATEFUL, catchup_threshold none, load_type changed, on_source_rewrite OVERWRITE)"),
]  # fmt: skip


SECTIONS = ("late_data", "start", "end ", "cron")  # a policy has options of both parts


@pytest.mark.full
@pytest.mark.parametrize("before,after", DATA, ids=[" -> ".join(row) for row in DATA])
def test_what_changes_rows_or_their_storage_is_data_and_no_metadata_too(
    before: str, after: str
) -> None:
    one, other = sql_model(before), sql_model(after)
    # Kinds differ in their defaults, such as that of forward_only.
    both = one.kind.keyword != other.kind.keyword or any(word in after for word in SECTIONS)
    assert changed(one, other) - ({"metadata"} if both else set()) == {"data"}


@pytest.mark.full
@pytest.mark.parametrize("before,after", METADATA, ids=[" -> ".join(row) for row in METADATA])
def test_what_changes_no_row_is_metadata_alone(before: str, after: str) -> None:
    query = QUERY if "INCREMENTAL" in before else TIMELESS
    assert changed(sql_model(before, query), sql_model(after, query)) == {"metadata"}


@pytest.mark.full
@pytest.mark.parametrize("before,after", NOTHING, ids=[" -> ".join(row) for row in NOTHING])
def test_how_a_header_is_written_counts_in_no_part(before: str, after: str) -> None:
    assert changed(sql_model(before), sql_model(after)) == set()


@pytest.mark.parametrize(
    "unit,cron", [("hour", "@daily"), ("five_minute", "@daily"), ("day", "@monthly")]
)
def test_the_unit_of_a_model_without_intervals_is_metadata_where_no_row_follows_from_it(
    unit: str, cron: str
) -> None:
    before, after = (f"cron '{cron}'{more}" for more in ("", f", interval_unit {unit}"))
    assert changed(sql_model(before, TIMELESS), sql_model(after, TIMELESS)) == {"metadata"}
    assert "data" in changed(sql_model(before), sql_model(after))


PYTHON: list[tuple[Mapping[str, object], Mapping[str, object], set[str]]] = [
    ({}, {"owner": "me"}, {"metadata"}),
    ({}, {"tags": ["a"]}, {"metadata"}),
    ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, set()),
    ({}, {"partitioned_by": "day"}, {"data"}),
    ({}, {"stamp": "x"}, {"data"}),
    ({}, {"column_descriptions": {"id": "the key"}}, {"metadata"}),
    ({}, {"cron": "@daily"}, set()),
    ({}, {"kind": {"name": "FULL"}}, set()),
    ({}, {"depends_on": {"raw.orders": {"before": "1 day"}}}, {"data"}),
    ({}, {"depends_on": {"raw.orders": None}}, set()),
    ({}, {"signals": [("ready", {"path": "a"})]}, {"metadata"}),
]  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("before,after,parts", PYTHON, ids=[str(row[1]) for row in PYTHON])
def test_arguments_of_the_decorator_count_as_properties_and_not_as_code(
    before: Mapping[str, object], after: Mapping[str, object], parts: set[str]
) -> None:
    assert changed(python_model(before), python_model(after)) == parts
