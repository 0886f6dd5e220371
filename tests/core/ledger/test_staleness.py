"""Which entries are behind what they would be computed from now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from tests.app.memory_world import SOURCE, graph_of, hour_of
from tests.app.shop_world import SALES, SHOP, day
from tests.core.ledger.ledger_entries import entry_of
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.entries import EntryStatus, LedgerEntry
from vde_dagster.core.ledger.staleness import (
    LatestChanges,
    Times,
    read_by_times,
    source_times,
    stale_entries,
)
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import InputRange
from vde_dagster.core.time.intervals import Interval

SALES_NAME, TRIPLE_NAME, TOTAL_NAME = (ModelName("mart", e) for e in ("sales", "triple", "total"))
GRAPH = graph_of(SHOP)
DAYS = [day(1), day(2), day(3)]


@dataclass(frozen=True)
class Changed:
    """Inputs of which some times differ, for all entries alike."""

    times: Mapping[ModelName, Times] = field(default_factory=dict)

    def has_changed(self, entry: LedgerEntry, name: ModelName, read: InputRange) -> bool:
        return LatestChanges.of([self.times.get(name, ())]).within(read) == 0


def stale(
    name: ModelName,
    times: Times,
    *,
    of: ModelName = SOURCE,
    graph: Graph = GRAPH,
    entries: list[LedgerEntry] | None = None,
    is_sequential: bool = False,
    goes_on: bool = False,
) -> list[Interval]:
    looked_at = [entry_of(each) for each in DAYS] if entries is None else entries
    found = list(
        stale_entries(
            looked_at,
            read_by_times(reads_of(graph, name), source_times(graph, graph[name])),
            Changed({of: times}),
            is_sequential=is_sequential,
            until=None if goes_on else looked_at[-1].interval.end,
        )
    )
    assert all(each.inputs == (of,) for each in found)
    return [each.entry.interval for each in found]


def at(hour: float) -> Times:
    return (Interval(hour_of(hour), hour_of(hour + 0.1)),)


@pytest.mark.parametrize(
    "times,expected",
    [
        ((), []),
        (at(30), [day(2)]),
        (at(47.9), [day(2)]),
        (at(48), [day(3)]),
        (at(80), []),
        (at(-1), []),
        ((Interval(hour_of(20), hour_of(25)),), [day(1), day(2)]),
        (None, DAYS),
    ],
)
def test_only_the_intervals_that_read_what_moved_of_a_source_are_stale(
    times: Times, expected: list[Interval]
) -> None:
    assert stale(SALES_NAME, times) == expected


@pytest.mark.parametrize(
    "condition",
    [
        "at BETWEEN @start_dt AND @end_dt OR at IS NULL",
        "at BETWEEN @start_dt AND @end_dt OR id > 0",
        "at <= @end_dt",
    ],
)
def test_a_source_that_is_read_without_bounds_makes_every_interval_stale(condition: str) -> None:
    text = SALES.replace("SUM(amount)", "MAX(MAX(amount)) OVER ()")
    graph = graph_of({"sales": text.replace("at BETWEEN @start_dt AND @end_dt", condition)})
    assert source_times(graph, graph[SALES_NAME]) == {}
    assert stale(SALES_NAME, at(80), graph=graph) == DAYS
    assert stale(SALES_NAME, (), graph=graph) == []


def test_a_model_that_moved_is_found_through_a_view() -> None:
    assert stale(TRIPLE_NAME, (day(2),), of=SALES_NAME) == [day(2)]
    whole = [entry_of(day(1, 3))]
    assert stale(TOTAL_NAME, (day(2),), of=TRIPLE_NAME, entries=whole) == [day(1, 3)]


def test_what_counts_as_missing_is_not_stale_besides() -> None:
    marked = [
        replace(entry_of(day(1)), status=EntryStatus.OUTDATED),
        replace(entry_of(day(2)), status=EntryStatus.EMPTY),
        entry_of(day(3)),
    ]
    assert stale(SALES_NAME, None, entries=marked) == [day(3)]


LOG = """
MODEL (name mart.log, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id), cron '@daily');
SELECT id AS id, at AS at FROM raw.events{}
"""


@pytest.mark.parametrize(
    "where,goes_on,expected",
    [
        (" WHERE at BETWEEN @start_dt AND @end_dt", False, DAYS),
        (" WHERE at BETWEEN @start_dt AND @end_dt", True, DAYS),
        ("", False, [day(3)]),
        ("", True, []),
    ],
)
def test_in_sequence_only_the_last_interval_has_to_have_seen_all_of_a_table(
    where: str, goes_on: bool, expected: list[Interval]
) -> None:
    graph = graph_of({"log": LOG.format(where)})
    every = (Interval(hour_of(0), hour_of(72)),)
    name = ModelName("mart", "log")
    assert stale(name, every, graph=graph, is_sequential=True, goes_on=goes_on) == expected
