"""Which queries may take each row once, whatever its time."""

from __future__ import annotations

import pytest
from sqlglot import exp

from vde_dagster.core.sql.row_local import why_not_once
from vde_dagster.core.sql.spark.reading import read_spark


def why(condition: str, columns: str = "id, ts") -> str:
    text = f"SELECT {columns} FROM raw.orders {'WHERE ' + condition if condition else ''}"
    query = read_spark(text)
    assert isinstance(query, exp.Query)
    return why_not_once(query)


@pytest.mark.parametrize(
    "condition",
    [
        "",
        "amount > 0",
        "ts BETWEEN @start_ts AND @end_ts",
        "ts BETWEEN @start_dt AND @end_dt AND amount > 0",
        "(amount > 0 AND (ts >= @start_tstz)) AND ts <= @end_tstz",
        "@start_epoch <= ts AND @end_epoch >= ts",
        "ts BETWEEN @start_millis AND @end_millis AND loaded_at < @execution_ts",
    ],
)
def test_a_column_between_the_borders_of_the_interval_says_where_a_row_belongs(
    condition: str,
) -> None:
    assert why(condition) == ""


def test_the_time_of_the_run_may_stand_anywhere() -> None:
    assert why("", "id, @execution_tstz AS loaded_at") == ""


@pytest.mark.parametrize(
    "condition",
    [
        "DATE(ts) = @end_ds",
        "ts >= @end_dt - INTERVAL '7' DAY",
        "ts > @start_ts",
        "ts < @end_ts",
        "ts <= @start_ts",
        "@end_ts <= ts",
        "ts BETWEEN @end_ts AND @start_ts",
        "@start_ts BETWEEN loaded_at AND ts AND ts <= @end_ts",
        "NOT (ts BETWEEN @start_ts AND @end_ts)",
        "ts BETWEEN @start_ts AND @end_ts OR amount > 0",
        "DATE_TRUNC('day', ts) BETWEEN @start_ts AND @end_ts",
        "hour BETWEEN @start_hour AND @end_hour",
        "ts BETWEEN @start_ts AND @end_ts AND DATE(ts) = @end_ds",
    ],
)
def test_any_other_use_of_the_interval_is_named(condition: str) -> None:
    assert "does more than to bound one of its columns" in why(condition)


def test_a_column_made_of_the_interval_is_named() -> None:
    assert why("ts BETWEEN @start_ts AND @end_ts", "id, @end_ds AS day").startswith("@end_ds ")


def test_two_columns_do_not_say_where_a_row_belongs() -> None:
    assert "several columns" in why("ts >= @start_ts AND landed_at <= @end_ts")


@pytest.mark.parametrize("condition,side", [("ts >= @start_ds", "start"), ("@end_ts >= ts", "end")])
def test_one_border_alone_does_not_say_which_interval_a_row_belongs_to(
    condition: str, side: str
) -> None:
    assert why(condition) == f"only @{side}_* bounds a column"
