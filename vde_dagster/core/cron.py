"""From a cron expression to the interval unit (seed 001: a model is due once per cron period)."""

from __future__ import annotations

import re
from typing import Final

from vde_dagster.core.errors import Refused
from vde_dagster.core.intervals import IntervalUnit

_NAMED: Final = {
    "@hourly": IntervalUnit.HOUR,
    "@daily": IntervalUnit.DAY,
    "@midnight": IntervalUnit.DAY,
    "@weekly": IntervalUnit.DAY,
    "@monthly": IntervalUnit.MONTH,
    "@yearly": IntervalUnit.YEAR,
    "@annually": IntervalUnit.YEAR,
}
_MINUTES: Final = {
    "*/5": IntervalUnit.FIVE_MINUTE,
    "*/15": IntervalUnit.QUARTER_HOUR,
    "*/30": IntervalUnit.HALF_HOUR,
}


_RANGES: Final = (range(60), range(24), range(1, 32), range(1, 13), range(8))
_ITEM: Final = re.compile(r"(?:\*|([0-9]{1,2})(?:-([0-9]{1,2}))?)(?:/([1-9][0-9]?))?", re.ASCII)
_NAMES: Final = {
    name: str(number)
    for names, first in (
        ("jan feb mar apr may jun jul aug sep oct nov dec", 1),
        ("sun mon tue wed thu fri sat", 0),
    )
    for number, name in enumerate(names.split(), start=first)
}


class CronInvalid(Refused, ValueError):
    """A cron expression is not understood."""


def unit_of(cron: str) -> IntervalUnit:
    """The coarsest unit that is not longer than the time between two ticks.

    Raises:
        CronInvalid: The expression is neither a known name nor of five plain fields.
    """
    text = cron.strip().lower()
    if text in _NAMED:
        return _NAMED[text]
    fields = text.split()
    if len(fields) == 5 and all(map(_is_field, fields, _RANGES)):
        minute, hour, day, month, weekday = fields
        if hour == "*" and minute in _MINUTES:
            return _MINUTES[minute]
        if minute.isdigit() and hour == "*":
            return IntervalUnit.HOUR
        if minute.isdigit() and hour.isdigit():
            if weekday == "*" and day.isdigit():
                return IntervalUnit.YEAR if month.isdigit() else IntervalUnit.MONTH
            return IntervalUnit.DAY
    raise CronInvalid(
        f"the cron {cron!r} is not understood; use one of {', '.join(sorted(_NAMED))}, or five "
        "fields such as `*/15 * * * *`, `5 * * * *`, `30 6 * * *`"
    )


def _is_field(text: str, allowed: range) -> bool:
    """Whether every item between commas is ``*`` or in bounds, perhaps a range or stepped."""
    if allowed in (_RANGES[3], _RANGES[4]):
        text = re.sub(r"[a-z]+", lambda word: _NAMES.get(word.group(), word.group()), text)
    for item in text.split(","):
        found = _ITEM.fullmatch(item)
        if found is None or any(int(each) not in allowed for each in found.group(1, 2) if each):
            return False
    return True
