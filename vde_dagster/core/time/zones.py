"""Time zones: by name, and when their clocks show a wall time."""

from __future__ import annotations

import difflib
import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from vde_dagster.core.errors import Refused

_NAME: Final = re.compile(r"[\w+-]{1,32}(/[\w+-]{1,32}){0,2}", re.ASCII)


class ZoneUnknown(Refused, ValueError):
    """A time zone is not in the zone database."""


@lru_cache(maxsize=256)
def zone_of(name: str) -> tzinfo:
    """A time zone of the IANA database by its name, such as ``Europe/Berlin``.

    Raises:
        ZoneUnknown: There is none of this name.
    """
    if name.upper() == "UTC":
        return UTC
    zone = _in_database(name)
    if zone is not None:
        return zone
    known = {each.lower(): each for each in available_timezones()}
    close = difflib.get_close_matches(name.lower(), known, n=1)
    guess = f"Did you mean {known[close[0]]!r}? " if close else ""
    raise ZoneUnknown(
        f"unknown time zone {name!r}",
        advice=f"{guess}Write a name of the IANA database, such as 'Europe/Berlin' or 'UTC'.",
    )


def _in_database(name: str) -> ZoneInfo | None:
    if not _NAME.fullmatch(name):
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # it may be a folder, or no zone's file
        return None


def instants_of(wall: datetime, zone: tzinfo, *, every_hour: bool) -> tuple[datetime, ...]:
    """When a clock in a zone shows a wall time that something is due at, in UTC.

    Args:
        wall: A time without a zone.
        zone: The zone.
        every_hour: Whether real time counts: what is skipped is left out, what comes twice counts
            twice. Otherwise a skipped time is the first instant after the gap, and one that comes
            twice is the first of them. No instant where it lies outside the years 1 to 9999.
    """
    if zone is UTC:
        return (wall.replace(tzinfo=UTC),)
    try:
        early, late = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    except OverflowError:
        return ()
    if early == late:
        return (early,)
    if early < late:
        return (early, late) if every_hour else (early,)
    # Skipped: read with the offset before the gap it lies after it, with the one after it before.
    return () if every_hour else (_end_of_gap(late, early, zone),)


def _end_of_gap(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The first instant at which a zone has the offset that it has ``after`` a change."""
    offset = after.astimezone(zone).utcoffset()
    low, high = 0, (after - before) // timedelta(seconds=1)
    while high - low > 1:
        middle = (low + high) // 2
        if (before + timedelta(seconds=middle)).astimezone(zone).utcoffset() == offset:
            high = middle
        else:
            low = middle
    return before + timedelta(seconds=high)
