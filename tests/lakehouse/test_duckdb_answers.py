"""Everything that DuckDB is allowed to answer, answered by Spark, too, and compared.

Rows have values at which engines differ: nulls, zeros of both signs, what is no number, the ends of
types, days before 1970 and 1582, letters outside of ASCII, white space.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

import pytest

from tests.depth import is_full
from tests.lakehouse.duckdb_cases import COLUMNS, EXPRESSIONS, QUERIES, ROWS
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.duckdb.translating import DuckQuery, in_duckdb
from vde_dagster.lakehouse.duckdb_rows import DuckDbQueries
from vde_dagster.lakehouse.session import settle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = ModelName("m", "t")
EVERY = [each for group in EXPRESSIONS.values() for each in group]


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


def of_duckdb(sql: str) -> Answer:
    """DuckDB's answer.

    Raises:
        EvaluationFailed: It fails on some row.
    """
    query = in_duckdb(sql, catalog="lake", tables=lambda name: COLUMNS if name == T else None)
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


def test_every_expression_has_the_value_and_the_type_that_spark_gives_it(
    rows: SparkSession,
) -> None:
    keys = range(12) if is_full() else (0, 1, 7)
    compared: set[str] = set()
    for key in keys:
        ours = {}
        for each in EVERY:
            try:
                ours[each] = of_duckdb(f"SELECT {each} AS r FROM m.t WHERE k = {key}")
            except EvaluationFailed:  # Spark would be asked
                continue
        together = ", ".join(f"{each} AS r{at}" for at, each in enumerate(ours))
        theirs = of_spark(rows, f"SELECT {together} FROM m.t WHERE k = {key}")
        found = {
            each: Answer(columns=(("r", kind),), rows=[(value,)])
            for each, (_, kind), value in zip(ours, theirs.columns, theirs.rows[0], strict=True)
        }
        differs = {each: (ours[each], found[each]) for each in ours if ours[each] != found[each]}
        assert differs == {}, key
        compared |= ours.keys()
    assert set(EVERY) - compared == set()


@pytest.mark.parametrize("sql", QUERIES)
def test_every_query_has_the_rows_that_spark_gives_it(rows: SparkSession, sql: str) -> None:
    ours, theirs = of_duckdb(sql), of_spark(rows, sql)
    assert ours.columns == theirs.columns
    if "ORDER BY" in sql and "OVER" not in sql and not sql.startswith("("):
        assert ours.rows == theirs.rows
    else:
        assert sorted(ours.rows, key=repr) == sorted(theirs.rows, key=repr)
