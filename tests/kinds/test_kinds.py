"""What each kind evaluates and writes (seed 001, *Model kinds*)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster import kinds
from vde_dagster.core.errors import Place
from vde_dagster.core.intervals import Interval, IntervalUnit, covers
from vde_dagster.core.kind import External, Full, IncrementalByTimeRange, Kind, Seed, View
from vde_dagster.core.model import Model, ModelSource
from vde_dagster.core.names import ModelName
from vde_dagster.core.work import OverwriteIntervals, ReplaceTable, TimeAxisSpec
from vde_dagster.kinds.rules import ALWAYS

START = datetime(2024, 2, 28, tzinfo=UTC)
INCREMENTAL = IncrementalByTimeRange(time_column="ts")
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


def missing(kind: Kind, held: list[Interval], now: datetime) -> tuple[Interval, ...]:
    return kinds.of(model(kind)).missing(model(kind), held, now)


NOW = START + timedelta(days=3, hours=5)


@pytest.mark.parametrize(
    "kind,held,expected",
    [
        (INCREMENTAL, [], [days(0, 3)]),
        (INCREMENTAL, [days(0, 3)], []),
        (INCREMENTAL, [days(1, 2)], [days(0, 1), days(2, 3)]),
        (Full(), [], [days(0, 3)]),
        (Full(), [days(0, 2)], [days(0, 3)]),  # made anew, whole
        (Full(), [days(0, 3)], []),
        (Seed(path="s.csv"), [], [ALWAYS]),
        (Seed(path="s.csv"), [ALWAYS], []),
        (View(), [], [ALWAYS]),
        (View(), [ALWAYS], []),
        (External(), [], []),
    ],
)
def test_what_a_kind_lacks(kind: Kind, held: list[Interval], expected: list[Interval]) -> None:
    assert list(missing(kind, held, NOW)) == expected


@pytest.mark.parametrize("kind", [INCREMENTAL, Full()])
def test_before_the_first_day_has_ended_nothing_is_missing(kind: Kind) -> None:
    assert missing(kind, [], START + timedelta(hours=23)) == ()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), max_size=5), st.integers(0, 300))
def test_after_evaluating_what_is_missing_nothing_is(
    held: list[tuple[int, int]], hours: int
) -> None:
    now = START + timedelta(hours=hours)
    known = [days(first, first + length) for first, length in held]
    found = missing(INCREMENTAL, known, now)
    assert not any(a.intersection(b) for a in found for b in known)  # nothing is loaded twice
    assert missing(INCREMENTAL, [*known, *found], now) == ()
    whole = IntervalUnit.DAY.floor(now)
    assert whole <= START or covers([*known, *found], Interval(START, whole))


def test_what_a_kind_writes() -> None:
    one = days(0, 1)
    for kind, expected in (
        (INCREMENTAL, OverwriteIntervals(intervals=(one,), axis=AXIS)),
        (Full(), ReplaceTable(interval=one)),
        (Seed(path="s.csv"), ReplaceTable(interval=ALWAYS)),
        (View(), ReplaceTable(interval=ALWAYS)),
    ):
        assert kinds.of(model(kind)).write(model(kind), one, AXIS) == expected
    with pytest.raises(ValueError, match="never written"):
        kinds.of(model(External())).write(model(External()), one, None)


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
    rules = kinds.of(model(kind))
    assert (rules.has_rows, rules.is_partitioned) == (has_rows, is_partitioned)
