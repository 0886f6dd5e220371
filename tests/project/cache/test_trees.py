# ruff: noqa: E501 - rows of tables stay on one line
"""Syntax trees as texts: everything that sqlglot can see of a tree is restored."""

from __future__ import annotations

import json
import zlib
from dataclasses import MISSING, fields
from typing import get_args

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.serde import dump

from vde_dagster.core.model.kinds import Kind
from vde_dagster.project.cache.values import CODEC, Unkept, pack_trees, plain_of, unpack_trees

QUERIES = [
    ("spark", "SELECT a.id AS id, /* why */ SUM(b.amount) FILTER(WHERE b.x > 1) OVER (PARTITION BY a.id ORDER BY a.at DESC) AS n FROM l.a AS a LEFT JOIN l.b AS b ON a.id = b.id AND a.at BETWEEN @start_dt AND @end_dt -- end"),
    ("spark", "WITH c AS (SELECT EXPLODE(items) AS i FROM raw.t) SELECT i.a, CAST(i.b AS DECIMAL(10, 2)) AS b FROM c LATERAL VIEW OUTER POSEXPLODE(x) t AS p, q WHERE i.a IN (SELECT 1) QUALIFY ROW_NUMBER() OVER w = 1 WINDOW w AS (ORDER BY i.a)"),
    ("spark", "SELECT DATE_TRUNC('month', ts) AS m, DATE_ADD(day, 3) AS d, ts - INTERVAL '1' DAY AS i, CAST(x AS ARRAY<STRUCT<a: INT, b: MAP<STRING, DOUBLE>>>) AS y FROM raw.t GROUP BY ALL HAVING COUNT(*) > 1 ORDER BY 1 NULLS LAST LIMIT 5"),
    ("spark", "MERGE INTO a USING b ON a.id = b.id WHEN MATCHED AND a.x > 1 THEN UPDATE SET a.y = b.y WHEN NOT MATCHED THEN INSERT *"),
    ("spark", "CREATE TABLE x (a INT COMMENT 'one', b STRING) PARTITIONED BY (a)"),
    ("bigquery", "SELECT DATE_TRUNC(ts, WEEK(MONDAY)) AS w, DATE_DIFF(a, b, ISOWEEK) AS d, STRUCT(1 AS x, 'y' AS y) AS s, ARRAY(SELECT * FROM UNNEST(z) AS e WITH OFFSET AS o) AS l FROM `p.d.t` AS t"),
    ("snowflake", "SELECT DATEADD(week, 1, ts) AS w, v:a.b[0]::VARCHAR AS x, TRY_CAST(y AS NUMBER(38, 0)) AS y, IFF(a, 1, 2) AS f FROM t, LATERAL FLATTEN(input => t.v) AS f"),
    ("postgres", "SELECT DISTINCT ON (a) a, b::timestamptz AT TIME ZONE 'UTC' AS t, c ->> 'x' AS x, INTERVAL '2 weeks' AS i, EXTRACT(dow FROM b) AS e FROM t TABLESAMPLE SYSTEM (1) FOR UPDATE"),
    ("tsql", "SELECT TOP 3 [a b], DATEDIFF(hour, x, y) AS d FROM t CROSS APPLY f(t.a) AS g"),
    ("duckdb", "SELECT * EXCLUDE (a) REPLACE (b + 1 AS b), LIST_TRANSFORM(l, x -> x + 1) AS l FROM t PIVOT (SUM(v) FOR k IN ('a', 'b')) UNION ALL BY NAME SELECT 1"),
    ("spark", "SELECT " + " + ".join(["a"] * 3000) + " AS a FROM t WHERE " + " AND ".join(["b > 1"] * 3000)),
]  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("dialect,sql", QUERIES, ids=[row[1][:40] for row in QUERIES])
def test_a_tree_is_there_again_with_comments_and_positions(dialect: str, sql: str) -> None:
    tree = sqlglot.parse_one(sql, dialect=dialect)
    (again,) = unpack_trees(pack_trees([tree]))
    assert again is not tree
    assert dump(again) == dump(tree)
    assert again == tree
    assert again.sql(dialect) == tree.sql(dialect)


@pytest.mark.parametrize("dialect,sql", QUERIES[:3], ids=[row[1][:40] for row in QUERIES[:3]])
def test_types_of_parts_are_there_again(dialect: str, sql: str) -> None:
    tree = annotate_types(
        qualify(sqlglot.parse_one(sql, dialect=dialect), validate_qualify_columns=False)
    )
    (again,) = unpack_trees(pack_trees([tree]))
    assert dump(again) == dump(tree)
    types = [(type(node), node.type and node.type.sql()) for node in tree.walk()]
    assert [(type(node), node.type and node.type.sql()) for node in again.walk()] == types


@pytest.mark.parametrize(
    "tree",
    [
        exp.Literal(this=object(), is_string=True),
        exp.Select(expressions=[exp.Tuple(expressions=[(1, 2)])]),
    ],
)
def test_what_is_no_part_of_sql_is_not_kept(tree: exp.Expr) -> None:
    with pytest.raises(Unkept):
        plain_of(tree)
    noted = exp.Null()
    noted.meta["a"] = object()
    with pytest.raises(Unkept):
        pack_trees([noted])


@pytest.mark.parametrize(
    "name",
    ["os.system", "Expr.__init__", "parse_one", "DType", "Nothing", "__loader__", "os.Select"],
)
def test_no_text_makes_anything_but_a_node_of_sqlglots(name: str) -> None:
    text = json.dumps([[{"c": name}]]).encode()
    with pytest.raises(Unkept):
        unpack_trees(zlib.compress(text))
    text = json.dumps([[{"c": "sqlglot.expressions.query.Select", "t": [{"c": name}]}]]).encode()
    with pytest.raises(Unkept):
        unpack_trees(zlib.compress(text))


def test_every_kind_of_model_has_a_form() -> None:
    for kind in get_args(Kind):
        needed = {"time_column": "t", "unique_key": ("k",), "columns": ("c",), "path": "p"}
        given = {each.name: needed[each.name] for each in fields(kind) if each.default is MISSING}
        written = json.loads(json.dumps(CODEC.write(Kind, kind(**given))))
        assert CODEC.read(Kind, written) == kind(**given)
