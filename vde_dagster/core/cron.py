"""From a cron expression to the interval unit (seed 001: a model is due once per cron period)."""

from __future__ import annotations

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
    if len(fields) == 5:
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
