"""Rows of pandas and of Arrow as Spark ones of the declared types: nothing is guessed or cut.

A value that does not fit its declared type is an error. Where a library is ambiguous, this decides:
NaN in a column of numpy floats is how pandas writes a missing value, so it is NULL; in pandas' own
nullable type `Float64` only `pd.NA` is, and in Arrow only a null. Times without a zone are UTC. A
float that is declared as a decimal is the number that Python prints for it, since the float itself
has up to 50 digits.

At the end are questions over given rows, which become temporary views or frames of Spark.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_schema

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.unit_tests.comparison import Answer
from vde_dagster.core.unit_tests.definition import Given, GivenQuery, GivenRows
from vde_dagster.core.unit_tests.question import FunctionOverRows, QueryOverRows, Question
from vde_dagster.lakehouse.iceberg.tables import columns_of
from vde_dagster.lakehouse.spark.connect import named
from vde_dagster.lakehouse.staging.evaluation import python_frame
from vde_dagster.lakehouse.staging.storable import stored_schema
from vde_dagster.lakehouse.staging.stored_values import contains

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

_ADVICE: Final = (
    "Convert them in the function, with `round`, `astype`, `pd.to_datetime` or `.dt.date` of "
    "pandas, or `cast` of Arrow. Or declare another type in `columns`."
)


def declared_rows(
    spark: SparkSession,
    result: pd.DataFrame | pa.Table,
    columns: tuple[Column, ...],
    *,
    place: str,
) -> DataFrame:
    """The rows of a frame of pandas or Arrow, with the declared columns in their order.

    A frame without any column and row is an empty one of these columns. An index is left out.

    Args:
        spark: The session.
        result: What a model's function returned.
        columns: The declared columns.
        place: The function, for errors.

    Raises:
        EvaluationFailed: Columns are missing or not declared, or their values do not fit the type;
            the message lists all of them.
    """
    in_arrow = isinstance(result, pa.Table)
    table: Any = result
    if not columns:
        if in_arrow:
            return spark.createDataFrame(result)
        raise EvaluationFailed(
            f"{place} returns a pandas DataFrame, whose types Spark cannot know",
            advice="declare the model's columns",
        )
    schema = stored_schema(columns)
    arrow = to_arrow_schema(schema)
    names = [str(each).lower() for each in (result.column_names if in_arrow else result.columns)]
    if not names and not len(result):
        return spark.createDataFrame(arrow.empty_table(), schema=schema)
    _check_names(names, [each.name.lower() for each in columns], place=place)
    problems: list[str] = []
    arrays: list[pa.Array] = []
    for field, wanted in zip(arrow, schema.fields, strict=True):
        position = names.index(field.name.lower())
        try:
            values = table.column(position) if in_arrow else table.iloc[:, position]
            arrays.append(as_arrow(values, field.type))
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            problems.append(
                f"{field.name} ({wanted.dataType.simpleString()}): {_first_line(error)}"
            )
    if problems:
        listed = "".join(f"\n  {each}" for each in problems)
        message = f"{place} returns values that do not fit their columns:{listed}"
        raise EvaluationFailed(message, advice=_ADVICE)
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=arrow), schema=schema)


def typed_frame(
    spark: SparkSession, columns: Sequence[Column], rows: Sequence[Sequence[object]]
) -> DataFrame:
    """Rows of Python's values as a DataFrame with these columns' types; a MAP is a dictionary.

    Raises:
        EvaluationFailed: A value does not fit into the type of its column.
    """
    schema = stored_schema(columns)
    arrow = to_arrow_schema(schema)
    arrays = []
    for position, field in enumerate(arrow):
        try:
            arrays.append(pa.array([row[position] for row in rows], type=field.type))
        except pa.ArrowException as error:
            raise EvaluationFailed(
                f"the column {field.name} has values that are not {columns[position].type}: "
                f"{error}",
                advice="Declare the type of these values.",
            ) from error
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=arrow), schema=schema)


def _check_names(names: list[str], wanted: list[str], *, place: str) -> None:
    problems = [
        f"{what} {', '.join(found)}"
        for what, found in (
            ("missing:", [each for each in wanted if each not in names]),
            ("not declared:", [each for each in names if each not in wanted]),
            ("returned more than once:", [each for each, n in Counter(names).items() if n > 1]),
        )
        if found
    ]
    if problems:
        raise EvaluationFailed(
            f"{place} returns other columns than the declared ones: {'; '.join(problems)}"
        )


def as_arrow(values: pd.Series[Any] | pa.ChunkedArray, wanted: pa.DataType) -> pa.Array:
    """A column's values as an array of a type.

    Raises:
        ValueError, TypeError, OverflowError, ArrowException: They are not values of it.
    """
    if isinstance(values, pa.ChunkedArray):
        return _converted(values.combine_chunks(), wanted)
    lacks = values.isna()
    if lacks.all():  # pandas gives a column without values a type that means nothing
        return pa.nulls(len(values), wanted)
    if values.dtype == object or values.dtype.name == "category":
        given = zip(values.astype(object), lacks, strict=True)
        return _exactly([None if missing else each for each, missing in given], wanted)
    found = pa.array(values, from_pandas=True)
    return _converted(found.combine_chunks() if hasattr(found, "chunks") else found, wanted)


def _converted(found: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(found.type):
        found = found.cast(found.type.value_type)
    if isinstance(found.type, pa.BaseExtensionType):
        raise TypeError(f"values of the type {found.type} cannot be stored")
    if pa.types.is_timestamp(found.type) and pa.types.is_timestamp(wanted):
        if found.type.tz is not None and wanted.tz is None:
            raise ValueError(_HAS_ZONE)
        without_zone = found.cast(pa.timestamp(found.type.unit))  # the same instants, in UTC
        found = pc.floor_temporal(without_zone, unit="microsecond")  # as fine as Spark's are
        return found.cast(pa.timestamp("us")).cast(wanted)
    if found.type == wanted or pa.types.is_null(found.type) or _casts_exactly(found.type, wanted):
        return found.cast(wanted)
    return _exactly(found.to_pylist(), wanted)


_HAS_ZONE: Final = (
    "the times have a zone, but TIMESTAMP_NTZ has none; convert them with "
    "dt.tz_convert(...).dt.tz_localize(None), or declare TIMESTAMP"
)


def _casts_exactly(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether Arrow casts to the very values, or raises."""
    of = pa.types
    if of.is_boolean(found) or of.is_integer(found):
        widens = of.is_floating(wanted) and of.is_integer(found)
        return bool(of.is_integer(wanted) or of.is_string(wanted) or widens)
    if of.is_floating(found):
        return bool(of.is_floating(wanted) and found.bit_width <= wanted.bit_width)
    if of.is_decimal(found):
        return bool(of.is_decimal(wanted))
    if of.is_date(found):
        return bool(of.is_date(wanted) or of.is_timestamp(wanted) or of.is_string(wanted))
    if of.is_string(found) or of.is_large_string(found) or of.is_string_view(found):
        return not (of.is_nested(wanted) or of.is_float32(wanted))
    is_bytes = of.is_binary(found) or of.is_large_binary(found) or of.is_fixed_size_binary(found)
    return bool(is_bytes and (of.is_binary(wanted) or of.is_string(wanted)))


