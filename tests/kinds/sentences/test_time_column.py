"""The time column of INCREMENTAL_BY_TIME_RANGE: what is read, what is kept, and partitions."""

from __future__ import annotations

from datetime import date

import pytest

from tests.app.memory_world import MemoryWorld, there
from tests.kinds.sentences.projects import (
    built,
    fill,
    graph_of,
    inputs_of,
    node_of,
    problems,
    read,
    rows_of,
    span,
    table_of,
)
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.model.kinds import IncrementalByTimeRange
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.restatement import restate_all

RECEIPTS = """MODEL (
  name demo.receipts,
  kind INCREMENTAL_BY_TIME_RANGE (time_column event_date),
  start '2024-01-01'
);
SELECT id, event_date, receipt_date FROM raw.receipts
WHERE receipt_date BETWEEN @start_date AND @end_date
"""
NAME = ModelName("demo", "receipts")
TEXT = """MODEL (
  name demo.texts,
  kind INCREMENTAL_BY_TIME_RANGE (time_column {column}),
  {header}start '2024-01-01'
);
SELECT id, {day} AS day FROM raw.receipts WHERE event_date >= @start_date
"""
WEEK = [[str(day), f"2024-01-{day:02}", f"2024-01-{day:02}"] for day in range(1, 8)]


def kind_of(text: str) -> IncrementalByTimeRange:
    kind = read(text).kind
    assert isinstance(kind, IncrementalByTimeRange)
    return kind


def written(time_format: str, dialect: str = "spark") -> str:
    column = f"(day, '{time_format}')" if time_format else "day"
    return TEXT.format(column=column, header=f"dialect {dialect}, ", day="CAST(id AS STRING)")


# What the time column is for


@pytest.mark.parametrize("column", ["event_day", "landed_on"])
def test_the_time_column_is_a_column_of_the_query(column: str) -> None:
    (found,) = problems(RECEIPTS.replace("time_column event_date", f"time_column {column}"))
    assert found.message == f"the time column {column!r} is not among the columns"
    assert "event_date" in found.advice


def test_a_restatement_is_widened_to_whole_intervals() -> None:
    graph = graph_of(RECEIPTS)
    loaded = {NAME: [span("2024-01-01", "2024-02-01")]}
    wanted = span("2024-01-05T06:00", "2024-01-07T01:00")
    found = restate_all(graph, [NAME], wanted, loaded)
    assert found.ranges == {NAME: (span("2024-01-05", "2024-01-08"),)}  # whole days


def test_a_restatement_overwrites_rows_by_their_time_column_and_no_other_date() -> None:
    first, second = date(2024, 1, 1), date(2024, 1, 2)
    world = MemoryWorld.landed(until=48)
    # Event and receipt: the time column is that of the event, the filter that of the receipt.
    dates = [(first, first), (second, second), (first, second), (second, first)]
    fill(world, "raw.receipts", [(10 + n, *each) for n, each in enumerate(dates)])
    built(world, RECEIPTS)
    assert [row[0] for row in world.rows("demo.receipts")] == [10, 11, 12, 13]
    again = [(20 + n, *each) for n, each in enumerate(dates)]
    world.catalog.overwrite(TableName("raw", "receipts"), again)
    evaluate_range(world.services(), world.bound(), NAME, span("2024-01-02", "2024-01-03"))
    # Of the first day both rows stay; those of the second are what its receipts have of it.
    assert world.rows("demo.receipts") == [(10, *dates[0]), (12, *dates[2]), (21, *dates[1])]


# Its format


def test_a_text_is_an_iso_date_unless_a_format_is_given() -> None:
    text = TEXT.format(column="day", header="", day="CAST(event_date AS STRING)")
    found = rows_of(text, start="2024-01-03", end="2024-01-05", data={"raw.receipts": WEEK})
    assert found == [(3, "2024-01-03"), (4, "2024-01-04")]


def test_another_format_is_given_with_the_column() -> None:
    text = TEXT.format(
        column="(day, 'yyyyMMdd')", header="", day="DATE_FORMAT(event_date, 'yyyyMMdd')"
    )
    found = rows_of(text, start="2024-01-03", end="2024-01-05", data={"raw.receipts": WEEK})
    assert found == [(3, "20240103"), (4, "20240104")]


@pytest.mark.parametrize(
    "dialect,time_format",
    [
        ("spark", "yyyy-MM-dd HH"),
        ("postgres", "YYYY-MM-DD HH24"),
        ("snowflake", "YYYY-MM-DD HH24"),
        ("bigquery", "%Y-%m-%d %H"),
        ("mysql", "%Y-%m-%d %H"),
    ],
)
def test_a_format_is_written_in_the_dialect_of_the_model(dialect: str, time_format: str) -> None:
    assert kind_of(written(time_format, dialect)).time_format == "%Y-%m-%d %H"


