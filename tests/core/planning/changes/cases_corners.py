# ruff: noqa: E501 - rows of tables stay on one line
"""Hidden reads and random values: other dialects, column lists, macros, odd functions."""

from __future__ import annotations

from tests.core.planning.changes.case import (
    ALL,
    BREAKING,
    KEPT,
    NON_BREAKING,
    REACHED,
    REACHED_ROWS,
    REBUILT,
    ROWS,
    UNCHANGED,
    Case,
    edit,
    edits,
)

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


AGGREGATES = [
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

CASES = [*AGGREGATES, *CHANCE, *LISTS_OF_COLUMNS, *READS, *MACROS, *DIALECTS, *KINDS]
