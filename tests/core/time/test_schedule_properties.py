"""Schedules as algebra: nothing is lost, nothing is counted twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.core.time.scheduled_models import model
from vde_dagster.core.model.kinds import IncrementalByTimeRange
from vde_dagster.core.model.model import Model
from vde_dagster.core.time.intervals import (
    Interval,
    IntervalUnit,
    common,
    covers,
    due,
    merge,
    subtract,
)
from vde_dagster.core.time.schedule import (
    batches,
    blocked_for_whole,
    due_interval,
    lacking,
    missing,
)

UNITS = st.sampled_from(IntervalUnit)
CRONS = st.sampled_from(["@hourly", "@daily", "30 6 * * *", "@weekly", "@monthly", "0 0 31 * *"])
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"])
DAYS = (timedelta(0), timedelta(days=2))
INSTANTS = st.datetimes(datetime(2019, 12, 1), datetime(2020, 4, 1), timezones=st.just(UTC))


@st.composite
def situations(draw: st.DrawFn) -> tuple[Model, tuple[Interval, ...], datetime]:
    """A model, some of its units that are loaded, and the clock."""
    unit, start = draw(UNITS), draw(INSTANTS)
    first = unit.ceil(start)
    borders = sorted(draw(st.sets(st.integers(0, 40), max_size=6)))
    pairs = zip(borders[::2], borders[1::2], strict=False)
    loaded = [Interval(unit.shifted(first, low), unit.shifted(first, high)) for low, high in pairs]
    now = unit.shifted(first, draw(st.integers(-2, 60))) + draw(st.timedeltas(*DAYS))
    kind = IncrementalByTimeRange(
        time_column="ts",
        lookback=draw(st.sampled_from([0, 1, 2, 50])),
        batch_size=draw(st.sampled_from([None, 1, 2, 7])),
    )
    plain = model(kind, unit=unit.value, cron=draw(CRONS), tz=draw(ZONES))
    return replace(plain, start=start, end=draw(st.none() | INSTANTS)), merge(loaded), now


def without_lookback(some: Model) -> Model:
    return replace(some, kind=IncrementalByTimeRange(time_column="ts"))


@given(situations())
def test_what_is_loaded_and_what_is_missing_are_what_is_due(
    situation: tuple[Model, tuple[Interval, ...], datetime],
) -> None:
    some, loaded, now = situation
    some = without_lookback(some)
    due = due_interval(some, now)
    found = missing(some, loaded, now)
    assert common(found, loaded) == ()  # nothing twice
    assert merge([*found, *common(loaded, [due] if due else [])]) == ((due,) if due else ())
    assert missing(some, [*loaded, *found], now) == ()
    for each in found:
        assert list(some.unit.cells(each))  # whole units


@given(situations())
def test_what_is_due_starts_and_ends_in_bounds_and_only_grows(
    situation: tuple[Model, tuple[Interval, ...], datetime],
) -> None:
    some, _, now = situation
    due = due_interval(some, now)
    later = due_interval(some, now + timedelta(days=40))
    if due is not None:
        assert some.start <= due.start
        assert due.end <= min(now, some.end or now)
        assert later is not None
        assert later.contains(due)


@given(situations())
def test_a_look_back_adds_only_loaded_units_close_before_something_new(
    situation: tuple[Model, tuple[Interval, ...], datetime],
) -> None:
    some, loaded, now = situation
    some = replace(some, end=None)
    assert isinstance(some.kind, IncrementalByTimeRange)
    new, found = missing(without_lookback(some), loaded, now), missing(some, loaded, now)
    due = due_interval(some, now)
    assert due or not found
    assert bool(new) == bool(found)
    assert subtract(new, found) == ()
    expected = {
        cell
        for each in new
        for cell in before(some, each.start, some.kind.lookback)
        if due and due.contains(cell)
    }
    again = subtract(found, new)
    assert {cell for each in again for cell in some.unit.cells(each)} == {
        cell for cell in expected if not common([cell], new)
    }


def before(some: Model, border: datetime, count: int) -> list[Interval]:
    """The units before a border, found one after the other."""
    cells: list[Interval] = []
    for _ in range(count):
        start = some.unit.floor(border - timedelta(microseconds=1))
        cells.append(Interval(start, border))
        border = start
    return cells


@given(situations())
def test_batches_are_what_is_missing_with_nothing_lost_and_nothing_twice(
    situation: tuple[Model, tuple[Interval, ...], datetime],
) -> None:
    some, loaded, now = situation
    assert isinstance(some.kind, IncrementalByTimeRange)
    found = missing(some, loaded, now)
    cut = batches(some, found)
    assert merge(cut) == found
    assert [cell for each in cut for cell in some.unit.cells(each)] == [
        cell for each in found for cell in some.unit.cells(each)
    ]
    for each in cut:
        assert len(list(some.unit.cells(each))) <= (some.kind.batch_size or 10**9)


@given(situations(), situations())
def test_who_is_not_blocked_finds_all_of_its_parent_that_has_ended(
    child: tuple[Model, tuple[Interval, ...], datetime],
    parent: tuple[Model, tuple[Interval, ...], datetime],
) -> None:
    some, _, now = child
    some = without_lookback(some)
    upstream, holds, _ = parent
    blocked = blocked_for_whole(some, upstream, lacking(upstream, holds))
    for each in missing(some, (), now, blocked):
        for cell in some.unit.cells(each):
            until = cell.end if upstream.end is None else min(cell.end, upstream.end)
            ended = due(upstream.start, until, upstream.unit)
            assert ended is None or covers(holds, ended)
