"""Every function, operator and type that is translated from another dialect, run on Spark.

Expected values of PostgreSQL and DuckDB are their own results over the same rows; those of the
others follow from their manuals. The lists are in `tests/lakehouse/dialects`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import ModuleType

import duckdb
import pytest
import sqlglot
from pyspark.sql import SparkSession
from sqlalchemy import create_engine
from sqlglot import exp

from tests.lakehouse.dialects import (
    bigquery,
    common,
    mysql,
    orders,
    postgres,
    presto,
    redshift,
    snowflake,
    trino,
    tsql,
)
from tests.lakehouse.dialects import duckdb as duckdb_list
from tests.lakehouse.dialects.rows import FOUR, FOUR_TYPES, ONE, ONE_TYPES, rows_in
from tests.lakehouse.interpreted import interpreted_in_short_form
from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import QueryInvalid, canonicalize
from vde_dagster.core.sql.dialects import SPARKS
from vde_dagster.core.sql.rendering import inline, spark_form
from vde_dagster.core.sql.translation.proven import SUPPORTED, part_of, unproven
from vde_dagster.core.sql.translation.proven_parts import PROVEN

WRITTEN = {
    "bigquery": bigquery,
    "mysql": mysql,
    "presto": presto,
    "redshift": redshift,
    "snowflake": snowflake,
    "trino": trino,
    "tsql": tsql,
}
"""Dialects whose meaning is written down here, from their manuals."""
ANSWERED = {"postgres": postgres, "duckdb": duckdb_list}
"""Dialects whose own database answers here."""
EVERY = {**WRITTEN, **ANSWERED}
T, R = ModelName("s", "t"), ModelName("s", "r")


@dataclass(frozen=True, slots=True)
class Value:
    """The family of a value's type, and the value as a text that is the same in all databases."""

    family: str
    text: str


def lines(text: str) -> list[str]:
    return [each for each in text.split("\n") if each]


def stated(*texts: str) -> dict[str, Value]:
    entries = (each.rpartition(" => ") for text in texts for each in lines(text))
    return {
        each: value(kind, None if text == "NULL" else text.replace("''", ""))
        for each, _, said in entries
        for kind, _, text in [said.partition(" ")]
    }


def value(kind: str, text: str | None) -> Value:
    family = next((each for each, types in FAMILIES if re.match(types, kind.lower())), kind.lower())
    if text is None:
        return Value(family, "NULL")
    match family:
        case "integer" | "decimal" | "double":
            # Twelve digits are more than any dialect promises of a fraction without an end.
            written = f"{Decimal(text):.12g}".rstrip("0").rstrip(".") or "0"
            return Value(family, written.replace("-NaN", "NaN"))
        case "timestamp":
            return Value(family, re.sub(r"[+-]00(:00)?$", "", text))
        case "array":
            return Value(family, re.sub(r"['\"\s]", "", text.translate({123: "[", 125: "]"})))
        case "boolean":
            return Value(family, {"t": "true", "f": "false"}.get(text, text))
        case _:
            return Value(family, text)


FAMILIES = (
    ("array", r"array|list|.*\[\]$"),
    ("integer", r"tinyint|smallint|int|bigint|hugeint|uint"),
    ("decimal", r"decimal|numeric"),
    ("double", r"float|double|real"),
    ("text", r"string|varchar|char|text|\"char\""),
    ("timestamp", r"timestamp"),
)


def parsed(text: str, dialect: str) -> exp.Query:
    query = sqlglot.parse_one(text, read=dialect)
    assert isinstance(query, exp.Query)
    return query


def in_spark(query: exp.Query, dialect: str) -> str:
    """The query of a model as Spark gets it, over rows instead of tables."""
    tables = {T: ONE_TYPES, R: FOUR_TYPES}
    schemas = {
        name: [Column(name=column, type=type_) for column, type_ in types.items()]
        for name, types in tables.items()
    }
    canonical = canonicalize(query, dialect=dialect, schemas=schemas).expression
    bodies = {T: parsed(rows_in("spark", ONE), "spark"), R: parsed(rows_in("spark", FOUR), "spark")}
    return spark_form(inline(canonical, bodies)).sql("spark")


def on_spark(
    spark: SparkSession, dialect: str, table: str, expressions: Sequence[str]
) -> dict[str, Value]:
    selected = ", ".join(f"{each} AS c{index}" for index, each in enumerate(expressions))
    frame = spark.sql(in_spark(parsed(f"SELECT {selected} FROM s.{table}", dialect), dialect))
    texts = frame.selectExpr(*(f"CAST({name} AS STRING)" for name in frame.columns)).first()
    assert texts is not None
    kinds = [field.dataType.simpleString() for field in frame.schema]
    return dict(zip(expressions, map(value, kinds, texts), strict=True))


@pytest.fixture(scope="module", name="spark")
def _interpreted(spark: SparkSession) -> Iterator[SparkSession]:
    """Hundreds of queries of a few rows: what they mean is alike, compiled or not."""
    with interpreted_in_short_form(spark) as found:
        yield found


