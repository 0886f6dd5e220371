# ruff: noqa: E501 - rows of tables stay on one line
"""Two texts of one query: all parts of their fingerprints are equal (docs/inside/architecture.md, *Identity*).

Each row is a sentence and both queries; each query is a model of kind FULL.
"""

from __future__ import annotations

Pair = tuple[str, str, str]

AGGREGATED = "SELECT a, COUNT(*) AS n FROM raw.t WHERE c > 1 GROUP BY a"

SPELLING: list[Pair] = [
    ("lines and blanks", "SELECT a, b FROM raw.t WHERE a > 1", "SELECT\n  a,\n\tb\nFROM raw.t\nWHERE\n  a>1\n"),
    ("lines of another system", "SELECT a\nFROM raw.t\n", "SELECT a\r\nFROM raw.t\r\n"),
    ("a semicolon at the end", "SELECT a FROM raw.t", "SELECT a FROM raw.t;"),
    ("the case of keywords", "SELECT DISTINCT a FROM raw.t WHERE b IS NOT NULL", "select distinct a from raw.t where b is not null"),
    ("the case of functions", "SELECT UPPER(b) AS k, COUNT(*) AS n FROM raw.t GROUP BY 1", "SELECT upper(b) AS k, count(*) AS n FROM raw.t GROUP BY 1"),
    ("the case of functions that nobody knows", "SELECT foo(b) AS k FROM raw.t", "SELECT FOO(b) AS k FROM raw.t"),
    ("the case of names", "SELECT a AS k FROM raw.t AS t", "SELECT T.A AS K FROM RAW.T AS T"),
    ("quotes around names", "SELECT t.a AS k FROM raw.t AS t", "SELECT `t`.`a` AS `k` FROM `raw`.`t` AS `t`"),
    ("quotes around texts", "SELECT a FROM raw.t WHERE b = 'p'", "SELECT a FROM raw.t WHERE b = \"p\""),
    ("the word AS", "SELECT a AS k FROM raw.t AS e", "SELECT a k FROM raw.t e"),
    ("the word INNER", "SELECT t.a FROM raw.t AS t JOIN raw.u AS u ON t.a = u.a", "SELECT t.a FROM raw.t AS t INNER JOIN raw.u AS u ON t.a = u.a"),
    ("the word OUTER of a left join", "SELECT t.a FROM raw.t AS t LEFT JOIN raw.u AS u ON t.a = u.a", "SELECT t.a FROM raw.t AS t LEFT OUTER JOIN raw.u AS u ON t.a = u.a"),
    ("the word OUTER of a right join", "SELECT u.a FROM raw.t AS t RIGHT JOIN raw.u AS u ON t.a = u.a", "SELECT u.a FROM raw.t AS t RIGHT OUTER JOIN raw.u AS u ON t.a = u.a"),
    ("the word OUTER of a full join", "SELECT t.a FROM raw.t AS t FULL JOIN raw.u AS u ON t.a = u.a", "SELECT t.a FROM raw.t AS t FULL OUTER JOIN raw.u AS u ON t.a = u.a"),
    ("the word DISTINCT of a union", "SELECT a FROM raw.t UNION SELECT a FROM raw.u", "SELECT a FROM raw.t UNION DISTINCT SELECT a FROM raw.u"),
    ("the word ASC", "SELECT a FROM raw.t ORDER BY a LIMIT 3", "SELECT a FROM raw.t ORDER BY a ASC LIMIT 3"),
    ("two words for a difference", "SELECT a FROM raw.t EXCEPT SELECT a FROM raw.u", "SELECT a FROM raw.t MINUS SELECT a FROM raw.u"),
    ("two signs for unequal", "SELECT a FROM raw.t WHERE a != 1", "SELECT a FROM raw.t WHERE a <> 1"),
    ("two signs for equal", "SELECT a FROM raw.t WHERE a = 1", "SELECT a FROM raw.t WHERE a == 1"),
    ("two signs for a type", "SELECT CAST(a AS BIGINT) AS k FROM raw.t", "SELECT a::BIGINT AS k FROM raw.t"),
    ("two names of a type", "SELECT CAST(a AS BIGINT) AS k FROM raw.t", "SELECT CAST(a AS LONG) AS k FROM raw.t"),
    ("the case of a unit", "SELECT DATE_TRUNC('MONTH', ts) AS k FROM raw.t", "SELECT DATE_TRUNC('month', ts) AS k FROM raw.t"),
    ("the case of macros", "SELECT a FROM raw.t WHERE ts >= @start_dt", "SELECT a FROM raw.t WHERE ts >= @START_DT"),
    ("the case of a frame", "SELECT SUM(c) OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM raw.t", "SELECT sum(c) over (order by ts rows between 1 preceding and current row) AS s FROM raw.t"),
    ("parentheses around a column", "SELECT a FROM raw.t", "SELECT (a) AS a FROM raw.t"),
    ("parentheses around a value", "SELECT a + 1 AS k FROM raw.t", "SELECT ((a) + (1)) AS k FROM raw.t"),
    ("parentheses that say what is so anyway", "SELECT a + a * 2 AS k FROM raw.t", "SELECT a + (a * 2) AS k FROM raw.t"),
    ("parentheses from the left", "SELECT a - c - 1 AS k FROM raw.t", "SELECT ((a - c) - 1) AS k FROM raw.t"),
    ("parentheses around a condition", "SELECT a FROM raw.t WHERE a > 1", "SELECT a FROM raw.t WHERE ((a > 1))"),
    ("parentheses around the condition of a join", "SELECT t.a FROM raw.t AS t JOIN raw.u AS u ON t.a = u.a", "SELECT t.a FROM raw.t AS t JOIN raw.u AS u ON (t.a = u.a)"),
    ("parentheses among ANDs", "SELECT a FROM raw.t WHERE a > 1 AND b = 'p' AND c > 2", "SELECT a FROM raw.t WHERE a > 1 AND (b = 'p' AND c > 2)"),
    ("parentheses around AND within OR", "SELECT a FROM raw.t WHERE a > 1 AND b = 'p' OR c > 2", "SELECT a FROM raw.t WHERE (a > 1 AND b = 'p') OR c > 2"),
    ("parentheses around a branch of a union", "SELECT a FROM raw.t UNION ALL SELECT a FROM raw.u", "(SELECT a FROM raw.t) UNION ALL (SELECT a FROM raw.u)"),
]  # fmt: skip

