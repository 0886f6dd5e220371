# ruff: noqa: E501 - rows of tables stay on one line
"""What changes which rows there are, what only looks like it, and what is easily missed."""

from __future__ import annotations

from typing import Final

from tests.core.planning.changes.case import (
    ALL,
    AT_REST,
    BREAKING,
    KEPT,
    NON_BREAKING,
    REACHED,
    REACHED_ROWS,
    REBUILT,
    REFACTORED,
    ROWS,
    UNCHANGED,
    UNDECIDABLE,
    UNREAD,
    Case,
    edit,
    edits,
)

DUCKDB = "MODEL (kind FULL, dialect duckdb);\n"


def rows(name: str, old: str, new: str, column: str = "a", *, sure: bool = True) -> Case:
    """An edit that may change the rows: a reader of one old column and a count are reached."""
    return edit(
        name,
        old,
        new,
        ROWS if sure else BREAKING(ALL),
        y=(f"SELECT {column} FROM m.x", REACHED_ROWS),
        z=("SELECT COUNT(*) AS n FROM m.x", REACHED("n")),
    )


def rows_in_doubt(name: str, old: str, new: str, column: str = "a") -> Case:
    """The same where an implementation may say that it does not know."""
    return rows(name, old, new, column, sure=False)


JOIN = "SELECT t.a, u.c FROM raw.t AS t JOIN raw.u AS u ON t.a = u.a"

FILTERS_AND_JOINS = [
    rows("a filter is added", "SELECT a FROM raw.t", "SELECT a FROM raw.t WHERE a > 1"),
    rows("a filter is removed", "SELECT a FROM raw.t WHERE a > 1", "SELECT a FROM raw.t"),
    rows("a filter has another border", "SELECT a FROM raw.t WHERE a > 1", "SELECT a FROM raw.t WHERE a > 2"),
    rows("a column is added together with a filter", "SELECT a FROM raw.t", "SELECT a, b FROM raw.t WHERE b IS NOT NULL"),
    rows("conditions are joined by OR in place of AND", "SELECT a FROM raw.t WHERE a > 1 AND c > 1", "SELECT a FROM raw.t WHERE a > 1 OR c > 1"),
    rows("BETWEEN has another end", "SELECT a FROM raw.t WHERE a BETWEEN 1 AND 5", "SELECT a FROM raw.t WHERE a BETWEEN 1 AND 6"),
    rows("a filter in a common table expression is another", "WITH s AS (SELECT a FROM raw.t WHERE a > 1) SELECT a FROM s", "WITH s AS (SELECT a FROM raw.t WHERE a > 2) SELECT a FROM s"),
    rows("what a filter reads is computed otherwise, and is not returned", "WITH s AS (SELECT a, UPPER(b) AS k FROM raw.t) SELECT a FROM s WHERE k = 'P'", "WITH s AS (SELECT a, LOWER(b) AS k FROM raw.t) SELECT a FROM s WHERE k = 'P'"),
    rows("a filter by a list of rows reads other rows", "SELECT a FROM raw.t WHERE a IN (SELECT a FROM raw.u WHERE c > 1)", "SELECT a FROM raw.t WHERE a IN (SELECT a FROM raw.u WHERE c > 2)"),
    rows("IN becomes NOT IN", "SELECT a FROM raw.t WHERE a IN (SELECT a FROM raw.u)", "SELECT a FROM raw.t WHERE a NOT IN (SELECT a FROM raw.u)"),
    rows("EXISTS is no longer correlated", "SELECT t.a FROM raw.t AS t WHERE EXISTS (SELECT 1 FROM raw.u AS u WHERE u.a = t.a)", "SELECT t.a FROM raw.t AS t WHERE EXISTS (SELECT 1 FROM raw.u AS u WHERE u.a = u.a)"),
    rows("another table has the same columns", "SELECT a FROM raw.t", "SELECT a FROM raw.u"),
    rows("a join is added together with a column of it", "SELECT t.a FROM raw.t AS t", "SELECT t.a, u.b FROM raw.t AS t JOIN raw.u AS u ON t.a = u.a"),
    rows("an outer join is added, which may repeat rows", "SELECT t.a FROM raw.t AS t", "SELECT t.a, u.b FROM raw.t AS t LEFT JOIN raw.u AS u ON t.a = u.a"),
    rows("a table is crossed with another", "SELECT t.a FROM raw.t AS t", "SELECT t.a FROM raw.t AS t CROSS JOIN raw.u AS u"),
    rows("an inner join becomes an outer one", JOIN, JOIN.replace("JOIN", "LEFT JOIN")),
    rows("an outer join has another side", JOIN.replace("JOIN", "LEFT JOIN"), JOIN.replace("JOIN", "RIGHT JOIN"), "c"),
    rows("an outer join has both sides", JOIN.replace("JOIN", "LEFT JOIN"), JOIN.replace("JOIN", "FULL JOIN")),
    rows("rows that match become rows that do not", "SELECT t.a FROM raw.t AS t LEFT SEMI JOIN raw.u AS u ON t.a = u.a", "SELECT t.a FROM raw.t AS t LEFT ANTI JOIN raw.u AS u ON t.a = u.a"),
    rows("rows that match are no longer repeated", "SELECT t.a FROM raw.t AS t JOIN raw.u AS u ON t.a = u.a", "SELECT t.a FROM raw.t AS t LEFT SEMI JOIN raw.u AS u ON t.a = u.a"),
    rows("a join has another condition", JOIN, JOIN.replace("t.a = u.a", "t.a = u.a AND t.b = u.b")),
    rows("a join by USING has one more column", "SELECT t.c FROM raw.t AS t JOIN raw.u AS u USING (a)", "SELECT t.c FROM raw.t AS t JOIN raw.u AS u USING (a, b)", "c"),
    rows("a condition moves from ON to WHERE of an outer join", "SELECT t.a FROM raw.t AS t LEFT JOIN raw.u AS u ON t.a = u.a AND u.c > 1", "SELECT t.a FROM raw.t AS t LEFT JOIN raw.u AS u ON t.a = u.a WHERE u.c > 1"),
    rows("one table has two roles and they are swapped", "SELECT l.a FROM raw.t AS l LEFT JOIN raw.t AS r ON l.a = r.c AND r.c > 1", "SELECT l.a FROM raw.t AS l LEFT JOIN raw.t AS r ON r.a = l.c AND l.c > 1"),
    rows("a lateral join reads other rows", "SELECT t.a, l.k FROM raw.t AS t, LATERAL (SELECT u.c AS k FROM raw.u AS u WHERE u.a = t.a) AS l", "SELECT t.a, l.k FROM raw.t AS t, LATERAL (SELECT u.c AS k FROM raw.u AS u WHERE u.a <= t.a) AS l"),
    edit("one table has two roles and a column comes from the other", "SELECT l.a, l.c FROM raw.t AS l JOIN raw.t AS r ON l.a < r.a", "SELECT l.a, r.c FROM raw.t AS l JOIN raw.t AS r ON l.a < r.a", BREAKING("c", "m.y"), y=("SELECT c FROM m.x", REACHED("c")), z=("SELECT a FROM m.x", KEPT)),
    edit("the key of an outer join comes from the other side", "SELECT t.a, u.c FROM raw.t AS t LEFT JOIN raw.u AS u ON t.a = u.a", "SELECT u.a, u.c FROM raw.t AS t LEFT JOIN raw.u AS u ON t.a = u.a", BREAKING("a", "m.y"), y=("SELECT a FROM m.x", REACHED("a")), z=("SELECT c FROM m.x", KEPT)),
]  # fmt: skip

