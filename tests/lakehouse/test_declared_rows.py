"""Columns of pandas frames as Arrow arrays of declared types: the very values, or an error."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from vde_dagster.lakehouse.staging.declared_rows import as_arrow

NUMBERS: Final = (
    0,
    1,
    -7,
    127,
    128,
    1.5,
    -0.25,
    0.1,
    1.005,
    1.239,
    0.1 + 0.2,
    1e-9,
    99999999.99,
    2**53,
    1e17,
)
"""Numbers that some of the types hold, as Python has them."""
KINDS: Final[Mapping[str, str | pd.ArrowDtype]] = {
    "numpy": "float64",
    "nullable": "Float64",
    "arrow": pd.ArrowDtype(pa.float64()),
    "object": "object",
    "category": "category",
}
TYPES: Final = (
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.decimal128(10, 2),
    pa.decimal128(38, 18),
    pa.decimal128(5, 0),
)


def expected(number: float, wanted: pa.DataType) -> Decimal | None:
    """The number as a type holds it, as Python prints it; None where the type does not hold it."""
    exact = Decimal(str(number))
    if pa.types.is_integer(wanted):
        least = -(2 ** (wanted.bit_width - 1))
        return exact if exact == int(exact) and least <= exact < -least else None
    whole, _, behind = f"{exact:f}".lstrip("-").partition(".")
    fits = len(behind.rstrip("0")) <= wanted.scale
    return exact if fits and len(whole.lstrip("0")) <= wanted.precision - wanted.scale else None


def converted(series: pd.Series[Any], wanted: pa.DataType) -> list[Any] | None:
    try:
        found: list[Any] = as_arrow(series, wanted).to_pylist()
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wanted", TYPES, ids=str)
def test_a_float_is_the_number_that_is_printed_or_an_error(kind: str, wanted: pa.DataType) -> None:
    for number in NUMBERS:
        series = pd.Series([float(number), None], dtype=KINDS[kind])
        right = expected(float(number), wanted)
        found = converted(series, wanted)
        assert found == (None if right is None else [right, None]), number


STRANGE: Final[Mapping[str, pd.Series[Any]]] = {
    "complex": pd.Series([1j, 2j]),
    "boolean": pd.Series([True, None], dtype=object),
    "time": pd.Series(pd.to_datetime(["2024-01-01"])),
    "time with a zone": pd.Series(pd.to_datetime(["2024-01-01"], utc=True)),
    "length of time": pd.Series(pd.to_timedelta(["1 day", None])),
    "period": pd.Series(pd.period_range("2024-01", periods=2, freq="M")),
    "date": pd.Series([date(2024, 1, 1), None]),
    "bytes": pd.Series([b"12345678", None]),
    "bytes as long as a decimal": pd.Series([b"1234567812345678", None]),
    "infinity": pd.Series([math.inf, 1.0]),
    "decimal without a value": pd.Series([Decimal("NaN"), Decimal(1)], dtype=object).map(
        lambda each: [each]
    ),
}


@pytest.mark.parametrize("name,wanted", list(product(STRANGE, TYPES)), ids=str)
def test_what_is_no_number_is_no_number_of_a_table(name: str, wanted: pa.DataType) -> None:
    assert converted(STRANGE[name], wanted) is None
    if name.startswith("bytes"):
        assert converted(STRANGE[name], pa.list_(wanted)) is None


def test_missing_values_are_null_in_every_kind_of_column() -> None:
    for missing, wanted in product([None, math.nan, pd.NA, pd.NaT], TYPES):
        series = pd.Series([1, missing], dtype=object)
        assert converted(series, wanted) == [1, None]


def test_what_is_cut_is_named_with_the_way_on() -> None:
    with pytest.raises(
        ValueError, match=r"0\.30000000000000004 has more .* round it to 2 decimal places"
    ):
        as_arrow(pd.Series([0.1 + 0.2]), pa.decimal128(10, 2))
    rounded = pd.Series([0.1 + 0.2]).round(2)
    assert converted(rounded, pa.decimal128(10, 2)) == [Decimal("0.30")]


NOON: Final = datetime(2024, 1, 1, 12)
MIDNIGHT: Final = datetime(2024, 1, 1)
DAY: Final = date(2024, 1, 1)
UTC_TIMES: Final = pa.timestamp("us", "UTC")
NO_ZONE: Final = pa.timestamp("us")
EAST: Final = timezone(timedelta(hours=2))
ONE_FIELD: Final = pa.struct([("a", pa.int64())])
OF_TEXTS: Final = pa.map_(pa.string(), pa.decimal128(10, 2))
BOTH: Final = ("object", "arrow")
"""A column of Python's values, and one of Arrow's memory."""
VALUES: Final[Sequence[tuple[tuple[str, ...], Sequence[object], pa.DataType, object]]] = [
    (BOTH, [1.5, 2.25], pa.decimal128(10, 2), [Decimal("1.50"), Decimal("2.25")]),
    (BOTH, [0.1 + 0.2], pa.decimal128(10, 2), "round it to 2 decimal places"),
    (BOTH, [Decimal("1.555")], pa.decimal128(10, 2), "1.555|data loss"),
    (BOTH, [Decimal(123456789012)], pa.decimal128(10, 2), "precision|[Dd]ata loss|fit"),
    (BOTH, [Decimal("1.5")], pa.float64(), [1.5]),
    (BOTH, [Decimal("0.1234567890123456789")], pa.float64(), "more digits"),
    (BOTH, [Decimal(7)], pa.int64(), [7]),
    (BOTH, [5], pa.decimal128(4, 2), [Decimal("5.00")]),
    (BOTH, [500], pa.decimal128(4, 2), "precision|fit|loss"),
    (BOTH, [2**40], pa.int32(), "range|too large|bounds"),
    (BOTH, [2**53 + 1], pa.float64(), "range"),
    (BOTH, [1.0, None], pa.int32(), [1, None]),
    (BOTH, [1.5], pa.int32(), "more decimal places"),
    (BOTH, [math.inf], pa.int32(), "is not a number"),
    (BOTH, [1e300], pa.float32(), "too large"),
    (BOTH, [0.5], pa.float32(), [0.5]),
    (BOTH, [2], pa.bool_(), "neither true nor false"),
    (BOTH, [1, 0], pa.bool_(), [True, False]),
    (BOTH, [1704067200], UTC_TIMES, "not a time"),
    (BOTH, [20240101], pa.date32(), "not a time"),
    (BOTH, [1704067200.0], NO_ZONE, "not a time"),
    (BOTH, [NOON], pa.date32(), "not a date"),
    (BOTH, [MIDNIGHT, None], pa.date32(), [DAY, None]),
    (BOTH, [datetime(2024, 1, 1, 0, 30, tzinfo=EAST)], pa.date32(), "not a date"),
    (BOTH, [DAY], UTC_TIMES, [MIDNIGHT.replace(tzinfo=UTC)]),
    (BOTH, [DAY], NO_ZONE, [MIDNIGHT]),
    (BOTH, [NOON], UTC_TIMES, [NOON.replace(tzinfo=UTC)]),
    (BOTH, [NOON.replace(tzinfo=EAST)], UTC_TIMES, [datetime(2024, 1, 1, 10, tzinfo=UTC)]),
    (BOTH, [NOON.replace(tzinfo=EAST)], NO_ZONE, "have a zone"),
    (BOTH, [[NOON]], pa.list_(pa.date32()), "not a date"),
    (BOTH, [[0.1 + 0.2]], pa.list_(pa.decimal128(10, 2)), "round it"),
    (BOTH, [[0.25]], pa.list_(pa.decimal128(10, 2)), [[Decimal("0.25")]]),
    (("object",), [np.array([0.25])], pa.list_(pa.decimal128(10, 2)), [[Decimal("0.25")]]),
    (("object",), [{"k": 0.25}], OF_TEXTS, [[("k", Decimal("0.25"))]]),
    (("object",), [{"k": 0.1 + 0.2}], OF_TEXTS, "round it"),
    (("object",), [[{"a": 1.5}]], pa.list_(ONE_FIELD), "more decimal places"),
    (("object",), [[{"a": 1.0}, None]], pa.list_(ONE_FIELD), [[{"a": 1}, None]]),
    (BOTH, [{"a": 1, "c": 2}], ONE_FIELD, "c is not a field"),
    (BOTH, [{"A": 1}], ONE_FIELD, "A is not a field"),
    (BOTH, [{"a": 1}, None], ONE_FIELD, [{"a": 1}, None]),
    (BOTH, [timedelta(days=1)], pa.string(), "bytes"),
    (BOTH, [1.5], pa.string(), "bytes"),
    (BOTH, [b"ab"], pa.string(), ["ab"]),
    (BOTH, [b"\xff"], pa.string(), "[Uu][Tt][Ff]8"),
    (("arrow",), ["2024-01-01"], pa.date32(), [DAY]),
    (("arrow",), ["01.01.2024"], pa.date32(), "parse"),
    (("arrow",), ["2024-01-01 10:00:00.1234567"], NO_ZONE, "parse"),
    (("arrow",), ["1.5"], pa.decimal128(10, 2), [Decimal("1.50")]),
    (("arrow",), ["1.555"], pa.decimal128(10, 2), "loss"),
    (("arrow",), ["1.5"], pa.int64(), "parse"),
    (("arrow",), [7, None], pa.string(), ["7", None]),
]
"""Values, a type, and what a table of that type has of them; a text is what the error says."""


@pytest.mark.parametrize(
    "kind,values,wanted,expected",
    [(kind, *case) for kinds, *case in VALUES for kind in kinds],
    ids=str,
)
def test_values_are_stored_as_they_are_or_refused(
    kind: str, values: Sequence[object], wanted: pa.DataType, expected: object
) -> None:
    given: pd.Series[Any] | pa.ChunkedArray = pd.Series(values, dtype=object)
    if kind == "arrow":
        given = pa.chunked_array([pa.array(values)])
    if isinstance(expected, str):
        with pytest.raises((pa.ArrowException, ValueError, TypeError, OverflowError)) as found:
            as_arrow(given, wanted)
        assert re.search(expected, str(found.value))
    else:
        assert as_arrow(given, wanted).to_pylist() == expected


def test_null_in_arrow_is_null_and_nan_is_a_value() -> None:
    floats = pa.chunked_array([[1.5, None]])
    assert as_arrow(floats, pa.decimal128(4, 1)).to_pylist() == [Decimal("1.5"), None]
    (nan,) = as_arrow(pa.chunked_array([[math.nan]]), pa.float64()).to_pylist()
    assert math.isnan(nan)
    for wanted in (pa.decimal128(4, 1), pa.int64()):
        with pytest.raises(ValueError, match="is not a number"):
            as_arrow(pa.chunked_array([[math.nan]]), wanted)


@pytest.mark.parametrize(
    "given,wanted",
    [
        (pa.array(["a", "b", "a"]).dictionary_encode(), pa.string()),
        (pa.array(["a", None], pa.large_string()), pa.string()),
        (pa.array(["a", None], pa.string_view()), pa.string()),
        (pa.array([[1]], pa.large_list(pa.int32())), pa.list_(pa.int64())),
        (pa.array([1, 255], pa.uint8()), pa.int32()),
        (pa.array([1, 2], pa.uint64()), pa.int64()),
        (pa.array([b"ab"], pa.binary(2)), pa.binary()),
        (pa.array([Decimal("1.5")], pa.decimal256(60, 10)), pa.decimal128(10, 2)),
        (pa.array([DAY], pa.date64()), pa.date32()),
        (
            pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())),
            pa.map_(pa.string(), pa.int64()),
        ),
        (pa.nulls(2), pa.int64()),
    ],
    ids=str,
)
def test_types_of_arrow_that_spark_lacks_are_read(given: pa.Array, wanted: pa.DataType) -> None:
    assert as_arrow(pa.chunked_array([given]), wanted).to_pylist() == given.to_pylist()


def test_parts_of_a_microsecond_are_left_out_before_the_epoch_too() -> None:
    times = pa.array([-1, 1_704_067_200_123_456_789], pa.timestamp("ns"))
    found = as_arrow(pa.chunked_array([times]), NO_ZONE)
    assert found.cast(pa.int64()).to_pylist() == [-1, 1_704_067_200_123_456]
