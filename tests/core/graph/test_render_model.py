# ruff: noqa: E501 - rows of tables stay on one line
"""Models and the SQL that they must become, written by hand from seed 001."""

from __future__ import annotations

import pytest
import sqlglot

from tests.core.graph.rendered import (
    COLUMNS,
    D2,
    EMBEDDED,
    NEXT,
    STORED,
    D,
    E,
    S,
    by_time,
    full,
    graph_of,
    instant,
    plain,
    render,
    run,
    text_of,
)
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.graph.render_model import query_over_tables, reads_of
from vde_dagster.core.ledger.staleness import source_times
from vde_dagster.core.ledger.traces import recipe, why_nondeterministic
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.constants import Moments
from vde_dagster.core.sql.reads.input_ranges import WholeTable
from vde_dagster.core.time.intervals import Interval

OF_U = "(SELECT i, k, v FROM raw.u)"
OF_T = f"(SELECT {', '.join(COLUMNS)} FROM raw.t)"
"""The sources with the columns that are known of them."""

# 2024-01-01 is day 19723 since 1970-01-01: 54 years of 365 days and 13 leap days.
# The start and the end of an hour in each form: the end is the last moment before the border.
FORMS = [
    ("ds", "'2024-01-01'", "'2024-01-01'"),
    ("date", D, D),
    ("dt", "CAST('2024-01-01 12:00:00+00:00' AS TIMESTAMP)", "CAST('2024-01-01 12:59:59.999999+00:00' AS TIMESTAMP)"),
    ("dtntz", "CAST('2024-01-01 12:00:00' AS TIMESTAMP_NTZ)", "CAST('2024-01-01 12:59:59.999999' AS TIMESTAMP_NTZ)"),
    ("ts", "'2024-01-01 12:00:00'", "'2024-01-01 12:59:59.999999'"),
    ("tstz", "'2024-01-01 12:00:00+00:00'", "'2024-01-01 12:59:59.999999+00:00'"),
    ("epoch", 19723 * 86400 + 43200, 19723 * 86400 + 46799),
    ("millis", (19723 * 86400 + 43200) * 1000, (19723 * 86400 + 46800) * 1000 - 1),
    ("hour", 12, 12),
]  # fmt: skip


@pytest.mark.parametrize("form,start,end", FORMS)
def test_each_form_of_a_range(form: str, start: object, end: object) -> None:
    text = full(f"SELECT @start_{form} AS s, @END_{form.upper()} AS e")
    rendered = render(text, start="2024-01-01T12:00", end="2024-01-01T13:00")
    assert text_of(rendered.query) == f"SELECT {start} AS s, {end} AS e"


