"""A pandas frame as a Spark one of the declared types, with nothing guessed and nothing cut.

A value that does not fit its declared type is an error. Where pandas is ambiguous, this decides:
NaN in a column of numpy floats is how pandas writes a missing value, so it is NULL; in pandas' own
nullable type `Float64` only `pd.NA` is. Times without a zone are UTC.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

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
    found = pa.array(series, from_pandas=True, type=wanted)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
