"""What each kind evaluates and writes (seed 001, *Model kinds*)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.model.fingerprint import Fingerprint
from vde_dagster.core.model.kinds import (
    Embedded,
    External,
    Full,
    IncrementalByPartition,
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    IncrementalUnmanaged,
    Kind,
    Managed,
    ScdType2ByColumn,
    ScdType2ByTime,
    Seed,
    View,
    WrittenMerge,
)
from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.core.model.writes import (
    AppendRows,
    MergeRows,
    OverwriteIntervals,
    ReplacePartitions,
    ReplaceTable,
    TimeAxisSpec,
    Write,
)
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import ALWAYS, Interval, IntervalUnit, covers

START = datetime(2024, 2, 28, tzinfo=UTC)
INCREMENTAL = IncrementalByTimeRange(time_column="ts")
UNIQUE_KEY = IncrementalByUniqueKey(unique_key=("id",))
SCD_BY_TIME = ScdType2ByTime(unique_key=("id",))
SCD_BY_COLUMN = ScdType2ByColumn(unique_key=("id",), columns=("*",))
AXIS = TimeAxisSpec(column="ts", type="timestamp", unit=IntervalUnit.DAY)


def model(kind: Kind, unit: IntervalUnit = IntervalUnit.DAY) -> Model:
    path = Path("models/m/x.sql")
    return Model(
        name=ModelName("m", "x"),
        kind=kind,
        body=None,
        source=ModelSource(path=path, text=""),
        place=Place(path=path),
        start=START,
        unit=unit,
    )


def days(first: int, last: int) -> Interval:
    return Interval(START + timedelta(days=first), START + timedelta(days=last))


def missing(kind: Kind, loaded: list[Interval], now: datetime) -> tuple[Interval, ...]:
    return model(kind).kind.missing(model(kind), loaded, now)


NOW = START + timedelta(days=3, hours=5)


@pytest.mark.parametrize(
    "kind,loaded,expected",
    [
        (INCREMENTAL, [], [days(0, 3)]),
        (INCREMENTAL, [days(0, 3)], []),
        (INCREMENTAL, [days(1, 2)], [days(0, 1), days(2, 3)]),
        (Full(), [], [days(0, 3)]),
        (Full(), [days(0, 2)], [days(0, 3)]),  # rebuilt, whole
        (Full(), [days(0, 3)], []),
        (Seed(path="s.csv"), [], [ALWAYS]),
        (Seed(path="s.csv"), [ALWAYS], []),
        (External(), [], []),
        (Embedded(), [], []),
        (Managed(), [], [ALWAYS]),
        (Managed(), [ALWAYS], []),  # it is never due again
        (UNIQUE_KEY, [days(0, 2)], [days(2, 3)]),
        (IncrementalByPartition(), [days(0, 2)], [days(2, 3)]),
        (IncrementalUnmanaged(), [days(1, 2)], [days(0, 1), days(2, 3)]),
        (SCD_BY_COLUMN, [], [days(0, 3)]),
        # Only these two look back.
        (IncrementalByTimeRange(time_column="ts", lookback=1), [days(0, 2)], [days(1, 3)]),
        (IncrementalByUniqueKey(unique_key=("id",), lookback=1), [days(0, 2)], [days(1, 3)]),
    ],
)
def test_what_a_kind_lacks(kind: Kind, loaded: list[Interval], expected: list[Interval]) -> None:
    assert list(missing(kind, loaded, NOW)) == expected


@pytest.mark.parametrize("kind", [INCREMENTAL, Full()])
def test_before_the_first_day_has_ended_nothing_is_missing(kind: Kind) -> None:
    assert missing(kind, [], START + timedelta(hours=23)) == ()


def test_what_is_blocked_ends_a_whole_and_leaves_a_hole_in_intervals() -> None:
    cases: list[tuple[Kind, tuple[Interval, ...]]] = [
        (INCREMENTAL, (days(0, 1), days(2, 3))),
        (Full(), (days(0, 1),)),
        (View(), (ALWAYS,)),
        (Seed(path="s.csv"), (ALWAYS,)),
    ]
    for kind, expected in cases:
        rules = model(kind).kind
        assert rules.missing(model(kind), [], NOW, [days(1, 2)]) == expected
    assert model(Full()).kind.missing(model(Full()), [days(0, 2)], NOW, [days(2, 3)]) == ()


@pytest.mark.parametrize("kind", [UNIQUE_KEY, IncrementalByPartition(), SCD_BY_TIME, SCD_BY_COLUMN])
@pytest.mark.parametrize(
    "loaded,blocked,expected",
    [
        ([], [days(1, 2)], [days(0, 1)]),
        ([], [days(0, 1)], []),
        ([days(0, 2)], [days(1, 2)], [days(2, 3)]),  # what is loaded was built in order
        ([days(0, 1)], [days(2, 9)], [days(1, 2)]),
        ([days(0, 3)], [days(1, 2)], []),
    ],
)
def test_what_builds_on_itself_waits_for_what_is_blocked_before(
    kind: Kind, loaded: list[Interval], blocked: list[Interval], expected: list[Interval]
) -> None:
    rules = model(kind).kind
    assert list(rules.missing(model(kind), loaded, NOW, blocked)) == expected


def test_what_is_appended_waits_for_nothing_before() -> None:
    unmanaged = model(IncrementalUnmanaged())
    found = unmanaged.kind.missing(unmanaged, [], NOW, [days(1, 2)])
    assert found == (days(0, 1), days(2, 3))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), max_size=5), st.integers(0, 300))
def test_after_evaluating_what_is_missing_nothing_is(
    loaded: list[tuple[int, int]], hours: int
) -> None:
    now = START + timedelta(hours=hours)
    known = [days(first, first + length) for first, length in loaded]
    found = missing(INCREMENTAL, known, now)
    assert not any(a.intersection(b) for a in found for b in known)  # nothing is loaded twice
    assert missing(INCREMENTAL, [*known, *found], now) == ()
    whole = IntervalUnit.DAY.floor(now)
    assert whole <= START or covers([*known, *found], Interval(START, whole))


def node(kind: Kind) -> Node:
    columns = (Column(name="ts", type="timestamp"),)
    return Node(
        model=model(kind),
        canonical=None,
        columns=columns,
        fingerprint=Fingerprint(data="", parent_data="", metadata="", parent_metadata=""),
    )


@pytest.mark.parametrize(
    "kind,expected",
    [
        (INCREMENTAL, OverwriteIntervals(intervals=(days(0, 1),), axis=AXIS)),
        (UNIQUE_KEY, MergeRows(interval=days(0, 1), key=("id",))),
        (IncrementalByPartition(), ReplacePartitions(interval=days(0, 1))),
        (IncrementalUnmanaged(), AppendRows(interval=days(0, 1))),
        (Full(), ReplaceTable(interval=days(0, 1))),
        (Seed(path="s.csv"), ReplaceTable(interval=ALWAYS)),
        (View(), ReplaceTable(interval=ALWAYS)),
    ],
)
def test_what_a_kind_writes(kind: Kind, expected: Write) -> None:
    assert node(kind).write(days(0, 1), NOW) == expected


def test_time_macros_of_a_merge_stand_for_the_interval() -> None:
    condition = parse_one("target.day >= @start_ds", dialect="spark")
    clause = parse_one(
        "MERGE INTO t USING s ON TRUE WHEN MATCHED AND source.day > @end_ds THEN DELETE"
    )
    clauses = tuple(clause.find_all(exp.When))
    kind = replace(UNIQUE_KEY, merge_filter=condition, when_matched=clauses)
    write = node(kind).write(days(0, 2), NOW)
    assert isinstance(write, MergeRows)
    assert write.merge_filter == "`target`.`day` >= '2024-02-28'"
    assert write.when_matched == "WHEN MATCHED AND `source`.`day` > '2024-02-29' THEN DELETE"
    written = WrittenMerge(
        key=("Id",),
        when_matched="when  matched AND source.day > @end_ds  then DELETE",
        merge_filter="target.day>=@start_ds",
    )
    own = replace(kind, written=written)
    runs = node(own).write(days(0, 2), NOW)
    assert isinstance(runs, MergeRows)
    assert runs.key == ("Id",)
    assert runs.when_matched == "when  matched AND source.day > '2024-02-29'  then DELETE"
    assert runs.merge_filter == "target.day>='2024-02-28'"


def test_nothing_is_written_to_a_source() -> None:
    with pytest.raises(ValueError, match="never written"):
        node(External()).write(days(0, 1), NOW)


@pytest.mark.parametrize(
    "kind,has_rows,is_partitioned",
    [
        (INCREMENTAL, True, True),
        (Full(), True, False),
        (Seed(path="s"), True, False),
        (View(), False, False),
        (External(), False, False),
    ],
)
def test_which_kinds_have_rows_and_partitions(
    kind: Kind, has_rows: bool, is_partitioned: bool
) -> None:
    rules = model(kind).kind
    assert (rules.stores_rows, rules.is_partitioned) == (has_rows, is_partitioned)


# Seed 001: UNIQUE_KEY, BY_PARTITION and UNMANAGED support no partial restatement, SCD2 neither; all
# of them build on what their table held before.
@pytest.mark.parametrize(
    "kind,sequential,whole",
    [
        (INCREMENTAL, False, False),
        (UNIQUE_KEY, True, True),
        (IncrementalByPartition(), True, True),
        (IncrementalUnmanaged(), True, True),
        (SCD_BY_TIME, True, True),
        (SCD_BY_COLUMN, True, True),
        (Full(), False, True),
        (View(), False, True),
        (Seed(path="s"), False, True),
        (Managed(), False, True),
    ],
)
def test_which_kinds_count_on_order_and_restate_whole(
    kind: Kind, sequential: bool, whole: bool
) -> None:
    rules = model(kind).kind
    assert (rules.is_sequential, rules.restates_whole) == (sequential, whole)