READS = "SELECT t.i AS i, t.ts AS ts FROM raw.t AS t WHERE t.ts BETWEEN"
KINDS = [
    # The filter by the time column is put around the query (seed 001, "Time column").
    (by_time("SELECT i, ts FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt"), f"SELECT _rows.i AS i, _rows.ts AS ts FROM ({READS} {S} AND {E}) AS _rows WHERE _rows.ts >= {S} AND _rows.ts < {NEXT}"),
    # ... also where the query filters by another column than the time column
    (
        by_time("SELECT i, day FROM raw.t WHERE ts >= @start_dt", "day"),
        f"SELECT _rows.i AS i, _rows.day AS day FROM (SELECT i, day FROM raw.t WHERE ts >= {S}) AS _rows WHERE _rows.day >= {D} AND _rows.day < {D2}",
    ),
    (
        by_time("SELECT ntz FROM raw.t WHERE ntz >= @start_dtntz", "ntz"),
        "SELECT _rows.ntz AS ntz FROM (SELECT ntz FROM raw.t WHERE ntz >= CAST('2024-01-01 00:00:00' AS TIMESTAMP_NTZ)) AS _rows WHERE _rows.ntz >= CAST('2024-01-01 00:00:00' AS TIMESTAMP_NTZ) AND _rows.ntz < CAST('2024-01-02 00:00:00' AS TIMESTAMP_NTZ)",
    ),
    # a text is an ISO date unless a format is given
    (
        by_time("SELECT iso FROM raw.t WHERE iso BETWEEN @start_ds AND @end_ds", "iso"),
        "SELECT _rows.iso AS iso FROM (SELECT iso FROM raw.t WHERE iso BETWEEN '2024-01-01' AND '2024-01-01') AS _rows WHERE _rows.iso >= '2024-01-01' AND _rows.iso < '2024-01-02'",
    ),
    (
        by_time("SELECT digits FROM raw.t WHERE day = @start_date", "(digits, 'yyyyMMdd')"),
        f"SELECT _rows.digits AS digits FROM (SELECT digits FROM raw.t WHERE day = {D}) AS _rows WHERE _rows.digits >= '20240101' AND _rows.digits < '20240102'",
    ),
    (
        by_time("SELECT number FROM raw.t WHERE day = @start_date", "(number, 'yyyyMMdd')"),
        f"SELECT _rows.number AS number FROM (SELECT number FROM raw.t WHERE day = {D}) AS _rows WHERE _rows.number >= 20240101 AND _rows.number < 20240102",
    ),
    # its filter stands around whole queries of any form
    (
        by_time("WITH q AS (SELECT i, ts FROM raw.t WHERE ts >= @start_dt) SELECT i, ts FROM q"),
        f"WITH q AS (SELECT i, ts FROM raw.t WHERE ts >= {S}) SELECT _rows.i AS i, _rows.ts AS ts FROM (SELECT q.i AS i, q.ts AS ts FROM q AS q) AS _rows WHERE _rows.ts >= {S} AND _rows.ts < {NEXT}",
    ),
    (
        by_time(
            "SELECT ts FROM raw.t WHERE ts >= @start_dt UNION ALL SELECT ts FROM raw.t WHERE ts < @end_dt"
        ),
        f"SELECT _rows.ts AS ts FROM (SELECT ts FROM raw.t WHERE ts >= {S} UNION ALL SELECT ts FROM raw.t WHERE ts < {E}) AS _rows WHERE _rows.ts >= {S} AND _rows.ts < {NEXT}",
    ),
    (
        by_time("SELECT MAX(ts) AS ts, k FROM raw.t WHERE ts >= @start_dt GROUP BY k"),
        f"SELECT _rows.ts AS ts, _rows.k AS k FROM (SELECT MAX(ts) AS ts, k FROM raw.t WHERE ts >= {S} GROUP BY k) AS _rows WHERE _rows.ts >= {S} AND _rows.ts < {NEXT}",
    ),
    (
        by_time("SELECT i, ts FROM raw.t WHERE ts >= @start_dt ORDER BY i LIMIT 3"),
        f"SELECT _rows.i AS i, _rows.ts AS ts FROM (SELECT i, ts FROM raw.t WHERE ts >= {S} ORDER BY i LIMIT 3) AS _rows WHERE _rows.ts >= {S} AND _rows.ts < {NEXT}",
    ),
    # no other kind gets a filter
    (full("SELECT k, COUNT(DISTINCT i) AS n FROM raw.t GROUP BY k"), "SELECT k, COUNT(DISTINCT i) AS n FROM raw.t GROUP BY k"),
    (full("SELECT i FROM raw.t WHERE ts < @end_dt"), f"SELECT i FROM raw.t WHERE ts < {E}"),
    (
        "MODEL (name m.x, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key i));\nSELECT i, k, day FROM raw.t WHERE day BETWEEN @start_date AND @end_date",
        f"SELECT i, k, day FROM raw.t WHERE day BETWEEN {D} AND {D}",
    ),
    (
        "MODEL (name m.x, kind INCREMENTAL_BY_PARTITION, partitioned_by k);\nWITH p AS (SELECT DISTINCT k FROM raw.t WHERE day = @start_date) SELECT t.i, t.k FROM raw.t JOIN p ON p.k = t.k",
        f"WITH p AS (SELECT DISTINCT k FROM raw.t WHERE day = {D}) SELECT t.i, t.k FROM raw.t AS t JOIN p AS p ON p.k = t.k",
    ),
    ("MODEL (name m.x, kind INCREMENTAL_UNMANAGED);\nSELECT i, @execution_ds AS loaded FROM raw.t", "SELECT i, '2024-03-01' AS loaded FROM raw.t"),
    ("MODEL (name m.x, kind SCD_TYPE_2_BY_TIME (unique_key i, updated_at_name ts));\nSELECT i, k, ts FROM raw.t", "SELECT i, k, ts FROM raw.t"),
    ("MODEL (name m.x, kind SCD_TYPE_2_BY_COLUMN (unique_key i, columns *));\nSELECT i, k FROM raw.t WHERE day <= @end_date", f"SELECT i, k FROM raw.t WHERE day <= {D}"),
    ("MODEL (name m.x, kind VIEW);\nSELECT i FROM raw.t", "SELECT i FROM raw.t"),
    ("MODEL (name m.x, kind EMBEDDED);\nSELECT i FROM raw.t WHERE day = @start_date", f"SELECT i FROM raw.t WHERE day = {D}"),
    # a star is that of the columns that are known
    (full("SELECT * FROM raw.u"), f"SELECT * FROM {OF_U} AS u"),
    (full("SELECT u.*, t.day FROM raw.u JOIN raw.t ON u.i = t.i"), f"SELECT * FROM (SELECT u.*, t.day FROM {OF_U} AS u JOIN {OF_T} AS t ON u.i = t.i) AS _rows(i, k, v, day)"),
    (full("SELECT * EXCEPT (v) FROM raw.u"), f"SELECT * FROM (SELECT * EXCEPT (v) FROM {OF_U} AS u) AS _rows(i, k)"),
    (full("WITH q AS (SELECT * FROM raw.u) SELECT * FROM q"), f"SELECT * FROM (WITH q AS (SELECT * FROM {OF_U} AS u) SELECT * FROM q) AS _rows(i, k, v)"),
    # the project's own catalog, and the schema `default`
    (full("SELECT raw.u.i FROM raw.u"), "SELECT u.i FROM raw.u AS u"),
    # of two borders, the earlier one of the month of a leap year
    (full("SELECT ADD_MONTHS(@start_date, 1) AS a, DATE_TRUNC('month', @end_dt) AS b FROM raw.u"), f"SELECT ADD_MONTHS({D}, 1) AS a, DATE_TRUNC('MONTH', {E}) AS b FROM raw.u"),
]  # fmt: skip


