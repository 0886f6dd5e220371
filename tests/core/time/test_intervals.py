from __future__ import annotations

import calendar
import contextlib
import itertools
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.core.time.intervals import (
    EPOCH,
    Interval,
    IntervalUnit,
    common,
    covers,
    due,
    format_instant,
    meets,
    merge,
    parse_instant,
    subtract,
)


def at(hour: int) -> datetime:
    return EPOCH + timedelta(hours=hour)


def between(start: int, end: int) -> Interval:
    return Interval(at(start), at(end))


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


RANGES = st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda p: (p[0], p[0] + p[1]))
LISTS = st.lists(RANGES, max_size=8)


def instants(ranges: list[tuple[int, int]]) -> set[int]:
    """The brute-force model: the set of whole hours."""
    return {hour for start, end in ranges for hour in range(start, end)}


def hours(intervals: tuple[Interval, ...]) -> set[int]:
    return {
        hour
        for each in intervals
        for hour in range(
            (each.start - EPOCH) // timedelta(hours=1), (each.end - EPOCH) // timedelta(hours=1)
        )
    }


def is_normal(intervals: tuple[Interval, ...]) -> bool:
    """Sorted, disjoint, and not adjacent."""
    return all(left.end < right.start for left, right in itertools.pairwise(intervals))


@given(LISTS)
def test_merging_keeps_the_instants_in_normal_form(ranges: list[tuple[int, int]]) -> None:
    merged = merge(between(*each) for each in ranges)
    assert hours(merged) == instants(ranges)
    assert is_normal(merged)
    assert merge(merged) == merged


@given(LISTS, LISTS)
def test_subtracting_is_set_difference_in_normal_form(
    ranges: list[tuple[int, int]], removed: list[tuple[int, int]]
) -> None:
    left = subtract([between(*each) for each in ranges], [between(*each) for each in removed])
    assert hours(left) == instants(ranges) - instants(removed)
    assert is_normal(left)


