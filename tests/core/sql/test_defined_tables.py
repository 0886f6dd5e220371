"""What pre-statements define over other tables is read by the model that comes after them."""

from __future__ import annotations

import pytest

from tests.core.counted_graphs import counted, diamonds
from tests.core.planning.changes.case import REACHED_ROWS, Project, graph_of
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.comparison import compare_graphs
from vde_dagster.core.sql.reads.input_ranges import WHOLE

X, A = ModelName("m", "x"), ModelName("m", "a")
FUNCTION = "CREATE TEMPORARY FUNCTION f() RETURNS INT RETURN (SELECT MAX(a) FROM m.a)"
DEFINING = [
    FUNCTION,
    "CREATE OR REPLACE TEMPORARY FUNCTION f(n INT) RETURNS INT RETURN SELECT MAX(a) FROM m.a",
    "CREATE TEMPORARY FUNCTION f() RETURNS TABLE (n INT) RETURN SELECT a FROM m.a",
    "CREATE FUNCTION f() RETURNS INT RETURN (SELECT MAX(q.a) FROM (SELECT * FROM m.a) AS q)",
    "CREATE FUNCTION f() RETURNS INT RETURN (WITH q AS (SELECT * FROM m.a) SELECT MAX(a) FROM q)",
    "CREATE FUNCTION f() RETURNS INT RETURN (WITH a AS (SELECT 1) SELECT MAX(b.a) FROM m.a b, a)",
    "CREATE TEMPORARY VIEW v AS SELECT * FROM m.a",
    "CACHE TABLE v AS SELECT * FROM m.a",
    "DECLARE VARIABLE f INT DEFAULT (SELECT MAX(a) FROM m.a)",
    "SET VAR f = (SELECT MAX(a) FROM m.a)",
]
PYTHON = """
from vde_dagster import model

@model("m.x", columns={{"n": "int"}}, pre_statements=[{statement!r}])
def x(context):
    return context.spark.sql("SELECT f() AS n")
"""


def project(statement: str, body: str = "SELECT a FROM raw.t", kind: str = "FULL") -> Project:
    return {
        "m.a": f"MODEL (kind {kind});\n{body}",
        "m.x": f"MODEL (kind FULL);\n{statement};\nSELECT b FROM raw.u",
        "m.y": "SELECT b FROM m.x",
    }


def ranges(graph: Graph) -> dict[ModelName, object]:
    return dict(reads_of(graph, X).ranges())


@pytest.mark.parametrize("statement", DEFINING)
def test_what_is_defined_over_a_model_reads_all_of_it(statement: str) -> None:
    graph = graph_of(project(statement))
    assert graph[X].model.parents == (A, ModelName("raw", "u"))
    assert ranges(graph) == {A: WHOLE, ModelName("raw", "u"): WHOLE}


def test_a_python_model_reads_what_its_pre_statements_define() -> None:
    graph = graph_of(
        {**project(FUNCTION), "m.x": PYTHON.format(statement=FUNCTION), "m.y": "SELECT 1 AS n"}
    )
    assert graph[X].model.parents == (A,)


@pytest.mark.parametrize("kind", ["VIEW", "EMBEDDED"])
def test_a_function_over_a_view_reads_the_tables_upstream_of_it(kind: str) -> None:
    graph = graph_of(project(FUNCTION, kind=kind))
    assert ranges(graph) == {ModelName("raw", "t"): WHOLE, ModelName("raw", "u"): WHOLE}


@pytest.mark.parametrize("statement", DEFINING)
def test_a_change_of_what_a_function_reads_reaches_the_model(statement: str) -> None:
    before = graph_of(project(statement))
    after = graph_of(project(statement, "SELECT a FROM raw.t WHERE a > 1"))
    assert before[X].fingerprint.parent_data != after[X].fingerprint.parent_data
    found = compare_graphs(before, after)
    for name in (X, ModelName("m", "y")):
        assert not REACHED_ROWS.unlike(found[name], frozenset({"b"}))


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO m.log SELECT a FROM m.a", "DROP TABLE IF EXISTS m.log", "SET TIME ZONE 'UTC'"],
)
def test_what_defines_nothing_is_no_read_of_the_model(statement: str) -> None:
    assert graph_of(project(statement))[X].model.parents == (ModelName("raw", "u"),)


def test_what_a_post_statement_defines_comes_too_late_to_be_read() -> None:
    text = f"MODEL (kind FULL);\nSELECT b FROM raw.u;\n{FUNCTION}"
    graph = graph_of({**project(FUNCTION), "m.x": text})
    assert graph[X].model.parents == (ModelName("raw", "u"),)


def test_a_table_without_a_schema_in_a_function_is_of_the_default_one() -> None:
    alone = FUNCTION.replace("m.a", "a")
    graph = graph_of({**project(alone), "default.a": "SELECT a FROM raw.t"})
    assert ModelName("default", "a") in graph[X].model.parents


@pytest.mark.parametrize("depth", [8, 10])
def test_a_table_upstream_of_diamonds_of_views_is_read_once(depth: int) -> None:
    over = FUNCTION.replace("m.a", f"m.left{depth}")
    top = {"m.x": f"MODEL (kind FULL);\n{over};\nSELECT b FROM raw.u"}
    graph, nodes = counted(graph_of({**diamonds(depth), **top}))
    assert ranges(graph) == {ModelName("m", "base"): WHOLE, ModelName("raw", "u"): WHOLE}
    assert nodes.looked_up <= 4 * len(nodes)
