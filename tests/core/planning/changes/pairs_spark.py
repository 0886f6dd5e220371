# ruff: noqa: E501 - rows of tables stay on one line
"""Pairs of queries that Spark reads in its own way: some alike, some that only look so.

Each row is a sentence and both queries. They bring their own rows, which show a difference where they
mean something else, so that both sides are run on Spark as well (`tests/lakehouse`).
"""

from __future__ import annotations

from tests.core.planning.changes.pairs_same import Pair

PEOPLE = "(SELECT 1 AS id, 'true' AS s, 5 AS x, DATE '2024-03-05' AS day UNION ALL SELECT 2 AS id, 'f' AS s, 0 AS x, DATE '2023-01-01' AS day)"
LEFT = "(SELECT 1 AS id, 'p' AS v UNION ALL SELECT 2 AS id, 'q' AS v) AS l"
RIGHT = "(SELECT 2 AS id, 'r' AS w UNION ALL SELECT 3 AS id, 's' AS w) AS r"
LAST = "(SELECT 1 AS id, 'o' AS z UNION ALL SELECT 3 AS id, 't' AS z) AS n"
WORDS = "(SELECT 1 AS i, DATE '2020-01-01' AS d UNION ALL SELECT 2 AS i, DATE '2099-01-01' AS d)"
USER = "(SELECT 1 AS x, 2 AS y UNION ALL SELECT 3 AS x, 0 AS y)"
LONG = "(SELECT CAST(2 AS BIGINT) AS id, 'r' AS w) AS r"
NAMED = f"SELECT TO_JSON(STRUCT(*)) AS k FROM (SELECT {{}} FROM {PEOPLE} AS t)"
STRUCTS = ("SELECT NAMED_STRUCT('userId', 1) AS s", "SELECT NAMED_STRUCT('userid', 2) AS s")
TIME = "TIMESTAMP '2024-05-06 07:08:09'"

