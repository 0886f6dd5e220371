# ruff: noqa: E501 - rows of tables stay on one line
"""What models read, over generated models: proved on DuckDB, and derived in ways that agree.

The range of a rendered query, the range that is derived without rendering it, windows that are
valid for every interval, and the intervals that read a changed range.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.conftest import build
from tests.core.graph.rendered import read_query
from tests.core.sql.reads.alone_cases import on_duckdb
from tests.depth import examples
from vde_dagster.core.graph.render_model import reads_of, render_model
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.sql.reads.bounds import instants_meeting
from vde_dagster.core.sql.reads.constants import Moments
from vde_dagster.core.sql.reads.input_ranges import (
    WHOLE,
    InputRange,
    Reads,
    WholeTable,
    affected,
    window,
    windows,
)
from vde_dagster.core.time.intervals import Interval, IntervalUnit, merge
from vde_dagster.core.time.windows import Window

C, H, D = ModelName("m", "c"), ModelName("m", "h"), ModelName("m", "d")
FIRST = datetime(2024, 1, 28, tzinfo=UTC)
HOURS = 40 * 24  # up to the eighth of March: a leap day and two ends of months
PARENTS = {
    "m.h": "MODEL (name m.h, kind INCREMENTAL_BY_TIME_RANGE (time_column ts), cron '@hourly'); "
    "SELECT ts, a AS k FROM raw.t WHERE ts BETWEEN @start_dt AND @end_dt",
    "m.d": "MODEL (name m.d, kind INCREMENTAL_BY_TIME_RANGE (time_column ts), cron '@daily'); "
    "SELECT day AS ts, a AS k FROM raw.t WHERE day BETWEEN @start_date AND @end_date",
}
STARTS = (
    "@start_dt",
    "@start_dt",
    "@start_date",
    "@start_ds",
    "CAST(@start_ts AS TIMESTAMP)",
    "@start_dtntz",
    "@start_dt - INTERVAL '3' DAY",
    "@start_dt - INTERVAL 5 HOURS",
    "@start_dt - INTERVAL 3 DAYS 2 HOURS",
    "DATE_SUB(@start_date, 7)",
    "DATE_TRUNC('month', @start_dt)",
    "DATE_TRUNC('week', @start_date)",
    "ADD_MONTHS(@start_date, -1)",
    "@start_dt - INTERVAL 1 MONTH",
    "TIMESTAMP '2024-02-10 00:00:00'",
    "DATE_SUB(@end_date, 2)",
)
ENDS = (
    "@end_dt",
    "@end_dt",
    "@end_date",
    "@end_ds",
    "@end_tstz",
    "@end_dt + INTERVAL '1' DAY",
    "@end_dt - INTERVAL '2' HOUR",
    "DATE_ADD(@end_date, 1)",
    "@start_dt + INTERVAL 36 HOURS",
    "DATE_TRUNC('day', @end_dt)",
    "ADD_MONTHS(DATE_TRUNC('month', @start_dt), 1)",
    "TIMESTAMP '2024-02-20 00:00:00'",
)
KINDS = (
    ("INCREMENTAL_BY_TIME_RANGE (time_column ts)", "@daily"),
    ("INCREMENTAL_BY_TIME_RANGE (time_column ts)", "@daily"),
    ("INCREMENTAL_BY_TIME_RANGE (time_column ts)", "@monthly"),
    ("INCREMENTAL_BY_UNIQUE_KEY (unique_key k)", "@daily"),
    ("FULL", "@daily"),
)


@st.composite
def conditions(draw: st.DrawFn, alias: str) -> str:
    """A condition that most often bounds a table by the interval."""
    start, end = draw(st.sampled_from(STARTS)), draw(st.sampled_from(ENDS))
    value = draw(st.sampled_from([f"{alias}.ts", f"{alias}.ts", f"CAST({alias}.ts AS DATE)"]))
    forms = [
        f"{value} BETWEEN {start} AND {end}",
        f"{value} >= {start} AND {value} < {end}",
        f"{value} > {start} AND {value} <= {end} AND {alias}.ts >= TIMESTAMP '2024-02-02'",
        f"{value} BETWEEN {start} AND {end} OR {value} = {draw(st.sampled_from(STARTS))}",
        f"{value} >= {start}",
    ]
    return draw(st.sampled_from([*forms[:2], *forms]))


@st.composite
def models(draw: st.DrawFn) -> dict[str, str]:
    """A child of two parents, with or without a VIEW or an EMBEDDED model in between."""
    kind, cron = draw(st.sampled_from(KINDS))
    one, other = draw(st.permutations(["m.h", "m.d"]))
    texts = dict(PARENTS)
    between = draw(st.sampled_from([None, "VIEW", "EMBEDDED"]))
    if between is not None:
        body = draw(
            st.sampled_from(
                [
                    f"SELECT ts, k FROM {one}",
                    f"SELECT CAST(ts AS DATE) AS ts, COUNT(*) AS k FROM {one} GROUP BY CAST(ts AS DATE)",
                    f"SELECT ts, k FROM {one} UNION ALL SELECT ts, k FROM {other}",
                    f"SELECT ts, k FROM {one} ORDER BY ts, k LIMIT 40",
                ]
            )
        )
        texts["m.v"] = f"MODEL (name m.v, kind {between}); {body}"
        one = "m.v"
    value = draw(st.sampled_from(["x.ts", "x.ts", "CAST(x.ts AS DATE)"]))
    join = draw(st.sampled_from(["", "", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]))
    from_ = f"{one} AS x"
    if join:
        from_ += f" {join} {other} AS y ON x.k = y.k AND {draw(conditions('y'))}"
    # a time range whose filter has no macro is refused
    where = conditions("x").filter(lambda each: "@" in each or "TIME_RANGE" not in kind)
    texts["m.c"] = (
        f"MODEL (name m.c, kind {kind}, cron '{cron}'); "
        f"SELECT {value} AS ts, x.k FROM {from_} WHERE {draw(where)}"
    )
    return texts


Rows = list[tuple[int | None, int]]
ROWS = st.lists(st.tuples(st.integers(0, HOURS) | st.none(), st.integers(0, 2)), max_size=40)
INTERVALS = st.integers(2, 36)


def interval_of(day: int, unit: IntervalUnit) -> Interval:
    start = unit.floor(FIRST + timedelta(days=day))
    return Interval(start, unit.following(start))


def ranges_for(reads: Reads, interval: Interval) -> Mapping[ModelName, InputRange]:
    return reads.ranges(Moments.between(interval, interval))


PROOF = settings(
    max_examples=examples(120),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'; CREATE SCHEMA m")
    return connection


def fill(
    connection: duckdb.DuckDBPyConnection, name: ModelName, rows: Rows, kept: InputRange
) -> None:
    """The rows of a parent in a range, in its own type."""
    daily = name == D
    kind = "DATE" if daily else "TIMESTAMPTZ"
    connection.execute(f"CREATE OR REPLACE TABLE {name} (ts {kind}, k INT)")
    for hour, key in rows:
        at = None if hour is None else FIRST + timedelta(hours=hour)
        at = IntervalUnit.DAY.floor(at) if at is not None and daily else at
        whole = isinstance(kept, WholeTable)
        ranges = () if isinstance(kept, WholeTable) else kept
        if not whole and (at is None or not any(each.start <= at < each.end for each in ranges)):
            continue
        value = at.date() if at is not None and daily else at
        connection.execute(f"INSERT INTO {name} VALUES (?, ?)", [value, key])


@PROOF
@given(texts=models(), day=INTERVALS, hourly=ROWS, daily=ROWS)
def test_rows_outside_of_the_range_of_a_rendered_model_never_change_its_result(
    database: duckdb.DuckDBPyConnection,
    texts: dict[str, str],
    day: int,
    hourly: Rows,
    daily: Rows,
) -> None:
    graph = build(texts)
    interval = interval_of(day, graph[C].model.unit)
    times = TimeRange.of(interval, execution_time=interval.end)
    query = read_query(render_model(graph, C, times, target=lambda _: None).query)
    results = []
    for found in (
        {},
        ranges_for(reads_of(graph, C), interval),
    ):
        fill(database, H, hourly, found.get(H, WHOLE))
        fill(database, D, daily, found.get(D, WHOLE))
        results.append(sorted(map(repr, database.execute(on_duckdb(query)).fetchall())))
    assert results[0] == results[1]


@PROOF
@given(texts=models(), days=st.lists(INTERVALS, min_size=3, max_size=3))
def test_no_interval_reads_more_than_the_window_of_every_interval(
    texts: dict[str, str], days: list[int]
) -> None:
    graph = build(texts)
    reads, unit = reads_of(graph, C), graph[C].model.unit
    for parent in (H, D):
        found, every = window(reads, parent, unit), windows(reads, parent, unit)
        for interval in (interval_of(day, unit) for day in days):
            read = ranges_for(reads, interval).get(parent, ())
            if found is None:
                continue
            assert not isinstance(read, WholeTable)
            grain = graph[parent].model.unit
            bound = grain.widen(Interval(interval.start - found.before, interval.end + found.after))
            assert all(bound.contains(each) for each in read)
            if every is not None and every.exact:
                parts = [shifted(interval, each) for each in every.parts]
                assert read == merge(grain.widen(each) for each in parts)


def shifted(interval: Interval, by: Window) -> Interval:
    return Interval(interval.start - by.before, interval.end + by.after)


@PROOF
@given(texts=models(), hours=st.tuples(st.integers(0, HOURS), st.integers(1, 60)))
def test_affected_are_the_intervals_whose_range_meets_what_changed(
    texts: dict[str, str], hours: tuple[int, int]
) -> None:
    graph = build(texts)
    reads, unit = reads_of(graph, C), graph[C].model.unit
    start = FIRST + timedelta(hours=hours[0])
    changed = Interval(start, start + timedelta(hours=hours[1]))
    within = unit.widen(Interval(FIRST, FIRST + timedelta(hours=HOURS)))
    for parent in (H, D):
        found = affected(reads, parent, [changed], unit=unit, within=within)
        where = graph[parent].model.unit.widen(changed)
        assert found == merge(
            cell for cell in unit.cells(within) if may_read(reads, parent, cell, where)
        )
        # Loaded by hours, before the model became one of days.
        held = Interval(FIRST, FIRST + timedelta(hours=HOURS - 5))
        found = affected(reads, parent, [changed], unit=unit, within=held, at_once=True)
        assert found == ((held,) if may_read(reads, parent, held, where) else ())


def may_read(reads: Reads, parent: ModelName, cell: Interval, where: Interval) -> bool:
    """Whether an interval reads any instant of a range; also of one that is open on one side."""
    if parent not in reads.demands:
        return False
    read = instants_meeting(reads.demands[parent][1], Moments.between(cell, cell))
    return read is None or any(each.intersection(where) is not None for each in read)
