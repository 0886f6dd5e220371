"""What the rows and columns of a query depend on, derived by hand from SQL's semantics."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from tests.core.tables import rows
from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import canonicalize
from vde_dagster.core.sql.meaning.parts import EVERY, ROWS, Meaning, MeaningPart

TYPES = {"a": "int", "b": "string", "c": "double", "e": "array<int>", "s": "struct<x:int>"}
COLUMNS = [Column(name=name, type=type_) for name, type_ in TYPES.items()]
SCHEMAS = {ModelName("raw", name): COLUMNS for name in ("t", "u")}


def meaning(text: str) -> Meaning:
    query = parse_one(text, dialect="spark")
    assert isinstance(query, exp.Query)
    return canonicalize(query, schemas=SCHEMAS).meaning


def reads(part: MeaningPart) -> set[str]:
    """Such as ``t`` for the rows of raw.t, ``t.a`` for its column and ``t.*`` for all of them."""
    shown = {ROWS: "", EVERY: ".*"}
    return {f"{each.model.name}{shown.get(each.column, f'.{each.column}')}" for each in part.reads}


def written(part: MeaningPart) -> str:
    return " ".join(sorted(reads(part)))


@pytest.mark.parametrize(
    "text,rows,columns",
    rows("""
SELECT a, a + 1 AS z FROM raw.t | t | a: t.a, z: t.a
SELECT a FROM raw.t WHERE b = 'x' | t t.b | a: t.a
SELECT t.a, u.b FROM raw.t JOIN raw.u ON t.a = u.a | t t.a u u.a | a: t.a, b: u.b
SELECT t.b FROM raw.t CROSS JOIN raw.u | t u | b: t.b
# groups depend on the rows and the keys, a value of a group on all its rows
SELECT b, SUM(a) AS n, COUNT(*) AS k FROM raw.t GROUP BY b | t t.b | b: t.b, n: t t.a, k: t
SELECT b FROM raw.t GROUP BY 1 HAVING MAX(c) > 1 | t t.b t.c | b: t.b
# without GROUP BY there is one row, whatever it depends on
SELECT COUNT(*) AS n FROM raw.t WHERE a > 1 | | n: t t.a
SELECT 1 AS one FROM raw.t HAVING COUNT(*) > 1 | t | one:
SELECT DISTINCT a, b FROM raw.t | t t.a t.b | a: t.a, b: t.b
SELECT a FROM raw.t UNION ALL SELECT c FROM raw.u | t u | a: t.a u.c
SELECT a FROM raw.t EXCEPT SELECT c FROM raw.u | t t.a u u.c | a: t.a u.c
# a window sees all rows; it decides which there are only in QUALIFY
SELECT a, RANK() OVER (PARTITION BY b ORDER BY c) AS r FROM raw.t | t | a: t.a, r: t t.b t.c
SELECT a FROM raw.t QUALIFY RANK() OVER (PARTITION BY b ORDER BY c) = 1 | t t.b t.c | a: t.a
SELECT a FROM raw.t ORDER BY b | t | a: t.a
SELECT a FROM raw.t ORDER BY b LIMIT 1 | t t.b | a: t.a
SELECT a, EXPLODE(e) AS x FROM raw.t | t t.e | a: t.a, x: t.e
SELECT a, x FROM raw.t LATERAL VIEW EXPLODE(e) l AS x | t t.e | a: t.a, x: t.e
# EXISTS depends on rows only, IN on values
SELECT a FROM raw.t WHERE EXISTS (SELECT c FROM raw.u WHERE u.a = t.a) | t t.a u u.a | a: t.a
SELECT a FROM raw.t WHERE a IN (SELECT c FROM raw.u) | t t.a u u.c | a: t.a
SELECT a, (SELECT MAX(c) FROM raw.u) AS m FROM raw.t | t | a: t.a, m: u u.c
# what a sub-query returns and nobody reads does not count
SELECT a FROM (SELECT a, b, c FROM raw.t) AS q | t | a: t.a
WITH c AS (SELECT b FROM raw.u) SELECT a FROM raw.t | t | a: t.a
SELECT a FROM (SELECT DISTINCT a, b FROM raw.t) AS q | t t.a t.b | a: t.a
SELECT STRUCT(*) AS z FROM raw.t | t | z: t.*
SELECT s.x AS z FROM raw.t | t | z: t.s
SELECT 1 AS one | | one:
"""),
)
def test_rows_and_columns_follow_from(text: str, rows: str, columns: str) -> None:
    found = meaning(text)
    assert written(found.rows.part) == rows
    assert ", ".join(f"{name}: {written(part)}".strip() for name, part in found.columns) == columns


@pytest.mark.parametrize(
    "text,named",
    [
        # the columns that PIVOT does not name are those that it groups by
        ("SELECT x FROM raw.t PIVOT (SUM(a) FOR b IN ('x'))", {"t", "t.*"}),
        (
            "SELECT x FROM (SELECT a, b FROM raw.t) PIVOT (SUM(a) FOR b IN ('x'))",
            {"t", "t.a", "t.b"},
        ),
        (
            (
                "WITH RECURSIVE r AS (SELECT a FROM raw.t UNION ALL"
                " SELECT a + 1 FROM r WHERE a < 3) SELECT a FROM r"
            ),
            {"t", "t.a"},
        ),
        ("SELECT a FROM raw.t UNION BY NAME SELECT a FROM raw.u", {"t", "t.a", "u", "u.a"}),
        ("SELECT a FROM raw.t FOR VERSION AS OF 3", {"t", "t.*"}),
    ],
)
def test_what_is_not_understood_follows_from_all_that_it_names(text: str, named: set[str]) -> None:
    assert [reads(part) for part in meaning(text).parts()] == [named, named]


@pytest.mark.parametrize(
    "text,parts",
    rows("""
