"""Time columns of text and numbers: formats of each dialect, and what can distinguish intervals."""

from __future__ import annotations

import string
from datetime import UTC, datetime, timedelta

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vde_dagster.core.time.formats import (
    ISO_DATE,
    TimeFormat,
    axis_type,
    python_format,
    why_no_axis,
)
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.intervals import IntervalUnit

MOMENT = datetime(2024, 2, 9, 4, 5, 6, 70, tzinfo=UTC)

# What each dialect's own manual says that it writes for MOMENT.
WRITTEN = [
    ("spark", "yyyyMMdd", "20240209"),
    ("spark", "yyyy-MM-dd HH:mm:ss", "2024-02-09 04:05:06"),
    ("spark", "yyyyMMddHH", "2024020904"),
    ("spark", "yyyyMM", "202402"),
    ("spark", "yyyy", "2024"),
    ("spark", "%Y%m%d", "20240209"),
    ("databricks", "yyyy-MM-dd", "2024-02-09"),
    ("duckdb", "%Y%m%d%H%M%S", "20240209040506"),
    ("duckdb", "%Y-%m-%dT%H:%M", "2024-02-09T04:05"),
    ("bigquery", "%F", "2024-02-09"),
    ("bigquery", "%Y%m%d%H", "2024020904"),
    ("postgres", "YYYY-MM-DD", "2024-02-09"),
    ("postgres", "YYYY-MM-DD HH24:MI:SS", "2024-02-09 04:05:06"),
    ("snowflake", "yyyy-mm-dd hh24", "2024-02-09 04"),
    ("mysql", "%Y-%m-%d %H:%i", "2024-02-09 04:05"),
    ("trino", "%Y-%m-%d", "2024-02-09"),
    ("redshift", "YYYYMMDD", "20240209"),
]


@pytest.mark.parametrize("dialect,written,expected", WRITTEN)
def test_a_format_of_a_dialect_writes_what_the_dialect_writes(
    dialect: str, written: str, expected: str
) -> None:
    converted = python_format(written, dialect)
    assert MOMENT.strftime(converted) == expected
    assert TimeFormat(converted).write(MOMENT) == expected


UNUSABLE = [
    ("spark", "dd.MM.yyyy", "do not sort like time"),
    ("spark", "MMdd", "do not sort like time"),
    ("spark", "yyyy-MM-dd mm", "do not sort like time"),
    ("spark", "yyyyMMddyyyy", "do not sort like time"),
    ("spark", "yyyy-MMM-dd", "%b"),
    ("spark", "yy-MM-dd", "%y"),
    ("spark", "y-M-d", "%-m"),
    ("spark", "yyyy-'week'-ww", "'w'"),
    ("spark", "nothing", "'n'"),
    ("spark", "'yyyy'", "do not sort like time"),
    ("duckdb", "%d/%m/%Y", "do not sort like time"),
    ("duckdb", "%Y-%-m-%-d", "%-m"),
    ("duckdb", "%Y-%m-%d %I", "%I"),
    ("postgres", "DD-MM-YYYY", "do not sort like time"),
    ("postgres", "YYYY-MON-DD", ""),
    ("snowflake", "MM/DD/YYYY", "do not sort like time"),
    ("duckdb", "%", "%"),
    ("duckdb", "%Y%", "%"),
    ("spark", "'%Y-%m-%d'", "contains '"),
    ("spark", "'yyyy-MM-dd'", "do not sort like time"),
]


@pytest.mark.parametrize("dialect,written,why", UNUSABLE)
def test_a_format_that_does_not_order_like_time_is_refused_with_advice(
    dialect: str, written: str, why: str
) -> None:
    with pytest.raises(ValueError, match="the time format") as caught:
        python_format(written, dialect)
    assert why in str(caught.value)
    assert repr(written) in str(caught.value)
    assert str(caught.value).endswith("such as yyyyMMdd")


def test_nothing_is_no_format() -> None:
    with pytest.raises(ValueError, match="do not sort like time"):
        python_format("", "spark")


