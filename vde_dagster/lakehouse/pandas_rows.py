"""A pandas frame as a Spark one of the declared types, with nothing guessed and nothing cut.

A value that does not fit its declared type is an error. Where pandas is ambiguous, this decides:
NaN in a column of numpy floats is how pandas writes a missing value, so it is NULL; in pandas' own
nullable type `Float64` only `pd.NA` is. Times without a zone are UTC. A float that is declared as a
decimal is the number that Python prints for it, since the float itself has up to 50 digits.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_schema

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.lakehouse.storable import stored_type

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession


def from_pandas(
    spark: SparkSession, result: pd.DataFrame, columns: tuple[Column, ...], *, place: str
) -> DataFrame:
    """The rows of a pandas frame, with the declared columns in their order.

    A frame without any column and row is an empty one of these columns. Its index is left out.

    Args:
        spark: The session.
        result: What a model's function returned.
        columns: The declared columns.
        place: The function, for errors.

    Raises:
        EvaluationFailed: Columns are missing or not declared, or their values do not fit the type;
            the message lists all of them.
    """
    if not columns:
        raise EvaluationFailed(
            f"{place} returns a pandas DataFrame, whose types Spark cannot know",
            advice="declare the model's columns",
        )
    schema = t.StructType([t.StructField(each.name, stored_type(each.type)) for each in columns])
    arrow = to_arrow_schema(schema)
    if not len(result.columns) and not len(result):
        return spark.createDataFrame(arrow.empty_table(), schema=schema)
    positions = _positions(result, columns, place=place)
    problems: list[str] = []
    arrays: list[pa.Array] = []
    for field, wanted in zip(arrow, schema.fields, strict=True):
        try:
            arrays.append(_array(result.iloc[:, positions[field.name.lower()]], field.type))
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            problems.append(
                f"{field.name} ({wanted.dataType.simpleString()}): {_first_line(error)}"
            )
    if problems:
        listed = "".join(f"\n  {each}" for each in problems)
        raise EvaluationFailed(f"{place} returns values that their columns do not hold:{listed}")
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=arrow), schema=schema)


def _positions(result: pd.DataFrame, columns: tuple[Column, ...], *, place: str) -> dict[str, int]:
    """The position of each declared column, by its name in lower case."""
    names = [str(each).lower() for each in result.columns]
    wanted = [each.name.lower() for each in columns]
    problems = [
        f"{what} {', '.join(found)}"
        for what, found in (
            ("it lacks", [each for each in wanted if each not in names]),
            ("not declared are", [each for each in names if each not in wanted]),
            ("given more than once are", [each for each, n in Counter(names).items() if n > 1]),
        )
        if found
    ]
    if problems:
        raise EvaluationFailed(
            f"{place} returns other columns than the declared ones: {'; '.join(problems)}"
        )
    return {name: position for position, name in enumerate(names)}


def _array(series: pd.Series[Any], wanted: pa.DataType) -> pa.Array:
    import pandas as pd

    if series.isna().all():  # pandas gives a column without values a type that means nothing
        return pa.nulls(len(series), wanted)
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(object)
    if pa.types.is_timestamp(wanted) and pd.api.types.is_datetime64_any_dtype(series.dtype):
        if wanted.tz is None and getattr(series.dtype, "tz", None) is not None:
            raise ValueError(
                "the times have a zone, and TIMESTAMP_NTZ has none; convert them with "
                "dt.tz_convert(...).dt.tz_localize(None), or declare TIMESTAMP"
            )
        series = series.dt.floor("us")  # Spark has no smaller parts of a second
    if pa.types.is_map(wanted):
        series = series.map(lambda each: list(each.items()) if isinstance(each, dict) else each)
    given = _exact_values(series, wanted) if _is_exact(wanted) else series
    found = pa.array(given, from_pandas=True, type=wanted)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _exact_values(series: pd.Series[Any], wanted: pa.DataType) -> pd.Series[Any] | list[object]:
    """The values of a column in whose place pyarrow puts no others, or raises."""
    import pandas as pd

    if series.dtype.kind in "cmM" or isinstance(series.dtype, pd.PeriodDtype):
        raise TypeError(f"values of the type {series.dtype} are no numbers")
    numbers = pa.types.is_decimal(wanted) and series.dtype.kind in "biuf"
    if series.dtype != object and not numbers:
        return series
    return [
        None if lacks else _exact(each, wanted)
        for each, lacks in zip(series.to_numpy(), series.isna(), strict=True)
    ]


def _is_exact(wanted: pa.DataType) -> bool:
    """Whether a type has whole numbers or decimals in it, which pyarrow cuts or misreads."""
    if pa.types.is_nested(wanted):
        return any(_is_exact(wanted.field(each).type) for each in range(wanted.num_fields))
    return _is_number(wanted)


def _is_number(wanted: pa.DataType) -> bool:
    return bool(pa.types.is_integer(wanted) or pa.types.is_decimal(wanted))


def _exact(value: object, wanted: pa.DataType) -> object:
    """A value in whose place pyarrow puts no other number.

    Raises:
        ValueError: A number has digits behind its point that the type does not hold.
        TypeError: It is no number.
    """
    match value:
        case np.ndarray() | list() | tuple() if pa.types.is_list(wanted):
            return [_exact(each, wanted.value_type) for each in value]
        case np.ndarray() | list() | tuple() if pa.types.is_map(wanted):
            pair = (wanted.key_type, wanted.item_type)
            return [tuple(map(_exact, each, pair)) for each in value]
        case dict() if pa.types.is_struct(wanted):
            types = {each.name: each.type for each in wanted}
            return {
                key: _exact(each, types[key]) if key in types else each
                for key, each in value.items()
            }
        case bytes() if pa.types.is_list(wanted):
            raise TypeError("bytes are no list")
        case bool() | np.bool() if _is_number(wanted):
            raise TypeError(f"{value} is no number")
        case float() | int() | Decimal() | np.floating() | np.integer() if _is_number(wanted):
            return _exact_number(value, wanted)
        case _:
            return value


def _exact_number(
    value: float | Decimal | np.floating[Any] | np.integer[Any], wanted: pa.DataType
) -> int | Decimal:
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    if not number.is_finite():
        raise ValueError(f"{value} is no number of this type")
    scale = wanted.scale if pa.types.is_decimal(wanted) else 0
    if len(f"{number:f}".partition(".")[2].rstrip("0")) > scale:
        advice = f"; round it to {scale} digits behind the point" if scale else ""
        raise ValueError(f"{value} has more digits behind its point than the type holds{advice}")
    return number if pa.types.is_decimal(wanted) else int(number)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
