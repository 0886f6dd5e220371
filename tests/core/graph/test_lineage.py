"""Column lineage: one row of the table per shape of query."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import pytest
from sqlglot import parse_one
from sqlglot.expressions import Query

from tests.core.conftest import build, read
from tests.core.tables import rows
from vde_dagster.core.columns import Column
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.graph.lineage import (
    End,
    Lineage,
    Point,
    column_lineage,
    lineage_of_column,
    model_lineage,
    project_lineage,
)
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import canonicalize

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
    found = column_lineage(canonicalize(query, schemas=SCHEMAS).expression)
    return {
        column: " ".join(f"{name}.{each}" for name, each in behind)
        for column, behind in found.items()
    }


# Each column of a result is named with the columns that it is made of.
@pytest.mark.parametrize(
    "sql, expected",
    rows("""
SELECT x, y AS q FROM raw.a | x: raw.a.x, q: raw.a.y
SELECT x + y AS s, 1 AS one FROM raw.a | s: raw.a.x raw.a.y, one:
SELECT * FROM raw.b | x: raw.b.x, z: raw.b.z
SELECT a.x, b.z FROM raw.a AS a JOIN raw.b AS b ON a.y = b.x WHERE b.x > 1 | x: raw.a.x, z: raw.b.z
WITH c AS (SELECT x AS k, SUM(y) AS t FROM raw.a GROUP BY x) SELECT t, k FROM c
  | t: raw.a.y, k: raw.a.x
SELECT s.k FROM (SELECT x AS k FROM raw.a UNION ALL SELECT z FROM raw.b) AS s | k: raw.a.x raw.b.z
SELECT x FROM raw.a UNION SELECT z FROM raw.b UNION ALL SELECT x FROM raw.b
  | x: raw.a.x raw.b.x raw.b.z
SELECT (SELECT MAX(b.z + a.y) FROM raw.b AS b WHERE b.x = a.x) AS m FROM raw.a AS a
  | m: raw.a.y raw.b.z
SELECT ROW_NUMBER() OVER (PARTITION BY x ORDER BY y) AS n FROM raw.a | n: raw.a.x raw.a.y
WITH c(p) AS (SELECT y FROM raw.a) SELECT p FROM c | p: raw.a.y
SELECT p FROM (SELECT x, y FROM raw.a) PIVOT (SUM(x) FOR y IN (1 AS p)) | p:
SELECT e FROM raw.a LATERAL VIEW EXPLODE(xs) t AS e | e: raw.a.xs
WITH c AS (SELECT x FROM raw.a), d AS (SELECT x FROM c) SELECT d.x, e.x AS y FROM d JOIN c AS e
  ON d.x = e.x | x: raw.a.x, y: raw.a.x
"""),
)
def test_each_column_names_what_it_is_made_of(sql: str, expected: str) -> None:
    found = ", ".join(f"{column}: {behind}" for column, behind in lineage(sql).items())
    assert found.strip() == expected


def test_a_long_chain_of_queries_is_followed_once() -> None:
    steps = ["c0 AS (SELECT x, y FROM raw.a)"]
    steps += [
        f"c{n} AS (SELECT p.x + q.y AS x, p.y - q.x AS y FROM c{n - 1} AS p JOIN c{n - 1} AS q)"
        for n in range(1, 60)
    ]
    found = lineage(f"WITH {', '.join(steps)} SELECT x, y FROM c59")
    assert found == {"x": "raw.a.x raw.a.y", "y": "raw.a.x raw.a.y"}


PROJECT = {
    "shop.slim": """
        MODEL (name shop.slim, kind VIEW);
        SELECT a AS id, c AS price, UPPER(b) AS word FROM raw.t WHERE day > '2024-01-01'
    """,
    "shop.wide": """
        MODEL (name shop.wide, kind EMBEDDED);
        SELECT s.id, s.price * 2 AS price, u.c AS other FROM shop.slim AS s JOIN raw.u AS u
        ON s.id = u.a
    """,
    "shop.sums": """
        MODEL (name shop.sums, kind FULL);
        SELECT id AS id, SUM(price) AS total, COUNT(*) AS number, 1 AS one FROM shop.wide
        GROUP BY id
    """,
    "shop.scores": """
        from vde_dagster import model
        @model("shop.scores", depends_on=["shop.sums"], columns={"id": "int", "score": "double"})
        def scores(context):
            return context.table("shop.sums")
    """,
    "shop.best": """
        MODEL (name shop.best, kind FULL);
        SELECT s.id, s.score AS score, t.total AS total FROM shop.scores AS s JOIN shop.sums AS t
        ON s.id = t.id
    """,
}


@pytest.fixture(scope="module")
def shop() -> Graph:
    texts = {name: textwrap.dedent(text).strip() for name, text in PROJECT.items()}
    return build(texts)


def written(point: Point) -> str:
    return str(point[0]) if point[1] is None else f"{point[0]}.{point[1]}"


def edges(lineage: Lineage) -> set[str]:
    return {f"{written(parent)} > {written(child)}" for parent, child in lineage.edges}


@pytest.mark.parametrize(
    "model, column, expected",
    rows("""
