"""Units of the calendar as SQL truncates to them, and adding months as SQL does.

Interval units say how rows are recorded as held; grains say what functions of SQL do to instants.
All instants are aware UTC datetimes.
"""

from __future__ import annotations

import calendar
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Final

from vde_dagster.core.time.intervals import EPOCH

BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
FOREVER: Final = datetime.max.replace(tzinfo=UTC)
"""The last microsecond of the year 9999, taken as the exclusive end of all time."""


class Grain(IntEnum):
    """A unit that instants are truncated to, the finest first. Weeks start on Monday."""

    MICROSECOND = 1
    MILLISECOND = 2
    SECOND = 3
    MINUTE = 4
    HOUR = 5
    DAY = 6
    WEEK = 7
    MONTH = 8
    QUARTER = 9
    YEAR = 10

    def floor(self, instant: datetime) -> datetime:
        """The latest border of this grain that is not after ``instant``.

        Raises:
            OverflowError: It lies before the year 1.
        """
        if self in _LENGTHS:
            return instant - (instant - EPOCH) % _LENGTHS[self]
        midnight = instant.replace(hour=0, minute=0, second=0, microsecond=0)
        match self:
            case Grain.WEEK:
                return midnight - timedelta(days=midnight.weekday())
            case Grain.MONTH:
                return midnight.replace(day=1)
            case Grain.QUARTER:
                return midnight.replace(day=1, month=midnight.month - (midnight.month - 1) % 3)
            case _:
                return midnight.replace(day=1, month=1)

    def following(self, border: datetime) -> datetime:
        """The border after ``border``.

        Raises:
            OverflowError: It lies after the year 9999.
        """
        match self:
            case Grain.WEEK:
                return border + timedelta(days=7)
            case Grain.MONTH | Grain.QUARTER | Grain.YEAR:
                return add_months(border, _MONTHS[self])
            case _:
                return border + _LENGTHS[self]

    @property
    def longest(self) -> timedelta:
        """The length of the longest unit."""
        return _LONGEST[self] if self in _LONGEST else _LENGTHS[self]

    def ceil(self, instant: datetime) -> datetime:
        """The earliest border of this grain that is not before ``instant``.

        Raises:
            OverflowError: It lies after the year 9999.
        """
        border = self.floor(instant)
        return border if border == instant else self.following(border)


_LENGTHS: Final[Mapping[Grain, timedelta]] = {
    Grain.MICROSECOND: timedelta(microseconds=1),
    Grain.MILLISECOND: timedelta(milliseconds=1),
    Grain.SECOND: timedelta(seconds=1),
    Grain.MINUTE: timedelta(minutes=1),
    Grain.HOUR: timedelta(hours=1),
    Grain.DAY: timedelta(days=1),
}
_LONGEST: Final[Mapping[Grain, timedelta]] = {
    Grain.WEEK: timedelta(days=7),
    Grain.MONTH: timedelta(days=31),
    Grain.QUARTER: timedelta(days=92),
    Grain.YEAR: timedelta(days=366),
}
_MONTHS: Final[Mapping[Grain, int]] = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12}


def add_months(instant: datetime, months: int) -> datetime:
    """The same day and time ``months`` later, or the month's last day where it has no such day.

    So does SQL: a month after 31 January is 28 or 29 February. It never changes the order of two
    instants.

    Raises:
        OverflowError: The result lies outside the years 1 to 9999.
    """
    year, month = divmod(instant.year * 12 + instant.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError(f"the year {year} is no year of a date")
    last = calendar.monthrange(year, month + 1)[1]
    return instant.replace(year=year, month=month + 1, day=min(instant.day, last))


def lengths_of_months(months: int) -> tuple[timedelta, timedelta]:
    """Between which lengths ``add_months(instant, months) - instant`` lies for every instant.

    Whole cycles of 400 years have one length. Of the rest, each year has 365 or 366 days, and each
    further month 28 to 31.
    """
    if months < 0:
        shortest, longest = lengths_of_months(-months)
        return -longest, -shortest
    cycles, rest = divmod(months, 12 * 400)
    years, single = divmod(rest, 12)
    days = cycles * 146_097
    return (
        timedelta(days=days + 365 * years + 28 * single),
        timedelta(days=days + 366 * years + 31 * single),
    )