NAMES: list[Pair] = [
    ("an alias that says the name again", "SELECT a FROM raw.t", "SELECT a AS a FROM raw.t"),
    ("an alias of a table", "SELECT a FROM raw.t", "SELECT e.a FROM raw.t AS e"),
    ("an alias of a table that is its name", "SELECT a FROM raw.t", "SELECT t.a FROM raw.t AS t"),
    ("another alias of a table", "SELECT l.a, r.c FROM raw.t AS l JOIN raw.u AS r ON l.a = r.a", "SELECT one.a, two.c FROM raw.t AS one JOIN raw.u AS two ON one.a = two.a"),
    ("columns without their table", "SELECT a, c FROM raw.t WHERE b = 'p'", "SELECT t.a, t.c FROM raw.t WHERE t.b = 'p'"),
    ("aliases of two roles are exchanged everywhere", "SELECT l.a, r.c FROM raw.t AS l JOIN raw.t AS r ON l.a = r.c", "SELECT r.a, l.c FROM raw.t AS r JOIN raw.t AS l ON r.a = l.c"),
    ("an alias inside that is the one outside", "SELECT t.a FROM raw.t AS t WHERE t.a IN (SELECT u.a FROM raw.u AS u WHERE u.c > 1)", "SELECT t.a FROM raw.t AS t WHERE t.a IN (SELECT t.a FROM raw.u AS t WHERE t.c > 1)"),
    ("an alias in a correlated sub-query", "SELECT t.a FROM raw.t AS t WHERE EXISTS (SELECT 1 FROM raw.u AS u WHERE u.a = t.a)", "SELECT o.a FROM raw.t AS o WHERE EXISTS (SELECT 1 FROM raw.u AS i WHERE i.a = o.a)"),
    ("an alias of a sub-query", "SELECT s.n FROM (SELECT COUNT(*) AS n FROM raw.t GROUP BY a) AS s", "SELECT q.n FROM (SELECT COUNT(*) AS n FROM raw.t GROUP BY a) AS q"),
    ("all columns by their names", "SELECT * FROM raw.t", "SELECT a, b, c, ts, day, e FROM raw.t"),
    ("all columns of one table by their names", "SELECT t.*, u.a AS k FROM raw.t AS t CROSS JOIN raw.u AS u", "SELECT t.a, t.b, t.c, t.ts, t.day, t.e, u.a AS k FROM raw.t AS t CROSS JOIN raw.u AS u"),
    ("all columns but some by their names", "SELECT * EXCEPT (ts, day, e) FROM raw.t", "SELECT a, b, c FROM raw.t"),
    ("a group by position", "SELECT b, COUNT(*) AS n FROM raw.t GROUP BY b", "SELECT b, COUNT(*) AS n FROM raw.t GROUP BY 1"),
    ("a group by the name of its expression", "SELECT UPPER(b) AS k, COUNT(*) AS n FROM raw.t GROUP BY UPPER(b)", "SELECT UPPER(b) AS k, COUNT(*) AS n FROM raw.t GROUP BY k"),
    ("an order by position", "SELECT a, b FROM raw.t ORDER BY b, a LIMIT 3", "SELECT a, b FROM raw.t ORDER BY 2, 1 LIMIT 3"),
]  # fmt: skip