GROUPS = [
    rows("groups have one more key", "SELECT a, COUNT(*) AS n FROM raw.t GROUP BY a", "SELECT a, b, COUNT(*) AS n FROM raw.t GROUP BY a, b"),
    rows("groups have a key that is not returned", "SELECT a, COUNT(*) AS n FROM raw.t GROUP BY a", "SELECT a, COUNT(*) AS n FROM raw.t GROUP BY a, b"),
    rows("groups have another key, and no key is returned", "SELECT MAX(c) AS a FROM raw.t GROUP BY a", "SELECT MAX(c) AS a FROM raw.t GROUP BY b"),
    rows("rows are grouped", "SELECT a FROM raw.t", "SELECT a FROM raw.t GROUP BY a"),
    rows("a key is computed otherwise", "SELECT UPPER(b) AS a, COUNT(*) AS n FROM raw.t GROUP BY UPPER(b)", "SELECT TRIM(b) AS a, COUNT(*) AS n FROM raw.t GROUP BY TRIM(b)"),
    rows("groups are chosen", "SELECT a FROM raw.t GROUP BY a", "SELECT a FROM raw.t GROUP BY a HAVING COUNT(*) > 1"),
    rows("groups are chosen before and not after", "SELECT a, MIN(c) AS m FROM raw.t GROUP BY a HAVING MIN(c) > 1", "SELECT a, MIN(c) AS m FROM raw.t WHERE c > 1 GROUP BY a"),
    rows("a roll-up is added", "SELECT a, b, COUNT(*) AS n FROM raw.t GROUP BY a, b", "SELECT a, b, COUNT(*) AS n FROM raw.t GROUP BY ROLLUP (a, b)"),
    rows("a roll-up becomes a cube", "SELECT a, b, COUNT(*) AS n FROM raw.t GROUP BY a, b WITH ROLLUP", "SELECT a, b, COUNT(*) AS n FROM raw.t GROUP BY a, b WITH CUBE"),
    rows("a roll-up has another order", "SELECT a, b, COUNT(*) AS n FROM raw.t GROUP BY ROLLUP (a, b)", "SELECT a, b, COUNT(*) AS n FROM raw.t GROUP BY ROLLUP (b, a)"),
    rows("a grouping set is added", "SELECT a, b, COUNT(*) AS n FROM raw.t GROUP BY GROUPING SETS ((a), (a, b))", "SELECT a, b, COUNT(*) AS n FROM raw.t GROUP BY GROUPING SETS ((a), (a, b), ())"),
    rows("a plain column is added to groups by all plain columns", "SELECT a, COUNT(*) AS n FROM raw.t GROUP BY ALL", "SELECT a, COUNT(*) AS n, b FROM raw.t GROUP BY ALL"),
    rows("a plain column is removed from groups by all plain columns", "SELECT a, b, COUNT(*) AS n FROM raw.t GROUP BY ALL", "SELECT a, COUNT(*) AS n FROM raw.t GROUP BY ALL"),
    rows("trap: a column is put in the middle of groups by position", "SELECT a, a % 10 AS k, COUNT(*) AS n FROM raw.t GROUP BY 1, 2", "SELECT a, b, a % 10 AS k, COUNT(*) AS n FROM raw.t GROUP BY 1, 2"),
    rows("trap: a column is put in front of a group by position", "SELECT a, a + 1 AS k, COUNT(*) AS n FROM raw.t GROUP BY a, 2", "SELECT b, a, a + 1 AS k, COUNT(*) AS n FROM raw.t GROUP BY a, 1"),
    edit("a column is put in front of a group and the position follows", "SELECT a, COUNT(*) AS n FROM raw.t GROUP BY 1", "SELECT MAX(c) AS m, a, COUNT(*) AS n FROM raw.t GROUP BY 2", NON_BREAKING("m"), y=("SELECT n FROM m.x", KEPT)),
    edit("an aggregate of groups is another", "SELECT a, SUM(c) AS s FROM raw.t GROUP BY a", "SELECT a, MAX(c) AS s FROM raw.t GROUP BY a", BREAKING("s", "m.y"), y=("SELECT s FROM m.x", REACHED("s")), z=("SELECT a FROM m.x", KEPT)),
    edit("what one aggregate sees is chosen otherwise", "SELECT a, COUNT(*) AS n, SUM(c) FILTER (WHERE c > 1) AS s FROM raw.t GROUP BY a", "SELECT a, COUNT(*) AS n, SUM(c) FILTER (WHERE c > 2) AS s FROM raw.t GROUP BY a", UNREAD("s"), y=("SELECT a, n FROM m.x", KEPT)),
    edit("rows are chosen before one row is made of them", "SELECT 'all' AS label, SUM(c) AS s FROM raw.t", "SELECT 'all' AS label, SUM(c) AS s FROM raw.t WHERE a > 1", BREAKING("s", "m.y"), y=("SELECT s FROM m.x", REACHED("s")), z=("SELECT label FROM m.x", KEPT), w=("SELECT COUNT(*) AS n FROM m.x", KEPT)),
    rows("rows are chosen before one row or none is made of them", "SELECT 'all' AS a, SUM(c) AS s FROM raw.t HAVING SUM(c) > 5", "SELECT 'all' AS a, SUM(c) AS s FROM raw.t WHERE a > 1 HAVING SUM(c) > 5"),
]  # fmt: skip