@given(LISTS, LISTS)
def test_what_lists_have_in_common_is_set_intersection_in_normal_form(
    ranges: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    found = common([between(*each) for each in ranges], [between(*each) for each in others])
    assert hours(found) == instants(ranges) & instants(others)
    assert is_normal(found)


@given(LISTS, RANGES)
def test_meeting_is_having_an_instant_in_common(
    ranges: list[tuple[int, int]], wanted: tuple[int, int]
) -> None:
    ordered = merge(between(*each) for each in ranges)
    assert meets(ordered, between(*wanted)) == bool(instants(ranges) & instants([wanted]))


class LookedAt(tuple[Interval, ...]):
    """Intervals that count how often one of them is looked at."""

    looks = 0

    def __getitem__(self, at: Any) -> Any:
        self.looks += 1
        return super().__getitem__(at)


def test_few_of_many_intervals_are_looked_at_for_one_that_meets_them() -> None:
    ordered = LookedAt(between(2 * number, 2 * number + 1) for number in range(1000))
    assert meets(ordered, between(777, 779))
    assert not meets(ordered, between(777, 778))
    assert 0 < ordered.looks <= 2 * (10 + 2)


@given(LISTS, RANGES)
def test_covering_is_being_a_subset(ranges: list[tuple[int, int]], wanted: tuple[int, int]) -> None:
    loaded = [between(*each) for each in ranges]
    assert covers(loaded, between(*wanted)) == (instants([wanted]) <= instants(ranges))


@given(RANGES, RANGES)
def test_intersection_and_containment_are_those_of_sets(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    common = between(*one).intersection(between(*other))
    assert (hours((common,)) if common else set()) == instants([one]) & instants([other])
    assert between(*one).contains(between(*other)) == (instants([other]) <= instants([one]))


@given(
    st.sampled_from(IntervalUnit),
    st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
    st.timedeltas(timedelta(microseconds=1), timedelta(hours=60)),
)
def test_units_cut_a_widened_interval_into_adjacent_cells(
    unit: IntervalUnit, start: datetime, length: timedelta
) -> None:
    if unit in (IntervalUnit.MONTH, IntervalUnit.YEAR):
        length *= 40
    wide = unit.widen(Interval(start, start + length))
    cells = list(unit.cells(wide))
    assert wide.contains(Interval(start, start + length))
    assert cells[0].start == wide.start
    assert cells[-1].end == wide.end
    assert all(left.end == right.start for left, right in itertools.pairwise(cells))
    assert all(unit.floor(c.start) == c.start and unit.ceil(c.end) == c.end for c in cells)
    assert cells[0].end > start  # no unit too many on either side
    assert cells[-1].start < start + length
    assert unit.count(wide) == len(cells)
    assert unit.floor(start) <= start <= unit.ceil(start)


@pytest.mark.parametrize("year", [1900, 1999, 2000, 2023, 2024, 2100])
def test_months_and_years_have_their_calendar_lengths(year: int) -> None:
    whole = Interval(day(f"{year}-01-01"), day(f"{year + 1}-01-01"))
    months = [(each.end - each.start).days for each in IntervalUnit.MONTH.cells(whole)]
    assert months == [calendar.monthrange(year, month)[1] for month in range(1, 13)]
    assert list(IntervalUnit.YEAR.cells(whole)) == [whole]
    assert len(list(IntervalUnit.DAY.cells(whole))) == (366 if calendar.isleap(year) else 365)


@pytest.mark.parametrize(
    "unit,instant,floor,ceil",
    [
        ("month", "2024-02-29T23:59:59.999999", "2024-02-01", "2024-03-01"),
        ("month", "2023-12-31T12:00", "2023-12-01", "2024-01-01"),
        ("month", "2024-03-01", "2024-03-01", "2024-03-01"),
        ("year", "2024-02-29", "2024-01-01", "2025-01-01"),
        ("day", "2024-02-28T23:00", "2024-02-28", "2024-02-29"),
        ("five_minute", "2024-01-01T00:07:01", "2024-01-01T00:05", "2024-01-01T00:10"),
        ("quarter_hour", "2024-01-01T00:59", "2024-01-01T00:45", "2024-01-01T01:00"),
        ("half_hour", "1969-12-31T23:59", "1969-12-31T23:30", "1970-01-01"),
        ("hour", "1969-12-31T23:59:59.999999", "1969-12-31T23:00", "1970-01-01"),
    ],
)
def test_borders_around_an_instant(unit: str, instant: str, floor: str, ceil: str) -> None:
    which = IntervalUnit(unit)
    assert (which.floor(day(instant)), which.ceil(day(instant))) == (day(floor), day(ceil))


@pytest.mark.parametrize(
    "unit,border,count,expected",
    [
        ("month", "2024-01-01", 1, "2024-02-01"),
        ("month", "2024-01-01", -1, "2023-12-01"),
        ("month", "2023-12-01", 3, "2024-03-01"),
        ("month", "2024-03-01", -27, "2021-12-01"),
        ("year", "2024-01-01", -4, "2020-01-01"),
        ("day", "2024-03-01", -1, "2024-02-29"),
        ("day", "2023-03-01", -1, "2023-02-28"),
        ("hour", "2024-01-01", 25, "2024-01-02T01:00"),
        ("half_hour", "2024-01-01", -3, "2023-12-31T22:30"),
        ("quarter_hour", "2024-01-01", 5, "2024-01-01T01:15"),
        ("five_minute", "2024-01-01", -1, "2023-12-31T23:55"),
        ("day", "2024-01-01", 0, "2024-01-01"),
    ],
)
def test_a_border_some_units_away(unit: str, border: str, count: int, expected: str) -> None:
    assert IntervalUnit(unit).shifted(day(border), count) == day(expected)


@given(
    st.sampled_from(IntervalUnit),
    st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
    st.integers(0, 60),
)
def test_shifting_is_following_so_many_times_and_back(
    unit: IntervalUnit, instant: datetime, count: int
) -> None:
    border = reached = unit.floor(instant)
    for _ in range(count):
        reached = unit.following(reached)
    assert unit.shifted(border, count) == reached
    assert unit.shifted(reached, -count) == border


@pytest.mark.parametrize("unit", IntervalUnit)
@pytest.mark.parametrize("count", [10**8, -(10**8), 10**30])
def test_outside_the_calendar_there_is_no_border(unit: IntervalUnit, count: int) -> None:
    with pytest.raises(OverflowError):
        unit.shifted(EPOCH, count * 12 * 366)


def test_cells_of_something_not_aligned_are_refused() -> None:
    with pytest.raises(ValueError, match="whole units"):
        list(IntervalUnit.DAY.cells(between(0, 25)))


@pytest.mark.parametrize(
    "start,now,expected",
    [
        ("2024-01-01", "2024-01-02T23:59:59.999999", ("2024-01-01", "2024-01-02")),
        ("2024-01-01", "2024-01-03", ("2024-01-01", "2024-01-03")),
        ("2024-01-01T12:00", "2024-01-03T12:00", ("2024-01-02", "2024-01-03")),
        ("2024-01-01", "2024-01-01T23:00", None),
        ("2024-01-01T00:00:01", "2024-01-02", None),
        ("2024-01-05", "2024-01-01", None),
        ("9999-12-31T12:00", "2024-01-01", None),  # no day begins after it
    ],
)
def test_only_whole_days_that_have_ended_are_due(
    start: str, now: str, expected: tuple[str, str] | None
) -> None:
    found = due(day(start), day(now), IntervalUnit.DAY)
    assert found == (Interval(day(expected[0]), day(expected[1])) if expected else None)


@pytest.mark.parametrize(
    "start,end",
    [
        (at(1), at(1)),
        (at(2), at(1)),
        (datetime(2024, 1, 1), datetime(2024, 1, 2)),
        (at(0), datetime(2024, 1, 2)),
        (at(0), datetime(2024, 1, 2, tzinfo=timezone(timedelta(hours=1)))),
    ],
)
def test_an_interval_is_never_empty_and_always_in_utc(start: datetime, end: datetime) -> None:
    with pytest.raises(ValueError, match=r"UTC|ends after"):
        Interval(start, end)


@given(st.datetimes(timezones=st.just(UTC)))
def test_what_is_written_for_people_is_read_back(instant: datetime) -> None:
    assert parse_instant(format_instant(instant)) == instant


@given(st.text(max_size=30) | st.just("0001-01-01T00:00+14:00") | st.just("9999-12-31T23:00-14:00"))
def test_a_text_is_an_instant_in_utc_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert parse_instant(text).utcoffset() == timedelta(0)


def test_an_offset_is_taken_into_account() -> None:
    assert parse_instant("2024-01-01T00:30:00+01:00") == day("2023-12-31T23:30")


def test_millions_of_cells_are_counted_without_making_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Interval(day("1970-01-01"), day("2026-01-01"))
    days = 56 * 365 + 14  # leap days from 1972 to 2024
    monkeypatch.delattr(IntervalUnit, "cells")
    assert IntervalUnit.FIVE_MINUTE.count(whole) == days * 288
    assert IntervalUnit.MONTH.count(whole) == 56 * 12
    with pytest.raises(ValueError, match="whole units"):
        IntervalUnit.DAY.count(Interval(whole.start, whole.end + timedelta(hours=1)))
