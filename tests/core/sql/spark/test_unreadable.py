"""What Spark's parser refuses although sqlglot reads it; Spark is asked in `tests/lakehouse`."""

from __future__ import annotations

import pytest

from vde_dagster.core.columns import Column
from vde_dagster.core.sql.duckdb.translating import DuckQuery, LeftToSpark, in_duckdb
from vde_dagster.core.sql.spark.unreadable import unreadable

REFUSED = [
    ("SELECT a, b, FROM t", 1),
    ("SELECT a,\n  b, -- the last\nFROM t", 2),
    ("SELECT (a, b,) AS x FROM t", 1),
    ("SELECT coalesce(a,\nb,) AS x FROM t", 2),
    ("SELECT a FROM t WHERE a IN (1, 2,)", 1),
    ("SELECT a FROM t\nGROUP BY a,", 2),
    ("WITH c AS (SELECT 1 AS a,) SELECT a FROM c", 1),
    ('SELECT a AS "country code" FROM t', 1),
    ("SELECT a,\n  b AS 'x' FROM t", 2),
    ('SELECT a FROM t AS "x"', 1),
    ('SELECT a FROM "t"', 1),
    ('WITH "c" AS (SELECT 1 AS a) SELECT a FROM c', 1),
    ("SELECT * EXCLUDE (a) FROM t", 1),
    ("SELECT 1 AS x,\n t.* EXCLUDE (a) FROM t", 2),
    ("SELECT * REPLACE (1 AS a) FROM t", 1),
    ("SELECT * RENAME (a AS b) FROM t", 1),
    ("SELECT DISTINCT ON (a) a FROM t", 1),
    ("SELECT a FROM t FETCH FIRST 5 ROWS ONLY", 1),
    ("SELECT a FROM t ASOF JOIN u ON t.a >= u.a", 1),
    ("WITH c AS MATERIALIZED (SELECT 1 AS a) SELECT a FROM c", 1),
    ("SELECT a FROM t WHERE a GLOB 'x'", 1),
    ("SELECT\n  [1, 2] AS a", 2),
    ("SELECT a FROM t LIMIT 5, 10", 1),
    ("SELECT a\nFROM t\nQUALIFY row_number() OVER (ORDER BY a) = 1", 3),
    ("SELECT CAST(a AS TEXT) AS x FROM t", 1),
    ("SELECT CAST(a AS VARCHAR) AS x FROM t", 1),
    ("SELECT a::varchar AS x FROM t", 1),
    ("SELECT a,\n  DATE_DIFF('day', a, b) AS x FROM t", 2),
    ("SELECT a[1:2] AS x FROM t", 1),
    ("SELECT ARRAY_AGG(a ORDER BY a) AS x FROM t", 1),
    ("SELECT a FROM t WHERE a ISNULL", 1),
    ("SELECT a FROM t UNION BY NAME SELECT b FROM u", 1),
    ("SELECT a ->> 'b' AS x FROM t", 1),
]
READ = [
    "SELECT isnull, t.isnull AS b, isnull(a) AS c FROM t",
    "SELECT a, b FROM t",
    "SELECT a AS `country code` FROM t AS `x`",
    "SELECT \"a\" || 'b' AS x, 'AS \"x\", FROM' AS y FROM t",
    "SELECT * EXCEPT (a) FROM t",
    "SELECT t.* EXCEPT (a, b), 2 * replace('a', 'b', 'c') AS r FROM t",
    "SELECT a FROM t, LATERAL explode(e) AS l(k)",
    "SELECT trim(BOTH 'x' FROM 'yxy') AS x, substring('abc' FROM 2) AS s",
    'SELECT extract(DAY FROM "2024-01-01") AS d',
    "SELECT DISTINCT a FROM t LEFT ANTI JOIN u ON t.a = u.a",
    "SELECT a, (SELECT max(b) FROM u) AS m FROM t -- , FROM",
    "SELECT a::int AS x, CAST(c AS MAP<STRING, ARRAY<INT>>) AS z FROM t",
    "SELECT count(*) FILTER (WHERE a > 1) AS n FROM t GROUP BY ALL ORDER BY n NULLS FIRST",
    "SELECT transform(a, x -> x + 1) AS y FROM t WHERE b ILIKE 'x%' OR b LIKE ANY ('x', 'y')",
    "SELECT date_add('2024-01-01', 1) AS d, 1.5e3 AS e, .5 AS f, 10L AS l, X'1F' AS h",
    "SELECT /*+ BROADCAST(t) */ a /* c /* nested */ */ FROM t TABLESAMPLE (10 PERCENT) -- end",
    "SELECT a AS text, CAST(a AS VARCHAR(3)) AS v, isnull(a) AS n, a[0] AS f FROM t",
    "SELECT CAST((SELECT a AS text FROM t) AS STRING) AS x, date_diff('2024-01-01', b) AS d",
    "SELECT a FROM t UNION SELECT b FROM u LIMIT 5 OFFSET 10",
    "SELECT COUNT(*) AS n, COUNT(DISTINCT a, b) AS m FROM t",
]


@pytest.mark.parametrize("text, line", REFUSED)
def test_what_spark_cannot_parse_is_found_on_its_line(text: str, line: int) -> None:
    assert [each.line for each in unreadable(text)] == [line]
    found = in_duckdb(text, catalog="lake", tables=lambda _: None)
    assert isinstance(found, LeftToSpark)


@pytest.mark.parametrize("text", READ)
def test_what_spark_parses_is_no_fault(text: str) -> None:
    assert list(unreadable(text)) == []


@pytest.mark.parametrize(
    "call",
    ["IF(b, 1)", "GREATEST(i)", "LEAST(i)", "NVL(i)", "IFNULL(i, 1, 2)", "IIF(b, 1, 2)", "AND(b)"],
)
def test_duckdb_answers_no_call_with_other_arguments_than_sparks(call: str) -> None:
    columns = [Column(name="i", type="int"), Column(name="b", type="boolean")]
    found = in_duckdb(f"SELECT {call} AS x FROM m.t", catalog="lake", tables=lambda _: columns)
    assert isinstance(found, LeftToSpark)


def test_duckdb_answers_calls_as_spark_has_them() -> None:
    columns = [Column(name="i", type="int"), Column(name="b", type="boolean")]
    query = "SELECT IF(b AND (b OR (b)), nvl(i, 1), GREATEST(i, (2))) AS x FROM m.t"
    found = in_duckdb(query, catalog="lake", tables=lambda _: columns)
    assert isinstance(found, DuckQuery)
