"""Rendered queries, run on DuckDB."""

from __future__ import annotations

from datetime import timedelta

import duckdb
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.rendering import inline, within
from vde_dagster.core.sql.table_names import model_name_of
from vde_dagster.core.time.intervals import EPOCH, Interval

HOURS = 49


def query(text: str) -> exp.Query:
    parsed = sqlglot.parse_one(text, read="spark")
    assert isinstance(parsed, exp.Query)
    return parsed


def rows_of(sql: str, setup: str = "") -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'; " + setup)
        return sorted(connection.execute(sql).fetchall(), key=str)


@pytest.fixture(scope="module")
def clock() -> duckdb.DuckDBPyConnection:
    """One row per half hour, in each type of a time column."""
    connection = duckdb.connect()
    connection.execute(
        "SET TimeZone = 'UTC'; CREATE TABLE t AS SELECT i, "
        "TIMESTAMPTZ '1970-01-01 00:00:00+00' + i * INTERVAL 30 MINUTE AS timestamp, "
        "TIMESTAMP '1970-01-01 00:00:00' + i * INTERVAL 30 MINUTE AS timestamp_ntz "
        f"FROM range({2 * HOURS}) r(i); INSERT INTO t VALUES (NULL, NULL, NULL); "
        "CREATE TABLE d AS SELECT DATE '1970-01-01' + CAST(i AS INT) AS date FROM range(3) r(i)"
    )
    return connection


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
@given(start=st.integers(0, HOURS - 1), length=st.integers(1, 24))
def test_no_row_outside_of_the_interval_is_returned(
    clock: duckdb.DuckDBPyConnection, kind: str, start: int, length: int
) -> None:
    interval = Interval(EPOCH + timedelta(hours=start), EPOCH + timedelta(hours=start + length))
    inside = within(exp.column(kind), interval, time_type=kind)
    rendered = query(f"SELECT i, {kind} FROM t").where(inside)
    found = {row[0] for row in clock.execute(rendered.sql("duckdb")).fetchall()}
    assert found == set(range(2 * start, min(2 * (start + length), 2 * HOURS)))


@given(start=st.integers(0, HOURS - 1), length=st.integers(1, 24))
def test_a_date_belongs_to_the_interval_of_its_midnight(
    clock: duckdb.DuckDBPyConnection, start: int, length: int
) -> None:
    first = EPOCH + timedelta(hours=start)
    last = EPOCH + timedelta(hours=start + length)
    inside = within(exp.column("date"), Interval(first, last), time_type="date")
    rendered = query("SELECT date FROM d").where(inside)
    found = [row[0] for row in clock.execute(rendered.sql("duckdb")).fetchall()]
    midnights = [EPOCH + timedelta(days=each) for each in range(3)]
    assert found == [each.date() for each in midnights if first <= each < last]


SETUP = """
CREATE SCHEMA s; CREATE TABLE s.t AS SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (2, 'c')) v(k, x);
CREATE TABLE s.u AS SELECT * FROM (VALUES (2, 10), (3, 20)) v(k, y);
CREATE VIEW s.v AS SELECT k, x FROM s.t WHERE k = 2;
"""


@pytest.mark.parametrize(
    "text",
    [
        "SELECT v.k, v.x FROM s.v AS v",
        "SELECT a.k, b.y FROM s.v AS a LEFT JOIN s.u AS b ON a.k = b.k",
        "SELECT b.k, a.x FROM s.u AS b LEFT JOIN s.v AS a ON a.k = b.k",
        "SELECT a.x, b.x AS y FROM s.v AS a, s.v AS b",
        "SELECT a.k, b.y FROM (s.v AS a JOIN s.u AS b ON a.k = b.k)",
        "SELECT k FROM s.u WHERE k IN (SELECT w.k FROM s.v AS w)",
        "WITH v AS (SELECT 1 AS k) SELECT v.k FROM v",
        "SELECT * FROM s.v AS v PIVOT(COUNT(x) FOR k IN (2, 3))",
    ],
)
def test_an_inlined_view_gives_the_rows_of_the_view(text: str) -> None:
    view = query("SELECT t.k AS k, t.x AS x FROM s.t AS t WHERE t.k = 2")
    written = sqlglot.parse_one(text, read="duckdb")
    assert isinstance(written, exp.Query)
    inlined = inline(written, {ModelName("s", "v"): view})
    assert rows_of(inlined.sql("duckdb"), SETUP) == rows_of(text, SETUP)
    assert not any(
        model_name_of(each) == ModelName("s", "v") for each in inlined.find_all(exp.Table)
    )