ONE: Final = "SELECT 1 AS one FROM raw.t"


def aggregate(text: str) -> Case:
    """An aggregate behind a constant of a query without groups: many rows become one."""
    return rows(f"trap: {text} is added without groups", ONE, f"SELECT 1 AS one, {text} AS k FROM raw.t", "one", sure=False)  # fmt: skip


AGGREGATES = [
    *map(aggregate, (
        "COUNT(*)", "COUNT(1)", "SUM(c)", "1 + MAX(a)", "COALESCE(SUM(c), 0)", "COUNT(DISTINCT b)",
        "COUNT(*) FILTER (WHERE a > 1)", "SUM(SUM(c)) OVER ()", "CASE WHEN MAX(a) > 1 THEN 'p' END",
        "COLLECT_LIST(a)", "BOOL_OR(a > 1)", "SOME(a > 1)", "EVERY(a > 1)", "MEAN(c)", "STD(c)", "TRY_SUM(c)",
        "PERCENTILE(c, 0.5)", "COUNT_IF(a > 1)", "MAX_BY(a, c)", "STRUCT(MIN(a), MAX(a))",
    )),
    rows("a choice among groups makes one of a query without groups", ONE, ONE + " HAVING COUNT(*) > 1", "one"),
    rows("the only aggregate without groups is removed", "SELECT 1 AS one, COUNT(*) AS n FROM raw.t", ONE, "one"),
]  # fmt: skip

SETS = [
    rows("trap: a column is added to different rows", "SELECT DISTINCT a FROM raw.t", "SELECT DISTINCT a, b FROM raw.t"),
    rows("a column is removed from different rows", "SELECT DISTINCT a, b FROM raw.t", "SELECT DISTINCT a FROM raw.t"),
    rows("a column of different rows is computed otherwise", "SELECT DISTINCT a, b FROM raw.t", "SELECT DISTINCT a, UPPER(b) AS b FROM raw.t"),
    rows("rows are made different", "SELECT a FROM raw.t", "SELECT DISTINCT a FROM raw.t"),
    rows("trap: a column is added to different rows inside", "SELECT s.a FROM (SELECT DISTINCT a FROM raw.t) AS s", "SELECT s.a, s.b FROM (SELECT DISTINCT a, b FROM raw.t) AS s"),
    rows("trap: a column that is not returned is added to different rows inside", "SELECT s.a FROM (SELECT DISTINCT a FROM raw.t) AS s", "SELECT s.a FROM (SELECT DISTINCT a, b FROM raw.t) AS s"),
    rows("the key of the first row of each is another", DUCKDB + "SELECT DISTINCT ON (a) a, b, c FROM raw.t ORDER BY a, b, c", DUCKDB + "SELECT DISTINCT ON (b) a, b, c FROM raw.t ORDER BY b, a, c"),
    rows("the order in which the first row of each is found is another", DUCKDB + "SELECT DISTINCT ON (a) a, c FROM raw.t ORDER BY a, c", DUCKDB + "SELECT DISTINCT ON (a) a, c FROM raw.t ORDER BY a, c DESC", "c"),
    rows("trap: a column is added to a union of different rows", "SELECT a FROM raw.t UNION SELECT a FROM raw.u", "SELECT a, b FROM raw.t UNION SELECT a, b FROM raw.u"),
    rows("trap: a column is added to different rows within a union of all rows", "SELECT a FROM raw.t UNION ALL (SELECT a FROM raw.t UNION SELECT a FROM raw.u)", "SELECT a, b FROM raw.t UNION ALL (SELECT a, b FROM raw.t UNION SELECT a, b FROM raw.u)"),
    rows("a union is of all rows and not of different ones", "SELECT a FROM raw.t UNION SELECT a FROM raw.u", "SELECT a FROM raw.t UNION ALL SELECT a FROM raw.u"),
    rows("a union has one more branch", "SELECT a FROM raw.t", "SELECT a FROM raw.t UNION ALL SELECT a FROM raw.u"),
    rows("one branch of a union is filtered", "SELECT a FROM raw.t UNION ALL SELECT a FROM raw.u", "SELECT a FROM raw.t UNION ALL SELECT a FROM raw.u WHERE a > 1"),
    rows("an intersection becomes a difference", "SELECT a FROM raw.t INTERSECT SELECT a FROM raw.u", "SELECT a FROM raw.t EXCEPT SELECT a FROM raw.u"),
    rows("the sides of a difference are swapped", "SELECT a FROM raw.t EXCEPT SELECT a FROM raw.u", "SELECT a FROM raw.u EXCEPT SELECT a FROM raw.t"),
    rows("a difference counts rows", "SELECT a FROM raw.t EXCEPT SELECT a FROM raw.u", "SELECT a FROM raw.t EXCEPT ALL SELECT a FROM raw.u"),
    rows("a column is added to a difference of all rows", "SELECT a FROM raw.t EXCEPT ALL SELECT a FROM raw.u", "SELECT a, b FROM raw.t EXCEPT ALL SELECT a, b FROM raw.u"),
    rows("a column is added to an intersection", "SELECT a FROM raw.t INTERSECT SELECT a FROM raw.u", "SELECT a, b FROM raw.t INTERSECT SELECT a, b FROM raw.u"),
    rows("three branches are joined in another order", "SELECT a FROM raw.t UNION ALL (SELECT a FROM raw.u UNION SELECT a FROM raw.t)", "(SELECT a FROM raw.t UNION ALL SELECT a FROM raw.u) UNION SELECT a FROM raw.t"),
]  # fmt: skip

