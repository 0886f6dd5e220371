"""Times as people write them in options: an instant, or an end that means a whole day."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Final

from vde_dagster.core.time.intervals import parse_instant

_DAY: Final = timedelta(days=1)


def written_instant(text: str) -> datetime:
    """The instant that a text names, UTC where it names no zone.

    Raises:
        ValueError: It is neither a date nor a time in ISO-8601; the text says so to people.
    """
    try:
        return parse_instant(text)
    except ValueError as error:
        message = f"{text!r} is not a valid date or time; write it like 2013-01-04"
        raise ValueError(message) from error


def written_end(text: str) -> datetime:
    """The exclusive end that a text names: the end of a date, or the time itself.

    Raises:
        ValueError: As for `written_instant`, or there is no day after it.
    """
    instant = written_instant(text)
    try:
        return instant + _DAY if _is_date(text.strip()) else instant
    except OverflowError as error:
        raise ValueError(f"{text!r} is the last possible day; write an earlier one") from error


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