CODES = ["%Y", "%m", "%d", "%H", "%M", "%S", "%f"]
GRAINS = [
    Grain.YEAR,
    Grain.MONTH,
    Grain.DAY,
    Grain.HOUR,
    Grain.MINUTE,
    Grain.SECOND,
    Grain.MICROSECOND,
]
BETWEEN = st.text(alphabet=string.ascii_letters + " -_/:.T", max_size=2)


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """A format with units from the year down, and any texts around them."""
    codes = CODES[: draw(st.integers(1, len(CODES)))]
    return draw(BETWEEN) + "".join(code + draw(BETWEEN) for code in codes)


MOMENTS = st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC))


@given(patterns(), MOMENTS)
def test_what_is_written_is_what_python_writes_and_is_read_again(
    pattern: str, moment: datetime
) -> None:
    written = TimeFormat(pattern)
    assert written.grain is GRAINS[sum(code in pattern for code in CODES) - 1]
    assert written.write(moment) == moment.strftime(pattern)
    assert written.read(written.write(moment)) == written.grain.floor(moment)


@given(patterns(), MOMENTS, MOMENTS)
def test_texts_are_ordered_like_the_units_that_they_write(
    pattern: str, one: datetime, other: datetime
) -> None:
    written = TimeFormat(pattern)
    earlier = written.grain.floor(one) < written.grain.floor(other)
    assert (written.write(one) < written.write(other)) == earlier


DUCKDB_PATTERNS = ["%Y-%m-%d", "%Y%m%d", "%Y-%m-%dT%H:%M", "%Y%m%d%H%M%S", "%Y-%m-%d %H:%M:%S.%f"]


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


@pytest.mark.parametrize("pattern", DUCKDB_PATTERNS)
@settings(deadline=None)
@given(moment=st.datetimes(min_value=datetime(1700, 1, 1), max_value=datetime(2200, 1, 1)))
def test_duckdb_reads_what_is_written(
    database: duckdb.DuckDBPyConnection, pattern: str, moment: datetime
) -> None:
    written = TimeFormat(pattern)
    text = written.write(moment.replace(tzinfo=UTC))
    found = database.execute("SELECT strptime(?, ?)", [text, pattern]).fetchone()
    assert found == (written.grain.floor(moment.replace(tzinfo=UTC)).replace(tzinfo=None),)


UNREADABLE = [
    ("%Y%m%d", "2024020"),
    ("%Y%m%d", "20240230"),
    ("%Y%m%d", "00000101"),
    ("%Y%m%d", " 20240209"),
    ("%Y%m%d", "٢٠٢٤٠٢٠٩"),
    ("%Y-%m-%d", "2024-02-09\n"),
    ("%Y-%m-%d", "2024x02x09"),
    ("%Y-%m-%d %H", "2024-02-09 24"),
    ("%Y", ""),
]


@pytest.mark.parametrize("pattern,text", UNREADABLE)
def test_other_texts_are_no_instants(pattern: str, text: str) -> None:
    assert TimeFormat(pattern).read(text) is None


POSITIONS = [
    ("%Y-%m-%d", "2024-02-09", (datetime(2024, 2, 9, tzinfo=UTC), True)),
    ("%Y-%m-%d", "2024-02-09 12:00", (datetime(2024, 2, 9, tzinfo=UTC), False)),
    ("%Y-%m-%d", "2024-02", None),
    ("%Y-%m-%d", "yesterday!", None),
    ("%Y%m", "202402", (datetime(2024, 2, 1, tzinfo=UTC), True)),
    ("%Y%m", "20240209", (datetime(2024, 2, 1, tzinfo=UTC), False)),
]


@pytest.mark.parametrize("pattern,text,expected", POSITIONS)
def test_where_a_text_stands_among_those_that_are_written(
    pattern: str, text: str, expected: tuple[datetime, bool] | None
) -> None:
    assert TimeFormat(pattern).position(text) == expected


@given(patterns(), MOMENTS, MOMENTS, st.text(max_size=3))
def test_a_longer_text_stands_behind_its_unit_and_before_the_next(
    pattern: str, moment: datetime, other: datetime, tail: str
) -> None:
    written = TimeFormat(pattern)
    text = written.write(moment) + tail
    assert written.position(text) == (written.grain.floor(moment), not tail)
    if written.grain.floor(other) > written.grain.floor(moment):
        assert written.write(other) > text


