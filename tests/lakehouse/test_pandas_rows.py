"""Columns of pandas frames as Arrow arrays of declared types: the very values, or an error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from vde_dagster.lakehouse.pandas_rows import _array

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
        found: list[Any] = _array(series, wanted).to_pylist()
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


@pytest.mark.parametrize("wanted", TYPES, ids=str)
@pytest.mark.parametrize(
    "dtype", ["int8", "int64", "uint64", "Int64", "object", pd.ArrowDtype(pa.int64())], ids=str
)
def test_a_whole_number_is_itself_or_an_error(
    wanted: pa.DataType, dtype: str | pd.ArrowDtype
) -> None:
    for number in (0, 1, 100, 127):
        right = expected(number, wanted)
        found = converted(pd.Series([number], dtype=dtype), wanted)
        assert found == (None if right is None else [right])


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_in_lists_structs_and_maps_are_exact_too(number: float) -> None:
    for leaf in TYPES:
        right = expected(number, leaf)
        value = [None] if right is None else [right]
        shapes: list[tuple[pa.DataType, object, object]] = [
            (pa.list_(leaf), [number], value),
            (pa.list_(leaf), np.array([number]), value),
            (pa.struct([("a", leaf)]), {"a": number}, {"a": right}),
            (pa.map_(pa.string(), leaf), {"k": number}, [("k", right)]),
            (pa.list_(pa.struct([("a", leaf)])), [{"a": number}], [{"a": right}]),
        ]
        for wanted, given, result in shapes:
            found = converted(pd.Series([given, None], dtype=object), wanted)
            assert found == (None if right is None else [result, None]), wanted


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
    with pytest.raises(ValueError, match=r"0\.30000000000000004 has more .* round it to 2 digits"):
        _array(pd.Series([0.1 + 0.2]), pa.decimal128(10, 2))
    rounded = pd.Series([0.1 + 0.2]).round(2)
    assert converted(rounded, pa.decimal128(10, 2)) == [Decimal("0.30")]
