"""Units of time and months, against what DuckDB and Python's calendar compute of them."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.core.time.grains import BEGINNING, FOREVER, Grain, add_months, lengths_of_months
from vde_dagster.core.time.intervals import EPOCH, IntervalUnit, format_duration, parse_duration

INSTANTS = st.datetimes(datetime(1, 1, 1), datetime(9900, 12, 31), timezones=st.just(UTC))
CALENDAR_UNITS = [Grain.MONTH, Grain.QUARTER, Grain.YEAR]


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def computed(
    connection: duckdb.DuckDBPyConnection, expression: str, *given: datetime | int
) -> datetime:
    """What DuckDB gives for an expression of instants and numbers."""
    values = [each.replace(tzinfo=None) if isinstance(each, datetime) else each for each in given]
    row = connection.execute(f"SELECT CAST({expression} AS TIMESTAMP)", values).fetchone()
    assert row is not None
    found: datetime = row[0]
    return found.replace(tzinfo=UTC)


@given(grain=st.sampled_from(Grain), instant=INSTANTS)
def test_an_instant_is_truncated_as_duckdb_does(
    connection: duckdb.DuckDBPyConnection, grain: Grain, instant: datetime
) -> None:
    truncated = f"date_trunc('{grain.name}', ?::TIMESTAMP)"
    assert grain.floor(instant) == computed(connection, truncated, instant)


@given(grain=st.sampled_from(Grain), instant=INSTANTS)
def test_a_border_is_followed_by_the_one_that_duckdb_finds(
    connection: duckdb.DuckDBPyConnection, grain: Grain, instant: datetime
) -> None:
    border = grain.floor(instant)
    after = computed(connection, f"?::TIMESTAMP + INTERVAL 1 {grain.name}", border)
    assert grain.following(border) == after
    assert grain.ceil(instant) == (border if border == instant else after)
    assert grain.shortest <= after - border <= grain.longest


@given(instant=INSTANTS, months=st.integers(-1000, 1000))
def test_months_are_added_as_duckdb_does(
    connection: duckdb.DuckDBPyConnection, instant: datetime, months: int
) -> None:
    last = instant.year * 12 + instant.month - 1 + months
    if not 12 <= last < 12 * 10_000:
        with pytest.raises(OverflowError):
            add_months(instant, months)
        return
    expected = computed(connection, "?::TIMESTAMP + to_months(?)", instant, months)
    assert add_months(instant, months) == expected
    shortest, longest = lengths_of_months(months)
    assert shortest <= expected - instant <= longest


@pytest.mark.parametrize("day", [28, 29, 30, 31])
@pytest.mark.parametrize("months", range(1, 49))
def test_a_day_that_a_month_has_not_is_its_last(day: int, months: int) -> None:
    found = add_months(datetime(2023, 1, day, 12, tzinfo=UTC), months)
    year, month = 2023 + months // 12, months % 12 + 1
    last = calendar.monthrange(year, month)[1]
    assert found == datetime(year, month, min(day, last), 12, tzinfo=UTC)


@pytest.mark.parametrize("grain", CALENDAR_UNITS)
def test_the_shortest_and_the_longest_unit_are_those_of_400_years(grain: Grain) -> None:
    months = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12}[grain]
    days = {
        sum(calendar.monthrange(year, each)[1] for each in range(month, month + months))
        for year in range(2000, 2400)
        for month in range(1, 13, months)
    }
    assert (grain.shortest, grain.longest) == (timedelta(min(days)), timedelta(max(days)))
    assert grain.months == months


@pytest.mark.parametrize("months", [0, 1, 2, 12, 13, 24, 4799, 4800, 4801, -1, -13])
def test_no_length_of_months_lies_outside_of_what_is_said(months: int) -> None:
    shortest, longest = lengths_of_months(months)
    starts = [date(2400 + year, month, 1) for year in range(0, 400, 3) for month in range(1, 13)]
    for start in starts:
        year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
        assert shortest <= date(year, month + 1, 1) - start <= longest


@pytest.mark.parametrize("grain", [each for each in Grain if each not in CALENDAR_UNITS])
def test_other_units_have_one_length(grain: Grain) -> None:
    assert grain.months == 0
    assert grain.shortest == grain.longest


def test_every_unit_begins_where_time_does() -> None:
    assert all(each.floor(BEGINNING) == BEGINNING for each in Grain)
    assert all(each.floor(BEGINNING) == BEGINNING for each in IntervalUnit)


@pytest.mark.parametrize("grain", [each for each in Grain if each > Grain.MICROSECOND])
def test_what_would_follow_the_end_of_time_is_an_overflow(grain: Grain) -> None:
    with pytest.raises(OverflowError):
        grain.ceil(FOREVER)


@pytest.mark.parametrize(
    "unit,count,grain",
    [
        (IntervalUnit.FIVE_MINUTE, 5, Grain.MINUTE),
        (IntervalUnit.QUARTER_HOUR, 15, Grain.MINUTE),
        (IntervalUnit.HALF_HOUR, 30, Grain.MINUTE),
        (IntervalUnit.HOUR, 60, Grain.MINUTE),
        (IntervalUnit.DAY, 24, Grain.HOUR),
        (IntervalUnit.MONTH, 1, Grain.MONTH),
        (IntervalUnit.YEAR, 4, Grain.QUARTER),
    ],
)
def test_an_interval_unit_is_so_many_of_a_grain(
    unit: IntervalUnit, count: int, grain: Grain
) -> None:
    border = EPOCH
    for _ in range(count):
        border = grain.following(border)
    assert unit.following(EPOCH) == border
    assert unit.months == count * grain.months


@given(unit=st.sampled_from(IntervalUnit), instant=INSTANTS)
def test_no_interval_is_shorter_or_longer_than_its_unit_may_be(
    unit: IntervalUnit, instant: datetime
) -> None:
    border = unit.floor(instant)
    assert unit.shortest <= unit.following(border) - border <= unit.longest
    assert unit.grain.floor(border) == border


@given(st.timedeltas(timedelta(0), timedelta(days=99_999)))
def test_a_length_that_is_written_is_read_back(length: timedelta) -> None:
    seconds = timedelta(seconds=length // timedelta(seconds=1))
    assert parse_duration(format_duration(length)) == seconds