OTHER: list[Pair] = [
    # literals
    ("a doubled quote and two literals", "SELECT 'it''s' AS k", "SELECT 'it' 's' AS k"),
    ("a doubled quote of another kind and two literals", 'SELECT "a""b" AS k', 'SELECT "a" "b" AS k'),
    ("a doubled quote in a condition", f"SELECT id FROM {PEOPLE} AS t WHERE 'tru''e' = 'tru''e'", f"SELECT id FROM {PEOPLE} AS t WHERE 'tru''e' = 'true'"),
    ("a day by its week", "SELECT TRY_CAST('2024-W01-1' AS DATE) AS k", "SELECT TRY_CAST('2024-01-01' AS DATE) AS k"),
    ("a time by its week", "SELECT TRY_CAST('2024-W01-1 00:00:00' AS TIMESTAMP) AS k", "SELECT TRY_CAST('2024-01-01 00:00:00' AS TIMESTAMP) AS k"),
    # types that follow from an order
    ("the order of a list of several types", "SELECT q.k IN (1, 1.5) AS v FROM (SELECT '1.54' AS k) AS q", "SELECT q.k IN (1.5, 1) AS v FROM (SELECT '1.54' AS k) AS q"),
    ("the order of a list of texts and numbers", "SELECT q.k IN ('9007199254740993', 0.5) AS v FROM (SELECT 9007199254740992 AS k) AS q", "SELECT q.k IN (0.5, '9007199254740993') AS v FROM (SELECT 9007199254740992 AS k) AS q"),
    ("the order of a union of several types", "SELECT '1' AS k UNION ALL SELECT 1 AS k UNION ALL SELECT 1.25 AS k", "SELECT 1.25 AS k UNION ALL SELECT '1' AS k UNION ALL SELECT 1 AS k"),
    ("the order of a union of structs", f"SELECT TO_JSON(q.s) AS k FROM ({STRUCTS[0]} UNION ALL {STRUCTS[1]}) AS q", f"SELECT TO_JSON(q.s) AS k FROM ({STRUCTS[1]} UNION ALL {STRUCTS[0]}) AS q"),
    ("the order of a union of lists of structs", "SELECT TO_JSON(q.s) AS k FROM (SELECT ARRAY(NAMED_STRUCT('A', 1)) AS s UNION ALL SELECT ARRAY(NAMED_STRUCT('a', 2)) AS s) AS q", "SELECT TO_JSON(q.s) AS k FROM (SELECT ARRAY(NAMED_STRUCT('a', 2)) AS s UNION ALL SELECT ARRAY(NAMED_STRUCT('A', 1)) AS s) AS q"),
    ("a text and a condition that it becomes", f"SELECT s AND TRUE AS k FROM {PEOPLE} AS t WHERE id = 1", f"SELECT s AS k FROM {PEOPLE} AS t WHERE id = 1"),
    ("nothing and what always holds", "SELECT NULL AND TRUE AS k", "SELECT NULL AS k"),
    # USING
    ("the merged column of a left join is not whichever is there", f"SELECT id FROM {LEFT} LEFT JOIN {LONG} USING (id)", f"SELECT COALESCE(l.id, r.id) AS id FROM {LEFT} LEFT JOIN {LONG} ON l.id = r.id"),
    ("the merged column of a join is not whichever is there", f"SELECT id FROM {LEFT} JOIN {LONG} USING (id)", f"SELECT COALESCE(l.id, r.id) AS id FROM {LEFT} JOIN {LONG} ON l.id = r.id"),
    ("the merged column of a right join is that of the right", f"SELECT n.z FROM {LEFT} RIGHT JOIN {RIGHT} USING (id) LEFT JOIN {LAST} USING (id)", f"SELECT n.z FROM {LEFT} RIGHT JOIN {RIGHT} ON l.id = r.id LEFT JOIN {LAST} ON l.id = n.id"),
    ("the merged column of a full join is of both", f"SELECT n.z FROM {LEFT} FULL JOIN {RIGHT} USING (id) JOIN {LAST} USING (id)", f"SELECT n.z FROM {LEFT} FULL JOIN {RIGHT} ON l.id = r.id JOIN {LAST} ON l.id = n.id"),
    ("a comma before a join", f"SELECT l.v, n.z FROM {LEFT}, {RIGHT} JOIN {LAST} USING (id)", f"SELECT l.v, n.z FROM {LEFT}, {RIGHT} JOIN {LAST} ON r.id = n.id"),
    ("what a call sees of USING", f"SELECT TO_JSON(STRUCT(*)) AS k FROM {LEFT} JOIN {RIGHT} USING (id)", f"SELECT TO_JSON(STRUCT(*)) AS k FROM {LEFT} JOIN {RIGHT} ON l.id = r.id"),
    ("what a call sees of a natural join", f"SELECT HASH(*) AS k FROM {LEFT} NATURAL JOIN {RIGHT}", f"SELECT HASH(*) AS k FROM {LEFT} JOIN {RIGHT} ON l.id = r.id"),
    ("what a call sees of a right join", f"SELECT TO_JSON(STRUCT(*)) AS k FROM {LEFT} RIGHT JOIN {RIGHT} USING (id)", f"SELECT TO_JSON(STRUCT(*)) AS k FROM {LEFT} RIGHT JOIN {RIGHT} ON l.id = r.id"),
    ("what a call sees of a semi join", "SELECT HASH(*) AS k FROM (SELECT 5 AS a, 7 AS id) AS l LEFT SEMI JOIN (SELECT 7 AS id) AS r USING (id)", "SELECT HASH(*) AS k FROM (SELECT 5 AS a, 7 AS id) AS l LEFT SEMI JOIN (SELECT 7 AS id) AS r ON l.id = r.id"),
    ("the order of merged columns in a call", "SELECT TO_JSON(STRUCT(*)) AS k FROM (SELECT 1 AS a, 2 AS b) AS l JOIN (SELECT 1 AS a, 2 AS b) AS r USING (a, b)", "SELECT TO_JSON(STRUCT(*)) AS k FROM (SELECT 1 AS a, 2 AS b) AS l JOIN (SELECT 1 AS a, 2 AS b) AS r USING (b, a)"),
    # names that Spark gives
    ("a function by two names", NAMED.format("NVL(s, 'x')"), NAMED.format("COALESCE(s, 'x')")),
    ("another function by two names", NAMED.format("LENGTH(s)"), NAMED.format("LEN(s)")),
    ("a comparison from the other side", NAMED.format("x > 1"), NAMED.format("1 < x")),
    ("a branch in two ways", NAMED.format("IF(x > 1, 1, 2)"), NAMED.format("CASE WHEN x > 1 THEN 1 ELSE 2 END")),
    ("a range in two ways", NAMED.format("x BETWEEN 1 AND 2"), NAMED.format("x >= 1 AND x <= 2")),
    ("the case of a column in an expression", NAMED.format("x + 1"), NAMED.format("t.X + 1")),
    ("the case of a column in an aggregate", NAMED.format("MAX(x)"), NAMED.format("MAX(X)")),
    ("a name like those that nothing has", NAMED.format("x + 1"), NAMED.format("x + 1 AS _col_0")),
    ("a column without a name two queries below", f"SELECT TO_JSON(STRUCT(*)) AS k FROM (SELECT * FROM (SELECT LEN(s) FROM {PEOPLE} AS t))", f"SELECT TO_JSON(STRUCT(*)) AS k FROM (SELECT * FROM (SELECT LENGTH(s) FROM {PEOPLE} AS t))"),
    ("a doubled quote behind a literal with a blank", "SELECT X 'ff' AS a, 'it''s' AS k", "SELECT X 'ff' AS a, 'it' 's' AS k"),
    # units
    ("a unit by a letter", f"SELECT TRUNC(day, 'y') AS k FROM {PEOPLE} AS t", f"SELECT TRUNC(day, 'YEAR') AS k FROM {PEOPLE} AS t"),
    ("a unit of a time by a letter", f"SELECT DATE_TRUNC('M', {TIME}) AS k", f"SELECT DATE_TRUNC('MINUTE', {TIME}) AS k"),
    ("a unit and a column of its name", f"SELECT DATE_TRUNC(day, {TIME}) AS k FROM {PEOPLE} AS t", f"SELECT DATE_TRUNC('DAY', {TIME}) AS k FROM {PEOPLE} AS t"),
    # words
    ("a column with a function's name", "SELECT current_date AS k FROM (SELECT 1 AS current_date) AS q", "SELECT CURRENT_DATE() AS k FROM (SELECT 1 AS current_date) AS q"),
    ("a column with the user's name", "WITH q AS (SELECT 'x' AS current_user) SELECT current_user AS k FROM q", "WITH q AS (SELECT 'x' AS current_user) SELECT CURRENT_USER() AS k FROM q"),
    ("an order by an output with a function's name", f"SELECT -i AS current_date FROM {WORDS} AS t ORDER BY current_date LIMIT 1", f"SELECT -i AS current_date FROM {WORDS} AS t ORDER BY CURRENT_DATE(), i LIMIT 1"),
    ("a condition on an output with a function's name", f"SELECT i, MAX(d) AS current_date FROM {WORDS} AS t GROUP BY i HAVING current_date > DATE '2090-01-01'", f"SELECT i, MAX(d) AS current_date FROM {WORDS} AS t GROUP BY i HAVING CURRENT_DATE() > DATE '2090-01-01'"),
    ("an order of a union by an output with a function's name", f"SELECT -x AS current_user FROM {USER} AS t UNION ALL SELECT y FROM {USER} AS t ORDER BY current_user LIMIT 1", f"SELECT -x AS current_user FROM {USER} AS t UNION ALL SELECT y FROM {USER} AS t ORDER BY CURRENT_USER() LIMIT 1"),
    ("a column of VALUES with a function's name", "SELECT current_user AS k FROM VALUES (1), (2) AS e(current_user)", "SELECT CURRENT_USER() AS k FROM VALUES (1), (2) AS e(current_user)"),
    ("a column of LATERAL VIEW with a function's name", f"SELECT current_user AS k FROM {USER} AS t LATERAL VIEW EXPLODE(ARRAY(1, 2)) e AS current_user", f"SELECT CURRENT_USER() AS k FROM {USER} AS t LATERAL VIEW EXPLODE(ARRAY(1, 2)) e AS current_user"),
    ("a column of a table function with a function's name", "SELECT current_user AS k FROM EXPLODE(ARRAY(1, 2)) AS e(current_user)", "SELECT CURRENT_USER() AS k FROM EXPLODE(ARRAY(1, 2)) AS e(current_user)"),
    ("a column that a list of names calls like a function", f"SELECT current_user AS k FROM {USER} AS c(current_user, b)", f"SELECT CURRENT_USER() AS k FROM {USER} AS c(current_user, b)"),
    ("a column of LATERAL with a function's name", f"SELECT current_user AS k FROM {USER} AS w, LATERAL (SELECT w.x AS current_user) AS e", f"SELECT CURRENT_USER() AS k FROM {USER} AS w, LATERAL (SELECT w.x AS current_user) AS e"),
    ("a column of PIVOT with a function's name", f"SELECT current_user AS k FROM {USER} AS w PIVOT (SUM(x) FOR y IN (2 AS current_user))", f"SELECT CURRENT_USER() AS k FROM {USER} AS w PIVOT (SUM(x) FOR y IN (2 AS current_user))"),
    ("a column with another name of the user", "SELECT user AS k FROM (SELECT 1 AS user) AS q", "SELECT CURRENT_USER() AS k FROM (SELECT 1 AS user) AS q"),
]  # fmt: skip
"""They give other rows or types."""