SELECT a, RAND() AS r FROM raw.t | r
SELECT a FROM raw.t WHERE RAND() < 0.5 | rows
SELECT a, CURRENT_DATE AS d FROM raw.t | d
SELECT a FROM raw.t LIMIT 1 | rows
SELECT a FROM raw.t ORDER BY a LIMIT 1 |
SELECT b, FIRST(a) AS f FROM raw.t GROUP BY b | f
SELECT a, ROW_NUMBER() OVER (PARTITION BY b) AS n FROM raw.t | n
SELECT a, ROW_NUMBER() OVER w AS n FROM raw.t WINDOW w AS (ORDER BY b) |
SELECT a FROM raw.t TABLESAMPLE (10 PERCENT) | rows a
SELECT a, @execution_ds AS d FROM raw.t | d
SELECT a, @start_ds AS d FROM raw.t |
SELECT a, DATE 'today' AS d FROM raw.t | d
SELECT a FROM raw.t WHERE b > 'yesterday UTC' | rows
SELECT a, CURRENT_SCHEMA() AS d, 'epoch' AS e FROM raw.t | d
# a text that Spark computes before it reads rows is special like one that is written
SELECT a, DATE(CONCAT('to', 'day')) AS d FROM raw.t | d
SELECT a, CAST(LOWER(' NOW ') AS TIMESTAMP) AS d FROM raw.t | d
SELECT a, DATE(SUBSTRING('xtoday', 2)) AS d FROM raw.t | d
SELECT a FROM raw.t WHERE b > CONCAT('yester', 'day') | rows
SELECT a, DATE(CONCAT('2024-01-', '01')) AS d FROM raw.t |
SELECT a, DATE(CONCAT(b, 'day')) AS d, CONCAT('a', 'b') AS e FROM raw.t |
SELECT a, CONCAT(@start_ds, ' 00:00:00') AS d FROM raw.t |
# whatever makes it, where a time may be read from it
SELECT a, DATE(ARRAY_JOIN(ARRAY('to', 'day'), '')) AS d FROM raw.t | d
SELECT a, DATE(FROM_JSON('["now"]', 'a STRING').a) AS d FROM raw.t | d
SELECT a, DATE(CAST(X'6E6F77' AS STRING)) AS d FROM raw.t | d
SELECT a FROM raw.t WHERE b > ARRAY_JOIN(ARRAY('to', 'day'), '') | rows
SELECT a, DATE_ADD(ELEMENT_AT(ARRAY('now'), 1), 1) AS d FROM raw.t | d
SELECT a FROM raw.t WHERE b = DATE_FORMAT(@start_dt, 'yyyyMMdd') |
SELECT a, ARRAY_JOIN(ARRAY('a', 'b'), ',') AS d FROM raw.t |
# what is kept of many values depends on how parts of them are merged
SELECT PERCENTILE_APPROX(a, 0.5) AS n FROM raw.t | n
SELECT APPROX_TOP_K(a, 3) AS n FROM raw.t | n
SELECT KLL_SKETCH_AGG_BIGINT(a) AS n FROM raw.t | n
SELECT PERCENTILE(a, 0.5) AS n, APPROX_COUNT_DISTINCT(a) AS m FROM raw.t |
# an order by what is the same in all rows is none
SELECT a, ROW_NUMBER() OVER (ORDER BY 1) AS n FROM raw.t | n
SELECT a, ROW_NUMBER() OVER (ORDER BY 1, b) AS n FROM raw.t |
SELECT a, ROW_NUMBER() OVER (PARTITION BY b, c ORDER BY c, b DESC) AS n FROM raw.t | n
SELECT a, LAG(a) OVER (PARTITION BY c ORDER BY -c + 1) AS n FROM raw.t | n
SELECT a, LAG(a) OVER (PARTITION BY c ORDER BY c, -a) AS n FROM raw.t |
SELECT a, LEAD(a) OVER w AS n FROM raw.t WINDOW w AS (ORDER BY NULL) | n
SELECT a, ROW_NUMBER() OVER (ORDER BY (SELECT 1)) AS n FROM raw.t | n
SELECT a, HEX(AES_ENCRYPT(b, '0000111122223333')) AS n FROM raw.t | n
# what Spark would refuse is read, too
SELECT COUNT() AS n FROM raw.t |
SELECT MAX_BY(a) AS n FROM raw.t | n
SELECT a, FIRST(a) OVER (ORDER BY 1) AS n FROM raw.t | n
SELECT a, LAST_VALUE(a) OVER (PARTITION BY b ORDER BY b) AS n FROM raw.t | n
SELECT a, RANK() OVER (ORDER BY 1) AS n FROM raw.t |
SELECT a, SUM(c) OVER (PARTITION BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS n FROM raw.t | n
SELECT a, SUM(c) OVER (PARTITION BY b ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS
    n FROM raw.t
  |
SELECT a FROM raw.t QUALIFY ROW_NUMBER() OVER (PARTITION BY b ORDER BY 'x') = 1 | rows
SELECT a, ROW_NUMBER() OVER (ORDER BY k) AS n FROM (SELECT a, 1 AS k FROM raw.t) q | n
SELECT q.a, ROW_NUMBER() OVER (ORDER BY q.k) AS n FROM (SELECT a, 1 AS k FROM raw.t) q CROSS JOIN
    raw.u
  | n
SELECT 1 AS one, a FROM raw.t ORDER BY 1 LIMIT 1 | rows
SELECT 1 AS one, a FROM raw.t ORDER BY one, a LIMIT 1 |
SELECT q.a FROM (SELECT a, 1 AS k FROM raw.t) q ORDER BY q.k LIMIT 1 | rows
SELECT a FROM raw.t ORDER BY ALL LIMIT 1 |
SELECT LISTAGG(b, ',') WITHIN GROUP (ORDER BY 1) AS k FROM raw.t | k
SELECT LISTAGG(b, ',') WITHIN GROUP (ORDER BY a) AS k FROM raw.t |
SELECT MAX_BY(a, 1) AS k, MAX_BY(a, c) AS l FROM raw.t | k
SELECT COLLECT_LIST(a) AS k, ARRAY_SORT(COLLECT_LIST(a)) AS l FROM raw.t | k
"""),
)
def test_what_may_be_another_outcome_next_time_is_nondeterministic(text: str, parts: str) -> None:
    found = meaning(text)
    random = [name for name, part in found.columns if part.nondeterministic]
    rows = ["rows"] if found.rows.part.nondeterministic else []
    assert " ".join([*rows, *sorted(random)]) == parts


@pytest.mark.parametrize(
    "one,other",
    rows("""
# a window that builds on another
SELECT RANK() OVER w AS r FROM raw.t WINDOW v AS (ORDER BY c), w AS (v)
  | SELECT RANK() OVER w AS r FROM raw.t WINDOW v AS (ORDER BY a), w AS (v)
# a common table that reads the outer query
SELECT t.a, (WITH k AS (SELECT u.b FROM raw.u WHERE u.a = t.c) SELECT MAX(k.b) FROM k) AS q FROM
    raw.t
  | SELECT t.a, (WITH k AS (SELECT u.b FROM raw.u WHERE u.a = t.a) SELECT MAX(k.b) FROM k) AS q
    FROM raw.t
# the order of a common table, in which values are collected
WITH k AS (SELECT a, b FROM raw.t ORDER BY c) SELECT COLLECT_LIST(a) AS l FROM k
  | WITH k AS (SELECT a, b FROM raw.t ORDER BY b) SELECT COLLECT_LIST(a) AS l FROM k
# an unknown aggregate sees the rows, too
SELECT COUNT(*) AS n, my_sum(a) AS x FROM raw.t WHERE b = 'x'
  | SELECT COUNT(*) AS n, my_sum(a) AS x FROM raw.t WHERE b = 'y'
# one query further out is another column
SELECT z.a FROM raw.t AS z WHERE EXISTS (SELECT 1 FROM raw.t AS x WHERE EXISTS (SELECT 1 FROM
    (SELECT x.a AS v FROM raw.u) AS q WHERE q.v = 3))
  | SELECT z.a FROM raw.t AS z WHERE EXISTS (SELECT 1 FROM raw.t AS x WHERE EXISTS (SELECT 1 FROM
    (SELECT z.a AS v FROM raw.u) AS q WHERE q.v = 3))
SELECT COUNT(*) AS n FROM raw.t | SELECT COUNT(t.*) AS n FROM raw.t
"""),
)
def test_other_results_have_other_digests(one: str, other: str) -> None:
    differing = [a != b for a, b in zip(meaning(one).parts(), meaning(other).parts(), strict=True)]
    assert any(differing)
    assert differing[-1] or differing[0]


@pytest.mark.parametrize(
    "one,other",
    rows("""
SELECT RANK() OVER w AS r FROM raw.t WINDOW w AS (PARTITION BY b ORDER BY c)
  | SELECT RANK() OVER (PARTITION BY b ORDER BY c) AS r FROM raw.t
SELECT a FROM raw.t WHERE EXISTS (SELECT 1 FROM raw.u WHERE u.a = t.a)
  | SELECT a FROM raw.t WHERE EXISTS (SELECT c FROM raw.u WHERE u.a = t.a LIMIT 1)
SELECT a FROM raw.t WHERE b = 'x' AND c > 1
  | WITH x AS (SELECT * FROM raw.t WHERE b = 'x') SELECT a FROM x WHERE 1 < c
"""),
)
def test_equal_results_have_equal_digests(one: str, other: str) -> None:
    assert meaning(one).digest == meaning(other).digest


def test_a_union_of_many_queries_is_read() -> None:
    union = meaning(" UNION ALL ".join(f"SELECT a + {n} AS a FROM raw.t" for n in range(400)))
    assert [reads(part) for part in union.parts()] == [{"t"}, {"t.a"}]


def test_two_nondeterministic_calls_are_two() -> None:
    shared = "WITH c AS (SELECT RAND() AS r) SELECT x.r - y.r AS z FROM c AS x CROSS JOIN c AS y"
    apart = (
        "SELECT x.r - y.r AS z FROM (SELECT RAND() AS r) AS x CROSS JOIN (SELECT RAND() AS r) AS y"
    )
    assert meaning(shared).digest != meaning(apart).digest
