"""Intervals as partitions, and the partitions of parents; no Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from vde_dagster.app.binding import Binding
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, IntervalUnit
from vde_dagster.orchestration.assets.partitions import (
    contiguous,
    interval_of,
    parent_mapping,
    partition_key,
    partitions_of,
)
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import read_model

START = datetime(2024, 1, 1, tzinfo=UTC)
CRONS = {
    IntervalUnit.FIVE_MINUTE: "*/5 * * * *",
    IntervalUnit.QUARTER_HOUR: "*/15 * * * *",
    IntervalUnit.HALF_HOUR: "*/30 * * * *",
    IntervalUnit.HOUR: "@hourly",
    IntervalUnit.DAY: "@daily",
    IntervalUnit.MONTH: "@monthly",
    IntervalUnit.YEAR: "@yearly",
}


def graph(*models: tuple[str, str, str]) -> Graph:
    """Models as (name, cron, query)."""
    defaults = Defaults(start=START).as_texts()
    return build_graph(
        read_model(
            ModelSource(
                path=Path(f"models/{name.replace('.', '/')}.sql"),
                text=f"MODEL (name {name}, kind INCREMENTAL_BY_TIME_RANGE (time_column at), "
                f"cron '{cron}');\n{query}",
                defaults=defaults,
            )
        )
        for name, cron, query in models
    )


def mapping(cron: str, query: str, *, parent: str = "@hourly") -> dg.PartitionMapping | None:
    found = graph(
        ("a.parent", parent, "SELECT CAST('2024-01-01' AS TIMESTAMP) AS at, 1 AS x"),
        ("a.child", cron, query),
    )
    binding = Binding(environment="prod", revision=0, graph=found, snapshots={})
    return parent_mapping(binding, found[ModelName("a", "child")], found[ModelName("a", "parent")])


@pytest.mark.parametrize("unit", list(IntervalUnit))
def test_keys_and_intervals_are_the_same_both_ways(unit: IntervalUnit) -> None:
    query = "SELECT CAST('2024-01-01' AS TIMESTAMP) AS at"
    (node,) = graph(("a.b", CRONS[unit], query))
    end = datetime(2026, 1, 1, tzinfo=UTC)
    if unit not in (IntervalUnit.MONTH, IntervalUnit.YEAR):
        end = START + timedelta(days=3)
    partitions = partitions_of(node, end)
    assert partitions is not None
    cells = list(unit.cells(Interval(START, end)))
    keys = partitions.get_partition_keys()
    assert keys == [partition_key(unit, cell) for cell in cells]
    assert [interval_of(unit, key) for key in keys] == cells
    assert contiguous(unit, keys) == Interval(START, end)
    windows = [partitions.time_window_for_partition_key(key) for key in keys]
    assert [Interval(each.start, each.end) for each in windows] == cells


def test_no_partition_is_due_while_the_clock_has_no_time() -> None:
    (node,) = graph(("a.b", "@hourly", "SELECT CAST('2024-01-01' AS TIMESTAMP) AS at"))
    partitions = partitions_of(node, START)
    assert partitions is not None
    assert partitions.get_partition_keys() == []


@pytest.mark.parametrize("keys", [[], ["2024-01-01", "2024-01-03"]])
def test_a_run_has_one_contiguous_range(keys: list[str]) -> None:
    with pytest.raises(Refused):
        contiguous(IntervalUnit.DAY, keys)


def offsets(start: int, end: int) -> dg.TimeWindowPartitionMapping:
    return dg.TimeWindowPartitionMapping(
        start_offset=start, end_offset=end, allow_nonexistent_upstream_partitions=True
    )


SAME = dg.TimeWindowPartitionMapping()
ALL = dg.AllPartitionMapping()
NOW = "SELECT @start_dt AS at, x FROM a.parent WHERE"
"""A child whose own filter says nothing about its parent."""


@pytest.mark.parametrize(
    "cron, parent, query, expected",
    [
        ("@hourly", "@hourly", f"{NOW} at BETWEEN @start_dt AND @end_dt", SAME),
        ("@daily", "@hourly", f"{NOW} at BETWEEN @start_dt AND @end_dt", SAME),
        ("@hourly", "@daily", f"{NOW} at BETWEEN @start_dt AND @end_dt", SAME),
        ("@hourly", "@hourly", "SELECT at, x FROM a.parent WHERE at <= @end_dt", SAME),
        (
            "@hourly",
            "@hourly",
            f"{NOW} at BETWEEN @start_dt - INTERVAL 3 HOURS AND @end_dt",
            offsets(-3, 0),
        ),
        (
            "@daily",
            "@daily",
            f"{NOW} at BETWEEN DATE_SUB(@start_date, 7) AND @end_dt - INTERVAL 6 DAYS",
            offsets(-7, -6),
        ),
        (
            "@daily",
            "@daily",
            f"{NOW} at BETWEEN @start_dt - INTERVAL 30 HOURS AND @end_dt + INTERVAL 1 HOUR",
            offsets(-2, 1),
        ),
        # A day begins less than 31 days after the first of its month.
        (
            "@daily",
            "@daily",
            f"{NOW} at BETWEEN DATE_TRUNC('month', @start_dt) AND @end_dt",
            offsets(-31, 0),
        ),
        # A month ago is up to 31 days ago, which may be more than the month before is long.
        (
            "@monthly",
            "@monthly",
            f"{NOW} at BETWEEN @start_dt - INTERVAL 1 MONTH AND @end_dt",
            offsets(-2, 0),
        ),
        ("@daily", "@hourly", f"{NOW} at BETWEEN @start_dt - INTERVAL 3 HOURS AND @end_dt", ALL),
        ("@hourly", "@hourly", f"{NOW} at <= @end_dt", ALL),
        (
            "@hourly",
            "@hourly",
            f"{NOW} at BETWEEN '2024-01-01' AND '2024-02-01' OR at = @start_dt",
            ALL,
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
def test_a_partition_depends_on_what_its_query_reads(
    cron: str, parent: str, query: str, expected: dg.PartitionMapping
) -> None:
    assert mapping(cron, query, parent=parent) == expected