SAME: list[Pair] = [
    ("a doubled quote and one behind a backslash", "SELECT 'it''s' AS k", "SELECT 'it\\'s' AS k"),
    ("two doubled quotes", "SELECT 'a''''b' AS k", "SELECT 'a\\'\\'b' AS k"),
    ("literals that stand apart", "SELECT 'a' 'b' AS k", "SELECT 'a'   'b' AS k"),
    ("the order of a list of numbers", f"SELECT x IN (5, 1.5) AS k FROM {PEOPLE} AS t", f"SELECT x IN (1.5, 5) AS k FROM {PEOPLE} AS t"),
    ("the order of a list of days", f"SELECT day IN (DATE '2024-03-05', DATE '2024-01-01') AS k FROM {PEOPLE} AS t", f"SELECT day IN (DATE '2024-01-01', DATE '2024-03-05') AS k FROM {PEOPLE} AS t"),
    ("the order of a union of two types", f"SELECT x AS k FROM {PEOPLE} AS t UNION ALL SELECT 2.5 AS k FROM {PEOPLE} AS t WHERE x > 1", f"SELECT 2.5 AS k FROM {PEOPLE} AS t WHERE x > 1 UNION ALL SELECT x AS k FROM {PEOPLE} AS t"),
    ("the order of a union of three texts", f"SELECT s AS k FROM {PEOPLE} AS t UNION ALL SELECT NULL AS k FROM {PEOPLE} AS t WHERE x > 1 UNION ALL SELECT 'b' AS k FROM {PEOPLE} AS t WHERE x < 1", f"SELECT 'b' AS k FROM {PEOPLE} AS t WHERE x < 1 UNION ALL SELECT s AS k FROM {PEOPLE} AS t UNION ALL SELECT NULL AS k FROM {PEOPLE} AS t WHERE x > 1"),
    ("a condition with itself", f"SELECT x > 1 AND x > 1 AS k FROM {PEOPLE} AS t", f"SELECT x > 1 AS k FROM {PEOPLE} AS t"),
    ("the merged column of a join", f"SELECT id FROM {LEFT} JOIN {LONG} USING (id)", f"SELECT l.id FROM {LEFT} JOIN {LONG} ON l.id = r.id"),
    ("the merged column of a left join", f"SELECT id FROM {LEFT} LEFT JOIN {LONG} USING (id)", f"SELECT l.id FROM {LEFT} LEFT JOIN {LONG} ON l.id = r.id"),
    ("the merged column of a right join", f"SELECT id FROM {LEFT} RIGHT JOIN {RIGHT} USING (id)", f"SELECT r.id FROM {LEFT} RIGHT JOIN {RIGHT} ON l.id = r.id"),
    ("the merged column of a full join", f"SELECT id FROM {LEFT} FULL JOIN {RIGHT} USING (id)", f"SELECT COALESCE(l.id, r.id) AS id FROM {LEFT} FULL JOIN {RIGHT} ON l.id = r.id"),
    ("the columns of a natural join", f"SELECT * FROM {LEFT} NATURAL RIGHT JOIN {RIGHT}", f"SELECT r.id, l.v, r.w FROM {LEFT} RIGHT JOIN {RIGHT} ON l.id = r.id"),
    ("a join behind a right join", f"SELECT id, n.z FROM {LEFT} RIGHT JOIN {RIGHT} USING (id) LEFT JOIN {LAST} USING (id)", f"SELECT r.id, n.z FROM {LEFT} RIGHT JOIN {RIGHT} ON l.id = r.id LEFT JOIN {LAST} ON r.id = n.id"),
    ("a join behind a full join", f"SELECT id, n.z FROM {LEFT} FULL JOIN {RIGHT} USING (id) JOIN {LAST} USING (id)", f"SELECT COALESCE(l.id, r.id) AS id, n.z FROM {LEFT} FULL JOIN {RIGHT} ON l.id = r.id JOIN {LAST} ON COALESCE(l.id, r.id) = n.id"),
    ("two full joins", f"SELECT id FROM {LEFT} FULL JOIN {RIGHT} USING (id) FULL JOIN {LAST} USING (id)", f"SELECT COALESCE(COALESCE(l.id, r.id), n.id) AS id FROM {LEFT} FULL JOIN {RIGHT} ON l.id = r.id FULL JOIN {LAST} ON COALESCE(l.id, r.id) = n.id"),
    ("a semi join", f"SELECT id FROM {LEFT} LEFT SEMI JOIN {RIGHT} USING (id)", f"SELECT l.id FROM {LEFT} LEFT SEMI JOIN {RIGHT} ON l.id = r.id"),
    ("a join behind a comma", f"SELECT l.v, n.z FROM {LEFT}, {RIGHT} JOIN {LAST} USING (id)", f"SELECT l.v, n.z FROM {LEFT}, {RIGHT} JOIN {LAST} ON l.id = n.id"),
    ("a merged column in groups and conditions", f"SELECT id, COUNT(*) AS n FROM {LEFT} RIGHT JOIN {RIGHT} USING (id) WHERE id > 1 GROUP BY id", f"SELECT r.id, COUNT(*) AS n FROM {LEFT} RIGHT JOIN {RIGHT} ON l.id = r.id WHERE r.id > 1 GROUP BY r.id"),
    ("lines around columns without names", NAMED.format("x + 1"), NAMED.format("x + 1").replace(" FROM", "\n FROM")),
    ("a column without a name that nobody sees", f"SELECT COUNT(*) AS k FROM (SELECT LEN(s) FROM {PEOPLE} AS t)", f"SELECT COUNT(*) AS k FROM (SELECT LENGTH(s) FROM {PEOPLE} AS t)"),
    ("the case of a unit of a day", f"SELECT TRUNC(day, 'mm') AS k FROM {PEOPLE} AS t", f"SELECT TRUNC(day, 'MM') AS k FROM {PEOPLE} AS t"),
    ("names of the user", f"SELECT user AS k FROM {USER} AS t", f"SELECT `current_user` AS k FROM {USER} AS t"),
    ("a name of the user with parentheses", f"SELECT user AS k FROM {USER} AS t", f"SELECT CURRENT_USER() AS k FROM {USER} AS t"),
    ("an alias beside a function of its name", f"SELECT x AS current_date, current_date AS k FROM {USER} AS t", f"SELECT x AS current_date, CURRENT_DATE() AS k FROM {USER} AS t"),
    ("a group by a function and an output of its name", f"SELECT MAX(x) AS current_user FROM {USER} AS t GROUP BY current_user", f"SELECT MAX(x) AS current_user FROM {USER} AS t GROUP BY CURRENT_USER()"),
    ("a function inside of a query that has a column of its name around it", "SELECT (SELECT MAX(current_user)) AS k FROM (SELECT 1 AS current_user) AS q", "SELECT (SELECT MAX(CURRENT_USER())) AS k FROM (SELECT 1 AS current_user) AS q"),
    ("a column with a function's name and its table's", "SELECT current_date AS k FROM (SELECT 1 AS current_date) AS q", "SELECT q.current_date AS k FROM (SELECT 1 AS current_date) AS q"),
]  # fmt: skip
"""They give the same rows and types."""