@pytest.mark.parametrize(
    "pattern,digits",
    [("%Y%m%d", True), ("%Y", True), ("%Y%m%d%H%M%S%f", True), ("%Y-%m-%d", False), ("1%Y", False)],
)
def test_a_number_holds_what_has_nothing_but_digits(pattern: str, digits: bool) -> None:
    assert TimeFormat(pattern).is_digits is digits


def test_years_have_four_digits() -> None:
    assert TimeFormat(ISO_DATE).write(datetime(33, 4, 3, tzinfo=UTC)) == "0033-04-03"


AXIS_TYPES = [
    ("date", "date"),
    ("timestamp_ltz", "timestamp"),
    ("timestamp_ntz", "timestamp_ntz"),
    ("varchar(8)", "string"),
    (" BIGINT ", "bigint"),
    ("long", "bigint"),
    ("unknown", "unknown"),
    ("boolean", ""),
    ("decimal(8, 0)", ""),
    ("array<date>", ""),
    ("", ""),
]


@pytest.mark.parametrize("column_type,expected", AXIS_TYPES)
def test_how_a_column_compares(column_type: str, expected: str) -> None:
    assert axis_type(column_type) == expected


FINEST = {
    "%Y": IntervalUnit.YEAR,
    "%Y%m": IntervalUnit.MONTH,
    "%Y%m%d": IntervalUnit.DAY,
    "%Y%m%d%H": IntervalUnit.HOUR,
    "%Y%m%d%H%M": IntervalUnit.FIVE_MINUTE,
}
"""The smallest intervals that such a text distinguishes."""
ORDER = list(IntervalUnit)  # from the smallest on


@pytest.mark.parametrize("unit", IntervalUnit)
@pytest.mark.parametrize("column_type", ["string", "int"])
@pytest.mark.parametrize("pattern,finest", FINEST.items())
def test_an_axis_distinguishes_any_two_intervals(
    column_type: str, pattern: str, finest: IntervalUnit, unit: IntervalUnit
) -> None:
    why = why_no_axis(column_type, pattern, unit)
    assert (why is None) == (ORDER.index(finest) <= ORDER.index(unit))
    if why is not None:
        assert f"cannot tell one {unit.value} from another" in why.message
    start = unit.floor(MOMENT)  # what stands in the column differs exactly where it is an axis
    texts = {TimeFormat(pattern).write(each) for each in (start, unit.following(start))}
    if why is None:
        assert len(texts) == 2


NO_AXIS = [
    ("date", "", IntervalUnit.DAY, None),
    ("date", "", IntervalUnit.MONTH, None),
    ("date", "", IntervalUnit.HOUR, "is a DATE, which cannot tell one hour from another"),
    ("timestamp", "", IntervalUnit.FIVE_MINUTE, None),
    ("timestamp_ntz", "", IntervalUnit.HOUR, None),
    ("string", "", IntervalUnit.DAY, None),  # an ISO date
    ("string", "", IntervalUnit.HOUR, "is written as '%Y-%m-%d', which cannot tell one hour"),
    ("int", "", IntervalUnit.DAY, "is a number. Say how it writes a date in digits"),
    ("int", "%Y-%m-%d", IntervalUnit.DAY, "is a number. Say how it writes a date in digits"),
    ("int", "%Y%m%d", IntervalUnit.DAY, None),
    ("double", "", IntervalUnit.DAY, "is of type double, which is not a time"),
    ("array<date>", "%Y%m%d", IntervalUnit.DAY, "is of type array<date>, which is not a time"),
    ("unknown", "", IntervalUnit.HOUR, None),
    ("unknown", "%Y%m%d", IntervalUnit.DAY, "Declare its type"),
]


@pytest.mark.parametrize("column_type,time_format,unit,why", NO_AXIS)
def test_why_a_column_is_no_axis(
    column_type: str, time_format: str, unit: IntervalUnit, why: str | None
) -> None:
    found = why_no_axis(column_type, time_format, unit)
    assert (found is None) == (why is None)
    assert found is None or (why or "") in f"{found.message}. {found.advice}"


def test_a_unit_that_starts_between_two_texts_belongs_to_the_next() -> None:
    written = TimeFormat("%Y%m%d")
    noon = datetime(2024, 2, 9, 12, tzinfo=UTC)
    assert written.write(written.grain.ceil(noon)) == "20240210"
    assert written.write(written.grain.ceil(noon - timedelta(hours=12))) == "20240209"
