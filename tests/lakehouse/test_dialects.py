"""Functions whose meaning differs between dialects, run on Spark.

Expected values follow from the manual of each dialect; for DuckDB they are its own results.
"""

from __future__ import annotations

import duckdb
import pytest
import sqlglot
from pyspark.sql import SparkSession
from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import QueryInvalid, canonicalize
from vde_dagster.core.sql.rendering import inline, spark_form
from vde_dagster.core.sql.translation.interval_sums import with_closed_sums

T = ModelName("s", "t")
TYPES = {
    "a": "timestamp",  # 23:30, half an hour before midnight
    "b": "timestamp",  # 00:15 on the day after
    "day": "date",
    "later": "date",
    "n": "int",
    "total": "bigint",
    "ratio": "double",
    "price": "decimal(10,2)",
}
ROW = (
    "SELECT TIMESTAMP '2024-02-29 23:30:00' AS a, TIMESTAMP '2024-03-01 00:15:00' AS b, "
    "DATE '2024-01-31' AS day, DATE '2024-02-14' AS later, -7 AS n, CAST(7 AS BIGINT) AS total, "
    "CAST(2.5 AS DOUBLE) AS ratio, CAST(7.00 AS DECIMAL(10, 2)) AS price"
)
MEANINGS = {
    "snowflake": {
        "(later - day)::NUMBER": "14",
        "DATEADD(day, n, day)::DATE": "2024-01-24",
        "DATEADD(day, total, day)": "2024-02-07",
        "DATE_TRUNC('month', later)": "2024-02-01",
        "DAYOFWEEK(later)": "3",
        "DATEADD(day, 1, '2024-02-28')": "2024-02-29",
        "DATEADD(hour, 1, a)": "2024-03-01 00:30:00",
        "DATEADD(day, 1, a)": "2024-03-01 23:30:00",
        "DATEADD(day, n, a)": "2024-02-22 23:30:00",
        "DATEADD(day, n, day)": "2024-01-24",
        "DATEADD(week, 1, day)": "2024-02-07",
        "DATEADD(month, 1, day)": "2024-02-29",
        "DATEADD(quarter, 1, a)": "2024-05-29 23:30:00",
        "DATEADD(minute, n * 2, b)": "2024-03-01 00:01:00",
        "DATEDIFF(day, a, b)": "1",
        "DATEDIFF(hour, a, b)": "1",
        "DATEDIFF(month, a, b)": "1",
        "DATEDIFF(year, a, b)": "0",
        "DATEDIFF(minute, a, b)": "45",
        "DATE_TRUNC('day', a)": "2024-02-29 00:00:00",
        "TRUNC(a, 'hour')": "2024-02-29 23:00:00",
        "later - day": "14",
        "total / 2": "3.500000",
    },
    "bigquery": {
        "DATETIME_DIFF(b, a, DAY)": "1",
        "DATETIME_TRUNC(b, MONTH)": "2024-03-01 00:00:00",
        "TIMESTAMP_TRUNC(a, DAY, 'UTC')": "2024-02-29 00:00:00",
        "CAST(DATE_TRUNC(later, DAY) AS STRING)": "2024-02-14",
        "TIMESTAMP_SUB(b, INTERVAL n MINUTE)": "2024-03-01 00:22:00",
        "b - INTERVAL n MINUTE": "2024-03-01 00:22:00",
        "CAST(ratio AS NUMERIC)": "2.500000000",
        "DATE_SUB('2024-03-01', INTERVAL 1 DAY)": "2024-02-29",
        "TIMESTAMP_SUB(b, INTERVAL 1 DAY)": "2024-02-29 00:15:00",
        "DATE_SUB(later, INTERVAL 1 MONTH)": "2024-01-14",
        "DATE_ADD(day, INTERVAL n DAY)": "2024-01-24",
        "DATE_DIFF(later, day, MONTH)": "1",
        "DATE_TRUNC(later, ISOWEEK)": "2024-02-12",
        "DATE_TRUNC(later, WEEK(MONDAY))": "2024-02-12",
        "DATE_TRUNC(later, DAY)": "2024-02-14",
        "DATE_TRUNC(later, QUARTER)": "2024-01-01",
        "TIMESTAMP_TRUNC(b, ISOWEEK)": "2024-02-26 00:00:00",
        "TIMESTAMP_DIFF(b, a, HOUR)": "0",
        "DIV(total, 2)": "3",
        "total / 2": "3.5",
    },
    "postgres": {
        "CAST(total / 2 AS float)": "3.0",
        "(later - day)::text": "14",
        "total / NULLIF(n, 0)": "-1",
        "ROW_NUMBER() OVER (ORDER BY n) / 2": "0",
        "ABS(n) / 2": "3",
        "EXTRACT(DOW FROM later)": "3",
        "a - INTERVAL '1 month'": "2024-01-29 23:30:00",
        "ratio::numeric > 2.4": "true",
        "SUM(total) OVER () * 1.0 / 2 > 3.4": "true",
        "AVG(total) OVER () / 2 > 3.4": "true",
        "total / 2": "3",
        "n / 2": "-3",
        "ratio / 2": "1.25",
        "total / 2 / 2": "1",
        "(n + 1) / (total - 3)": "-1",
        "COUNT(*) OVER () / 2": "0",
        "price / 2 > 3.4": "true",
        "(later - day) / 4": "3",
        "a - INTERVAL '1 day 2 hours'": "2024-02-28 21:30:00",
    },
    "tsql": {
        "DATEADD(w, 1, day)": "2024-02-01",
        "CAST(ratio AS decimal)": "3",
        "CAST(n AS float) / 2": "-3.5",
        "DATEADD(hh, -1, b)": "2024-02-29 23:15:00",
        "DATEDIFF(day, a, b)": "1",
        "DATEDIFF(hour, a, b)": "1",
        "n / 2": "-3",
    },
    "redshift": {
        "TRUNC(a)": "2024-02-29",
        "DATEADD(day, 1, a)": "2024-03-01 23:30:00",
        "DATEADD(hour, n, b)": "2024-02-29 17:15:00",
        "DATEDIFF(month, a, b)": "1",
        "DATEDIFF(hour, a, b)": "1",
        "total / 2": "3",
    },
    "trino": {
        "DATE_TRUNC('month', later)": "2024-02-01",
        "DATE_ADD('day', total, day)": "2024-02-07",
        "DATE_ADD('hour', n, b)": "2024-02-29 17:15:00",
        "DATE_ADD('day', 1, a)": "2024-03-01 23:30:00",
        "DATE_DIFF('hour', a, b)": "0",
        "DATE_DIFF('day', a, b)": "0",
        "n / 2": "-3",
    },
    "mysql": {
        "DATE_SUB(a, INTERVAL n DAY)": "2024-03-07 23:30:00",
        "a + INTERVAL n DAY": "2024-02-22 23:30:00",
        "DAYOFWEEK(later)": "4",
        "DATE_ADD(a, INTERVAL 1 HOUR)": "2024-03-01 00:30:00",
        "DATE_SUB(b, INTERVAL 1 DAY)": "2024-02-29 00:15:00",
        "DATEDIFF(b, a)": "1",
    },
    "spark": {
        "a - INTERVAL 1 MONTH 2 DAYS": "2024-01-27 23:30:00",
        "a - INTERVAL 3 DAYS 2 HOURS": "2024-02-26 21:30:00",
        "a - INTERVAL '3' DAY '2' HOUR": "2024-02-26 21:30:00",
        "a + INTERVAL 1 DAY 45 MINUTES": "2024-03-02 00:15:00",
        "b - 2 * (INTERVAL 1 HOUR)": "2024-02-29 22:15:00",
        "DATE_ADD(a, 1)": "2024-03-01",
        "DATE_SUB(later, 14)": "2024-01-31",
        "n / 2": "-3.5",
        "n DIV 2": "-3",
    },
}
DUCKDB = [
    "DATE_ADD(a, INTERVAL 1 DAY)",
    "DATE_DIFF('day', a, b)",
    "DATE_DIFF('hour', a, b)",
    "DATE_DIFF('week', day, later)",
    "DATE_DIFF('quarter', day, b)",
    "DATE_TRUNC('hour', b)",
    "b - a > INTERVAL 44 MINUTES",
    "later - day",
    "total / 2",
    "total // 2",
    "n % 4",
]