@pytest.mark.parametrize("text,expected", KINDS)
def test_each_kind_renders_its_query(text: str, expected: str) -> None:
    rendered = render(text)
    assert plain(rendered.query) == plain(expected)
    assert (rendered.before, rendered.after) == ((), ())


DAILY = "MODEL (name m.d, kind EMBEDDED);\nSELECT i, day FROM raw.t WHERE day BETWEEN @start_date AND @end_date"
VIEW = "MODEL (name m.v, kind VIEW);\nSELECT i, k FROM m.e WHERE k = 'a'"
OF_E = "(SELECT i, k FROM raw.t WHERE i > 2)"
OF_V = f"(SELECT e.i AS i, e.k AS k FROM {OF_E} AS e WHERE e.k = 'a')"
INLINED = [
    ("SELECT i FROM m.e", f"SELECT e.i AS i FROM {OF_E} AS e"),
    ("SELECT p.i, q.k FROM m.e AS p LEFT JOIN m.e AS q ON p.i = q.i", f"SELECT p.i, q.k FROM {OF_E} AS p LEFT JOIN {OF_E} AS q ON p.i = q.i"),
    ("SELECT i FROM raw.u WHERE i IN (SELECT i FROM m.e)", f"SELECT u.i FROM raw.u AS u WHERE u.i IN (SELECT e.i AS i FROM {OF_E} AS e)"),
    ("WITH e AS (SELECT i FROM m.e) SELECT i FROM e", f"WITH e AS (SELECT e.i AS i FROM {OF_E} AS e) SELECT e.i AS i FROM e AS e"),
    ("SELECT * FROM m.e", f"SELECT e.i AS i, e.k AS k FROM {OF_E} AS e"),
    ("SELECT i FROM m.d", f"SELECT d.i AS i FROM (SELECT i, day FROM raw.t WHERE day BETWEEN {D} AND {D}) AS d"),
    ("SELECT i FROM m.v", f"SELECT v.i AS i FROM {OF_V} AS v"),
    ("SELECT v.i FROM m.v JOIN m.e ON v.i = e.i", f"SELECT v.i FROM {OF_V} AS v JOIN {OF_E} AS e ON v.i = e.i"),
    ("SELECT i FROM m.s", "SELECT i AS i FROM m.s AS s"),
    ("SELECT i FROM m.e UNION SELECT i FROM m.s", f"SELECT e.i AS i FROM {OF_E} AS e UNION SELECT i AS i FROM m.s AS s"),
]  # fmt: skip