sums | total
  | raw.t.c > shop.slim.price, shop.slim.price > shop.wide.price, shop.wide.price > shop.sums.total,
    shop.sums.total > shop.scores, shop.sums.total > shop.best.total
slim | ID
  | raw.t.a > shop.slim.id, shop.slim.id > shop.wide.id, shop.wide.id > shop.sums.id,
    shop.sums.id > shop.scores
slim | word | raw.t.b > shop.slim.word
sums | one | shop.sums.one > shop.scores
best | score | shop.scores.score > shop.best.score
"""),
)
def test_a_column_is_followed_to_the_sources_and_to_the_last_models(
    shop: Graph, model: str, column: str, expected: str
) -> None:
    found = edges(lineage_of_column(shop, ModelName("shop", model), column))
    assert found == set(expected.split(", "))


@pytest.mark.parametrize(
    "model, column, end",
    [
        ("sums", "number", ("shop.sums.number", End.CONSTANT)),
        ("sums", "one", ("shop.sums.one", End.CONSTANT)),
        ("sums", "total", ("raw.t.c", End.SOURCE)),
        ("best", "score", ("shop.scores.score", End.PYTHON)),
    ],
)
def test_where_the_way_up_ends_is_named(
    shop: Graph, model: str, column: str, end: tuple[str, End]
) -> None:
    found = lineage_of_column(shop, ModelName("shop", model), column)
    assert {written(point): why for point, why in found.ends.items()} == dict([end])


def test_a_downstream_python_model_is_named_since_its_columns_are_not_known(shop: Graph) -> None:
    found = lineage_of_column(shop, ModelName("raw", "t"), "c")
    assert {written(point) for point in found.opaque} == {"shop.scores"}
    assert "shop.best.score" not in {written(point) for point in found.points}


def test_a_seeds_column_ends_in_the_file() -> None:
    seed = read(
        "shop.codes",
        "MODEL (name shop.codes, kind SEED (path 'codes.csv'));",
        {"codes.csv": "code\nA\n"},
    )
    reader = read("shop.upper", "SELECT UPPER(code) AS code FROM shop.codes")
    found = lineage_of_column(build_graph([seed, reader]), ModelName("shop", "upper"), "code")
    assert edges(found) == {"shop.codes.code > shop.upper.code"}
    assert list(found.ends.values()) == [End.SEED]


def test_a_model_has_what_it_reads_and_what_reads_it_also_through_others(shop: Graph) -> None:
    downstream = {
        "shop.slim > shop.wide",
        "shop.wide > shop.sums",
        "shop.sums > shop.scores",
        "shop.sums > shop.best",
        "shop.scores > shop.best",
    }
    wide, slim = (edges(model_lineage(shop, ModelName("shop", each))) for each in ("wide", "slim"))
    assert wide == downstream | {"raw.t > shop.slim", "raw.u > shop.wide"}
    assert slim == downstream | {"raw.t > shop.slim"}


def test_a_project_has_every_model_after_what_it_reads(shop: Graph) -> None:
    found = project_lineage(shop)
    place = {point: index for index, point in enumerate(found.points)}
    assert len(place) == 7
    assert all(place[parent] < place[child] for parent, child in found.edges)
    assert {written(point) for point in found.ends} == {"raw.t", "raw.u"}


def test_a_column_that_the_query_does_not_return_is_made_by_the_kind(shop: Graph) -> None:
    name = ModelName("shop", "sums")
    node = shop[name]
    kept = replace(node, columns=(*node.columns, Column(name="valid_from", type="timestamp")))
    graph = Graph({**shop.nodes, name: kept})
    found = lineage_of_column(graph, name, "valid_from")
    assert dict(found.ends) == {(name, "valid_from"): End.KIND}