def in_spark(dialect: str, *expressions: str) -> exp.Query:
    """The query of a model with these columns, as Spark gets it, over one row."""
    selected = ", ".join(f"{each} AS c{index}" for index, each in enumerate(expressions))
    query = with_closed_sums(sqlglot.parse_one(f"SELECT {selected} FROM s.t", read=dialect))
    assert isinstance(query, exp.Query)
    columns = [Column(name=name, type=type_) for name, type_ in TYPES.items()]
    canonical = canonicalize(query, dialect=dialect, schemas={T: columns}).expression
    row = sqlglot.parse_one(ROW, read="spark")
    assert isinstance(row, exp.Query)
    return spark_form(inline(canonical, {T: row}))


@pytest.mark.parametrize("dialect", MEANINGS)
def test_functions_mean_what_their_dialect_says(spark: SparkSession, dialect: str) -> None:
    expressions = MEANINGS[dialect]
    found = spark.sql(in_spark(dialect, *expressions).sql("spark"))
    [values] = found.selectExpr(*(f"CAST({name} AS STRING)" for name in found.columns)).collect()
    assert dict(zip(expressions, values, strict=True)) == expressions


def test_functions_of_duckdb_mean_what_duckdb_answers(spark: SparkSession) -> None:
    found = spark.sql(in_spark("duckdb", *DUCKDB).sql("spark"))
    [values] = found.selectExpr(*(f"CAST({name} AS STRING)" for name in found.columns)).collect()
    texts = ", ".join(f"CAST({each} AS VARCHAR)" for each in DUCKDB)
    expected = duckdb.connect().execute(f"SELECT {texts} FROM ({ROW}) AS t").fetchone()
    assert dict(zip(DUCKDB, values, strict=True)) == dict(zip(DUCKDB, expected or (), strict=True))


