"""What Spark's parser refuses although sqlglot reads it; Spark is asked in `tests/lakehouse`."""

from __future__ import annotations

from typing import Final

import pytest

from vde_dagster.core.sql.duckdb.translating import LeftToSpark, in_duckdb
from vde_dagster.core.sql.spark.unreadable import unreadable

REFUSED: Final[list[tuple[str, int | list[int]]]] = [
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
    ("SELECT a FROM t WHERE a ISNULL", 1),
    ("SELECT a,, b FROM t", 1),
    ("SELECT a,\n  , b FROM t", 2),
    ("SELECT , a FROM t", 1),
    ("SELECT coalesce(, a) AS x FROM t", 1),
    ("SELECT a FROM t ORDER BY , a", 1),
    ("SELECT * EXCEPT a, b FROM t", 1),
    ("SELECT a FROM t WHERE a NOTNULL", 1),
    ("SELECT a FROM t WHERE 1.5 ISNULL", 1),
    ("SELECT CASE WHEN a > 1 THEN 1 END ISNULL AS x, 1 AS b FROM t WHERE 'x' ISNULL", [1, 1]),
    ("SELECT a FROM t\nLIMIT 1 OFFSET 5 ROWS", 2),
    ("SELECT DATETIME '2024-01-01' AS x FROM t", 1),
    ("SELECT ARRAY[1, 2] AS x FROM t", 1),
    ("SELECT a FROM t WHERE [a] = b", 1),
    *(
        (f"SELECT a,\n  CAST(b AS {each}) AS x FROM t", 2)
        for each in (
            *("BIT", "BOOL", "BYTEA", "DATETIME", "DOUBLE PRECISION", "FLOAT8", "HUGEINT", "INT8"),
            *("INT64", "JSON", "NUMBER", "NVARCHAR(10)", "TIMESTAMPTZ"),
            *("TIMESTAMP WITH TIME ZONE", "UUID"),
        )
    ),
    ("SELECT a::timestamptz AS x, b::uuid AS y FROM t", [1, 1]),
]
READ: Final = [
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
    (
        "SELECT from_utc_timestamp(a, 'UTC') AS at, 1 AS time, 2 AS zone, timestamp "
        "'2024-01-01' AS s FROM t"
    ),
    "SELECT percent, rows, sample, format, symmetric, json, text FROM t LIMIT 10 OFFSET 5",
    (
        "SELECT a FROM t TABLESAMPLE (10 PERCENT) WHERE a BETWEEN 1 AND 2 AND b IN (1) "
        "OR b NOT IN (a, 2)"
    ),
    "SELECT position('a' IN b) AS p, extract(DAY FROM a) AS d, try_cast(a AS INT) AS i FROM t",
    "SELECT array(1, 2)[0] AS x, map('a', 1)['a'] AS y, e[0] AS z, s.e[1] AS w, t.e[a] AS v FROM t",
    "SELECT first(a IGNORE NULLS) AS f, first_value(a) IGNORE NULLS OVER (ORDER BY a) AS g FROM t",
    (
        "SELECT listagg(b, ',') WITHIN GROUP (ORDER BY a) AS l, count(a) FILTER (WHERE a "
        "> 1) AS c FROM t"
    ),
    (
        "SELECT sum(a) OVER (PARTITION BY b ORDER BY a) AS s, max(a) OVER w AS m FROM t "
        "WINDOW w AS (ORDER BY a)"
    ),
    (
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u ORDER BY 1 LIMIT 1) AND a IN "
        "(SELECT b FROM u LIMIT 1)"
    ),
    "SELECT (SELECT b FROM u ORDER BY b LIMIT 1) AS y FROM t",
    (
        "WITH u (b) AS (SELECT a FROM t ORDER BY a LIMIT 5) SELECT b FROM (SELECT b FROM "
        "u ORDER BY b) v"
    ),
    "SELECT a FROM t ORDER BY b COLLATE UTF8_BINARY, CAST(a AS STRING COLLATE UTF8_LCASE)",
    (
        "SELECT CAST(a AS STRUCT<x: INT, y: ARRAY<MAP<STRING, DECIMAL(9, 2)>>>) AS c, "
        "CAST(b AS CHAR(3)) AS d FROM t"
    ),
    (
        "SELECT CAST(a AS INTERVAL DAY TO SECOND) AS i, CAST(b AS TIMESTAMP) AS j, "
        "b::decimal(9, 2) AS k FROM t"
    ),
    "SELECT a::int[0] AS x, 10L AS l, 3S AS s, 1Y AS y, 1.5D AS d, 2.5BD AS e, 1.5F AS f FROM t",
    "SELECT a, b FROM t EXCEPT SELECT a, b FROM u",
    "SELECT * FROM t EXCEPT SELECT * FROM u UNION ALL (SELECT * FROM u)",
    *(
        f"SELECT CAST(a AS {each}) AS x, b::{each} AS y FROM t"
        for each in (
            *("BIGINT", "BINARY", "BOOLEAN", "BYTE", "CHAR(1)", "CHARACTER(1)", "DATE", "DEC"),
            *(
                "DECIMAL",
                "DECIMAL(9)",
                "DOUBLE",
                "FLOAT",
                "INT",
                "INTEGER",
                "LONG",
                "NUMERIC(9, 2)",
            ),
            *("REAL", "SHORT", "SMALLINT", "STRING", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ"),
            *("TIMESTAMP_NTZ", "TINYINT", "VARCHAR(9)", "VARIANT", "ARRAY<INT>"),
        )
    ),
]


@pytest.mark.parametrize("text, line", REFUSED)
def test_what_spark_cannot_parse_is_found_on_its_line(text: str, line: int | list[int]) -> None:
    lines = line if isinstance(line, list) else [line]
    assert [each.line for each in unreadable(text)] == lines
    found = in_duckdb(text, catalog="lake", tables=lambda _: None)
    assert isinstance(found, LeftToSpark)


@pytest.mark.parametrize("text", READ)
def test_what_spark_parses_is_no_fault(text: str) -> None:
    assert list(unreadable(text)) == []
