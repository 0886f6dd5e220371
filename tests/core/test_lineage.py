"""Column lineage: one row of the table per shape of query."""

from __future__ import annotations

import pytest
from sqlglot import parse_one
from sqlglot.expressions import Query

from vde_dagster.core.canonical import canonicalize
from vde_dagster.core.dsha import Column
from vde_dagster.core.lineage import column_lineage
from vde_dagster.core.names import ModelName

SCHEMAS = {
    ModelName("raw", "a"): [
        Column(name="x", type="int"),
        Column(name="y", type="int"),
        Column(name="xs", type="array<int>"),
    ],
    ModelName("raw", "b"): [Column(name="x", type="int"), Column(name="z", type="int")],
}


def lineage(sql: str) -> dict[str, str]:
    query = parse_one(sql, dialect="spark")
    assert isinstance(query, Query)
    found = column_lineage(canonicalize(query, dialect="spark", schemas=SCHEMAS).expression)
    return {
        column: " ".join(f"{name}.{each}" for name, each in behind)
        for column, behind in found.items()
    }


@pytest.mark.parametrize(
    "sql, expected",
    [
        ("SELECT x, y AS q FROM raw.a", {"x": "raw.a.x", "q": "raw.a.y"}),
        ("SELECT x + y AS s, 1 AS one FROM raw.a", {"s": "raw.a.x raw.a.y", "one": ""}),
        ("SELECT * FROM raw.b", {"x": "raw.b.x", "z": "raw.b.z"}),
        (
            "SELECT a.x, b.z FROM raw.a AS a JOIN raw.b AS b ON a.y = b.x WHERE b.x > 1",
            {"x": "raw.a.x", "z": "raw.b.z"},
        ),
        (
            "WITH c AS (SELECT x AS k, SUM(y) AS t FROM raw.a GROUP BY x) SELECT t, k FROM c",
            {"t": "raw.a.y", "k": "raw.a.x"},
        ),
        (
            "SELECT s.k FROM (SELECT x AS k FROM raw.a UNION ALL SELECT z FROM raw.b) AS s",
            {"k": "raw.a.x raw.b.z"},
        ),
        (
            "SELECT x FROM raw.a UNION SELECT z FROM raw.b UNION ALL SELECT x FROM raw.b",
            {"x": "raw.a.x raw.b.x raw.b.z"},
        ),
        (
            "SELECT (SELECT MAX(b.z + a.y) FROM raw.b AS b WHERE b.x = a.x) AS m FROM raw.a AS a",
            {"m": "raw.a.y raw.b.z"},
        ),
        (
            "SELECT ROW_NUMBER() OVER (PARTITION BY x ORDER BY y) AS n FROM raw.a",
            {"n": "raw.a.x raw.a.y"},
        ),
        ("WITH c(p) AS (SELECT y FROM raw.a) SELECT p FROM c", {"p": "raw.a.y"}),
        ("SELECT e FROM raw.a LATERAL VIEW EXPLODE(xs) t AS e", {"e": "raw.a.xs"}),
        (
            """WITH c AS (SELECT x FROM raw.a), d AS (SELECT x FROM c)
            SELECT d.x, e.x AS y FROM d JOIN c AS e ON d.x = e.x""",
            {"x": "raw.a.x", "y": "raw.a.x"},
        ),
    ],
)
def test_each_column_names_what_it_is_made_of(sql: str, expected: dict[str, str]) -> None:
    assert lineage(sql) == expected


def test_a_long_chain_of_queries_is_followed_once() -> None:
    steps = ["c0 AS (SELECT x, y FROM raw.a)"]
    steps += [
        f"c{n} AS (SELECT p.x + q.y AS x, p.y - q.x AS y FROM c{n - 1} AS p JOIN c{n - 1} AS q)"
        for n in range(1, 60)
    ]
    found = lineage(f"WITH {', '.join(steps)} SELECT x, y FROM c59")
    assert found == {"x": "raw.a.x raw.a.y", "y": "raw.a.x raw.a.y"}