@pytest.mark.parametrize(
    "dialect,expression,what",
    [
        ("postgres", "SUM(total) / COUNT(*)", "whole number or a fraction"),
        ("postgres", "EXTRACT(EPOCH FROM a) / 60", "whole number or a fraction"),
        ("snowflake", "DATEADD(day, n, UNKNOWN_FUNCTION(a))", "no proven translation"),
        ("bigquery", "DATE_TRUNC(day, WEEK)", "cannot count by WEEK"),
        ("bigquery", "TIMESTAMP_TRUNC(a, WEEK(TUESDAY))", "cannot count by WEEK"),
        ("tsql", "DATEDIFF(week, a, b)", "cannot count by WEEK"),
        ("tsql", "DATEADD(day, 1, 0)", "type that is not known"),
        ("bigquery", "EXTRACT(WEEK FROM day)", "no proven translation"),
        ("bigquery", "TIMESTAMP_TRUNC(a, DAY, 'America/New_York')", "take no time zone"),
        ("postgres", "a - INTERVAL '1 month 2 days'", "cannot read the interval"),
        ("postgres", "a - INTERVAL '36:00'", "cannot read the interval"),
        ("spark", "DATE_SUB(a, INTERVAL 30 DAY)", "take a number of days"),
    ],
)
def test_what_has_no_one_meaning_in_spark_is_refused(
    dialect: str, expression: str, what: str
) -> None:
    with pytest.raises(QueryInvalid, match=what):
        in_spark(dialect, expression)


def test_all_that_has_no_single_meaning_is_reported_at_its_line() -> None:
    text = "SELECT SUM(n) / 2 AS x,\n SUM(total) / 2 AS y,\n CAST(ratio AS TEXT) AS z"
    query = sqlglot.parse_one(f"{text}\nFROM s.t", read="postgres")
    assert isinstance(query, exp.Query)
    columns = [Column(name=name, type=type_) for name, type_ in TYPES.items()]
    with pytest.raises(QueryInvalid) as caught:
        canonicalize(query, dialect="postgres", schemas={T: columns})
    assert sorted(each.line or 0 for each in caught.value.findings) == [1, 2, 3]
