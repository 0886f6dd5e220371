"""The rows over which expressions are evaluated, in the SQL of each database."""

from __future__ import annotations

ONE_TYPES = {
    "a": "timestamp",  # 23:30, half an hour before midnight
    "b": "timestamp",  # 00:15 on the day after
    "day": "date",
    "later": "date",
    "n": "int",
    "z": "int",
    "total": "bigint",
    "ratio": "double",
    "price": "decimal(10,2)",
    "s": "string",
    "t": "string",
    "yes": "boolean",
    "nil": "int",
    "nils": "string",
    "words": "array<string>",
}
ONE = (
    "SELECT TIMESTAMP '2024-02-29 23:30:00' AS a, TIMESTAMP '2024-03-01 00:15:00' AS b, "
    "DATE '2024-01-31' AS day, DATE '2024-02-14' AS later, -7 AS n, 0 AS z, "
    "CAST(7 AS BIGINT) AS total, CAST(2.5 AS {double}) AS ratio, "
    "CAST(7.00 AS DECIMAL(10, 2)) AS price, CAST('Hello World' AS {text}) AS s, "
    "CAST('abc' AS {text}) AS t, TRUE AS yes, CAST(NULL AS INT) AS nil, "
    "CAST(NULL AS {text}) AS nils, {words} AS words"
)
FOUR_TYPES = {"k": "int", "v": "string", "x": "double", "m": "decimal(10,2)", "f": "boolean"}
FOUR = (
    "SELECT CAST(k AS INT) AS k, CAST(v AS {text}) AS v, CAST(x AS {double}) AS x, "
    "CAST(m AS DECIMAL(10, 2)) AS m, CAST(f AS BOOLEAN) AS f FROM (VALUES "
    "(1, 'a', 1.5, 2.50, true), (NULL, 'b', NULL, 1.00, false), (3, NULL, 2.5, NULL, true), "
    "(2, 'd', -4.0, 7.25, NULL)) AS q(k, v, x, m, f)"
)
_WORDS = {
    "spark": {"text": "STRING", "double": "DOUBLE", "words": "ARRAY('x', 'y', 'z')"},
    "duckdb": {"text": "VARCHAR", "double": "DOUBLE", "words": "['x', 'y', 'z']"},
    "postgres": {"text": "TEXT", "double": "DOUBLE PRECISION", "words": "ARRAY['x', 'y', 'z']"},
}


def rows_in(database: str, query: str) -> str:
    """The query of rows as a database reads it."""
    return query.format(**_WORDS[database])
