"""In which order rows come, and which of them, by each dialect's rule for NULL."""

from __future__ import annotations

Orders = dict[str, list[object]]

LAST = {"postgres", "redshift", "snowflake"}
"""NULL is larger than everything."""
ALWAYS_LAST = {"duckdb", "trino", "presto"}
"""NULL comes last in both directions; elsewhere it is smaller than everything."""

ALIKE: Orders = {
    "WITH c AS (SELECT k, COUNT(*) AS p FROM s.r GROUP BY k HAVING COUNT(*) > 0) "
    "SELECT DISTINCT p FROM c": [1],
    "SELECT p.v FROM s.r AS p JOIN s.r AS q ON p.k = q.k LEFT JOIN s.r AS o ON o.k = p.k "
    "WHERE EXISTS (SELECT 1 AS one FROM s.r AS i WHERE i.k = p.k) AND p.v <> 'q' "
    "ORDER BY p.v": ["a", "d"],
    "SELECT v FROM s.r WHERE k IN (SELECT k FROM s.r WHERE k < 3) UNION ALL "
    "SELECT v FROM s.r WHERE k IS NULL ORDER BY v": ["a", "b", "d"],
}


GROUPED: Orders = {
    "SELECT COUNT(*) AS p FROM s.r GROUP BY ROLLUP (f) ORDER BY p": [1, 1, 2, 4],
    "SELECT COUNT(*) AS p FROM s.r GROUP BY CUBE (f) ORDER BY p": [1, 1, 2, 4],
    "SELECT COUNT(*) AS p FROM s.r GROUP BY GROUPING SETS ((f), ()) ORDER BY p": [1, 1, 2, 4],
}
DISTINCT: Orders = {
    "WITH c AS (SELECT DISTINCT ON (f) f, v FROM s.r ORDER BY f, k) SELECT v FROM c ORDER BY v": [
        "a",
        "b",
        "d",
    ]
}
QUALIFIED: Orders = {
    "SELECT v FROM s.r WHERE k IS NOT NULL QUALIFY ROW_NUMBER() OVER (ORDER BY k DESC) = 2": ["d"]
}
FETCHED: Orders = {
    "SELECT v FROM s.r WHERE k > 0 ORDER BY k FETCH FIRST 2 ROWS ONLY": ["a", "d"],
}
UNNESTED: Orders = {
    "SELECT x FROM s.t CROSS JOIN UNNEST(words) AS u(x) ORDER BY x": ["x", "y", "z"]
}
OWN: dict[str, Orders] = {
    "postgres": {
        **DISTINCT,
        **FETCHED,
        "SELECT UNNEST(words) AS x FROM s.t ORDER BY x": ["x", "y", "z"],
    },
    "duckdb": {
        **DISTINCT,
        **QUALIFIED,
        **UNNESTED,
        "SELECT UNNEST(words) AS x FROM s.t ORDER BY x": ["x", "y", "z"],
    },
    "snowflake": QUALIFIED,
    "bigquery": {
        **QUALIFIED,
        "SELECT x FROM s.t CROSS JOIN UNNEST(words) AS x ORDER BY x": ["x", "y", "z"],
    },
    "trino": {**UNNESTED, **FETCHED},
    "presto": UNNESTED,
    "tsql": {"SELECT TOP 2 v FROM s.r ORDER BY k DESC": [None, "d"]},
}
"""Clauses that only some have."""


def of(dialect: str) -> Orders:
    """Queries of a dialect with the first column of their rows."""
    rising: list[object] = ["a", "d", None]
    falling: list[object] = [None, "d", "a"]
    up = [*rising, "b"] if dialect in LAST | ALWAYS_LAST else ["b", *rising]
    down = ["b", *falling] if dialect in LAST else [*falling, "b"]
    place = up.index("b") + 1
    back = down.index("b") + 1
    return {
        "SELECT v FROM s.r ORDER BY k": up,
        "SELECT v FROM s.r ORDER BY k DESC": down,
        "WITH c AS (SELECT v, ROW_NUMBER() OVER (ORDER BY k) AS p FROM s.r) "
        "SELECT p FROM c WHERE v = 'b'": [place],
        "WITH c AS (SELECT v, ROW_NUMBER() OVER (ORDER BY k DESC) AS p FROM s.r) "
        "SELECT p FROM c WHERE v = 'b'": [back],
        **ALIKE,
        **(GROUPED if dialect != "mysql" else {}),
        **OWN.get(dialect, {}),
    }