@pytest.mark.parametrize("dialect", WRITTEN)
def test_each_value_means_what_the_manual_of_its_dialect_says(
    spark: SparkSession, dialect: str
) -> None:
    module = WRITTEN[dialect]
    for table, expected in (
        ("t", stated(common.VALUES, module.VALUES)),
        ("r", stated(common.ROWS, module.ROWS)),
    ):
        assert on_spark(spark, dialect, table, list(expected)) == expected


def of_duckdb(table: str, expressions: Sequence[str]) -> dict[str, Value]:
    body = rows_in("duckdb", ONE if table == "t" else FOUR)
    selected = ", ".join(f"CAST(({each}) AS VARCHAR), TYPEOF({each})" for each in expressions)
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {selected} FROM ({body}) AS {table}").fetchone()
    assert found is not None
    return dict(zip(expressions, map(value, found[1::2], found[::2]), strict=True))


def of_postgres(url: str, table: str, expressions: Sequence[str]) -> dict[str, Value]:
    body = rows_in("postgres", ONE if table == "t" else FOUR)
    selected = ", ".join(
        f"CAST(({each}) AS text), CAST(pg_typeof({each}) AS text)" for each in expressions
    )
    engine = create_engine(url.format(database="postgres"))
    with engine.connect() as connection:
        connection.exec_driver_sql("SET TIME ZONE 'UTC'")
        query = f"SELECT {selected} FROM ({body}) AS {table}".replace("%", "%%")
        [found] = connection.exec_driver_sql(query).all()
    engine.dispose()
    return dict(zip(expressions, map(value, found[1::2], found[::2]), strict=True))


@pytest.mark.full
def test_each_value_of_duckdb_is_what_duckdb_answers(spark: SparkSession) -> None:
    for table, text in (("t", duckdb_list.VALUES), ("r", duckdb_list.ROWS)):
        expected = of_duckdb(table, lines(text))
        assert on_spark(spark, "duckdb", table, lines(text)) == expected


@pytest.mark.postgres
def test_each_value_of_postgres_is_what_postgres_answers(
    spark: SparkSession, postgres_server: str
) -> None:
    for table, text in (("t", postgres.VALUES), ("r", postgres.ROWS)):
        expected = of_postgres(postgres_server, table, lines(text))
        for part in (each for each in expected if PARTS_OF_TIMES.match(each)):
            # Numbers without a fraction there, too, of a type that could have one.
            expected[part] = Value("integer", expected[part].text)
        assert on_spark(spark, "postgres", table, lines(text)) == expected


PARTS_OF_TIMES = re.compile(r"(EXTRACT\((?!SECOND|EPOCH)|DATE_PART\()")


@pytest.mark.full
@pytest.mark.parametrize("dialect", EVERY)
def test_rows_are_in_the_order_that_the_dialect_gives_to_null(
    spark: SparkSession, dialect: str
) -> None:
    for query, expected in orders.of(dialect).items():
        assert first_column(spark, in_spark(parsed(query, dialect), dialect)) == expected, query


@cache
def first_column(spark: SparkSession, text: str) -> list[object]:
    """What Spark gives; dialects that mean the same are written alike."""
    return [each[0] for each in spark.sql(text).collect()]


def refused(module: ModuleType) -> Iterator[str]:
    yield from lines(module.REFUSED)


@pytest.mark.full
@pytest.mark.parametrize(
    "dialect,expression",
    [(dialect, each) for dialect, module in EVERY.items() for each in refused(module)],
)
def test_what_has_no_proven_translation_is_refused_with_its_line_and_advice(
    dialect: str, expression: str
) -> None:
    query = parsed(f"SELECT\n  n,\n{expression}\n  AS c FROM s.t CROSS JOIN s.r", dialect)
    with pytest.raises(QueryInvalid) as caught:
        in_spark(query, dialect)
    [finding, *_] = caught.value.findings
    assert finding.advice
    assert finding.line == 3


@cache
def executed_parts(dialect: str) -> frozenset[str]:
    module = EVERY[dialect]
    texts = [module.VALUES, module.ROWS]
    if dialect in WRITTEN:
        texts += [common.VALUES, common.ROWS]
    entries = [each.rpartition(" => ")[0] or each for text in texts for each in lines(text)]
    queries = [f"SELECT {each} AS c FROM s.t" for each in entries]
    queries += orders.of(dialect)
    trees = (parsed(each, dialect) for each in queries)
    return frozenset(part_of(node) for tree in trees for node in tree.walk())


@pytest.mark.full
@pytest.mark.parametrize("dialect", EVERY)
def test_everything_that_is_translated_was_executed(dialect: str) -> None:
    assert sorted(PROVEN[dialect] - executed_parts(dialect)) == []


@pytest.mark.full
@pytest.mark.parametrize("dialect", EVERY)
def test_nothing_that_was_executed_is_refused(dialect: str) -> None:
    texts = [EVERY[dialect].VALUES, EVERY[dialect].ROWS]
    entries = [each.rpartition(" => ")[0] or each for text in texts for each in lines(text)]
    queries = [parsed(f"SELECT {each} AS c FROM s.t", dialect) for each in entries]
    assert [why for query in queries for why in unproven(query, dialect=dialect)] == []


def test_every_dialect_that_is_supported_has_a_list() -> None:
    assert {*SUPPORTED} == {*SPARKS, *EVERY}