@pytest.mark.parametrize("query,expected", INLINED)
def test_embedded_models_and_views_stand_as_subqueries_down_to_tables(
    query: str, expected: str
) -> None:
    rendered = render(EMBEDDED, DAILY, VIEW, STORED, full(query)).query
    assert plain(rendered) == plain(expected)


@pytest.mark.parametrize(
    "query,expected",
    [
        ("SELECT i FROM m.v", "SELECT i AS i FROM m.v AS v"),
        ("SELECT i FROM m.e", f"SELECT e.i AS i FROM {OF_E} AS e"),
        ("SELECT e.i FROM m.v JOIN m.e ON v.i = e.i", f"SELECT e.i FROM m.v AS v JOIN {OF_E} AS e ON v.i = e.i"),
    ],
)  # fmt: skip
def test_a_view_reads_views_as_views_but_no_embedded_model(query: str, expected: str) -> None:
    view = f"MODEL (name m.x, kind VIEW);\n{query}"
    assert plain(render(EMBEDDED, VIEW, view, inline_views=False).query) == plain(expected)


WITHS = "MODEL (name m.{0}, kind EMBEDDED);\nWITH src AS (SELECT i FROM raw.t WHERE i > {1}) SELECT i FROM src"
NAMED = [
    "SELECT p.i FROM m.a AS p JOIN m.a AS q ON p.i = q.i + 1",
    "SELECT p.i, q.i AS j FROM m.a AS p JOIN m.b AS q ON p.i = q.i - 3",
    "WITH src AS (SELECT i FROM m.a) SELECT src.i FROM src JOIN m.b AS b ON b.i = src.i",
    "WITH src AS (SELECT 5 AS i), q AS (SELECT i FROM m.a) SELECT q.i FROM q JOIN src ON q.i = src.i",
    "WITH src AS (SELECT i FROM m.a) SELECT i FROM src WHERE i IN (WITH src AS (SELECT i + 1 AS i FROM src) SELECT i FROM src)",
    "WITH q AS (WITH r AS (SELECT i FROM m.a) SELECT i FROM r), r AS (SELECT i + 1 AS i FROM q) SELECT i FROM r",
    "WITH src_2 AS (SELECT 6 AS i) SELECT p.i FROM m.a AS p JOIN m.b AS q ON p.i = q.i JOIN src_2 ON p.i = src_2.i",
]


@pytest.mark.parametrize("query", NAMED)
def test_table_expressions_of_one_name_stay_apart(query: str) -> None:
    rendered = render(WITHS.format("a", 2), WITHS.format("b", 4), full(query)).query
    named = query
    for name, least in (("a", 2), ("b", 4)):
        named = named.replace(f"m.{name} ", f"(SELECT i FROM raw.t WHERE i > {least}) ").replace(
            f"m.{name})", f"(SELECT i FROM raw.t WHERE i > {least}))"
        )
    assert run(rendered) == run(sqlglot.parse_one(named, dialect="duckdb"))


