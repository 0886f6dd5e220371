# ruff: noqa: E501 - rows of tables stay on one line
"""What a query reads of its parents (docs/inside/architecture.md): too wide is safe, too narrow never."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import canonicalize
from vde_dagster.core.sql.dialects import read_sql
from vde_dagster.core.sql.reads.input_ranges import WHOLE, InputRange, TimeAxis, reads
from vde_dagster.core.time.intervals import EPOCH, Interval, IntervalUnit

P, Q = ModelName("s", "p"), ModelName("s", "q")
COLUMNS = (Column(name="ts", type="timestamp"), Column(name="k", type="int"))
HOUR = TimeAxis(column="ts", unit=IntervalUnit.HOUR)


def qualified(sql: str, dialect: str = "spark") -> exp.Query:
    parsed = read_sql(sql, dialect)
    assert isinstance(parsed, exp.Query)
    schemas = {P: COLUMNS, Q: COLUMNS}
    return canonicalize(parsed, schemas=schemas).expression


def ranges(sql: str, dialect: str = "spark") -> Mapping[ModelName, InputRange]:
    return reads(qualified(sql, dialect), axes={P: HOUR, Q: HOUR}).ranges()


def span(start: str, end: str) -> tuple[Interval, ...]:
    first, last = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (start, end))
    return (Interval(first, last),)


DAY = span("2024-01-01", "2024-01-02")
IN_DAY = "ts >= '2024-01-01' AND ts < '2024-01-02'"


@pytest.mark.parametrize(
    "where,expected",
    [
        (IN_DAY, DAY),
        ("ts BETWEEN '2024-01-01' AND '2024-01-01 23:59:59.999999'", DAY),
        ("'2024-01-01' <= ts AND '2024-01-02' > ts", DAY),
        ("('2024-01-02' > TS) AND ((k = 1) AND '2024-01-01' <= `ts`)", DAY),
        ("ts > '2024-01-01' AND ts <= '2024-01-01 23:00:00'", DAY),
        ("ts >= '2024-01-01 05:30:00' AND ts < '2024-01-01 06:30:00'", span("2024-01-01T05:00", "2024-01-01T07:00")),
        ("ts = '2024-01-01 05:30:00'", span("2024-01-01T05:00", "2024-01-01T06:00")),
        ("ts >= CAST('2024-01-01 00:00:00+00:00' AS TIMESTAMP) AND ts < TIMESTAMP '2024-01-02'", DAY),
        ("ts >= CAST('2024-01-01 02:00:00+02:00' AS TIMESTAMP) AND ts < DATE '2024-01-02'", DAY),
        (f"{IN_DAY} AND ts >= '2023-01-01'", DAY),
        (f"{IN_DAY} AND ts > '2025-01-01'", ()),
        ("ts >= '2024-01-01'", WHOLE),
        ("ts < '2024-01-01'", WHOLE),
        (f"({IN_DAY}) OR k = 1", WHOLE),
        (f"NOT ({IN_DAY})", WHOLE),
        ("NOT ts BETWEEN '2024-01-01' AND '2024-01-02'", WHOLE),
        ("ts >= '2024-01-01' AND ts + INTERVAL 1 DAY < '2024-01-02'", ()),
        ("CAST(ts AS DATE) = '2024-01-01'", DAY),
        ("ts IN ('2024-01-01')", span("2024-01-01", "2024-01-01T01:00")),
        ("ts BETWEEN '2024-01-01' AND '9999-12-31 23:59:59.999999'", WHOLE),
        ("ts BETWEEN '2024-01-01' AND '9999-12-31'", span("2024-01-01", "9999-12-31T01:00")),
        ("ts >= '20240101' AND ts < '20240102'", WHOLE),  # no date for Spark
        ("ts >= '2024-W01-1' AND ts < '2024-01-02'", WHOLE),
        # a date drops the time of day, so the bound is earlier than the text says
        ("ts >= CAST('2024-01-01 12:00:00' AS DATE) AND ts < '2024-01-02'", DAY),
        # engines differ in what an offset means for a type without a zone
        ("ts >= CAST('2024-01-01 00:00:00-05:00' AS TIMESTAMP_NTZ) AND ts < '2024-01-02'", WHOLE),
        ("ts >= '2024-01-01' AND ts < CURRENT_TIMESTAMP()", WHOLE),
    ],
)  # fmt: skip
def test_conditions_on_one_scan(where: str, expected: InputRange) -> None:
    assert ranges(f"SELECT ts, k FROM s.p WHERE {where}") == {P: expected}


@pytest.mark.parametrize(
    "sql,p,q",
    [
        (f"SELECT 1 AS x FROM s.p AS p JOIN s.q AS q ON p.k = q.k AND p.{IN_DAY.replace('ts <', 'p.ts <')}", DAY, WHOLE),
        ("SELECT 1 AS x FROM s.p AS p LEFT JOIN s.q AS q ON q.ts BETWEEN '2024-01-01' AND '2024-01-01 23:59:59'", WHOLE, DAY),
        ("SELECT 1 AS x FROM s.p AS p LEFT JOIN s.q AS q ON p.ts BETWEEN '2024-01-01' AND '2024-01-01 23:59:59'", WHOLE, WHOLE),
        ("SELECT 1 AS x FROM s.p AS p RIGHT JOIN s.q AS q ON p.ts BETWEEN '2024-01-01' AND '2024-01-01 23:59:59'", DAY, WHOLE),
        ("SELECT 1 AS x FROM s.p AS p FULL JOIN s.q AS q ON p.ts BETWEEN '2024-01-01' AND '2024-01-01 23:59:59'", WHOLE, WHOLE),
        ("SELECT 1 AS x FROM s.p AS p FULL JOIN s.q AS q ON p.k = q.k WHERE p.ts BETWEEN '2024-01-01' AND '2024-01-01 23:59:59'", DAY, WHOLE),
        ("SELECT 1 AS x FROM s.p AS p LEFT ANTI JOIN s.q AS q ON q.k = p.k AND q.ts = '2024-01-01'", WHOLE, span("2024-01-01", "2024-01-01T01:00")),
        (f"WITH c AS (SELECT ts, k FROM s.p WHERE {IN_DAY}) SELECT c.k FROM c JOIN s.q AS q ON q.k = c.k", DAY, WHOLE),
        (f"SELECT k FROM s.p WHERE {IN_DAY} UNION ALL SELECT k FROM s.q WHERE {IN_DAY}", DAY, DAY),
        (f"SELECT k FROM s.p WHERE {IN_DAY} AND k IN (SELECT k FROM s.q)", DAY, WHOLE),
        (f"SELECT x.k FROM (SELECT k, ts FROM s.p) AS x WHERE x.{IN_DAY.replace('ts <', 'x.ts <')}", DAY, None),
    ],
)  # fmt: skip
def test_each_scan_has_its_own_bounds(sql: str, p: InputRange, q: InputRange | None) -> None:
    assert ranges(sql) == ({P: p, Q: q} if q is not None else {P: p})


def test_two_scans_of_one_parent_are_joined_and_one_open_scan_opens_both() -> None:
    first = f"SELECT k FROM s.p WHERE {IN_DAY}"
    third = "SELECT k FROM s.p WHERE ts >= '2024-01-03' AND ts < '2024-01-04'"
    assert ranges(f"{first} UNION ALL {third}") == {P: DAY + span("2024-01-03", "2024-01-04")}
    assert ranges(f"{first} UNION ALL SELECT k FROM s.p") == {P: WHOLE}
    assert ranges(f"SELECT k FROM s.p UNION ALL {first}") == {P: WHOLE}


@pytest.mark.parametrize("bounds", [("2024-01-02", "2024-01-01"), ("2024-01-01", "2024-01-02")])
def test_symmetric_bounds_hold_in_either_order(bounds: tuple[str, str]) -> None:
    """The last instant is inside, so that the hour which begins with it is read."""
    first, second = bounds
    sql = f"SELECT k FROM s.p WHERE ts BETWEEN SYMMETRIC '{first}' AND '{second}'"
    assert ranges(sql, "postgres") == {P: span("2024-01-01", "2024-01-02 01:00")}


def test_a_range_is_widened_to_the_units_of_the_parent() -> None:
    query = qualified(f"SELECT k FROM s.p WHERE {IN_DAY}")
    axis = TimeAxis(column="ts", unit=IntervalUnit.MONTH)
    assert reads(query, axes={P: axis}).ranges() == {P: span("2024-01-01", "2024-02-01")}
    assert reads(query, axes={P: None}).ranges() == {P: WHOLE}
    assert reads(query, axes={Q: axis}).ranges() == {}


def test_epoch_is_a_bound_like_any_other() -> None:
    found = ranges("SELECT k FROM s.p WHERE ts >= '1969-12-31 23:00:00' AND ts < '1970-01-01'")
    assert found == {P: (Interval(EPOCH - timedelta(hours=1), EPOCH),)}