def _exactly(values: list[Any], wanted: pa.DataType) -> pa.Array:
    return pa.array([_exact(each, wanted) for each in values], from_pandas=True, type=wanted)


def _exact(value: object, wanted: pa.DataType) -> object:  # noqa: PLR0911 - a case a line
    """A value in whose place pyarrow puts no other one.

    Raises:
        ValueError: The type holds a part of it only.
        TypeError: It is nothing of the type.
    """
    of = pa.types
    is_number = of.is_integer(wanted) or of.is_decimal(wanted)
    match value:
        case dict() if of.is_map(wanted):
            return _exact(list(value.items()), wanted)
        case dict() if of.is_struct(wanted):
            return _exact_struct(value, wanted)
        case np.ndarray() | list() | tuple() if of.is_map(wanted):
            pair = (wanted.key_type, wanted.item_type)
            return [tuple(map(_exact, each, pair)) for each in value]
        case np.ndarray() | list() | tuple() if of.is_list(wanted):
            return [_exact(each, wanted.value_type) for each in value]
        case bytes() if of.is_list(wanted):
            raise TypeError("bytes are not a list")
        case bool() | np.bool():
            if is_number:
                raise TypeError(f"{value} is not a number")
            return value
        case datetime() | date():
            return _exact_time(value, wanted)
        case float() | int() | Decimal() | np.floating() | np.integer():
            return _exact_number(value, wanted)
        case _:
            return value


