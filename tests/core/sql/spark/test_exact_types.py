"""Types of a query's columns: Spark's, or not known. Those of each expression are compared with
Spark's analysis by `tests/lakehouse/test_exact_types.py`; here are queries around them.
"""

from __future__ import annotations

import pytest
from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import canonicalize
from vde_dagster.core.sql.spark.exact_types import exact_types
from vde_dagster.core.sql.spark.reading import read_spark

T = ModelName("m", "t")
COLUMNS = (
    Column(name="amt", type="decimal(10, 2)"),
    Column(name="i", type="int"),
    Column(name="l", type="bigint"),
    Column(name="s", type="string"),
    Column(name="u", type="unknown"),
    Column(name="a", type="array<decimal(9,1)>"),
    Column(name="m", type="map<string,int>"),
    Column(name="st", type="struct<X: decimal(9,1), y: string>"),
)


def types_of(sql: str) -> dict[str, str]:
    query = read_spark(sql)
    assert isinstance(query, exp.Query)
    found = canonicalize(query, dialect="spark", schemas={T: COLUMNS}, undeclared=True)
    return dict(exact_types(found.expression, lambda _: COLUMNS))


@pytest.mark.parametrize(
    "expression, kind",
    [
        ("SUM(amt)", "decimal(20,2)"),
        ("AVG(amt)", "decimal(14,6)"),
        ("SUM(amt) / 3", "decimal(24,6)"),
        ("AVG(SUM(amt)) OVER ()", "decimal(24,6)"),
        ("SUM(i)", "bigint"),
        ("AVG(i)", "double"),
        ("i / i", "double"),
        ("i / 2", "double"),
        ("amt * 3", "decimal(12,2)"),
        ("amt * i", "decimal(21,2)"),
        ("amt / l", "decimal(31,23)"),
        ("amt % 0.3", "decimal(2,2)"),
        ("CASE WHEN i = 1 THEN amt ELSE 0.12345 END", "decimal(13,5)"),
        ("COALESCE(amt, 0)", "decimal(12,2)"),
        ("MAX(amt)", "decimal(10,2)"),
        ("a[0]", "decimal(9,1)"),
        ("m['k']", "int"),
        ("st.x", "decimal(9,1)"),
        ("u", None),
        ("SUM(u)", None),
        ("COALESCE(amt, s)", None),
        ("amt * '3'", None),
        ("some_function(amt)", None),
        ("CASE WHEN i = 1 THEN u ELSE amt END", None),
        ("amt * CAST(1 AS BIGINT)", None),
        ("NULL", None),
    ],
)
def test_an_expression_has_sparks_type_or_none(expression: str, kind: str | None) -> None:
    assert types_of(f"SELECT {expression} AS c FROM m.t").get("c") == kind


@pytest.mark.parametrize(
    "sql, kind",
    [
        ("WITH q AS (SELECT SUM(amt) AS t FROM m.t) SELECT AVG(t) AS c FROM q", "decimal(24,6)"),
        ("SELECT c AS c FROM (SELECT amt + 1 AS c FROM m.t) AS q", "decimal(11,2)"),
        ("WITH q(b, a) AS (SELECT i, amt FROM m.t) SELECT a AS c FROM q", "decimal(10,2)"),
        ("SELECT q.x AS c FROM (SELECT i, amt FROM m.t) AS q(y, x)", "decimal(10,2)"),
        ("SELECT amt AS c FROM m.t UNION ALL SELECT SUM(amt) FROM m.t", "decimal(20,2)"),
        ("SELECT amt AS c FROM m.t UNION ALL (SELECT i FROM m.t)", "decimal(12,2)"),
        ("SELECT amt AS c FROM m.t UNION ALL SELECT u FROM m.t", None),
        ("SELECT amt AS c FROM m.t UNION ALL SELECT s FROM m.t", None),
        ("SELECT (SELECT SUM(amt) FROM m.t) AS c FROM m.t", "decimal(20,2)"),
        ("SELECT e AS c FROM m.t LATERAL VIEW EXPLODE(a) x AS e", "decimal(9,1)"),
        ("SELECT p AS c FROM m.t LATERAL VIEW POSEXPLODE(a) x AS p, e", "int"),
        ("SELECT v AS c FROM m.t LATERAL VIEW EXPLODE(m) x AS k, v", "int"),
        ("SELECT v.a AS c FROM VALUES (1.5, 1), (2.5, 2) AS v(a, b)", "decimal(2,1)"),
        ("SELECT v.a AS c FROM VALUES (1.5, 1), (22.5, 2) AS v(a, b)", None),
        ("SELECT o.amt AS c FROM m.t AS o JOIN m.t AS p ON o.i = p.i", "decimal(10,2)"),
        ("SELECT amt AS c FROM m.t JOIN m.t AS p USING (i, amt)", "decimal(10,2)"),
        (
            "SELECT x AS c FROM (SELECT i, amt FROM m.t) PIVOT (SUM(amt) FOR i IN (1 AS x))",
            None,
        ),
        (
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT 2.5 FROM r) SELECT n AS c FROM r",
            None,
        ),
    ],
)
def test_types_follow_through_the_parts_of_a_query(sql: str, kind: str | None) -> None:
    assert types_of(sql).get("c") == kind


def test_a_name_that_two_columns_have_has_no_type() -> None:
    assert types_of("SELECT amt AS c, i AS c FROM m.t") == {}
