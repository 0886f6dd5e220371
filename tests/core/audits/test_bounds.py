"""Audits whose time bounds do not look at all rows of the interval are refused with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.written_project import problems_in, write_project
from vde_dagster.core.errors import Problem

SOURCES = """
- name: raw.t
  columns: {id: int, ts: timestamp, day: date, f: double}
"""
MODEL = """MODEL (name m.x, kind {kind}, cron '@daily', audits ({calls}));
SELECT id, ts, day, f FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt
"""
BY_TIME = "INCREMENTAL_BY_TIME_RANGE (time_column ts)"


def problems(folder: Path, query: str, calls: str = "own", kind: str = BY_TIME) -> list[Problem]:
    model = MODEL.format(kind=kind, calls=calls)
    audit = f"AUDIT (name own);\nSELECT *\n{query}"
    write_project(folder, SOURCES, {"models/m/x.sql": model, "audits/own.sql": audit})
    return problems_in(folder)


MISSING = [
    "FROM @this_model\nWHERE ts <= @end_date AND f < 0",
    "FROM @this_model AS a\nWHERE a.ts BETWEEN @start_ds AND @end_ds",
    "FROM @this_model\nWHERE ts >= @start_dt AND ts < @end_dt",
    "FROM @this_model\nWHERE day < @end_date AND f IS NULL",
    "FROM raw.t LEFT JOIN @this_model ON this_model.id = raw.t.id\nWHERE raw.t.ts <= @end_date",
    "FROM (SELECT ts AS at FROM @this_model) AS q\nWHERE q.at <= @end_date",
]


@pytest.mark.parametrize("kind", [BY_TIME, "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)", "FULL"])
@pytest.mark.parametrize("query", MISSING)
def test_an_audit_that_misses_rows_of_the_interval_is_refused(
    tmp_path: Path, query: str, kind: str
) -> None:
    (problem,) = problems(tmp_path, query, kind=kind)
    assert (problem.place.path.as_posix(), problem.place.line) == ("audits/own.sql", 4)
    assert "the audit own does not look at all rows: @end_" in problem.message
    assert "<= @end_d" in problem.advice


WHOLE = [
    "FROM @this_model WHERE ts BETWEEN @start_dt AND @end_dt AND f < 0",
    "FROM @this_model WHERE day <= @end_date",
    "FROM @this_model WHERE ts > @end_dt",
    "FROM @this_model WHERE ts < @start_date",
    "FROM @this_model WHERE NOT (ts BETWEEN @start_dt AND @end_dt)",
    "FROM raw.t WHERE NOT EXISTS (SELECT 1 FROM @this_model WHERE day = @end_ds)",
    "FROM @this_model WHERE f < 0",
]


@pytest.mark.parametrize("query", WHOLE)
def test_other_bounds_of_audits_are_taken(tmp_path: Path, query: str) -> None:
    assert problems(tmp_path, query) == []


def test_the_condition_of_a_built_in_audit_counts(tmp_path: Path) -> None:
    calls = "not_null (columns := (f), condition := {})"
    (problem,) = problems(tmp_path / "a", "FROM raw.t", calls.format("ts <= @end_date"))
    assert (problem.place.path.as_posix(), problem.place.line) == ("models/m/x.sql", 1)
    assert "the audit not_null does not look at all rows" in problem.message
    assert problems(tmp_path / "b", "FROM raw.t", calls.format("ts <= @end_dt")) == []
