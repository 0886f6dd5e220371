# ruff: noqa: E501 - rows of tables stay on one line
"""A model in another dialect: sqlglot translates its text, both texts are kept, it is said."""

from __future__ import annotations

import pytest

from tests.core.graph.rendered import D, E, S, by_time, full, graph_of, instant, plain, render, run
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.graph.lineage import column_lineage
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.model.model import Query
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.constants import Moments
from vde_dagster.core.time.intervals import Interval

X = ModelName("m", "x")
# A dialect, a query, what Spark reads.
TRANSLATED = [
    ("duckdb", "SELECT i::TEXT AS x FROM raw.t", "SELECT CAST(i AS STRING) AS x FROM raw.t"),
    ("duckdb", "SELECT i FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt", f"SELECT i FROM raw.t WHERE ts BETWEEN {S} AND {E}"),
    ("bigquery", "SELECT CAST(i AS INT64) AS x FROM `raw.t`", "SELECT CAST(i AS BIGINT) AS x FROM raw.t"),
    ("bigquery", "SELECT TIMESTAMP_TRUNC(ts, DAY) AS x FROM raw.t", "SELECT DATE_TRUNC('DAY', ts) AS x FROM raw.t"),
    ("snowflake", "SELECT IFF(@start_hour > 1, 'a', 'b') AS x", "SELECT IF(0 > 1, 'a', 'b') AS x"),
    ("snowflake", "SELECT T.i FROM RAW.t AS T", "SELECT T.i FROM RAW.t AS T"),
    ("postgres", "SELECT to_char(@start_date, 'YYYYMMDD') AS x", f"SELECT DATE_FORMAT({D}, 'yyyyMMdd') AS x"),
    ("oracle", "SELECT NVL(k, 'none') AS x FROM raw.t", "SELECT COALESCE(k, 'none') AS x FROM raw.t"),
    ("tsql", "SELECT TOP 3 i FROM raw.t ORDER BY i", "SELECT i FROM raw.t ORDER BY i NULLS FIRST LIMIT 3"),
    ("duckdb", "SELECT @STAR(raw.u, except := [v]) FROM raw.u", "SELECT u.i, u.k FROM raw.u"),
    ("duckdb", "@UNION('all', raw.u, raw.t)\nORDER BY i", None),
]  # fmt: skip


@pytest.mark.parametrize("dialect,query,expected", TRANSLATED)
def test_what_runs_is_the_translation(dialect: str, query: str, expected: str | None) -> None:
    rendered = render(full(query, f"dialect {dialect}")).query
    if expected is None:
        every = [run(f"SELECT i, k FROM raw.{each}") for each in ("u", "t")]
        assert sorted(run(rendered), key=str) == sorted([*every[0], *every[1]], key=str)
    else:
        assert plain(rendered).lower() == plain(expected).lower()


def test_both_texts_are_kept_and_a_warning_says_who_translated() -> None:
    text = full("@DEF(what, i + 1);\nSELECT (@what)::TEXT AS x\nFROM raw.t", "dialect duckdb")
    model = graph_of([text])[X].model
    assert isinstance(model.body, Query)
    assert model.body.text.original == "SELECT (i + 1)::TEXT AS x\nFROM raw.t"
    assert "CAST((" in model.body.text.query
    assert "AS STRING)" in model.body.text.query
    (warning,) = model.warnings
    assert "sqlglot translated this from duckdb to Spark SQL" in warning.message
    assert "vde render" in warning.advice


def test_a_model_in_sparks_sql_has_one_text_and_no_warning() -> None:
    model = graph_of([full("SELECT i FROM raw.t")])[X].model
    assert isinstance(model.body, Query)
    assert (model.body.text.original, model.warnings) == ("", ())


@pytest.mark.parametrize(
    "query,line,message",
    [
        ("\nSELECT i FROM WHERE", 3, "does not parse"),
        ("\nSELECT TO_CHAR(i, '999') AS x\nFROM raw.t", 3, "cannot translate this from snowflake"),
        ("DELETE FROM raw.t WHERE TO_CHAR(day, '9') = '1';\nSELECT 1 AS x", 2, "cannot translate"),
        ("SHOW PRIMARY KEYS;\nSELECT 1 AS x", 2, "cannot translate this from snowflake"),
        ("SELECT i,\n  nowhere\nFROM raw.t", 3, "no column 'nowhere'"),
        (
            "\nSELECT * REPLACE (1 AS i) FROM raw.t",
            3,
            "SQL that Spark does not have: `.` with REPLACE",
        ),
    ],
)
def test_what_cannot_be_translated_is_refused_at_its_line(
    query: str, line: int, message: str
) -> None:
    with pytest.raises(ProjectInvalid, match=rf"sql:{line}: .*{message}"):
        graph_of([full(query, "dialect snowflake")])


@pytest.mark.parametrize("dialect", ["spark", "duckdb", "bigquery", "postgres"])
def test_what_is_read_is_found_in_the_translation(dialect: str) -> None:
    bounded = "SELECT ts, i FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt"
    parent = by_time(bounded).replace("m.x", "m.p")
    query = "SELECT ts, i FROM m.p WHERE ts >= @start_dt AND ts <= @end_dt"
    graph = graph_of([parent, by_time(query, properties=f"dialect {dialect}")])
    day = Interval(instant("2024-01-05"), instant("2024-01-06"))
    found = reads_of(graph, X).ranges(Moments.between(day, day))
    assert list(found.values()) == [(day,)]
    canonical = graph[X].canonical
    assert canonical is not None
    assert [list(each) for each in column_lineage(canonical.expression).values()] == [
        [(ModelName("m", "p"), "ts")],
        [(ModelName("m", "p"), "i")],
    ]


@pytest.mark.parametrize("dialect", ["duckdb", "bigquery", "postgres"])
def test_a_translation_needs_a_time_filter_as_any_query(dialect: str) -> None:
    text = by_time("SELECT ts, i FROM raw.t", properties=f"dialect {dialect}")
    with pytest.raises(ProjectInvalid, match="needs a filter on the time of its input"):
        graph_of([text])