CONDITIONS: list[Pair] = [
    ("the order of two conditions", "SELECT a FROM raw.t WHERE a > 1 AND b = 'p'", "SELECT a FROM raw.t WHERE b = 'p' AND a > 1"),
    ("the order of three conditions", "SELECT a FROM raw.t WHERE a > 1 AND b = 'p' AND c IS NULL", "SELECT a FROM raw.t WHERE c IS NULL AND (b = 'p' AND a > 1)"),
    ("the order of conditions of a join", "SELECT t.a FROM raw.t AS t LEFT JOIN raw.u AS u ON t.a = u.a AND u.c > 1", "SELECT t.a FROM raw.t AS t LEFT JOIN raw.u AS u ON u.c > 1 AND t.a = u.a"),
    ("the order of conditions of groups", "SELECT a FROM raw.t GROUP BY a HAVING COUNT(*) > 1 AND MAX(c) > 2", "SELECT a FROM raw.t GROUP BY a HAVING MAX(c) > 2 AND COUNT(*) > 1"),
    ("the order of conditions of an aggregate", "SELECT COUNT(*) FILTER (WHERE a > 1 AND c > 2) AS n FROM raw.t", "SELECT COUNT(*) FILTER (WHERE c > 2 AND a > 1) AS n FROM raw.t"),
    ("the order of conditions of a CASE", "SELECT CASE WHEN a > 1 AND c > 2 THEN 'p' END AS k FROM raw.t", "SELECT CASE WHEN c > 2 AND a > 1 THEN 'p' END AS k FROM raw.t"),
    ("the order of conditions inside OR", "SELECT a FROM raw.t WHERE (a > 1 AND b = 'p') OR c > 2", "SELECT a FROM raw.t WHERE (b = 'p' AND a > 1) OR c > 2"),
    ("the order of alternatives", "SELECT a FROM raw.t WHERE a > 1 OR b = 'p'", "SELECT a FROM raw.t WHERE b = 'p' OR a > 1"),
    ("the order of alternatives inside AND", "SELECT a FROM raw.t WHERE (a > 1 OR b = 'p') AND c > 2", "SELECT a FROM raw.t WHERE c > 2 AND (b = 'p' OR a > 1)"),
    ("the order of conditions of a sub-query", "SELECT a FROM raw.t WHERE a IN (SELECT a FROM raw.u WHERE b = 'p' AND c > 1)", "SELECT a FROM raw.t WHERE a IN (SELECT a FROM raw.u WHERE c > 1 AND b = 'p')"),
    ("BETWEEN is two comparisons", "SELECT a FROM raw.t WHERE a BETWEEN 1 AND 5", "SELECT a FROM raw.t WHERE a >= 1 AND a <= 5"),
    ("BETWEEN is two comparisons in any order", "SELECT a FROM raw.t WHERE a BETWEEN 1 AND 5", "SELECT a FROM raw.t WHERE a <= 5 AND a >= 1"),
    ("BETWEEN among other conditions", "SELECT a FROM raw.t WHERE b = 'p' AND a BETWEEN 1 AND 5 AND c > 1", "SELECT a FROM raw.t WHERE a <= 5 AND c > 1 AND a >= 1 AND b = 'p'"),
    ("BETWEEN of macros", "SELECT a FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt", "SELECT a FROM raw.t WHERE ts >= @start_dt AND ts <= @end_dt"),
    ("BETWEEN in a join", "SELECT t.a FROM raw.t AS t JOIN raw.u AS u ON t.c BETWEEN u.a AND u.c", "SELECT t.a FROM raw.t AS t JOIN raw.u AS u ON t.c >= u.a AND t.c <= u.c"),
    ("NOT of BETWEEN", "SELECT a FROM raw.t WHERE a NOT BETWEEN 1 AND 5", "SELECT a FROM raw.t WHERE NOT (a >= 1 AND a <= 5)"),
    ("BETWEEN as a value", "SELECT a BETWEEN 1 AND 5 AS k FROM raw.t", "SELECT a >= 1 AND a <= 5 AS k FROM raw.t"),
]  # fmt: skip