MACROS = [
    ("SELECT @VAR('least') AS x", "SELECT 3 AS x"),
    ("SELECT i FROM raw.t WHERE i > @least", "SELECT i FROM raw.t WHERE i > 3"),
    ("SELECT i FROM raw.t WHERE k IN @keys", "SELECT i FROM raw.t WHERE k IN ('a', 'b')"),
    ("SELECT i FROM raw.@{table}", "SELECT i FROM raw.u"),
    ("SELECT @IF(@least > 2, i, k) AS x FROM raw.t", "SELECT i AS x FROM raw.t"),
    ("SELECT @EACH(@keys, x -> SUM(CASE WHEN k = x THEN 1 ELSE 0 END) AS n_@{x}) FROM raw.t", "SELECT SUM(CASE WHEN k = 'a' THEN 1 ELSE 0 END) AS n_a, SUM(CASE WHEN k = 'b' THEN 1 ELSE 0 END) AS n_b FROM raw.t"),
    ("@DEF(past, @start_date - INTERVAL 3 DAY);\nSELECT i FROM raw.t WHERE day >= @past", f"SELECT i FROM raw.t WHERE day >= ({D} - INTERVAL '3' DAY)"),
    ("SELECT @STAR(raw.u) FROM raw.u", "SELECT i, k, v FROM raw.u"),
    ("@UNION('distinct', m.e, raw.u)", f"SELECT e.i, e.k FROM {OF_E} AS e UNION SELECT u.i, u.k FROM raw.u AS u"),
    ("SELECT i FROM raw.t WHERE @EACH([day >= @start_date, day <= @end_date], x -> x) ", None),
]  # fmt: skip


@pytest.mark.parametrize("query,expected", MACROS)
def test_macros_are_gone_from_what_is_rendered(query: str, expected: str | None) -> None:
    variables = {"least": 3, "keys": ["a", "b"], "table": "u"}
    if expected is None:
        with pytest.raises(ProjectInvalid, match="2 expressions"):
            graph_of([full(query)], variables)
        return
    rendered = render(EMBEDDED, full(query), variables=variables).query
    assert plain(rendered) == plain(expected)


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_what_is_read_through_table_expressions_of_one_name_is_found_whole(
    order: tuple[str, str],
) -> None:
    hourly = "MODEL (name m.h, cron '@hourly', kind INCREMENTAL_BY_TIME_RANGE (time_column ts));\nSELECT i, ts FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt"
    bounded = "MODEL (name m.a, kind EMBEDDED);\nWITH src AS (SELECT i FROM m.h WHERE ts BETWEEN @start_dt AND @end_dt) SELECT i FROM src"
    unbounded = (
        "MODEL (name m.b, kind EMBEDDED);\nWITH src AS (SELECT i FROM m.h) SELECT i FROM src"
    )
    one, other = order
    reader = by_time(
        f"SELECT p.i, @start_dt AS ts FROM m.{one} AS p JOIN m.{other} AS q ON q.i = p.i AND q.i >= @start_hour"
    )
    name, parent = ModelName("m", "x"), ModelName("m", "h")
    interval = Interval(instant("2024-01-01"), instant("2024-01-02"))
    graph = graph_of([hourly, bounded, unbounded, reader])
    ranges = reads_of(graph, name).ranges(Moments.between(interval, interval))
    assert isinstance(ranges[parent], WholeTable), "one of the two scans has no bounds"


@pytest.mark.parametrize(
    "query",
    [
        "WITH s AS (SELECT i, ts FROM raw.t) SELECT s.i, s.ts, u.k FROM s JOIN raw.u AS u ON u.i = s.i WHERE s.ts BETWEEN @start_dt AND @end_dt",
        "SELECT i, ts, SUM(k) OVER (PARTITION BY CAST(ts AS DATE)) AS k FROM (SELECT i, ts, k FROM raw.t) WHERE ts BETWEEN @start_dt AND @end_dt",
    ],
)
def test_who_looks_at_what_a_query_reads_leaves_its_tree_as_it_is(query: str) -> None:
    graph = graph_of([by_time(query)])
    node = graph[ModelName("m", "x")]
    assert node.canonical is not None
    before = node.canonical.expression.dump()
    assert query_over_tables(graph, node.name) is node.canonical.expression
    reads_of(graph, node.name)
    recipe(graph, node.name)
    why_nondeterministic(graph, node.name)
    source_times(graph, node)
    assert node.canonical.expression.dump() == before
