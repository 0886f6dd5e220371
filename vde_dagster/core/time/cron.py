"""Cron expressions: when a model is due, and in which interval unit (seed 001, ``cron``).

Five fields or a name such as ``@daily``. A field is restricted where it leaves a value out. Where
day of month and weekday are both restricted, a day that either of them names counts (the rule of
the manual page of cron). Ticks are wall-clock times of a zone; those of daylight saving:

- A wall time that a zone skips ticks at the first instant after the gap.
- A wall time that comes twice ticks once, the first time.
- Where every hour is allowed, real time counts: each hour ticks once, skipped ones do not.
"""

from __future__ import annotations

import calendar
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Final

from vde_dagster.core.errors import Refused
from vde_dagster.core.time.grains import BEGINNING, FOREVER
from vde_dagster.core.time.intervals import IntervalUnit
from vde_dagster.core.time.zones import instants_of, zone_of

_NAMED: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_SHORTEST: Final = 5
_DAY: Final = 24 * 60


class CronInvalid(Refused, ValueError):
    """A cron expression is not understood."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """The minutes at which something is due, on the clock of some zone.

    ``weekdays`` count from Sunday, 0. Two texts of one meaning are equal.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    text: str = field(compare=False)

    @classmethod
    def parse(cls, text: str) -> Cron:
        """A cron expression as a value.

        Raises:
            CronInvalid: It is neither a known name nor of five plain fields, it never comes, or it
                comes more often than every five minutes.
        """
        return _parsed(text.strip())

    def previous(self, instant: datetime, tz: str = "UTC") -> datetime:
        """The latest tick at or before an instant, in UTC; year 1 where there is none.

        Raises:
            ZoneUnknown: There is no zone ``tz``.
        """
        return _previous(self, _in_utc(instant), tz)

    def following(self, instant: datetime, tz: str = "UTC") -> datetime:
        """The earliest tick after an instant, in UTC; the end of year 9999 where there is none.

        Raises:
            ZoneUnknown: There is no zone ``tz``.
        """
        return _following(self, _in_utc(instant), tz)

    def comes_on(self, day: date) -> bool:
        """Whether there are ticks on a day."""
        if day.month not in self.months:
            return False
        by_day, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        if len(self.days) < 31 and len(self.weekdays) < 7:
            return by_day or by_weekday
        return by_day and by_weekday

    @property
    def unit(self) -> IntervalUnit:
        """The coarsest interval unit that is not longer than the time between any two ticks."""
        return _unit(self)

    @property
    def longest_gap(self) -> timedelta:
        """The time on the wall clock between the two ticks that are farthest apart."""
        return timedelta(minutes=_gaps(self)[1])


def unit_of(cron: str) -> IntervalUnit:
    """The coarsest unit that is not longer than the time between two ticks of an expression.

    Raises:
        CronInvalid: See `Cron.parse`.
    """
    return Cron.parse(cron).unit


# Reading an expression


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """One of the five fields: the values that it may name, and words for them."""

    name: str
    low: int
    high: int
    words: str = ""

    @property
    def numbers(self) -> dict[str, int]:
        """Each word with its value."""
        return {word: self.low + index for index, word in enumerate(self.words.split())}


_WEEKDAY: Final = _Field(name="weekday", low=0, high=7, words="sun mon tue wed thu fri sat")
_FIELDS: Final = (
    _Field(name="minute", low=0, high=59),
    _Field(name="hour", low=0, high=23),
    _Field(name="day of month", low=1, high=31),
    _Field(name="month", low=1, high=12, words="jan feb mar apr may jun jul aug sep oct nov dec"),
    _WEEKDAY,
)
_VALUE: Final = "[0-9]{1,2}|[a-z]{3}"
_ITEM: Final = re.compile(rf"(?:\*|({_VALUE})(?:-({_VALUE}))?)(?:/([0-9]{{1,2}}))?", re.ASCII)
_EXTENSION: Final = re.compile(r"\?|.*#.*|l|lw|[0-9]+[lw]|[a-z]{3}l|l-[0-9]+", re.ASCII)


class _Wrong(ValueError):
    """What is wrong in an expression, as the end of a sentence."""


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Cron:
    try:
        cron = _read(text.lower())
        _check(cron)
    except _Wrong as error:
        raise CronInvalid(
            f"the cron {text!r} is not valid: {error}",
            advice=f"Use one of {', '.join(sorted(_NAMED))}, or five fields such as "
            "`*/15 * * * *`, `5 * * * *`, `30 6 * * mon-fri`.",
        ) from None
    return cron


def _read(text: str) -> Cron:
    fields = _NAMED.get(text, text).split()
    if text.startswith("@") and text not in _NAMED:
        raise _Wrong("unknown name")
    if len(fields) != len(_FIELDS):
        raise _Wrong(
            f"five fields are needed: minute, hour, day, month, weekday; it has {len(fields)}"
        )
    minutes, hours, days, months, weekdays = map(_values, fields, _FIELDS)
    return Cron(
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=days,
        months=months,
        weekdays=frozenset(each % 7 for each in weekdays),
        text=text,
    )


def _values(text: str, of: _Field) -> frozenset[int]:
    return frozenset(value for item in text.split(",") for value in _item(item, of))


