"""The units of time: their names, lengths and borders, and adding months as SQL does.

This is the one table of units. `Grain` names those that SQL truncates to and counts by; interval
units (`intervals`), the words of SQL and of configuration (`sql_units`) and what is stored by
units are made of them. All instants are aware UTC datetimes.
"""

from __future__ import annotations

import calendar
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Final, Self

BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
"""The first instant of the year 1: a border of every unit, and a Monday."""
FOREVER: Final = datetime.max.replace(tzinfo=UTC)
"""The last microsecond of the year 9999, taken as the exclusive end of all time."""


class Grain(IntEnum):
    """A unit that instants are truncated to, the finest first. Weeks start on Monday.

    The name is the one that SQL has for it.

    Attributes:
        longest: The length of the longest unit.
        shortest: The length of the shortest one, which is the same for all but calendar units.
        months: How many months it is; zero for units of a fixed length.
    """

    longest: timedelta
    shortest: timedelta
    months: int

    MICROSECOND = 1, timedelta(microseconds=1)
    MILLISECOND = 2, timedelta(milliseconds=1)
    SECOND = 3, timedelta(seconds=1)
    MINUTE = 4, timedelta(minutes=1)
    HOUR = 5, timedelta(hours=1)
    DAY = 6, timedelta(days=1)
    WEEK = 7, timedelta(weeks=1)
    MONTH = 8, timedelta(days=31), timedelta(days=28), 1
    QUARTER = 9, timedelta(days=92), timedelta(days=90), 3
    YEAR = 10, timedelta(days=366), timedelta(days=365), 12

    def __new__(
        cls, order: int, longest: timedelta, shortest: timedelta | None = None, months: int = 0
    ) -> Self:
        """A unit with its place among the others."""
        grain = int.__new__(cls, order)
        grain._value_ = order
        grain.longest, grain.shortest, grain.months = longest, shortest or longest, months
        return grain

    def floor(self, instant: datetime) -> datetime:
        """The latest border of this grain that is not after ``instant``."""
        if self.months:
            return floor_months(instant, self.months)
        return instant - (instant - BEGINNING) % self.longest

    def following(self, border: datetime) -> datetime:
        """The border after ``border``.

        Raises:
            OverflowError: It lies after the year 9999.
        """
        return add_months(border, self.months) if self.months else border + self.longest

    def ceil(self, instant: datetime) -> datetime:
        """The earliest border of this grain that is not before ``instant``.

        Raises:
            OverflowError: It lies after the year 9999.
        """
        border = self.floor(instant)
        return border if border == instant else self.following(border)


# Months


def floor_months(instant: datetime, months: int) -> datetime:
    """The start of the month that ``instant`` lies in, of its quarter (3) or of its year (12)."""
    return instant.replace(
        month=instant.month - (instant.month - 1) % months,
        day=1,
        hour=0,
        minute=0,
        second=0,
        microsecond=0,
    )


def add_months(instant: datetime, months: int) -> datetime:
    """The same day and time ``months`` later, or the month's last day where it has no such day.

    So does SQL: a month after 31 January is 28 or 29 February. It never changes the order of two
    instants.

    Raises:
        OverflowError: The result lies outside the years 1 to 9999.
    """
    year, month = divmod(instant.year * 12 + instant.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError(f"the year {year} is not a valid year of a date")
    day = instant.day
    if day > 28:  # every month has the others
        day = min(day, calendar.monthrange(year, month + 1)[1])
    return instant.replace(year=year, month=month + 1, day=day)


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
    whole = timedelta(days=cycles * 146_097)
    return (
        whole + years * Grain.YEAR.shortest + single * Grain.MONTH.shortest,
        whole + years * Grain.YEAR.longest + single * Grain.MONTH.longest,
    )
