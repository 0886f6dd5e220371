from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from vde_dagster.core.sql.macros import (
    EPOCH_DAY,
    TIME_MACROS,
    TimeRange,
    macros_in,
    resolve_time_macros,
)
from vde_dagster.core.time.intervals import EPOCH, Interval

START = datetime(2024, 2, 28, 22, tzinfo=UTC)
END = datetime(2024, 3, 1, tzinfo=UTC)
NOW = datetime(2024, 3, 2, 5, 6, 7, 8, tzinfo=UTC)
TIMES = TimeRange.of(Interval(START, END), execution_time=NOW)


def value(macro: str, times: TimeRange = TIMES) -> object:
    """The value of a macro, by DuckDB."""
    query = sqlglot.parse_one(f"SELECT @{macro} AS x", read="spark")
    assert isinstance(query, exp.Query)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.execute(resolve_time_macros(query, times).sql("duckdb")).fetchone()
    assert found is not None
    return found[0]


VALUES = {
    # 2024-02-28 is day 19781 since 1970-01-01: 19723 to the start of 2024, then 31 + 27
    "start_ds": "2024-02-28",
    "start_date": date(2024, 2, 28),
    "start_dt": datetime(2024, 2, 28, 22, tzinfo=UTC),
    "start_dtntz": datetime(2024, 2, 28, 22),
    "start_ts": "2024-02-28 22:00:00",
    "start_tstz": "2024-02-28 22:00:00+00:00",
    "start_epoch": 1709157600,
    "start_millis": 1709157600000,
    "start_hour": 22,
    "end_ds": "2024-02-29",
    "end_date": date(2024, 2, 29),
    "end_dt": datetime(2024, 2, 29, 23, 59, 59, 999999, tzinfo=UTC),
    "end_dtntz": datetime(2024, 2, 29, 23, 59, 59, 999999),
    "end_ts": "2024-02-29 23:59:59.999999",
    "end_tstz": "2024-02-29 23:59:59.999999+00:00",
    "end_epoch": 1709251199,
    "end_millis": 1709251199999,
    "end_hour": 23,
    "execution_ds": "2024-03-02",
    "execution_date": date(2024, 3, 2),
    "execution_dt": datetime(2024, 3, 2, 5, 6, 7, 8, tzinfo=UTC),
    "execution_dtntz": datetime(2024, 3, 2, 5, 6, 7, 8),
    "execution_ts": "2024-03-02 05:06:07.000008",
    "execution_tstz": "2024-03-02 05:06:07.000008+00:00",
    "execution_epoch": 1709355967,
    "execution_millis": 1709355967000,
    "execution_hour": 5,
}


@pytest.mark.parametrize("macro,expected", VALUES.items())
def test_each_macro_has_its_value(macro: str, expected: object) -> None:
    assert value(macro) == expected


def test_the_table_has_every_macro() -> None:
    assert set(VALUES) == TIME_MACROS


@pytest.mark.parametrize(
    "macro,expected",
    [  # as the seed prints them
        ("start_dt", "CAST('1970-01-01 00:00:00+00:00' AS TIMESTAMP)"),
        ("end_dt", "CAST('1970-01-01 23:59:59.999999+00:00' AS TIMESTAMP)"),
        ("start_date", "CAST('1970-01-01' AS DATE)"),
        ("end_date", "CAST('1970-01-01' AS DATE)"),
    ],
)
def test_without_a_range_spark_reads_the_epoch_day(macro: str, expected: str) -> None:
    query = sqlglot.parse_one(f"SELECT @{macro}", read="spark")
    assert isinstance(query, exp.Query)
    assert resolve_time_macros(query, EPOCH_DAY).sql("spark") == f"SELECT {expected}"


def test_without_a_range_the_macros_stand_for_the_epoch_day() -> None:
    times = EPOCH_DAY
    assert value("start_date", times) == value("end_date", times) == date(1970, 1, 1)
    assert value("end_dt", times) == EPOCH + timedelta(days=1, microseconds=-1)


def test_epochs_before_1970_are_rounded_down() -> None:
    before = TimeRange(start=EPOCH - timedelta(microseconds=1), end=EPOCH, execution_time=EPOCH)
    assert value("start_epoch", before) == -1
    assert value("start_millis", before) == -1


def test_the_query_as_written_stays_as_it_was() -> None:
    query = sqlglot.parse_one("SELECT @START_ds AS x, '@end_ds' AS y", read="spark")
    assert isinstance(query, exp.Query)
    assert [name for name, _ in macros_in(query)] == ["start_ds"]
    resolved = resolve_time_macros(query, TIMES)
    assert list(macros_in(resolved)) == []
    assert "'@end_ds'" in resolved.sql("spark")
    assert [name for name, _ in macros_in(query)] == ["start_ds"]