def _exact_struct(value: dict[str, object], wanted: pa.StructType) -> dict[str, object]:
    types = {field.name: field.type for field in wanted}
    unknown = [key for key in value if key not in types]
    if unknown:
        fields = ", ".join(types)
        raise ValueError(
            f"{', '.join(map(str, unknown))} is not a field of the struct, which has {fields}"
        )
    return {key: _exact(each, types[key]) for key, each in value.items()}


def _exact_time(value: date, wanted: pa.DataType) -> date:
    if not isinstance(value, datetime):
        zone = UTC if pa.types.is_timestamp(wanted) and wanted.tz else None
        return (
            datetime.combine(value, time(tzinfo=zone)) if pa.types.is_timestamp(wanted) else value
        )
    if pa.types.is_timestamp(wanted) and wanted.tz is None and value.tzinfo is not None:
        raise ValueError(_HAS_ZONE)
    if pa.types.is_date(wanted):
        instant = value.astimezone(UTC) if value.tzinfo is not None else value
        if instant.time() != time():
            raise ValueError(f"{value} is not a date, since it has a time of day")
        return instant.date()
    return value


_Number = float | Decimal | np.floating[Any] | np.integer[Any]


def _exact_number(value: _Number, wanted: pa.DataType) -> object:
    of = pa.types
    if of.is_temporal(wanted):
        raise TypeError(
            f"{value} is a number, not a time; convert it with `pd.to_datetime` and a unit"
        )
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    if of.is_boolean(wanted) and number not in (0, 1):
        raise ValueError(f"{value} is neither true nor false")
    if of.is_boolean(wanted):
        return bool(number)
    if of.is_floating(wanted):
        largest = np.finfo(wanted.to_pandas_dtype()).max
        if math.isfinite(number) and abs(number) > Decimal(float(largest)):
            raise ValueError(f"{value} is too large")
        if isinstance(value, Decimal) and value.is_finite() and Decimal(str(float(value))) != value:
            raise ValueError(f"{value} has more digits than the type can store")
        return float(value) if isinstance(value, Decimal) else value
    if not (of.is_integer(wanted) or of.is_decimal(wanted)):
        return value
    if not number.is_finite():
        raise ValueError(f"{value} is not a number of this type")
    scale = wanted.scale if of.is_decimal(wanted) else 0
    if len(f"{number:f}".partition(".")[2].rstrip("0")) > scale:
        advice = f"; round it to {scale} decimal places" if scale else ""
        raise ValueError(f"{value} has more decimal places than the type can store{advice}")
    return number if of.is_decimal(wanted) else int(number)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def answered(spark: SparkSession, question: Question, *, subject: str) -> Answer:
    """The rows of a question's query or function."""
    with _bound(spark, question, subject=subject) as frame:
        found = frame.toArrow()
        arrays = [
            _plain(array.to_pylist(), field.dataType)
            for array, field in zip(found.columns, frame.schema.fields, strict=True)
        ]
        return Answer(columns=columns_of(frame.schema), rows=tuple(zip(*arrays, strict=True)))


@contextmanager
def _bound(spark: SparkSession, question: Question, *, subject: str) -> Iterator[DataFrame]:
    """The frame of a question, while its temporary views exist."""
    match question:
        case FunctionOverRows():
            tables = {name: _frame(spark, each) for name, each in question.tables.items()}
            yield python_frame(spark, question.rows, tables, question.columns, model=subject)
        case QueryOverRows():
            tables = {name: _frame(spark, each) for name, each in question.tables.items()}
            with named(spark, tables):
                yield spark.sql(question.rows.sql)
        case _:
            assert_never(question)


def _frame(spark: SparkSession, given: Given) -> DataFrame:
    match given:
        case GivenRows():
            return typed_frame(spark, given.columns, given.rows)
        case GivenQuery():
            return spark.sql(given.sql)
        case _:
            assert_never(given)


def _plain(values: list[object], of: t.DataType) -> list[object]:
    """Values as Python has them: a MAP as a dictionary, which in Arrow is a list of pairs."""
    return [_value(each, of) for each in values] if contains(of, t.MapType) else values


def _value(value: object, of: t.DataType) -> object:
    if value is None:
        return None
    match of, value:
        case t.MapType(), list() | tuple():
            return {_value(key, of.keyType): _value(each, of.valueType) for key, each in value}
        case t.ArrayType(), list() | tuple():
            return [_value(each, of.elementType) for each in value]
        case t.StructType(), dict():
            return {each.name: _value(value[each.name], each.dataType) for each in of.fields}
        case _:
            return value
