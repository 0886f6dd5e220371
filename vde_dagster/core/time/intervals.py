"""Half-open UTC intervals, the units they are made of, and their algebra.

All functions are at most linear in the number of intervals after one sort. Every instant is an
aware UTC datetime; naive instants are refused where an interval is made.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cached_property
from typing import Final

from vde_dagster.core.time.grains import BEGINNING, Grain, add_months, floor_months

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
END_OF_TIME: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""The end of what has none: a border of every unit."""


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """The instants ``start <= t < end``. Never empty."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        for instant in (self.start, self.end):
            if instant.utcoffset() != timedelta(0):
                raise ValueError(f"{instant!r} is not an instant in UTC")
        if self.end <= self.start:
            raise ValueError(f"an interval ends after it starts: {self.start} .. {self.end}")

    def contains(self, other: Interval) -> bool:
        """Whether every instant of ``other`` lies in this interval."""
        return self.start <= other.start and other.end <= self.end

    def intersection(self, other: Interval) -> Interval | None:
        """The instants in both, or None where there are none."""
        start, end = max(self.start, other.start), min(self.end, other.end)
        return Interval(start, end) if start < end else None

    def __str__(self) -> str:
        return f"[{format_instant(self.start)}, {format_instant(self.end)})"


ALWAYS: Final = Interval(EPOCH, END_OF_TIME)
EVER: Final = Interval(datetime.min.replace(tzinfo=UTC), END_OF_TIME)
"""The one interval of what does not depend on time: a seed, a view."""


class IntervalUnit(Enum):
    """The unit at which a model's intervals are recorded as loaded, the finest first.

    The value is how configuration writes it.
    """

    FIVE_MINUTE = "five_minute"
    QUARTER_HOUR = "quarter_hour"
    HALF_HOUR = "half_hour"
    HOUR = "hour"
    DAY = "day"
    MONTH = "month"
    YEAR = "year"

    @cached_property
    def grain(self) -> Grain:
        """The unit of SQL that it is made of."""
        return _MADE_OF[self][1]

    @cached_property
    def months(self) -> int:
        """How many months it is; zero for units of a fixed length."""
        count, grain = _MADE_OF[self]
        return count * grain.months

    @cached_property
    def longest(self) -> timedelta:
        """The length of the longest interval of this unit."""
        count, grain = _MADE_OF[self]
        return count * grain.longest

    @cached_property
    def shortest(self) -> timedelta:
        """The length of the shortest one, which is the same for all but months and years."""
        count, grain = _MADE_OF[self]
        return count * grain.shortest

    def floor(self, instant: datetime) -> datetime:
        """The latest border of this unit that is not after ``instant``."""
        if self.months:
            return floor_months(instant, self.months)
        return instant - (instant - BEGINNING) % self.longest

    def ceil(self, instant: datetime) -> datetime:
        """The earliest border of this unit that is not before ``instant``."""
        border = self.floor(instant)
        return border if border == instant else self.following(border)

    def following(self, border: datetime) -> datetime:
        """The border after ``border``."""
        return self.shifted(border, 1)

    def shifted(self, border: datetime, count: int) -> datetime:
        """The border ``count`` units after ``border``; before it where ``count`` is negative.

        Raises:
            OverflowError: It lies outside the years 1 to 9999.
        """
        if self.months:
            return add_months(border, count * self.months)
        return border + count * self.longest

    def cells(self, interval: Interval) -> Iterator[Interval]:
        """The units of which an aligned interval consists, in order.

        Raises:
            ValueError: The interval does not start and end on borders of this unit.
        """
        self._refuse_parts(interval)
        border = interval.start
        while border < interval.end:
            after = self.following(border)
            yield Interval(border, after)
            border = after

    def count(self, interval: Interval) -> int:
        """How many `cells` an aligned interval has, by arithmetic: there may be millions.

        Raises:
            ValueError: The interval does not start and end on borders of this unit.
        """
        self._refuse_parts(interval)
        if not self.months:
            return (interval.end - interval.start) // self.longest
        first, last = interval.start, interval.end
        return ((last.year - first.year) * 12 + last.month - first.month) // self.months

    def _refuse_parts(self, interval: Interval) -> None:
        if self.floor(interval.start) != interval.start or self.floor(interval.end) != interval.end:
            raise ValueError(f"{interval} is not made of whole units of one {self.value}")

    def widen(self, interval: Interval) -> Interval:
        """The smallest interval of whole units that contains ``interval``."""
        return Interval(self.floor(interval.start), self.ceil(interval.end))


_MADE_OF: Final = {
    IntervalUnit.FIVE_MINUTE: (5, Grain.MINUTE),
    IntervalUnit.QUARTER_HOUR: (15, Grain.MINUTE),
    IntervalUnit.HALF_HOUR: (30, Grain.MINUTE),
    IntervalUnit.HOUR: (1, Grain.HOUR),
    IntervalUnit.DAY: (1, Grain.DAY),
    IntervalUnit.MONTH: (1, Grain.MONTH),
    IntervalUnit.YEAR: (1, Grain.YEAR),
}
"""Each interval unit as so many of a grain."""


def merge(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """The same instants as disjoint, not adjacent, sorted intervals."""
    ordered = sorted(intervals, key=lambda each: each.start)
    if len(ordered) < 2:
        return tuple(ordered)
    merged: list[Interval] = []
    first = 0
    while first < len(ordered):
        last, end = first, ordered[first].end
        while last + 1 < len(ordered) and ordered[last + 1].start <= end:
            last += 1
            end = max(end, ordered[last].end)
        alone = end == ordered[first].end
        merged.append(ordered[first] if alone else Interval(ordered[first].start, end))
        first = last + 1
    return tuple(merged)


def subtract(intervals: Iterable[Interval], removed: Iterable[Interval]) -> tuple[Interval, ...]:
    """The instants of ``intervals`` that are in none of ``removed``, merged."""
    wanted, holes = merge(intervals), merge(removed)
    if not (wanted and holes):
        return wanted
    left: list[Interval] = []
    first = 0
    for interval in wanted:
        start = interval.start
        while first < len(holes) and holes[first].end <= start:
            first += 1
        hole = first
        while hole < len(holes) and holes[hole].start < interval.end:
            if start < holes[hole].start:
                left.append(Interval(start, holes[hole].start))
            start = max(start, holes[hole].end)
            hole += 1
        if start < interval.end:
            left.append(Interval(start, interval.end))
    return tuple(left)


def common(intervals: Iterable[Interval], others: Iterable[Interval]) -> tuple[Interval, ...]:
    """The instants that are in both, merged."""
    these = merge(intervals)
    return subtract(these, subtract(these, others))


def meets(ordered: Sequence[Interval], wanted: Interval) -> bool:
    """Whether one of some disjoint, sorted intervals has an instant of ``wanted``; by searching."""
    after = bisect_right(ordered, wanted.start, key=lambda each: each.end)
    return after < len(ordered) and ordered[after].start < wanted.end


def covers(intervals: Sequence[Interval], wanted: Interval) -> bool:
    """Whether every instant of ``wanted`` is in ``intervals``."""
    return not subtract([wanted], intervals)


def due(start: datetime, now: datetime, unit: IntervalUnit) -> Interval | None:
    """All whole units from ``start`` that have ended at ``now``; None where there are none."""
    if now <= start:
        return None
    first, last = unit.ceil(start), unit.floor(now)
    return Interval(first, last) if first < last else None


def format_instant(instant: datetime) -> str:
    """An instant as people read it: no seconds and no time of day where they are zero."""
    if instant == instant.replace(hour=0, minute=0, second=0, microsecond=0):
        return instant.date().isoformat()
    if instant.second or instant.microsecond:
        return instant.isoformat(sep=" ").removesuffix("+00:00")
    return instant.isoformat(sep=" ", timespec="minutes").removesuffix("+00:00")


def parse_instant(text: str) -> datetime:
    """An ISO-8601 date or timestamp as an instant; without an offset it is UTC.

    Raises:
        ValueError: ``text`` is neither.
    """
    instant = datetime.fromisoformat(text.strip())
    if instant.tzinfo is None:
        return instant.replace(tzinfo=UTC)
    try:
        return instant.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} is before or after every possible date") from error


_WORDS: Final = {
    each.name.lower(): each.longest
    for each in (Grain.WEEK, Grain.DAY, Grain.HOUR, Grain.MINUTE, Grain.SECOND)
}
"""The words of configuration for units of a fixed length, the longest first."""
_DURATION: Final = re.compile(rf"\s*([0-9]{{1,6}})\s*({'|'.join(_WORDS)})s?", re.ASCII)


def parse_duration(text: str) -> timedelta:
    """A length of time such as ``7 days``, ``1 hour`` or ``1 day 12 hours``.

    Raises:
        ValueError: ``text`` is none; months and years have no fixed length.
    """
    position, length = 0, timedelta(0)
    lowered = text.strip().lower()
    while position < len(lowered):
        found = _DURATION.match(lowered, position)
        if found is None:
            break
        length += int(found[1]) * _WORDS[found[2]]
        position = found.end()
    if not lowered or position < len(lowered):
        raise ValueError(f"{text!r} is not a valid duration; write it like '7 days' or '1 hour'")
    return length


def format_duration(length: timedelta) -> str:
    """A length of time as configuration writes it, in the longest units: ``1 day 12 hours``.

    Weeks are written as days, and what is less than a second is left out.
    """
    rest, parts = length, list[str]()
    for word, unit in _WORDS.items():
        if word == "week":
            continue
        count, rest = divmod(rest, unit)
        if count:
            parts.append(f"{count} {word}{'s' if count > 1 else ''}")
    return " ".join(parts) or "0 seconds"
