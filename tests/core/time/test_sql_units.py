"""The words of SQL for units, against what DuckDB computes with them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import duckdb
import pytest
from sqlglot import exp, parse_one

from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.sql_units import DATE_TRUNC_NAMES, TRUNC_NAMES, duration, grain_of, times


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@pytest.mark.parametrize("unit", Grain.__members__)
@pytest.mark.parametrize("written", ["{}", "{}S", "{}s"])
def test_so_many_units_are_as_long_as_duckdb_says(
    connection: duckdb.DuckDBPyConnection, unit: str, written: str
) -> None:
    found = times(7, written.format(unit))
    assert found is not None
    months, length = found
    micros = length // timedelta(microseconds=1)
    query = f"SELECT INTERVAL 7 {unit} = to_months({months}) + to_microseconds({micros})"
    assert connection.execute(query).fetchone() == (True,)


@pytest.mark.parametrize("unit", ["", "S", "DECADE", "CENTURY", "DAYSS", "MM", "fortnight"])
def test_what_is_no_unit_of_sql_has_no_length(unit: str) -> None:
    assert times(1, unit) is None


@pytest.mark.parametrize(
    "name,grain",
    [
        ("year", Grain.YEAR),
        ("yyyy", Grain.YEAR),
        ("yy", Grain.YEAR),
        ("Quarter", Grain.QUARTER),
        ("MONTH", Grain.MONTH),
        ("MM", Grain.MONTH),
        ("mon", Grain.MONTH),
        ("week", Grain.WEEK),
        ("decade", None),
        ("years", None),
    ],
)
def test_both_truncations_know_what_is_longer_than_a_day(name: str, grain: Grain | None) -> None:
    for names in (TRUNC_NAMES, DATE_TRUNC_NAMES):
        assert grain_of(exp.var(name), names=names) is grain


@pytest.mark.parametrize("name", ["day", "dd", "hour", "minute", "second", "millisecond"])
def test_only_timestamps_are_truncated_to_shorter_units(name: str) -> None:
    assert grain_of(exp.var(name), names=TRUNC_NAMES) is None
    assert grain_of(exp.var(name), names=DATE_TRUNC_NAMES) is not None


@pytest.mark.parametrize(
    "text,expected",
    [
        ("INTERVAL 1 DAY", (0, timedelta(days=1))),
        ("INTERVAL '3' WEEKS", (0, timedelta(days=21))),
        ("INTERVAL -2 QUARTERS", (-6, timedelta(0))),
        ("INTERVAL '1 day 2 hours'", (0, timedelta(hours=26))),
        ("INTERVAL '1 year 2 months'", (14, timedelta(0))),
        ("INTERVAL '1 year, 2 days'", (12, timedelta(days=2))),
        ("INTERVAL x DAY", None),
        ("INTERVAL '1 fortnight'", None),
        ("x", None),
    ],
)
def test_an_interval_is_months_and_a_length(
    text: str, expected: tuple[int, timedelta] | None
) -> None:
    assert duration(parse_one(text, dialect="spark")) == expected