@pytest.mark.parametrize("time_format", ["MM-dd-yyyy", "yy", "soon"])
def test_a_format_that_does_not_order_like_time_is_refused(time_format: str) -> None:
    (found,) = problems(written(time_format))
    assert time_format in found.message
    assert "dialect" in found.advice


# What is read, and what is kept


def test_the_filter_of_the_query_bounds_what_is_read() -> None:
    # The parent's time column is the filtered one alone; the child's own says nothing about it.
    child = (
        "MODEL (name demo.child, kind INCREMENTAL_BY_TIME_RANGE (time_column receipt_date)); "
        "SELECT receipt_date FROM demo.receipts WHERE event_date BETWEEN @start_date AND @end_date"
    )
    found = inputs_of(RECEIPTS, child, start="2024-01-03", end="2024-01-05")
    assert found == {NAME: (span("2024-01-03", "2024-01-05"),)}


def test_rows_outside_of_the_range_are_not_kept() -> None:
    # The query filters by the receipt alone; the range is that of the time column.
    late = [["1", "2024-01-02", "2024-01-03"], ["2", "2024-01-03", "2024-01-03"]]
    early = [["3", "2024-01-05", "2024-01-04"], ["4", "2024-01-04", "2024-01-04"]]
    found = rows_of(
        RECEIPTS, start="2024-01-03", end="2024-01-05", data={"raw.receipts": late + early}
    )
    assert [row[0] for row in found] == [2, 4]


def test_late_rows_of_an_earlier_day_do_not_overwrite_that_day() -> None:
    world = MemoryWorld.landed(until=48)
    fill(world, "raw.receipts", [(1, date(2024, 1, 1), date(2024, 1, 1))])
    built(world, RECEIPTS)
    second, first = date(2024, 1, 2), date(2024, 1, 1)
    fill(world, "raw.receipts", [(2, first, second), (3, second, second)])
    evaluate_range(world.services(), world.bound(), NAME, span("2024-01-02", "2024-01-03"))
    assert [row[0] for row in world.rows("demo.receipts")] == [1, 3]


# Partitions


def test_the_table_is_partitioned_by_the_time_column() -> None:
    world = MemoryWorld.landed(until=48)
    fill(world, "raw.receipts", [(1, date(2024, 1, 1), date(2024, 1, 1))])
    built(world, RECEIPTS)
    axis = there(world.catalog.tables[table_of(world, "demo.receipts")].partition_by)
    assert axis.column == "event_date"


def test_a_table_that_opts_out_has_no_partitions_and_the_same_rows() -> None:
    text = RECEIPTS.replace(
        "time_column event_date", "time_column event_date, partition_by_time_column false"
    )
    assert text != RECEIPTS
    rows = []
    for each in (RECEIPTS, text):
        world = MemoryWorld.landed(until=72)
        receipts = [(day, date(2024, 1, day), date(2024, 1, day)) for day in (1, 2)]
        fill(world, "raw.receipts", receipts)
        built(world, each)
        rows.append(world.rows("demo.receipts"))
        axis = world.catalog.tables[table_of(world, "demo.receipts")].partition_by
        assert (axis is None) is (each == text)
    assert rows[0] == rows[1]
    assert len(rows[0]) == 2


def test_naming_the_time_column_as_the_partition_changes_nothing() -> None:
    named = RECEIPTS.replace("start '2024", "partitioned_by (event_date), start '2024")
    assert node_of(named).fingerprint == node_of(RECEIPTS).fingerprint


def test_opting_out_of_the_time_column_as_a_partition_is_another_version() -> None:
    joined, out = (_partitioned("bucket(16, id)", opts_out=each) for each in (False, True))
    assert joined.fingerprint.data != out.fingerprint.data
    explicit = _partitioned("event_date, bucket(16, id)", opts_out=False)
    assert joined.fingerprint.data == explicit.fingerprint.data
    # A transform of the time column is a partition of it already.
    joined, out = (_partitioned("months(event_date)", opts_out=each) for each in (False, True))
    assert joined.fingerprint.data == out.fingerprint.data


def _partitioned(fields: str, *, opts_out: bool) -> Node:
    option = ", partition_by_time_column false" if opts_out else ""
    text = RECEIPTS.replace("time_column event_date", f"time_column event_date{option}")
    return node_of(text.replace("start '2024", f"partitioned_by ({fields}), start '2024"))
