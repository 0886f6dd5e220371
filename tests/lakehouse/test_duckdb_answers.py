"""Everything that DuckDB is allowed to answer, answered by Spark, too, and compared.

Rows have values at which engines differ: nulls, zeros of both signs, what is no number, the ends of
types, days before 1970 and 1582, letters outside of ASCII, white space.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

import pytest

from tests.lakehouse.duckdb_cases import (
    COLUMNS,
    EXPRESSIONS,
    OF_PAIRS,
    OF_TYPES,
    QUERIES,
    ROWS,
)
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.duckdb.translating import DuckQuery, LeftToSpark, in_duckdb
from vde_dagster.lakehouse.duckdb_rows import DuckDbQueries
from vde_dagster.lakehouse.session import settle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = ModelName("m", "t")
EVERY = [each for group in EXPRESSIONS.values() for each in group]
PAIRS = [each for each in OF_PAIRS if each not in EVERY]


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


def translated(sql: str) -> DuckQuery | LeftToSpark:
    return in_duckdb(sql, catalog="lake", tables=lambda name: COLUMNS if name == T else None)


def of_duckdb(sql: str) -> Answer:
    """DuckDB's answer.

    Raises:
        EvaluationFailed: It fails on some row.
    """
    query = translated(sql)
    assert isinstance(query, DuckQuery), f"{sql}: {query}"
    rows = DuckDbQueries().answer(query, {T: ROWS}, limit=10_000)
    return Answer(
        columns=tuple((each.name, each.type) for each in query.columns),
        rows=[tuple(map(comparable, row)) for row in rows],
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
            ours[each] = of_duckdb(f"SELECT {each} AS r FROM m.t WHERE k = {key}")
        except EvaluationFailed:  # Spark would be asked
            continue
    together = ", ".join(f"{each} AS r{at}" for at, each in enumerate(ours))
    theirs = of_spark(spark, f"SELECT {together} FROM m.t WHERE k = {key}")
    found = {
        each: Answer(columns=(("r", kind),), rows=[(value,)])
        for each, (_, kind), value in zip(ours, theirs.columns, theirs.rows[0], strict=True)
    }
    return {*ours}, {each: (ours[each], found[each]) for each in ours if ours[each] != found[each]}


KEYS = [pytest.param(key, marks=() if key in (0, 7) else pytest.mark.full) for key in range(12)]


@pytest.mark.parametrize("key", KEYS)
def test_every_expression_has_the_value_and_the_type_that_spark_gives_it(
    rows: SparkSession, key: int
) -> None:
    compared, differs = differing(rows, EVERY, key)
    assert differs == {}
    if key == 7:  # a row with plain values, for which nothing is left to Spark
        assert set(EVERY) - compared == set()


@pytest.mark.full
@pytest.mark.parametrize("key", KEYS)
def test_every_type_and_every_two_that_meet_have_the_value_that_spark_gives(
    rows: SparkSession, key: int
) -> None:
    allowed = [
        each for each in PAIRS if isinstance(translated(f"SELECT {each} AS r FROM m.t"), DuckQuery)
    ]
    assert len(allowed) > 0.9 * len(PAIRS)
    _, differs = differing(rows, allowed, key)
    assert differs == {}


@pytest.mark.full
@pytest.mark.parametrize(
    "sql", [each for each in OF_TYPES if isinstance(translated(each), DuckQuery)]
)
def test_queries_over_every_type_have_the_rows_that_spark_gives(
    rows: SparkSession, sql: str
) -> None:
    ours, theirs = of_duckdb(sql), of_spark(rows, sql)
    assert ours.columns == theirs.columns
    if "ORDER BY" in sql and "OVER" not in sql:
        assert ours.rows == theirs.rows
    else:
        assert sorted(ours.rows, key=repr) == sorted(theirs.rows, key=repr)


@pytest.mark.parametrize("sql", QUERIES)
def test_every_query_has_the_rows_that_spark_gives_it(rows: SparkSession, sql: str) -> None:
    ours, theirs = of_duckdb(sql), of_spark(rows, sql)
    assert ours.columns == theirs.columns
    if "ORDER BY" in sql and "OVER" not in sql and not sql.startswith("("):
        assert ours.rows == theirs.rows
    else:
        assert sorted(ours.rows, key=repr) == sorted(theirs.rows, key=repr)
