# ruff: noqa: E501 - rows of tables stay on one line
"""What rendered queries return on a few rows, worked out by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from tests.core.graph.rendered import INSTANTS, by_time, full, render, run

SPANS = {
    "hour": ("2024-01-01T12:00", "2024-01-01T13:00"),
    "day": ("2024-01-01", "2024-01-02"),
    "month": ("2024-01-01", "2024-02-01"),
}
# The instants of the rows: 1 the last before 2024, 2 and 4 the first and last of January 1st,
# 3 at 12:30 of that day, 5 the first of January 2nd, 6 at 23:00 of the 31st, 7 the first of February.
WITHIN: dict[str, list[int]] = {"hour": [3], "day": [2, 3, 4], "month": [2, 3, 4, 5, 6]}
BY_DAYS = {**WITHIN, "hour": [2, 3, 4]}
CONDITIONS = [
    ("ts BETWEEN @start_dt AND @end_dt", WITHIN),
    ("ntz BETWEEN @start_dtntz AND @end_dtntz", WITHIN),
    ("ntz BETWEEN CAST(@start_ts AS TIMESTAMP_NTZ) AND CAST(@end_ts AS TIMESTAMP_NTZ)", WITHIN),
    ("ts BETWEEN CAST(@start_tstz AS TIMESTAMP) AND CAST(@end_tstz AS TIMESTAMP)", WITHIN),
    ("seconds BETWEEN @start_epoch AND @end_epoch", WITHIN),
    ("millis BETWEEN @start_millis AND @end_millis", WITHIN),
    ("day = @start_date AND hour BETWEEN @start_hour AND @end_hour", {"hour": [3], "day": [2, 3, 4], "month": [2, 3, 4]}),
    # a date in an end position means the whole day
    ("day BETWEEN @start_date AND @end_date", BY_DAYS),
    ("iso BETWEEN @start_ds AND @end_ds", BY_DAYS),
    ("digits BETWEEN REPLACE(@start_ds, '-', '') AND REPLACE(@end_ds, '-', '')", BY_DAYS),
    ("CAST(iso AS DATE) BETWEEN @start_date AND @end_date", BY_DAYS),
    # two days of three, and what lies before
    ("day BETWEEN DATE_SUB(@start_date, 1) AND @end_date", {"hour": [1, 2, 3, 4], "day": [1, 2, 3, 4], "month": [1, 2, 3, 4, 5, 6]}),
    ("ts > @end_dt", {"hour": [4, 5, 6, 7], "day": [5, 6, 7], "month": [7]}),
    ("ts < @start_dt", {"hour": [1, 2], "day": [1], "month": [1]}),
    ("ts < @execution_dt AND seconds < @execution_epoch", {each: [1, 2, 3, 4, 5, 6, 7] for each in SPANS}),
]  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Los_Angeles"])
@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("condition,expected", CONDITIONS, ids=[each[0] for each in CONDITIONS])
def test_a_condition_holds_for_the_rows_of_the_range_in_any_zone(
    condition: str, expected: dict[str, list[int]], span: str, zone: str
) -> None:
    start, end = SPANS[span]
    rendered = render(full(f"SELECT i FROM raw.t WHERE {condition}"), start=start, end=end)
    assert run(rendered.query, zone) == [(i,) for i in expected[span]]


AXES = [
    ("ts", "ts", WITHIN),
    ("ntz", "ntz", WITHIN),
    ("day", "day", {"day": [2, 3, 4], "month": [2, 3, 4, 5, 6]}),
    ("iso", "iso", {"day": [2, 3, 4], "month": [2, 3, 4, 5, 6]}),
    ("(digits, 'yyyyMMdd')", "digits", {"day": [2, 3, 4], "month": [2, 3, 4, 5, 6]}),
    ("(number, 'yyyyMMdd')", "number", {"day": [2, 3, 4], "month": [2, 3, 4, 5, 6]}),
]


@pytest.mark.parametrize(
    "axis,column,span,expected",
    [(axis, column, span, rows) for axis, column, each in AXES for span, rows in each.items()],
)
def test_only_rows_of_the_range_are_returned_whatever_the_query_reads(
    axis: str, column: str, span: str, expected: list[int]
) -> None:
    cron = {"hour": "@hourly", "day": "@daily", "month": "@monthly"}[span]
    query = f"SELECT i, {column} FROM raw.t WHERE ts >= @start_dt OR ts < @start_dt"
    start, end = SPANS[span]
    rendered = render(by_time(query, axis, f"cron '{cron}'"), start=start, end=end)
    found = run(rendered.query)
    assert [row[0] for row in found] == expected
    assert all(len(row) == 2 for row in found), "the columns stay as they are"


DIALECTS = [
    ("spark", "(s, 'yyyyMMdd')", "date_format(ntz, 'yyyyMMdd')"),
    ("spark", "(s, 'yyyy-MM-dd HH:mm')", "date_format(ntz, 'yyyy-MM-dd HH:mm')"),
    ("spark", "(s, '%Y%m%d%H')", "date_format(ntz, 'yyyyMMddHH')"),
    ("duckdb", "(s, '%Y/%m/%d')", "strftime(ntz, '%Y/%m/%d')"),
    ("duckdb", "(s, '%Y%m%d')", "CAST(strftime(ntz, '%Y%m%d') AS INT)"),
    ("postgres", "(s, 'YYYY-MM-DD HH24:MI')", "to_char(ntz, 'YYYY-MM-DD HH24:MI')"),
    ("postgres", "(s, 'YYYYMMDD')", "to_char(ntz, 'YYYYMMDD')::int"),
    ("bigquery", "(s, '%Y-%m-%d')", "FORMAT_TIMESTAMP('%Y-%m-%d', ts)"),
    ("bigquery", "(s, '%Y%m%d%H%M%S')", "FORMAT_TIMESTAMP('%Y%m%d%H%M%S', ts)"),
]  # fmt: skip


@pytest.mark.parametrize("dialect,axis,written", DIALECTS)
@pytest.mark.parametrize("span", ["day", "month"])
def test_a_format_of_the_models_dialect_keeps_the_same_rows(
    dialect: str, axis: str, written: str, span: str
) -> None:
    query = f"SELECT i, {written} AS s FROM raw.t WHERE ts <= @end_dt OR ts > @end_dt"
    cron = {"day": "@daily", "month": "@monthly"}[span]
    start, end = SPANS[span]
    text = by_time(query, axis, f"dialect {dialect}, cron '{cron}'")
    assert [row[0] for row in run(render(text, start=start, end=end).query)] == WITHIN[span]


LEAP = ("2024-02-01", "2024-03-01")
VALUES = [
    ("@end_dt", LEAP, datetime(2024, 2, 29, 23, 59, 59, 999999, tzinfo=UTC)),
    ("@end_date", ("2023-12-01", "2024-01-01"), date(2023, 12, 31)),
    ("@end_epoch - @start_epoch", LEAP, 29 * 86400 - 1),
    ("@end_millis - @start_millis", ("2024-01-01", "2025-01-01"), 366 * 86400 * 1000 - 1),
    ("ADD_MONTHS(@start_date, 1)", LEAP, date(2024, 3, 1)),
    ("DATEDIFF(@end_date, @start_date)", LEAP, 28),
    ("CAST(DATE_SUB(@start_date, 1) AS DATE)", LEAP, date(2024, 1, 31)),
    ("CAST(@end_dt AS DATE)", LEAP, date(2024, 2, 29)),
    ("@start_epoch", ("1969-12-31T23:00", "1970-01-01"), -3600),
    ("@end_epoch", ("1969-12-31T23:00", "1970-01-01"), -1),
    ("CONCAT(@start_ds, '/', @end_ds)", LEAP, "2024-02-01/2024-02-29"),
    ("@start_dtntz = CAST(@start_ts AS TIMESTAMP_NTZ)", LEAP, True),
    ("@end_dt = CAST(@end_tstz AS TIMESTAMP)", LEAP, True),
]


@pytest.mark.parametrize("expression,span,expected", VALUES)
def test_macros_are_values_to_compute_with(
    expression: str, span: tuple[str, str], expected: object
) -> None:
    rendered = render(full(f"SELECT {expression} AS x"), start=span[0], end=span[1])
    assert run(rendered.query) == [(expected,)]


MODELS = [
    "MODEL (name m.e, kind EMBEDDED);\nSELECT i, k FROM raw.t WHERE i BETWEEN 2 AND 5",
    "MODEL (name m.v, kind VIEW);\nSELECT e.k, COUNT(*) AS n FROM m.e GROUP BY e.k",
    "MODEL (name m.w, kind EMBEDDED);\nWITH c AS (SELECT i FROM raw.t WHERE day = @start_date) SELECT c.i, u.v FROM c LEFT JOIN raw.u AS u ON u.i = c.i",
]
QUERIES = [
    ("SELECT i FROM m.e", [(2,), (3,), (4,), (5,)]),
    ("SELECT k, n FROM m.v", [("a", 2), ("b", 2)]),
    ("SELECT e.i, v.n FROM m.e JOIN m.v ON v.k = e.k WHERE e.i > 3", [(4, 2), (5, 2)]),
    ("SELECT i, v FROM m.w", [(2, 1.5), (2, 2.5), (3, None), (4, None)]),
    ("SELECT p.i FROM m.w AS p JOIN m.w AS q ON p.i = q.i WHERE p.v = q.v", [(2,), (2,)]),
    ("SELECT COUNT(*) AS n FROM m.e WHERE i IN (SELECT i FROM m.w)", [(3,)]),
    ("SELECT i FROM m.e AS x (i, letter) WHERE letter = 'a'", [(3,), (5,)]),
    ("SELECT SUM(@EACH([i], x -> x)) AS total, k FROM m.e GROUP BY k", [(6, "b"), (8, "a")]),
    ("@UNION('distinct', m.e, raw.u)", [(1, "a"), (2, "b"), (3, "a"), (4, "b"), (5, "a"), (9, "z")]),
    ("SELECT @STAR(m.e, except := [k]) FROM m.e", [(2,), (3,), (4,), (5,)]),
    ("SELECT i, SUM(v) AS v FROM raw.u GROUP BY i HAVING SUM(v) > @VAR('least', 1)", [(2, 4.0)]),
    ("SELECT i FROM raw.t QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY i) = 1", [(1,), (2,)]),
]  # fmt: skip


@pytest.mark.parametrize("query,expected", QUERIES)
def test_models_without_tables_are_worth_their_queries(
    query: str, expected: list[tuple[object, ...]]
) -> None:
    assert run(render(*MODELS, full(query)).query) == expected


def test_the_rows_that_these_tables_speak_of() -> None:
    found = run("SELECT i, ntz FROM raw.t WHERE ntz IS NOT NULL")
    assert found == [(i, datetime.fromisoformat(at)) for i, at in INSTANTS.items()]