def _item(text: str, of: _Field) -> range:
    """The values of what stands between two commas."""
    found = _ITEM.fullmatch(text)
    if found is None:
        if _EXTENSION.fullmatch(text):
            raise _Wrong(f"{text!r} is an extension (L, W, # or ?), which is not supported")
        raise _Wrong(f"{text!r} is not a valid {of.name}")
    first, last, step = found.groups()
    if step is not None and int(step) == 0:
        raise _Wrong(f"the step of {text!r} is zero")
    if first is None:
        low, high = of.low, 6 if of is _WEEKDAY else of.high
    else:
        low = _value(first, of)
        high = low if step is None else of.high  # `5/15` is from 5 on
        if last is not None:
            sunday_ends_it = of is _WEEKDAY and last == "sun" and low > 0
            high = 7 if sunday_ends_it else _value(last, of)
    if high < low:
        raise _Wrong(f"the range {text!r} runs backwards")
    return range(low, high + 1, int(step or 1))


def _value(text: str, of: _Field) -> int:
    value = int(text) if text.isdigit() else of.numbers.get(text)
    if value is None or not of.low <= value <= of.high:
        raise _Wrong(f"{text!r} is not a valid {of.name} ({of.low} to {of.high})")
    return value


def _check(cron: Cron) -> None:
    if len(cron.weekdays) == 7 and not _dates(cron):
        raise _Wrong("it never occurs")
    if _gaps(cron)[0] < _SHORTEST:
        raise _Wrong(f"it is due more often than every {_SHORTEST} minutes")


# The time between ticks


def _times(cron: Cron) -> list[int]:
    """The ticks of a day, as minutes since midnight."""
    return [hour * 60 + minute for hour in cron.hours for minute in cron.minutes]


@lru_cache(maxsize=1024)
def _gaps(cron: Cron) -> tuple[int, int]:
    """Minutes on the wall clock between the ticks that are closest together and farthest apart."""
    times = _times(cron)
    restricted = len(cron.months) < 12 or len(cron.days) < 31 or len(cron.weekdays) < 7
    days = {(b - a).days for a, b in pairwise(_all_days(cron))} if restricted else {1}
    gaps = [later - sooner for sooner, later in pairwise(times)]
    gaps += [each * _DAY - times[-1] + times[0] for each in days]
    return min(gaps), max(gaps)


def _dates(cron: Cron) -> list[tuple[int, int]]:
    """The months and days that an expression names and the calendar has, if in leap years only."""
    return [
        (month, day)
        for month in cron.months
        for day in cron.days
        if day <= calendar.monthrange(2000, month)[1]
    ]


def _all_days(cron: Cron) -> Iterator[date]:
    """Every day with ticks in 29 years: each kind of year, followed by each that can follow it.

    The calendar repeats after 28 years; a century without its leap day only makes gaps longer.
    """
    for ordinal in range(date(2000, 1, 1).toordinal(), date(2029, 1, 1).toordinal()):
        day = date.fromordinal(ordinal)
        if cron.comes_on(day):
            yield day


@lru_cache(maxsize=1024)
def _unit(cron: Cron) -> IntervalUnit:
    """Calendar units have no one length: one fits where none of them has two ticks."""
    if len(_times(cron)) == 1 and len(cron.weekdays) == 7:
        dates = _dates(cron)
        if len(dates) == 1:
            return IntervalUnit.YEAR
        if len({month for month, _ in dates}) == len(dates):
            return IntervalUnit.MONTH
    gap = timedelta(minutes=_gaps(cron)[0])
    return [unit for unit in IntervalUnit if not unit.months and unit.longest <= gap][-1]


# Ticks


def _in_utc(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError(f"{instant!r} has no time zone")
    return instant.astimezone(UTC)


@lru_cache(maxsize=4096)
def _previous(cron: Cron, instant: datetime, tz: str) -> datetime:
    near = [
        ticks[after - 1]
        for ticks in _near(cron, instant, tz)
        if (after := bisect_right(ticks, instant))
    ]
    if near:
        return max(near)
    for day in _days(cron, _local_day(instant, tz) - 2, step=-1):
        if ticks := _ticks(cron, day, tz):
            return ticks[-1]
    return BEGINNING


@lru_cache(maxsize=4096)
def _following(cron: Cron, instant: datetime, tz: str) -> datetime:
    near = [
        ticks[after]
        for ticks in _near(cron, instant, tz)
        if (after := bisect_right(ticks, instant)) < len(ticks)
    ]
    if near:
        return min(near)
    for day in _days(cron, _local_day(instant, tz) + 2, step=1):
        if ticks := _ticks(cron, day, tz):
            return ticks[0]
    return FOREVER


def _near(cron: Cron, instant: datetime, tz: str) -> Iterator[tuple[datetime, ...]]:
    """The ticks of an instant's day and of those around it: a repeated hour may cross midnight."""
    today = _local_day(instant, tz)
    for ordinal in (today - 1, today, today + 1):
        if 1 <= ordinal <= date.max.toordinal() and cron.comes_on(date.fromordinal(ordinal)):
            yield _ticks(cron, date.fromordinal(ordinal), tz)


def _days(cron: Cron, ordinal: int, *, step: int) -> Iterator[date]:
    """The days with ticks from one on, forwards or backwards; at most eight years apart."""
    while 1 <= ordinal <= date.max.toordinal():
        day = date.fromordinal(ordinal)
        if cron.comes_on(day):
            yield day
        ordinal += step


def _local_day(instant: datetime, tz: str) -> int:
    try:
        return instant.astimezone(zone_of(tz)).toordinal()
    except OverflowError:  # the first or the last hours of all time
        return instant.toordinal()


@lru_cache(maxsize=1024)
def _ticks(cron: Cron, day: date, tz: str) -> tuple[datetime, ...]:
    """The ticks of a day of a zone, in order and in UTC."""
    zone, every_hour = zone_of(tz), len(cron.hours) == 24
    walls = (
        datetime.combine(day, time(hour, minute)) for hour in cron.hours for minute in cron.minutes
    )
    return tuple(
        sorted({tick for wall in walls for tick in instants_of(wall, zone, every_hour=every_hour)})
    )
