# ruff: noqa: E501 - rows of tables stay on one line
"""The SQL that Spark gets: names in places and columns, statements."""

from __future__ import annotations

import pytest

from tests.core.graph.rendered import (
    EMBEDDED,
    STORED,
    D,
    by_time,
    full,
    graph_of,
    render,
    run,
    text_of,
)
from vde_dagster.core.errors import ProjectInvalid, Refused
from vde_dagster.core.names import (
    ModelName,
    SuffixTarget,
    TableName,
    ViewNaming,
    environment_view,
    physical_table,
)


def test_what_a_printer_would_leave_out_runs_as_it_is_written_in_sparks_dialect() -> None:
    """R13: nothing is printed."""
    statement = "DELETE FROM raw.t WHERE TO_CHAR(day, 'yyyyMM') = '202401'"
    found = render(full(f"{statement};\nSELECT TO_CHAR(@start_date, 'YYYYMMDD') AS x"))
    assert found.texts_before == (statement,)
    assert found.text == f"SELECT TO_CHAR({D}, 'YYYYMMDD') AS x"


def version(name: ModelName) -> TableName:
    return physical_table(name, "0123456789abcdef0123456789abcdef")


def only_models(name: ModelName) -> TableName | None:
    return None if name.schema == "raw" else version(name)


V = "`vde__m`.`m__s__0123456789abcdef0123456789abcdef`"
PLACES = [
    ("SELECT i FROM m.s", f"SELECT i FROM {V} AS `s`"),
    ("SELECT i FROM m.s AS t", f"SELECT i FROM {V} AS t"),
    ("SELECT m.s.i FROM lake.m.s", f"SELECT s.i FROM {V} AS `s`"),
    ("SELECT `I` as i\nFROM `M` . `S`", f"SELECT `I` as i\nFROM {V} AS `S`"),
    ("SELECT i FROM raw.t", "SELECT i FROM raw.t AS `t`"),
    ("WITH s AS (SELECT i FROM M.S AS t) SELECT i FROM s", f"WITH s AS (SELECT i FROM {V} AS t) SELECT i FROM s"),
]  # fmt: skip


@pytest.mark.parametrize("query,expected", PLACES)
def test_models_are_read_where_their_versions_lie(query: str, expected: str) -> None:
    assert render(STORED, full(query), target=only_models).text == expected


@pytest.mark.parametrize(
    "place,expected",
    [
        (environment_view(ModelName("m", "s"), "dev", ViewNaming(target=SuffixTarget.SCHEMA)), "`m__dev`.`s`"),
        (environment_view(ModelName("m", "s"), "dev", ViewNaming(target=SuffixTarget.TABLE)), "`m`.`s__dev`"),
        (environment_view(ModelName("m", "s"), "dev", ViewNaming(target=SuffixTarget.CATALOG)), "`lake__dev`.`m`.`s`"),
        (environment_view(ModelName("m", "s"), "prod", ViewNaming(target=SuffixTarget.TABLE)), "`m`.`s`"),
        (TableName("", "vde_input_0"), "`vde_input_0`"),
        (TableName("a`b", "x; DROP TABLE y --", "c.d"), "`c.d`.`a``b`.`x; DROP TABLE y --`"),
        (TableName("select", "from"), "`select`.`from`"),
    ],
)  # fmt: skip
def test_any_place_is_one_quoted_name(place: TableName, expected: str) -> None:
    rendered = render(STORED, full("SELECT i FROM m.s"), target=lambda _: place)
    assert rendered.text == f"SELECT i FROM {expected} AS `s`"


