# ruff: noqa: E501 - rows of tables stay on one line
"""Harmless edits, and for each one a similar edit that is not harmless.

Each row is a sentence, a query, the edit of it that changes no result whatever the tables hold
(missing values, too), and an edit that looks like it and changes some. What is expected comes from
SQL's three-valued logic and Spark's own documentation.
"""

from __future__ import annotations

Edit = tuple[str, str, str, str]

UNION = "SELECT a FROM raw.t WHERE c > 1 UNION ALL SELECT a FROM raw.u"
JOIN = "SELECT t.a, u.c FROM raw.t AS t JOIN raw.u AS u ON t.a = u.a"
LEFT = JOIN.replace("JOIN", "LEFT JOIN")
WINDOW = "SELECT SUM(c) OVER (PARTITION BY a ORDER BY ts) AS s FROM raw.t"

EDITS: list[Edit] = [
    # lists and conditions
    ("the order of a list", "SELECT a FROM raw.t WHERE a IN (1, 2, 3)", "SELECT a FROM raw.t WHERE a IN (3, 1, 2)", "SELECT a FROM raw.t WHERE a IN (1, 2, 4)"),
    ("the order of a list of texts", "SELECT a FROM raw.t WHERE b IN ('p', 'q')", "SELECT a FROM raw.t WHERE b IN ('q', 'p')", "SELECT a FROM raw.t WHERE b IN ('q', 'P')"),
    ("the order of a list that is excluded", "SELECT a FROM raw.t WHERE a NOT IN (1, 2)", "SELECT a FROM raw.t WHERE a NOT IN (2, 1)", "SELECT a FROM raw.t WHERE a NOT IN (2, NULL)"),
    ("the order of a list of expressions", "SELECT a FROM raw.t WHERE a IN (c, a + 1)", "SELECT a FROM raw.t WHERE a IN (a + 1, c)", "SELECT a FROM raw.t WHERE c IN (a, a + 1)"),
    ("a value twice in a list", "SELECT a FROM raw.t WHERE a IN (1, 2)", "SELECT a FROM raw.t WHERE a IN (1, 2, 1)", "SELECT a FROM raw.t WHERE a IN (1, 1)"),
    ("a list and alternatives", "SELECT a FROM raw.t WHERE a IN (1, 2)", "SELECT a FROM raw.t WHERE a = 1 OR a = 2", "SELECT a FROM raw.t WHERE a = 1 OR c = 2"),
    ("a list of texts and alternatives", "SELECT a FROM raw.t WHERE b IN ('p', 'q')", "SELECT a FROM raw.t WHERE b = 'q' OR b = 'p'", "SELECT a FROM raw.t WHERE b = 'q' AND b = 'p'"),
    ("a list of one value", "SELECT a FROM raw.t WHERE a IN (1)", "SELECT a FROM raw.t WHERE a = 1", "SELECT a FROM raw.t WHERE a <=> 1"),
    ("NOT of equal and unequal", "SELECT a FROM raw.t WHERE NOT a = 1", "SELECT a FROM raw.t WHERE a <> 1", "SELECT a FROM raw.t WHERE NOT a <=> 1"),
    ("NOT of a list of one value", "SELECT a FROM raw.t WHERE a NOT IN (1)", "SELECT a FROM raw.t WHERE a != 1", "SELECT a FROM raw.t WHERE a IS DISTINCT FROM 1"),
    ("NOT before and inside of a list", "SELECT a FROM raw.t WHERE NOT a IN (1, 2)", "SELECT a FROM raw.t WHERE a NOT IN (1, 2)", "SELECT a FROM raw.t WHERE NOT (a = 1 AND a = 2)"),
    ("NOT before and inside of IS", "SELECT a FROM raw.t WHERE NOT a IS NULL", "SELECT a FROM raw.t WHERE a IS NOT NULL", "SELECT a FROM raw.t WHERE NOT a <> NULL"),
    ("a condition that always holds", "SELECT a FROM raw.t WHERE c > 1", "SELECT a FROM raw.t WHERE 1 = 1 AND c > 1", "SELECT a FROM raw.t WHERE 1 = 1 OR c > 1"),
    ("TRUE in front of conditions", "SELECT a FROM raw.t WHERE c > 1", "SELECT a FROM raw.t WHERE TRUE AND c > 1", "SELECT a FROM raw.t WHERE NOT TRUE AND c > 1"),
    ("nothing but a condition that always holds", "SELECT a FROM raw.t", "SELECT a FROM raw.t WHERE 1 = 1", "SELECT a FROM raw.t WHERE 1 = 2"),
    ("a condition twice", "SELECT a FROM raw.t WHERE c > 1", "SELECT a FROM raw.t WHERE c > 1 AND 1 < c", "SELECT a FROM raw.t WHERE c > 1 AND 1 < a"),
    ("the sides of a comparison", "SELECT a FROM raw.t WHERE a < c", "SELECT a FROM raw.t WHERE c > a", "SELECT a FROM raw.t WHERE c < a"),
    # joins
    ("a condition in ON and in WHERE", JOIN + " AND u.c > 1", JOIN + " WHERE u.c > 1", JOIN + " WHERE u.a > 1"),
    ("all conditions in WHERE", JOIN, "SELECT t.a, u.c FROM raw.t AS t CROSS JOIN raw.u AS u WHERE t.a = u.a", "SELECT t.a, u.c FROM raw.t AS t CROSS JOIN raw.u AS u WHERE t.a = u.c"),
    ("a comma for a join", JOIN, "SELECT t.a, u.c FROM raw.t AS t, raw.u AS u WHERE t.a = u.a", "SELECT t.a, u.c FROM raw.t AS t, raw.u AS u WHERE t.a <=> u.a"),
    ("a comma for a cross join", "SELECT t.a, u.c FROM raw.t AS t, raw.u AS u", "SELECT t.a, u.c FROM raw.t AS t CROSS JOIN raw.u AS u", "SELECT t.a, u.c FROM raw.t AS t, raw.t AS u"),
    ("a join on what always holds", "SELECT t.a, u.c FROM raw.t AS t JOIN raw.u AS u ON TRUE", "SELECT t.a, u.c FROM raw.t AS t CROSS JOIN raw.u AS u", "SELECT t.a, u.c FROM raw.t AS t LEFT JOIN raw.u AS u ON TRUE"),
    ("conditions of three tables", JOIN + " JOIN raw.t AS v ON v.a = u.a", "SELECT t.a, u.c FROM raw.t AS t, raw.u AS u, raw.t AS v WHERE v.a = u.a AND t.a = u.a", "SELECT t.a, u.c FROM raw.t AS t, raw.u AS u, raw.t AS v WHERE v.a = t.a AND t.a = u.c"),
    ("a condition on the first of three tables", JOIN + " AND t.c > 1 JOIN raw.t AS v ON v.a = u.a", JOIN + " JOIN raw.t AS v ON v.a = u.a AND t.c > 1", JOIN + " LEFT JOIN raw.t AS v ON v.a = u.a AND t.c > 1"),
    ("a condition on an outer join's kept side", LEFT + " WHERE t.c > 1 AND t.a > 1", LEFT + " WHERE t.a > 1 AND t.c > 1", LEFT + " AND t.c > 1 WHERE t.a > 1"),
    # sets
    ("the order of a union", UNION, "SELECT a FROM raw.u UNION ALL SELECT a FROM raw.t WHERE c > 1", "SELECT a FROM raw.u WHERE c > 1 UNION ALL SELECT a FROM raw.t"),
    ("the order of three in a union", f"{UNION} UNION ALL SELECT a FROM raw.t WHERE c > 2", "SELECT a FROM raw.t WHERE c > 2 UNION ALL SELECT a FROM raw.u UNION ALL SELECT a FROM raw.t WHERE c > 1", "SELECT a FROM raw.t WHERE c > 2 UNION ALL SELECT a FROM raw.u UNION SELECT a FROM raw.t WHERE c > 1"),
    ("the order of a union of two columns", "SELECT a, c FROM raw.t UNION ALL SELECT a, c FROM raw.u", "SELECT a, c FROM raw.u UNION ALL SELECT a, c FROM raw.t", "SELECT a, c FROM raw.u UNION ALL SELECT c, a FROM raw.t"),
    ("the order of a union before a limit", f"SELECT q.a FROM ({UNION}) AS q ORDER BY q.a LIMIT 3", "SELECT q.a FROM (SELECT a FROM raw.u UNION ALL SELECT a FROM raw.t WHERE c > 1) AS q ORDER BY q.a LIMIT 3", "SELECT q.a FROM ((SELECT a FROM raw.u ORDER BY a LIMIT 3) UNION ALL SELECT a FROM raw.t WHERE c > 1) AS q"),
    ("the names of a union's columns", UNION, "SELECT a FROM raw.u UNION ALL SELECT a AS k FROM raw.t WHERE c > 1", "SELECT a AS k FROM raw.u UNION ALL SELECT a FROM raw.t WHERE c > 1"),
    ("different rows and groups of all columns", "SELECT DISTINCT a, b FROM raw.t", "SELECT a, b FROM raw.t GROUP BY a, b", "SELECT a, b FROM raw.t GROUP BY a, b, c"),
    ("different rows and groups in another order", "SELECT DISTINCT a, b FROM raw.t WHERE c > 1", "SELECT a, b FROM raw.t WHERE c > 1 GROUP BY b, a", "SELECT a, MAX(b) AS b FROM raw.t WHERE c > 1 GROUP BY a"),
    ("different values of an expression and its groups", "SELECT DISTINCT UPPER(b) AS k FROM raw.t", "SELECT UPPER(b) AS k FROM raw.t GROUP BY UPPER(b)", "SELECT UPPER(b) AS k FROM raw.t GROUP BY b"),
    # values
    ("a count of ones", "SELECT COUNT(*) AS n FROM raw.t", "SELECT COUNT(1) AS n FROM raw.t", "SELECT COUNT(a) AS n FROM raw.t"),
    ("a count of truths in groups", "SELECT a, COUNT(*) AS n FROM raw.t GROUP BY a", "SELECT a, COUNT(TRUE) AS n FROM raw.t GROUP BY a", "SELECT a, COUNT(NULL) AS n FROM raw.t GROUP BY a"),
    ("a count of ones over a window", "SELECT COUNT(*) OVER (PARTITION BY a) AS n FROM raw.t", "SELECT COUNT(1) OVER (PARTITION BY a) AS n FROM raw.t", "SELECT COUNT(DISTINCT 1) OVER (PARTITION BY a) AS n FROM raw.t"),
    ("IF and CASE", "SELECT IF(a > 1, b, 'p') AS k FROM raw.t", "SELECT CASE WHEN a > 1 THEN b ELSE 'p' END AS k FROM raw.t", "SELECT CASE WHEN a > 1 THEN 'p' ELSE b END AS k FROM raw.t"),
    ("IF without a second value and CASE", "SELECT IF(a > 1, b, NULL) AS k FROM raw.t", "SELECT CASE WHEN a > 1 THEN b END AS k FROM raw.t", "SELECT CASE WHEN a > 1 THEN NULL ELSE b END AS k FROM raw.t"),
    ("ELSE NULL", "SELECT CASE WHEN a > 1 THEN b END AS k FROM raw.t", "SELECT CASE WHEN a > 1 THEN b ELSE NULL END AS k FROM raw.t", "SELECT CASE WHEN a > 1 THEN b ELSE 'NULL' END AS k FROM raw.t"),
    ("a day and a text that is cast", "SELECT a FROM raw.t WHERE day = DATE '2024-01-01'", "SELECT a FROM raw.t WHERE day = CAST('2024-01-01' AS DATE)", "SELECT a FROM raw.t WHERE day = CAST('2024-01-01' AS TIMESTAMP)"),
    ("a day by its function", "SELECT DATE '2024-01-31' AS k FROM raw.t", "SELECT DATE('2024-01-31') AS k FROM raw.t", "SELECT '2024-01-31' AS k FROM raw.t"),
    ("a time and a text that is cast", "SELECT TIMESTAMP '2024-01-01 00:00:00' AS k FROM raw.t", "SELECT CAST('2024-01-01 00:00:00' AS TIMESTAMP) AS k FROM raw.t", "SELECT CAST('2024-01-01 00:00:00' AS TIMESTAMP_NTZ) AS k FROM raw.t"),
    ("two names of a function", "SELECT COALESCE(a, 1) AS k FROM raw.t", "SELECT NVL(a, 1) AS k FROM raw.t", "SELECT NULLIF(a, 1) AS k FROM raw.t"),
    # windows
    ("the frame that an order has anyway", WINDOW, WINDOW.replace("BY ts", "BY ts RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"), WINDOW.replace("BY ts", "BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")),
    ("the frame that a window without order has anyway", WINDOW.replace(" ORDER BY ts", ""), WINDOW.replace("ORDER BY ts", "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"), WINDOW.replace("BY ts", "BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")),
    ("a frame in short", WINDOW, WINDOW.replace("BY ts", "BY ts RANGE UNBOUNDED PRECEDING"), WINDOW.replace("BY ts", "BY ts ROWS 1 PRECEDING")),
]  # fmt: skip