LIMITS = [
    rows("a limit is added", "SELECT a FROM raw.t", "SELECT a FROM raw.t LIMIT 3"),
    rows("a limit is another", "SELECT a FROM raw.t ORDER BY a LIMIT 3", "SELECT a FROM raw.t ORDER BY a LIMIT 4"),
    rows("rows are skipped", "SELECT a FROM raw.t ORDER BY a LIMIT 3", "SELECT a FROM raw.t ORDER BY a LIMIT 3 OFFSET 1"),
    rows("the order before a limit is another", "SELECT a, c FROM raw.t ORDER BY a, c LIMIT 3", "SELECT a, c FROM raw.t ORDER BY c, a LIMIT 3"),
    rows("the order before a limit is turned", "SELECT a FROM raw.t ORDER BY a LIMIT 3", "SELECT a FROM raw.t ORDER BY a DESC LIMIT 3"),
    rows("what is missing comes last before a limit", "SELECT a FROM raw.t ORDER BY a LIMIT 3", "SELECT a FROM raw.t ORDER BY a NULLS LAST LIMIT 3"),
    rows("the order before a limit is gone", "SELECT a FROM raw.t ORDER BY a LIMIT 3", "SELECT a FROM raw.t LIMIT 3"),
    rows("trap: a column is put in front of an order by position", "SELECT a, c FROM raw.t ORDER BY 1, 2 LIMIT 3", "SELECT b, a, c FROM raw.t ORDER BY 1, 2 LIMIT 3"),
    rows("trap: a column is put in the middle of an order by position", "SELECT a, c FROM raw.t ORDER BY 2, 1 LIMIT 3", "SELECT a, b, c FROM raw.t ORDER BY 2, 1 LIMIT 3"),
    rows("trap: a column is added to an order by all columns", "SELECT a FROM raw.t ORDER BY ALL LIMIT 3", "SELECT b, a FROM raw.t ORDER BY ALL LIMIT 3"),
    rows("an added column has the name that rows are ordered by", "SELECT a FROM raw.t ORDER BY c LIMIT 3", "SELECT a, -a AS c FROM raw.t ORDER BY c LIMIT 3"),
    rows("a removed column had the name that rows are ordered by", "SELECT a, -a AS c FROM raw.t ORDER BY c LIMIT 3", "SELECT a FROM raw.t ORDER BY c LIMIT 3"),
    edit("a column is added behind an order by position", "SELECT a FROM raw.t ORDER BY 1 LIMIT 3", "SELECT a, 1 AS one FROM raw.t ORDER BY 1 LIMIT 3", NON_BREAKING("one"), y=("SELECT a FROM m.x", KEPT)),
    edit("rows are ordered without a limit", "SELECT a, b FROM raw.t", "SELECT a, b FROM raw.t ORDER BY a DESC", REFACTORED, y=("SELECT a FROM m.x", AT_REST)),
    rows("a sample is taken", "SELECT a FROM raw.t", "SELECT a FROM raw.t TABLESAMPLE (10 PERCENT)"),
    rows("a sample is another", "SELECT a FROM raw.t TABLESAMPLE (10 PERCENT)", "SELECT a FROM raw.t TABLESAMPLE (20 PERCENT)"),
]  # fmt: skip

VIEW_OF_E = "SELECT t.a, l.k FROM raw.t AS t LATERAL VIEW EXPLODE(t.e) l AS k"