STRUCTURE: list[Pair] = [
    ("a common table expression with another name", "WITH s AS (SELECT a FROM raw.t WHERE c > 1) SELECT a FROM s", "WITH filtered AS (SELECT a FROM raw.t WHERE c > 1) SELECT a FROM filtered"),
    ("two common table expressions that exchange their names", "WITH s AS (SELECT a FROM raw.t WHERE c > 1), q AS (SELECT a FROM raw.u WHERE c > 2) SELECT s.a FROM s JOIN q ON s.a = q.a", "WITH q AS (SELECT a FROM raw.t WHERE c > 1), s AS (SELECT a FROM raw.u WHERE c > 2) SELECT q.a FROM q JOIN s ON q.a = s.a"),
    ("common table expressions in another order", "WITH s AS (SELECT a FROM raw.t WHERE c > 1), q AS (SELECT a FROM raw.u WHERE c > 2) SELECT s.a FROM s JOIN q ON s.a = q.a", "WITH q AS (SELECT a FROM raw.u WHERE c > 2), s AS (SELECT a FROM raw.t WHERE c > 1) SELECT s.a FROM s JOIN q ON s.a = q.a"),
    ("a common table expression with the name of a column", "WITH s AS (SELECT a FROM raw.t WHERE c > 1) SELECT a FROM s", "WITH a AS (SELECT a FROM raw.t WHERE c > 1) SELECT a.a FROM a"),
    ("a common table expression with the name of the table in it", "WITH s AS (SELECT a FROM raw.t WHERE c > 1) SELECT a FROM s", "WITH t AS (SELECT a FROM raw.t WHERE c > 1) SELECT a FROM t"),
    ("a common table expression that nobody reads", "SELECT a FROM raw.t", "WITH s AS (SELECT b FROM raw.t WHERE c > 1) SELECT a FROM raw.t"),
    ("a common table expression that nobody reads, over another table", "SELECT a FROM raw.t", "WITH s AS (SELECT b FROM raw.u) SELECT a FROM raw.t"),
    ("common table expressions that only each other read", "SELECT a FROM raw.t", "WITH s AS (SELECT b FROM raw.t), q AS (SELECT b FROM s) SELECT a FROM raw.t"),
    ("one that nobody reads has the name of the table", "SELECT a FROM raw.t", "WITH t AS (SELECT a FROM raw.u) SELECT a FROM raw.t"),
    ("a sub-query and a common table expression", "SELECT s.a FROM (SELECT a, COUNT(*) AS n FROM raw.t GROUP BY a) AS s WHERE s.n > 1", "WITH s AS (SELECT a, COUNT(*) AS n FROM raw.t GROUP BY a) SELECT s.a FROM s WHERE s.n > 1"),
    ("a sub-query and a common table expression with another name", "SELECT s.a FROM (SELECT DISTINCT a FROM raw.t) AS s", "WITH q AS (SELECT DISTINCT a FROM raw.t) SELECT a FROM q"),
    ("sub-queries in each other and common table expressions after each other", "SELECT q.n FROM (SELECT s.n FROM (SELECT a, COUNT(*) AS n FROM raw.t GROUP BY a) AS s WHERE s.n > 1) AS q ORDER BY q.n LIMIT 3", "WITH s AS (SELECT a, COUNT(*) AS n FROM raw.t GROUP BY a), q AS (SELECT n FROM s WHERE n > 1) SELECT n FROM q ORDER BY n LIMIT 3"),
    ("a common table expression that is read twice and two sub-queries", "WITH s AS (SELECT a, COUNT(*) AS n FROM raw.t GROUP BY a) SELECT l.a FROM s AS l JOIN s AS r ON l.a = r.n", "SELECT l.a FROM (SELECT a, COUNT(*) AS n FROM raw.t GROUP BY a) AS l JOIN (SELECT a, COUNT(*) AS n FROM raw.t GROUP BY a) AS r ON l.a = r.n"),
    ("a common table expression inside and outside", "SELECT q.a FROM (WITH s AS (SELECT DISTINCT a FROM raw.t) SELECT a FROM s) AS q", "WITH s AS (SELECT DISTINCT a FROM raw.t) SELECT q.a FROM (SELECT a FROM s) AS q"),
    ("the names of columns behind the name or inside", "WITH s(k) AS (SELECT DISTINCT a FROM raw.t) SELECT k FROM s", "WITH s AS (SELECT DISTINCT a AS k FROM raw.t) SELECT k FROM s"),
    ("a name that hides another one", "WITH s AS (SELECT DISTINCT a FROM raw.t) SELECT q.a, s.a AS k FROM (WITH s AS (SELECT DISTINCT a FROM raw.u) SELECT a FROM s) AS q CROSS JOIN s", "WITH s AS (SELECT DISTINCT a FROM raw.t) SELECT q.a, s.a AS k FROM (WITH i AS (SELECT DISTINCT a FROM raw.u) SELECT a FROM i) AS q CROSS JOIN s"),
    ("a sub-query that passes a table on", "SELECT a FROM raw.t WHERE c > 1", "SELECT s.a FROM (SELECT a, c FROM raw.t) AS s WHERE s.c > 1"),
    ("a sub-query that passes all of a table on", "SELECT a FROM raw.t WHERE c > 1", "SELECT s.a FROM (SELECT * FROM raw.t) AS s WHERE s.c > 1"),
    ("two sub-queries that pass a table on", "SELECT a FROM raw.t", "SELECT q.a FROM (SELECT s.a FROM (SELECT a, b FROM raw.t) AS s) AS q"),
    ("a table that is passed on in a join", "SELECT t.a FROM raw.t AS t JOIN raw.u AS u ON t.a = u.a", "WITH l AS (SELECT * FROM raw.t), r AS (SELECT a, c FROM raw.u) SELECT l.a FROM l JOIN r ON l.a = r.a"),
    ("a query that is passed on from outside", AGGREGATED, f"SELECT * FROM ({AGGREGATED}) AS s"),
    ("a last common table expression that is passed on", AGGREGATED, f"WITH final AS ({AGGREGATED}) SELECT * FROM final"),
    ("a last common table expression that is passed on column by column", AGGREGATED, f"WITH final AS ({AGGREGATED}) SELECT final.a, final.n FROM final"),
    ("columns inside that nobody reads", "SELECT s.a FROM (SELECT a FROM raw.t WHERE c > 1) AS s", "SELECT s.a FROM (SELECT a, b, c FROM raw.t WHERE c > 1) AS s"),
]  # fmt: skip

PAIRS = [*SPELLING, *NAMES, *CONDITIONS, *STRUCTURE]