HOSTILE = ["order", "a b", "a`b", "x; DROP TABLE y --", "select", "é", "a.b", "-- x", "@start_ds"]


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_of_a_column_stays_one_name(name: str) -> None:
    written = name.replace("`", "``")
    text = full(f"SELECT i AS `{written}` FROM raw.t ORDER BY `{written}`")
    assert run(f"SELECT MAX(`{written}`) AS x FROM ({render(text).query.sql('spark')}) AS q") == [
        (8,)
    ]
    timed = by_time(f"SELECT ts AS `{written}` FROM raw.t WHERE ts >= @start_dt", f"`{written}`")
    if name in ("order", "select"):  # others are refused as a time column
        assert len(run(render(timed).query)) == 3


M = "MERGE INTO raw.u AS a USING (SELECT i FROM {} AS `s`) AS b ON a.i = b.i WHEN MATCHED THEN DELETE"
STATEMENTS = [
    # the table that is written keeps its name, and columns their spelling
    ("DELETE FROM raw.u WHERE i < @start_epoch", "DELETE FROM raw.u WHERE i < 1704067200"),
    ("DELETE FROM raw.u WHERE raw.u.day = @end_date", f"DELETE FROM raw.u WHERE raw.u.day = {D}"),
    ("UPDATE raw.u SET k = 'x' WHERE u.i = @execution_hour", "UPDATE raw.u SET k = 'x' WHERE u.i = 1"),
    ("MERGE INTO raw.u USING m.s ON raw.u.i = m.s.i WHEN MATCHED THEN UPDATE SET k = m.s.k", f"MERGE INTO raw.u USING {V} AS `s` ON raw.u.i = s.i WHEN MATCHED THEN UPDATE SET k = s.k"),
    (M.replace("{} AS `s`", "m.s"), M.format(V)),
    ("INSERT INTO raw.u SELECT i, k FROM m.s WHERE m.s.i > 1", f"INSERT INTO raw.u SELECT i, k FROM {V} AS `s` WHERE s.i > 1"),
    ("CREATE TABLE raw.z AS SELECT s.i FROM m.s", f"CREATE TABLE raw.z AS SELECT s.i FROM {V} AS `s`"),
    ("DELETE FROM raw.u WHERE i IN (SELECT i FROM m.e)", "DELETE FROM raw.u WHERE i IN (SELECT i FROM (\nSELECT i, k FROM raw.t AS `t` WHERE i > 2\n) AS `e`)"),
    ("SET x.y = 'z'", "SET x.y = 'z'"),
    ("@IF(@start_of_week, DELETE FROM raw.u)", None),
    ("@IF(TRUE, DELETE FROM raw.u)", "DELETE FROM raw.u"),
]  # fmt: skip


@pytest.mark.parametrize("statement,expected", STATEMENTS)
@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_statements_around_the_query(statement: str, expected: str | None, first: bool) -> None:
    query = "SELECT i FROM m.s JOIN m.e USING (i)"
    text = full(f"{statement};\n{query}" if first else f"{query};\n{statement}")
    if expected is None:
        with pytest.raises(ProjectInvalid, match="unknown macro @start_of_week"):
            graph_of([EMBEDDED, STORED, text])
        return
    rendered = render(EMBEDDED, STORED, text, target=only_models)
    found = (rendered.texts_before, rendered.texts_after)
    assert found == (((expected,), ()) if first else ((), (expected,)))


def test_a_statement_that_nobody_understands_has_no_macros() -> None:
    text = full("MSCK REPAIR TABLE raw.t PARTITION @start_ds;\nSELECT 1 AS x")
    with pytest.raises(ProjectInvalid, match="macros in it cannot be expanded"):
        render(text)


def test_what_has_no_query_is_refused_by_name() -> None:
    with pytest.raises(Refused, match=r"raw\.t is of kind EXTERNAL"):
        render(full("SELECT 1 AS x"), name="raw.t")


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles", "UTC"])
def test_the_zone_of_the_cron_changes_no_literal(zone: str) -> None:
    query = "SELECT i, ts FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt"
    zoned = render(by_time(query, properties=f"cron '0 7 * * *', cron_tz '{zone}'"))
    assert text_of(zoned.query) == text_of(render(by_time(query)).query)