UNFOLDED = [
    rows("trap: EXPLODE is added", "SELECT a FROM raw.t", "SELECT a, EXPLODE(e) AS k FROM raw.t"),
    rows("trap: EXPLODE_OUTER is added", "SELECT a FROM raw.t", "SELECT a, EXPLODE_OUTER(e) AS k FROM raw.t"),
    rows("trap: UNNEST is added", DUCKDB + "SELECT a FROM raw.t", DUCKDB + "SELECT a, UNNEST(e) AS k FROM raw.t"),
    rows("trap: UNNEST is joined", "SELECT t.a FROM raw.t AS t", "SELECT t.a, l.k FROM raw.t AS t CROSS JOIN UNNEST(t.e) AS l(k)"),
    rows("trap: LATERAL VIEW is added", "SELECT t.a FROM raw.t AS t", VIEW_OF_E),
    rows("trap: LATERAL VIEW is added and nothing of it is returned", "SELECT t.a FROM raw.t AS t", "SELECT t.a FROM raw.t AS t LATERAL VIEW EXPLODE(t.e) l AS k"),
    rows("trap: POSEXPLODE is added", "SELECT t.a FROM raw.t AS t", "SELECT t.a, l.p, l.k FROM raw.t AS t LATERAL VIEW POSEXPLODE(t.e) l AS p, k"),
    rows("trap: INLINE is added", "SELECT t.a FROM raw.t AS t", "SELECT t.a, l.k FROM raw.t AS t LATERAL VIEW INLINE(ARRAY(STRUCT(t.a), STRUCT(t.a + 1))) l AS k"),
    rows("trap: STACK is added", "SELECT t.a FROM raw.t AS t", "SELECT t.a, l.k FROM raw.t AS t LATERAL VIEW STACK(2, t.a, t.a + 1) l AS k"),
    rows("trap: a lateral table function is added", "SELECT t.a FROM raw.t AS t", "SELECT t.a, l.k FROM raw.t AS t, LATERAL EXPLODE(t.e) AS l(k)"),
    rows("EXPLODE is removed", "SELECT a, EXPLODE(e) AS k FROM raw.t", "SELECT a FROM raw.t"),
    rows("something else is unfolded", VIEW_OF_E, VIEW_OF_E.replace("t.e)", "ARRAY_DISTINCT(t.e))")),
    rows("rows without anything to unfold stay", VIEW_OF_E, VIEW_OF_E.replace("VIEW EXPLODE", "VIEW OUTER EXPLODE")),
    rows("what is unfolded is returned otherwise", "SELECT a, EXPLODE(e) AS k FROM raw.t", "SELECT a, EXPLODE(ARRAY_DISTINCT(e)) AS k FROM raw.t"),
    edit("what is unfolded is computed on", VIEW_OF_E, VIEW_OF_E.replace("l.k", "l.k + 1 AS k"), BREAKING("k", "m.y"), y=("SELECT k FROM m.x", REACHED("k")), z=("SELECT a FROM m.x", KEPT)),
    edit("a function that nobody knows is added beside a column, and may make rows", "SELECT a FROM raw.t", "SELECT a, foo(b) AS k FROM raw.t", UNDECIDABLE, y=("SELECT a FROM m.x", REACHED)),
    edit("a function that nobody knows is added to groups", "SELECT a FROM raw.t GROUP BY a", "SELECT a, foo(b) AS k FROM raw.t GROUP BY a", UNDECIDABLE, y=("SELECT a FROM m.x", REACHED)),
    edit("a function that nobody knows is called otherwise beside a column", "SELECT a, foo(b) AS k FROM raw.t", "SELECT a, foo(b, 1) AS k FROM raw.t", ROWS, y=("SELECT a FROM m.x", REACHED_ROWS), z=("SELECT k FROM m.x", REACHED)),
    edit("a function that nobody knows stands alone, and may make one row of all", "SELECT 1 AS a FROM raw.t", "SELECT 1 AS a, foo(b) AS k FROM raw.t", UNDECIDABLE, y=("SELECT a FROM m.x", REACHED)),
    edit("a function that nobody knows decides which rows there are", "SELECT a FROM raw.t WHERE foo(b)", "SELECT a FROM raw.t WHERE foo(b, 1)", ROWS, y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a function that nobody knows is added to a constant", ONE, "SELECT 1 AS one, foo(b) AS k FROM raw.t", UNDECIDABLE, y=("SELECT one FROM m.x", REACHED)),
]  # fmt: skip

WINDOWS_AND_OTHERS = [
    rows("rows are chosen by a window", "SELECT a, c FROM raw.t", "SELECT a, c FROM raw.t QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY c) = 1"),
    rows("a window that chooses rows has another key", "SELECT a, c FROM raw.t QUALIFY RANK() OVER (PARTITION BY a ORDER BY c) = 1", "SELECT a, c FROM raw.t QUALIFY RANK() OVER (PARTITION BY b ORDER BY c) = 1"),
    rows("a window inside that chooses rows has another order", "SELECT a FROM (SELECT a, RANK() OVER (PARTITION BY b ORDER BY c) AS r FROM raw.t) AS s WHERE r = 1", "SELECT a FROM (SELECT a, RANK() OVER (PARTITION BY b ORDER BY c DESC) AS r FROM raw.t) AS s WHERE r = 1"),
    edit("a window that chooses nothing has another key", "SELECT a, RANK() OVER (PARTITION BY a ORDER BY c) AS r FROM raw.t", "SELECT a, RANK() OVER (PARTITION BY b ORDER BY c) AS r FROM raw.t", BREAKING("r", "m.y"), y=("SELECT a FROM m.x WHERE r = 1", REACHED_ROWS), z=("SELECT a FROM m.x", KEPT)),
    edit("a window with a name has another frame", "SELECT a, SUM(c) OVER w AS s FROM raw.t WINDOW w AS (PARTITION BY a ORDER BY ts)", "SELECT a, SUM(c) OVER w AS s FROM raw.t WINDOW w AS (PARTITION BY a ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", BREAKING("s", "m.y"), y=("SELECT s FROM m.x", REACHED("s")), z=("SELECT a FROM m.x", KEPT)),
    edit("a sub-query with one value reads other rows", "SELECT a, (SELECT MAX(c) FROM raw.u WHERE a > 1) AS m FROM raw.t", "SELECT a, (SELECT MAX(c) FROM raw.u WHERE a > 2) AS m FROM raw.t", BREAKING("m", "m.y"), y=("SELECT m FROM m.x", REACHED("m")), z=("SELECT a FROM m.x", KEPT)),
    rows("a row is added to a list of values", "SELECT v.a FROM VALUES (1, 'p'), (2, 'q') AS v(a, b)", "SELECT v.a FROM VALUES (1, 'p'), (2, 'q'), (2, 'q') AS v(a, b)"),
    edit("a value of a list is another", "SELECT v.a, v.b FROM VALUES (1, 'p'), (2, 'q') AS v(a, b)", "SELECT v.a, v.b FROM VALUES (1, 'p'), (3, 'q') AS v(a, b)", BREAKING, y=("SELECT a FROM m.x", REACHED), z=("SELECT COUNT(*) AS n FROM raw.t WHERE a IN (SELECT a FROM m.x)", REACHED)),
    rows("a recursive query goes further", "WITH RECURSIVE r AS (SELECT a, 1 AS n FROM raw.t UNION ALL SELECT a, n + 1 FROM r WHERE n < 3) SELECT a, n FROM r", "WITH RECURSIVE r AS (SELECT a, 1 AS n FROM raw.t UNION ALL SELECT a, n + 1 FROM r WHERE n < 4) SELECT a, n FROM r"),
    edit("a recursive query takes other steps in a column that ends nothing", "WITH RECURSIVE r AS (SELECT a, 1 AS n FROM raw.t UNION ALL SELECT a + 1, n + 1 FROM r WHERE n < 3) SELECT a, n FROM r", "WITH RECURSIVE r AS (SELECT a, 1 AS n FROM raw.t UNION ALL SELECT a + 2, n + 1 FROM r WHERE n < 3) SELECT a, n FROM r", BREAKING(None), y=("SELECT a FROM m.x", REACHED)),
    edit("a pivot computes another aggregate", "SELECT * FROM (SELECT a, b, c FROM raw.t) PIVOT (SUM(c) FOR b IN ('p' AS p))", "SELECT * FROM (SELECT a, b, c FROM raw.t) PIVOT (MAX(c) FOR b IN ('p' AS p))", BREAKING, y=("SELECT p FROM m.x", REACHED)),
    rows_in_doubt("a pivot has one more key, which is not named", "SELECT a, p FROM (SELECT a, b, c FROM raw.t) PIVOT (SUM(c) FOR b IN ('p' AS p))", "SELECT a, p FROM (SELECT a, b, c, day FROM raw.t) PIVOT (SUM(c) FOR b IN ('p' AS p))"),
    edit("columns become rows, and one more", "SELECT n, v FROM (SELECT a, a * 2 AS k, a * 3 AS l FROM raw.t) UNPIVOT (v FOR n IN (a, k))", "SELECT n, v FROM (SELECT a, a * 2 AS k, a * 3 AS l FROM raw.t) UNPIVOT (v FOR n IN (a, k, l))", BREAKING(ALL), y=("SELECT v FROM m.x", REACHED)),
]  # fmt: skip

A, AB = "SELECT a FROM raw.t", "SELECT a, b FROM raw.t"
ABC, LOWER = "SELECT a, b, c FROM raw.t", "SELECT a, LOWER(b) AS b, c FROM raw.t"
READ = BREAKING("b", "m.y")
POSTGRES = "MODEL (kind FULL, dialect postgres);\n"
TSQL = "MODEL (kind FULL, dialect tsql);\n"
KEY = "MODEL (kind INCREMENTAL_BY_UNIQUE_KEY (unique_key {}));\n"


def counted(call: str) -> Case:
    """An aggregate behind a constant of a query without groups: many rows become one."""
    return edit(
        f"trap: {call} is added without groups",
        "SELECT 1 AS one FROM raw.t",
        f"SELECT 1 AS one, {call} AS k FROM raw.t",
        BREAKING,
        y=("SELECT one FROM m.x", REACHED),
    )


KEPT_VALUES = [
    *map(counted, (
        "FIRST_VALUE(c)", "LAST(c)", "ANY_VALUE(c)", "ARRAY_AGG(a)", "LISTAGG(b, ',')", "STRING_AGG(b, ',')",
        "CORR(a, c)", "SKEWNESS(c)", "MEDIAN(c)", "MODE(a)", "BIT_XOR(a)", "APPROX_PERCENTILE(c, 0.5)",
        "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY c)", "REGR_COUNT(a, c)", "TRY_AVG(c)", "ANY(a > 1)",
        "COUNT_MIN_SKETCH(a, 0.5, 0.5, 1)", "HLL_SKETCH_AGG(a)", "HISTOGRAM_NUMERIC(c, 5)", "SUM(DISTINCT a)",
        "NAMED_STRUCT('k', MAX(a)).k", "RANK() OVER (ORDER BY COUNT(*))",
    )),
]  # fmt: skip


def thrown(call: str) -> Case:
    """A column with another value each time, next to an added one."""
    return edit(
        f"{call} is another each time that its table is made",
        f"SELECT a, {call} AS k FROM raw.t",
        f"SELECT a, b, {call} AS k FROM raw.t",
        BREAKING("b k", "`k`", "m.y"),
        y=("SELECT k FROM m.x", REACHED("k")),
        z=("SELECT a FROM m.x", KEPT),
    )


CHANCE = [
    *map(thrown, (
        "RANDN()", "NOW()", "CURRENT_DATE", "CURRENT_DATE()", "CURDATE()", "LOCALTIMESTAMP()", "UNIX_TIMESTAMP()",
        "SHUFFLE(e)", "SPARK_PARTITION_ID()", "INPUT_FILE_NAME()", "CASE WHEN RAND() < 0.5 THEN a END",
        "@execution_ts", "DATEDIFF(CURRENT_DATE, day)", "TRANSFORM(e, v -> v + RAND())", "SUM(RAND()) OVER (PARTITION BY a)",
        "(SELECT u.c FROM raw.u AS u LIMIT 1)", "(SELECT MAX(RAND()) FROM raw.u)",
    )),
    edit("rows that a limit takes in a random order are others", "SELECT a FROM raw.t ORDER BY RAND() LIMIT 3", "SELECT a, b FROM raw.t ORDER BY RAND() LIMIT 3", BREAKING(ALL), y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("rows behind an offset in no order are others", "SELECT a FROM raw.t OFFSET 3", "SELECT a, b FROM raw.t OFFSET 3", BREAKING(ALL), y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("rows that a limit takes in an order within pieces are others", "SELECT a FROM raw.t SORT BY a LIMIT 3", "SELECT a, b FROM raw.t SORT BY a LIMIT 3", BREAKING(ALL), y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("rows that a limit in a sub-query looks up are others", "SELECT a FROM raw.t WHERE a IN (SELECT a FROM raw.u LIMIT 3)", "SELECT a, b FROM raw.t WHERE a IN (SELECT a FROM raw.u LIMIT 3)", BREAKING(ALL), y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a random value in a view is drawn again by who reads it", ABC, LOWER, READ, y=("MODEL (kind VIEW); SELECT a, b, RAND() AS r FROM m.x", REACHED), z=("SELECT a, b, r FROM m.y", REACHED("b r")), w=("SELECT r FROM m.z", REACHED("r")), v=("SELECT a FROM m.z", KEPT)),
]  # fmt: skip

LISTS_OF_COLUMNS = [
    edit("a list of columns behind a sub-query exchanges two", "SELECT s.a, s.c FROM (SELECT a, a * 2 AS c FROM raw.t) AS s(a, c)", "SELECT s.a, s.c FROM (SELECT a, a * 2 AS c FROM raw.t) AS s(c, a)", BREAKING("a c", "m.y"), y=("SELECT a FROM m.x", REACHED("a")), z=("SELECT COUNT(*) AS n FROM m.x", KEPT)),
    edit("a list of columns of a common table expression exchanges two", "WITH s(a, c) AS (SELECT a, a * 2 FROM raw.t) SELECT a, c FROM s", "WITH s(c, a) AS (SELECT a, a * 2 FROM raw.t) SELECT a, c FROM s", BREAKING("a c", "m.y"), y=("SELECT a FROM m.x", REACHED("a")), z=("SELECT COUNT(*) AS n FROM m.x", KEPT)),
    edit("a list of columns names the star below otherwise", "SELECT a, a * 2 AS c FROM raw.t", "SELECT a * 2 AS c, a FROM raw.t", NON_BREAKING(""), y=("SELECT s.k FROM (SELECT * FROM m.x) AS s(k, l)", BREAKING("k", "m.z")), z=("SELECT k FROM m.y", REACHED("k"))),
    edit("a list of columns of a common table expression names the star below otherwise", "SELECT a, a * 2 AS c FROM raw.t", "SELECT a * 2 AS c, a FROM raw.t", NON_BREAKING(""), y=("WITH s(k, l) AS (SELECT * FROM m.x) SELECT k FROM s", BREAKING("k", "m.z")), z=("SELECT k FROM m.y", REACHED("k"))),
    edit("the aliases of two tables are each other's names", "SELECT t.a, u.c FROM raw.t AS t LEFT JOIN raw.u AS u ON t.a = u.a", "SELECT t.a, u.c FROM raw.u AS t LEFT JOIN raw.t AS u ON t.a = u.a", ROWS, y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a common table expression with the name of the changed model is not it", ABC, "SELECT a, b, c FROM raw.t WHERE a > 1", ROWS, y=("WITH x AS (SELECT a FROM raw.u) SELECT a FROM x", UNCHANGED)),
    edit("a common table expression takes the name of the table that it filters", "SELECT a FROM raw.t", "WITH t AS (SELECT a FROM raw.t WHERE a > 1) SELECT a FROM t", ROWS, y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("only one of two uses of a common table expression is moved", "WITH s AS (SELECT a, c FROM raw.t WHERE c > 1), q AS (SELECT a, c FROM raw.t WHERE c > 2) SELECT l.a, r.c FROM s AS l JOIN s AS r ON l.a = r.a", "WITH s AS (SELECT a, c FROM raw.t WHERE c > 1), q AS (SELECT a, c FROM raw.t WHERE c > 2) SELECT l.a, r.c FROM s AS l JOIN q AS r ON l.a = r.a", ROWS, y=("SELECT a FROM m.x", REACHED_ROWS)),
]  # fmt: skip

READS = [
    edit("what becomes rows and is missing is no row", ABC, "SELECT a, b, NULLIF(c, 1) AS c FROM raw.t", BREAKING("c", "m.y"), y=("SELECT n, v FROM (SELECT a * 1.0D AS a, c FROM m.x) UNPIVOT (v FOR n IN (a, c))", REACHED_ROWS), z=("SELECT COUNT(*) AS n FROM m.y", REACHED("n"))),
    edit("the text that is split and unfolded", ABC, LOWER, READ, y=("SELECT x.a FROM m.x AS x LATERAL VIEW EXPLODE(SPLIT(x.b, 'p')) l AS k", REACHED_ROWS)),
    edit("the changed column is in a union of different rows inside", ABC, LOWER, READ, y=("SELECT s.a FROM (SELECT a, b FROM m.x UNION SELECT a, b FROM raw.u) AS s", REACHED_ROWS)),
    edit("the changed column makes rows different inside", ABC, LOWER, READ, y=("SELECT COUNT(*) AS n FROM (SELECT DISTINCT a, b FROM m.x) AS s", REACHED("n"))),
    edit("the changed column stands in a pair that is looked up", ABC, LOWER, READ, y=("SELECT a FROM raw.u WHERE (a, b) IN (SELECT a, b FROM m.x)", REACHED_ROWS)),
    edit("the changed column correlates two queries deep", ABC, LOWER, READ, y=("SELECT x.a FROM m.x AS x WHERE EXISTS (SELECT 1 FROM raw.t AS t WHERE t.a IN (SELECT u.a FROM raw.u AS u WHERE u.b = x.b))", REACHED_ROWS)),
    edit("the changed column is chosen among by an aggregate in a window", ABC, LOWER, READ, y=("SELECT a, SUM(c) FILTER (WHERE b = 'p') OVER () AS s FROM m.x", REACHED("s")), z=("SELECT a FROM m.y", KEPT)),
    edit("the changed column orders what an aggregate collects", ABC, LOWER, READ, y=("SELECT a, MAX_BY(c, b) AS m FROM m.x GROUP BY a", REACHED("m")), z=("SELECT a FROM m.y", KEPT)),
    edit("the changed column keys the first row of each", ABC, LOWER, READ, y=(POSTGRES + "SELECT DISTINCT ON (b) a, c FROM m.x ORDER BY b, a, c", REACHED_ROWS)),
    edit("the changed column chooses among a side of a full join", ABC, LOWER, READ, y=("SELECT u.c FROM raw.u AS u FULL JOIN m.x AS x ON u.a = x.a AND x.b = 'p'", REACHED_ROWS)),
    edit("the name of a group is the changed column's", ABC, LOWER, READ, y=("SELECT a AS b, COUNT(*) AS n FROM m.x GROUP BY a, b", REACHED_ROWS)),
    edit("the changed column is one of several keys by an expression", "SELECT a, c FROM raw.t", "SELECT a, c * 2 AS c FROM raw.t", BREAKING("c", "m.y"), y=(KEY.format("COALESCE(a, c)") + "SELECT a, c FROM m.x", REACHED_ROWS)),
    edit("the changed column decides a match", "SELECT a, b, c FROM raw.t", "SELECT a, b, c * 2 AS c FROM raw.t", BREAKING("c", "m.y"), y=("MODEL (kind INCREMENTAL_BY_UNIQUE_KEY (unique_key a, when_matched (WHEN MATCHED AND source.c > target.c THEN UPDATE SET target.b = source.b))); SELECT a, b, c FROM m.x", REACHED), z=("SELECT b FROM m.y", REACHED("b"))),
    edit("partitions of the downstream model are by the changed column", "SELECT a, b, c FROM raw.t", LOWER, READ, y=("MODEL (kind INCREMENTAL_BY_PARTITION (forward_only false), partitioned_by b); SELECT a, b FROM m.x", REACHED_ROWS), z=("SELECT a FROM m.y", REACHED_ROWS)),
    edit("a star below a NATURAL JOIN has one column for two", A, AB, NON_BREAKING("b"), y=("SELECT * FROM m.x NATURAL JOIN (SELECT a, b, c FROM raw.u) AS u", REBUILT(ALL)), z=("SELECT c FROM m.y", REACHED)),
    edit("whether there is a count is always so", ABC, "SELECT a, b, c FROM raw.t WHERE a > 1", ROWS, y=("SELECT u.a FROM raw.u AS u CROSS JOIN (SELECT COUNT(*) AS n FROM m.x) AS s", KEPT)),
]  # fmt: skip

MACROS = [
    edit("the macro of a relation's columns has one more", A, AB, NON_BREAKING("b"), y=("SELECT @STAR(m.x) FROM m.x", NON_BREAKING("b")), z=("SELECT a FROM m.y", KEPT)),
    edit("the union of relations has one more column that they share", A, AB, NON_BREAKING("b"), y=("@UNION('all', m.x, raw.u)", NON_BREAKING("b")), z=("SELECT a FROM m.y", KEPT)),
    edit("the union of different rows of relations has one more column that they share", A, AB, NON_BREAKING("b"), y=("@UNION('distinct', m.x, raw.u)", ROWS), z=("SELECT a FROM m.y", REACHED_ROWS)),
    edit("the union of relations has no more column, as they do not share it", A, "SELECT a, b AS k FROM raw.t", NON_BREAKING("k"), y=("@UNION('distinct', m.x, raw.u)", KEPT)),
]  # fmt: skip

DIALECTS = [
    edit("the first rows of another dialect are more", POSTGRES + "SELECT a FROM raw.t ORDER BY a FETCH FIRST 3 ROWS ONLY", POSTGRES + "SELECT a FROM raw.t ORDER BY a FETCH FIRST 4 ROWS ONLY", ROWS, y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("the top rows of another dialect are more", TSQL + "SELECT TOP 3 a FROM raw.t ORDER BY a", TSQL + "SELECT TOP 4 a FROM raw.t ORDER BY a", ROWS, y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("another dialect says the same", "SELECT a, b FROM raw.t WHERE a > 1", POSTGRES + 'SELECT "a", b FROM raw.t WHERE (a > 1)', UNCHANGED, y=("SELECT a FROM m.x", UNCHANGED)),
]  # fmt: skip

HISTORY = "MODEL (kind SCD_TYPE_2_BY_COLUMN (unique_key a, columns {}, forward_only false));\n"
LIMITED = "MODEL (kind VIEW); SELECT a, b FROM raw.t LIMIT 3"

KINDS = [
    edit("a history that compares every column compares the added one, too", HISTORY.format("*") + AB, HISTORY.format("*") + ABC, BREAKING(ALL), y=("SELECT a FROM m.x", REACHED_ROWS)),
    edit("a history that compares one column does not compare the added one", HISTORY.format("(b)") + AB, HISTORY.format("(b)") + ABC, NON_BREAKING("c"), y=("SELECT a, valid_from FROM m.x", KEPT)),
    edit("a history of a star compares the column that is added upstream", AB, ABC, NON_BREAKING("c"), y=(HISTORY.format("*") + "SELECT * FROM m.x", BREAKING(ALL)), z=("SELECT a FROM m.y", REACHED_ROWS)),
    edits("an edited model reads a view again, whose limit takes other rows", x=(LIMITED, UNCHANGED), y=("SELECT a FROM m.x", "SELECT a, b FROM m.x", BREAKING(ALL)), z=("SELECT a FROM m.y", REACHED_ROWS), w=("SELECT a FROM m.x", UNCHANGED)),
]  # fmt: skip

CASES = [
    *FILTERS_AND_JOINS,
    *GROUPS,
    *AGGREGATES,
    *SETS,
    *LIMITS,
    *UNFOLDED,
    *WINDOWS_AND_OTHERS,
    *KEPT_VALUES,
    *CHANCE,
    *LISTS_OF_COLUMNS,
    *READS,
    *MACROS,
    *DIALECTS,
    *KINDS,
]
