"""What is left to Spark; what is not is compared by `tests/lakehouse/test_duckdb_answers.py`."""

from __future__ import annotations

import pytest

from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.duckdb.translating import DuckQuery, LeftToSpark, in_duckdb

T = ModelName("m", "t")
COLUMNS = tuple(
    Column(name=name, type=kind)
    for name, kind in {
        "k": "int",
        "b": "bigint",
        "x": "double",
        "s": "string",
        "c": "decimal(10,2)",
        "wide": "decimal(38,10)",
        "day": "date",
        "at": "timestamp",
        "nt": "timestamp_ntz",
        "ok": "boolean",
        "words": "array<string>",
        "small": "float",
    }.items()
)


def translated(sql: str) -> DuckQuery | LeftToSpark:
    return in_duckdb(sql, catalog="lake", tables=lambda name: COLUMNS if name == T else None)


def reason(sql: str) -> str:
    found = translated(sql)
    assert isinstance(found, LeftToSpark), found
    return found.reason


LEFT = {
    "a function that is not in the table": "soundex(s)",
    "a function that Spark has under another name": "iif(ok, 1, 2)",
    "another function of a name that Spark reads otherwise": "from_unixtime(b)",
    "the time": "current_timestamp()",
    "a day as a number": "CAST(day AS INT)",
    "a text as a time that Spark would read by its own rules": "CAST('2024-1-1' AS DATE)",
    "a text that is no day": "CAST('2024-02-30' AS DATE)",
    "a time as a day": "day = '2024-01-01 00:00:00'",
    "a text that is compared with a number": "k = '1'",
    "decimals that are multiplied": "c * 2",
    "a sum of decimals whose digits Spark limits": "sum(wide)",
    "a sum of doubles": "sum(x)",
    "a mean of decimals": "avg(c)",
    "a decimal that is rounded as a double": "c > x",
    "an array": "words",
    "a field or an element": "words[0]",
    "a float of 32 bits": "small",
    "TRY_CAST": "TRY_CAST(k AS SMALLINT)",
    "a window": "sum(k) OVER (PARTITION BY s)",
    "a distinct sum": "sum(DISTINCT k)",
    "several distinct columns": "count(DISTINCT k, s)",
    "a number whose type depends on its sign": "-9223372036854775808",
    "a text with a backslash": r"s = '\\t'",
    "a time with a zone of its own": "at = '2024-01-01 00:00:00+02:00'",
    "a local time next to an instant": "at = nt",
    "a number as a condition": "NOT k",
    "IF without an ELSE value": "IF(ok, 1)",
    "a null as the condition of a choice, which Spark refuses": "CASE WHEN NULL THEN 1 END",
}


@pytest.mark.parametrize("expression", LEFT.values(), ids=LEFT.keys())
def test_expressions_that_may_differ_are_left_to_spark(expression: str) -> None:
    assert reason(f"SELECT {expression} AS r FROM m.t")


QUERIES = {
    "a column without an alias whose name Spark makes": "SELECT k + 1 FROM m.t",
    "a name that nothing has": "SELECT nothing FROM m.t",
    "a name that two tables have": "SELECT k FROM m.t a JOIN m.t b ON a.k = b.b",
    "a table that is not known": "SELECT * FROM m.other",
    "a table without a schema": "SELECT * FROM t",
    "a table function": "SELECT * FROM range(3)",
    "a table at another time": "SELECT * FROM m.t VERSION AS OF 1",
    "a lateral view": "SELECT w FROM m.t LATERAL VIEW explode(words) q AS w",
    "all columns, one of which is an array": "SELECT * FROM m.t",
    "USING": "SELECT s FROM m.t JOIN m.t b USING (k)",
    "a semi join": "SELECT t.k FROM m.t LEFT SEMI JOIN m.t b ON t.k = b.k",
    "GROUP BY ALL": "SELECT s, count(*) AS n FROM m.t GROUP BY ALL",
    "ROLLUP": "SELECT s, count(*) AS n FROM m.t GROUP BY ROLLUP (s)",
    "groups of doubles, in which two zeros are one": "SELECT x, count(*) AS n FROM m.t GROUP BY x",
    "distinct doubles": "SELECT DISTINCT x FROM m.t",
    "GROUP BY a constant": "SELECT count(*) AS n FROM m.t GROUP BY 'a'",
    "a sum of types in UNION": "SELECT k FROM m.t UNION ALL SELECT b FROM m.t",
    "a column of the query around it": (
        "SELECT k FROM m.t a WHERE EXISTS (SELECT 1 AS o FROM m.t b WHERE b.k = a.b)"
    ),
    "a name of a column and of a result in an expression": (
        "SELECT -k AS b, b AS k FROM m.t ORDER BY k + b"
    ),
    "a query as a value": "SELECT k FROM m.t WHERE k = (SELECT max(k) AS m FROM m.t)",
    "a name of a result in HAVING": "SELECT s, count(*) AS n FROM m.t GROUP BY s HAVING n > 1",
    "AND as a function": "SELECT and(ok, ok) AS a FROM m.t",
    "a computed limit": "SELECT k FROM m.t LIMIT 1 + 1",
    "PIVOT": "SELECT * FROM (SELECT k, s FROM m.t) PIVOT (sum(k) FOR s IN ('a'))",
    "WITH RECURSIVE": "WITH RECURSIVE q AS (SELECT 1 AS a) SELECT a FROM q",
    "renamed columns of a query": "SELECT a FROM (SELECT k FROM m.t) AS q(a)",
    "VALUES": "SELECT * FROM VALUES (1)",
    "a statement that is no query": "DROP TABLE m.t",
    "two statements": "SELECT 1 AS a; SELECT 2 AS a",
    "no SQL": "SELEC",
    "a sum that is so long": f"SELECT {' + '.join(['k'] * 3000)} AS k FROM m.t",
    "checks that would repeat each other without end": (
        f"SELECT {'upper(' * 40}s{')' * 40} AS s FROM m.t"
    ),
}


@pytest.mark.parametrize("sql", QUERIES.values(), ids=QUERIES.keys())
def test_queries_that_may_differ_are_left_to_spark(sql: str) -> None:
    assert reason(sql)


def test_it_is_known_what_a_query_reads_and_what_it_returns() -> None:
    found = translated("SELECT S, count(*) AS n FROM lake.M.T WHERE k > 1 GROUP BY s")
    assert isinstance(found, DuckQuery)
    assert found.reads == {T: (COLUMNS[0], COLUMNS[3])}
    assert [(each.name, each.type) for each in found.columns] == [("S", "string"), ("n", "bigint")]


def test_a_column_whose_type_is_left_to_spark_hinders_only_queries_that_read_it() -> None:
    assert isinstance(translated("SELECT k FROM m.t"), DuckQuery)
    assert "words" in reason("SELECT words FROM m.t")


def test_a_table_of_another_catalog_is_asked_for_by_its_whole_name() -> None:
    asked: list[ModelName] = []
    in_duckdb("SELECT * FROM other.m.t", catalog="lake", tables=asked.append)
    assert asked == [ModelName("m", "t", "other")]
