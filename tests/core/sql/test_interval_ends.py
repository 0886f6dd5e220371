"""Filters on epochs: what they miss of an interval, checked by executing them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from sqlglot import parse_one

from tests.core.written_project import problems_in, write_project
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Finding, ProjectInvalid
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import CanonicalQuery, canonicalize
from vde_dagster.core.sql.interval_ends import Reader, cut_off
from vde_dagster.core.sql.macros import TimeRange, resolve_time_macros
from vde_dagster.core.time.intervals import Interval
from vde_dagster.project.loading import load_for_comparison

TABLE = ModelName("raw", "t")
TYPES = {
    "s": "bigint",
    "ms": "bigint",
    "us": "bigint",
    "f": "double",
    "d": "decimal(20,6)",
    "ts": "timestamp",
    "day": "date",
}
COLUMNS = [Column(name=name, type=kind) for name, kind in TYPES.items()]
DAY = Interval(datetime(2023, 12, 31, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC))
FIRST, LAST = 1703980800, 1704067199

# Each row: a condition, and whether all rows of the day pass it. What does not, is refused.
CONDITIONS = [
    ("s BETWEEN @start_epoch AND @end_epoch", True),
    ("ms BETWEEN @start_millis AND @end_millis", True),
    ("f BETWEEN @start_epoch AND @end_epoch", False),
    ("f <= @end_epoch", False),
    ("NOT (f > @end_epoch)", False),
    ("d <= CAST(@end_epoch AS DECIMAL(20, 6))", False),
    ("ms / 1000 <= @end_epoch", False),
    ("CAST(ms AS DOUBLE) / 1000 <= (@end_epoch)", False),
    ("ms <= CAST(@end_epoch AS BIGINT) * 1000", False),
    ("us <= (@end_millis * 1000)", False),
    ("CAST(FLOOR(f) AS BIGINT) <= @end_epoch", True),
    ("f < @end_epoch + 1", True),
    ("f >= @start_epoch AND f < @end_epoch + 1", True),
    ("ms < CAST(@end_epoch + 1 AS BIGINT) * 1000", True),
    ("d > @start_epoch - 1", True),
    ("ts <= @end_dt", True),
    ("CASE WHEN f > @end_epoch THEN FALSE ELSE TRUE END", False),
]
# Not executed: DuckDB cannot run it, or it keeps other rows than those of the interval.
CUT = [
    "ts <= TO_TIMESTAMP(@end_epoch)",
    "TO_TIMESTAMP(@end_epoch) >= ts",
    "ts <= timestamp_seconds(@end_epoch)",
    "ts <= timestamp_micros(@end_millis * 1000)",
    "ts <= CAST(@end_epoch AS TIMESTAMP)",
    "ts <= from_unixtime(@end_epoch)",
    "ts BETWEEN timestamp_seconds(@start_epoch) AND timestamp_seconds(@end_epoch)",
    "timestamp_seconds(@end_epoch) BETWEEN ts AND now()",
    "f <= CAST(@end_millis / 1000 AS BIGINT)",
    "f <= CAST(@end_epoch AS STRING)",
    "@end_epoch BETWEEN f AND 9999999999",
]
UNCUT = [
    "f > @end_epoch",
    "@end_epoch < f",
    "NOT f <= @end_epoch",
    "f NOT BETWEEN @start_epoch AND @end_epoch",
    "ts > timestamp_seconds(@end_epoch)",
    "ts < timestamp_seconds(@end_epoch + 1)",
    "day <= timestamp_seconds(@end_epoch)",
    "CAST(f AS STRING) <= CAST(@end_epoch AS STRING)",
    "CAST(s AS STRING) <= from_unixtime(@end_epoch)",
]
VALUES = [
    "SELECT f <= @end_epoch AS early FROM raw.t",
    "SELECT SUM(CASE WHEN f <= @end_epoch THEN 1 END) AS n FROM raw.t",
    "SELECT s FROM raw.t WHERE s IN (SELECT CAST(f <= @end_epoch AS INT) FROM raw.t)",
    "SELECT RANK() OVER (ORDER BY f <= @end_epoch) AS n FROM raw.t",
]
FILTERS = [
    "SELECT a.s FROM raw.t AS a LEFT JOIN raw.t AS b ON a.s = b.s AND b.f <= @end_epoch",
    "SELECT s FROM raw.t GROUP BY s HAVING MAX(f) <= @end_epoch",
    "SELECT s FROM raw.t QUALIFY MAX(f) OVER (PARTITION BY s) <= @end_epoch",
    "SELECT COUNT(*) FILTER (WHERE f <= @end_epoch) AS n FROM raw.t",
    "SELECT s FROM raw.t WHERE s IN (SELECT s FROM raw.t WHERE f <= @end_epoch)",
    "SELECT s FROM raw.t WHERE (f <= @end_epoch) IS TRUE",
]


def bound(condition: str) -> str:
    return f"SELECT s, ms, us, f, d, ts, day FROM raw.t WHERE {condition}"


def canonical_of(query: str) -> CanonicalQuery:
    parsed = parse_one(query, dialect="spark")
    return canonicalize(
        parsed,  # type: ignore[arg-type]
        schemas={TABLE: COLUMNS},
    )


def found_in(query: str) -> list[Finding]:
    return list(cut_off(canonical_of(query).expression, {TABLE: COLUMNS}, Reader()))


@pytest.mark.parametrize("condition,passes_all", CONDITIONS)
def test_a_condition_is_refused_just_where_it_leaves_out_rows_of_the_interval(
    condition: str, passes_all: bool
) -> None:
    canonical = canonical_of(bound(condition))
    times = TimeRange.of(DAY, execution_time=DAY.end)
    text = resolve_time_macros(canonical.expression, times).sql("duckdb")
    instants = [FIRST * 1_000_000, LAST * 1_000_000, LAST * 1_000_000 + 999_500]
    rows = [
        (us // 10**6, us // 1000, us, us / 1e6, Decimal(us) / 10**6, at, at.date())
        for us in instants
        for at in [datetime.fromtimestamp(0, UTC) + timedelta(microseconds=us)]
    ]
    connection = duckdb.connect(":memory:")
    connection.execute(
        "CREATE SCHEMA raw; "
        "CREATE TABLE raw.t (s BIGINT, ms BIGINT, us BIGINT, f DOUBLE, d DECIMAL(20, 6), "
        "ts TIMESTAMPTZ, day DATE)"
    )
    connection.executemany("INSERT INTO raw.t VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.execute("SET TimeZone = 'UTC'")
    kept = len(connection.sql(text).fetchall())
    assert (kept == len(rows)) == passes_all
    found = list(cut_off(canonical.expression, {TABLE: COLUMNS}, Reader()))
    assert (not found) == passes_all
    assert all("+ 1" in each.advice for each in found)


@pytest.mark.parametrize("condition", CUT)
def test_the_end_of_what_is_kept_is_found_in_what_a_macro_is_made_into(condition: str) -> None:
    assert found_in(bound(condition))


@pytest.mark.parametrize("condition", UNCUT)
def test_what_begins_at_the_end_or_loses_nothing_is_not_refused(condition: str) -> None:
    assert found_in(bound(condition)) == []


@pytest.mark.parametrize("query", FILTERS)
def test_what_decides_which_rows_there_are_is_a_filter(query: str) -> None:
    assert found_in(query)


@pytest.mark.parametrize("query", VALUES)
def test_a_comparison_that_is_a_value_is_left_to_the_author(query: str) -> None:
    assert found_in(query) == []


def test_advice_for_an_instant_names_the_macro_of_its_type() -> None:
    (finding,) = found_in(bound("ts <= timestamp_millis(@end_millis)"))
    assert "so rows that are later in that millisecond" in finding.message
    assert "`value <= @end_dt`" in finding.advice


def test_what_would_be_left_out_is_reported_with_its_line_when_a_project_is_loaded(
    tmp_path: Path,
) -> None:
    model = (
        "MODEL (name m.x, kind INCREMENTAL_UNMANAGED);\nWITH q AS (SELECT id, f AS at FROM raw.t)\n"
        "SELECT id, at FROM q\nWHERE at BETWEEN @start_epoch AND @end_epoch"
    )
    source = "- name: raw.t\n  columns: {id: int, f: double}\n"
    write_project(tmp_path, source, {"models/m/x.sql": model})
    (problem,) = problems_in(tmp_path)
    assert (str(problem.place.path), problem.place.line) == ("models/m/x.sql", 4)
    assert "@end_epoch is the last whole second of the interval" in problem.message
    assert problem.advice.endswith("`value >= @start_epoch AND value < @end_epoch + 1`.")
    with pytest.raises(ProjectInvalid, match="@end_epoch is the last whole second"):
        load_for_comparison(tmp_path)
