"""Everything that DuckDB is allowed to answer, answered by Spark, too, and compared.

Rows have values at which engines differ: nulls, zeros of both signs, what is no number, the ends of
types, days before 1970 and 1582, letters outside of ASCII, white space.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.lakehouse.duckdb_cases import (
    COLUMNS,
    EXPRESSIONS,
    OF_PAIRS,
    QUERIES,
    ROWS,
)
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.duckdb.constructs import _CONSTRUCTS
from vde_dagster.core.sql.duckdb.translating import DuckQuery, LeftToSpark, in_duckdb
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.lakehouse.iceberg.duckdb_rows import DuckDbQueries
from vde_dagster.lakehouse.spark.session import settle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = ModelName("m", "t")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Names and types of columns, and the rows in a form that compares."""

    columns: tuple[tuple[str, str], ...]
    rows: list[tuple[object, ...]]


def comparable(value: object) -> object:
    """A value with its type: one zero is not the other, and what is no number equals itself."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else (value, math.copysign(1, value))
    return value if isinstance(value, datetime | date) else (type(value).__name__, value)


@cache
def translated(sql: str) -> DuckQuery | LeftToSpark:
    return in_duckdb(sql, catalog="lake", tables=lambda name: COLUMNS if name == T else None)


def of_duckdb(sql: str, rows: pa.Table = ROWS) -> Answer:
    """DuckDB's answer.

    Raises:
        EvaluationFailed: It fails on some row.
    """
    query = translated(sql)
    assert isinstance(query, DuckQuery), f"{sql}: {query}"
    found = DuckDbQueries().answer(query, {T: rows}, limit=10_000)
    return Answer(
        columns=tuple((each.name, each.type) for each in query.columns),
        rows=[tuple(map(comparable, row)) for row in found],
    )


def of_spark(spark: SparkSession, sql: str) -> Answer:
    """Spark's answer."""
    frame = spark.sql(sql)
    columns = tuple((each.name, each.dataType.simpleString()) for each in frame.schema.fields)
    arrays = [each.to_pylist() for each in frame.toArrow().columns]
    return Answer(
        columns=columns, rows=[tuple(map(comparable, row)) for row in zip(*arrays, strict=True)]
    )


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[SparkSession]:
    settle(spark)
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.m")
    schema = ", ".join(f"{each.name} {each.type}" for each in COLUMNS)
    spark.createDataFrame(ROWS, schema).writeTo("lake.m.t").createOrReplace()
    spark.catalog.setCurrentCatalog("lake")
    yield spark
    spark.catalog.setCurrentCatalog("spark_catalog")


def differing(
    spark: SparkSession, expressions: Sequence[str], key: int
) -> tuple[set[str], dict[str, tuple[Answer, Answer]]]:
    """Which expressions DuckDB answers for a row, and those to which Spark has another answer."""
    ours = {}
    for each in expressions:
        try:
            ours[each] = of_duckdb(f"SELECT {each} AS r FROM m.t", ROWS.slice(key, 1))
        except EvaluationFailed:  # Spark would be asked
            continue
    together = ", ".join(f"{each} AS r{at}" for at, each in enumerate(ours))
    theirs = of_spark(spark, f"SELECT {together} FROM m.t WHERE k = {key}")
    found = {
        each: Answer(columns=(("r", kind),), rows=[(value,)])
        for each, (_, kind), value in zip(ours, theirs.columns, theirs.rows[0], strict=True)
    }
    return {*ours}, {each: (ours[each], found[each]) for each in ours if ours[each] != found[each]}


KEYS = [pytest.param(key, marks=() if key == 7 else pytest.mark.full) for key in range(12)]


def answered(expressions: Sequence[str]) -> list[str]:
    """Those that DuckDB may answer."""
    texts = {each: f"SELECT {each} AS r FROM m.t" for each in expressions}
    return [each for each, text in texts.items() if isinstance(translated(text), DuckQuery)]


@pytest.mark.parametrize("key", KEYS)
def test_every_expression_has_the_value_and_the_type_that_spark_gives_it(
    rows: SparkSession, key: int
) -> None:
    allowed = answered(EXPRESSIONS)
    assert 0.3 < len(allowed) / len(EXPRESSIONS) < 0.9
    compared, differs = differing(rows, allowed, key)
    assert differs == {}
    assert key != 7 or len(compared) > 0.85 * len(allowed), "it has values that few rules refuse"


@pytest.mark.full
@pytest.mark.parametrize("key", [0, 4, 5, 7])
def test_every_two_types_that_meet_have_the_value_that_spark_gives(
    rows: SparkSession, key: int
) -> None:
    _, differs = differing(rows, answered(OF_PAIRS), key)
    assert differs == {}


def test_every_construct_of_the_table_is_compared() -> None:
    texts = [*(f"SELECT {each} AS r FROM m.t" for each in answered(EXPRESSIONS)), *QUERIES]
    seen = {type(node) for text in texts for node in read_spark(text).walk()}
    assert {*_CONSTRUCTS} - seen == set()


@pytest.mark.parametrize("sql", QUERIES)
def test_every_query_has_the_rows_that_spark_gives_it(rows: SparkSession, sql: str) -> None:
    ours, theirs = of_duckdb(sql), of_spark(rows, sql)
    assert ours.columns == theirs.columns
    if "ORDER BY" in sql and not sql.startswith("("):
        assert ours.rows == theirs.rows
    else:
        assert sorted(ours.rows, key=repr) == sorted(theirs.rows, key=repr)
