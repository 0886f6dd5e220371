"""Questions over given rows, answered by Spark: rows become temporary views or frames."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, assert_never

from pyspark.sql import DataFrame
from pyspark.sql import types as t

from vde_dagster.core.unit_tests.comparison import Answer
from vde_dagster.core.unit_tests.definition import Given, GivenQuery, GivenRows
from vde_dagster.core.unit_tests.question import FunctionOverRows, QueryOverRows, Question
from vde_dagster.lakehouse.connect import with_views
from vde_dagster.lakehouse.evaluation import python_frame, typed_frame
from vde_dagster.lakehouse.tables import columns_of, quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
            with with_views(spark, question.tables):
                for name, each in question.tables.items():
                    _frame(spark, each).createOrReplaceTempView(quoted(name))
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
    return [_value(each, of) for each in values] if _has_map(of) else values


def _has_map(of: t.DataType) -> bool:
    match of:
        case t.MapType():
            return True
        case t.ArrayType():
            return _has_map(of.elementType)
        case t.StructType():
            return any(_has_map(each.dataType) for each in of.fields)
        case _:
            return False


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
