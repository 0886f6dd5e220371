"""How far the clocks of a database, a storage and Spark are from this machine's, for certain.

A clock is read between two looks at this machine's: how far it is away is known up to the time that
lies between the two, and up to the resolution of the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from vde_dagster.core.doctor.results import CheckResult, broken, ok, warning

TOLERATED: Final = timedelta(seconds=5)
"""What machines that keep the time differ by at most; more is worth a word."""
REFUSED: Final = timedelta(minutes=1)
"""Iceberg's Java refuses a snapshot that is older than the last one by more than that.

That is ``ONE_MINUTE`` of its class ``TableMetadata``.
"""

_ADVICE: Final = (
    "Synchronize all machines with a time server: `timedatectl set-ntp true` on Linux with "
    "systemd, or chrony."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """What a clock said between two looks at this machine's. All times are in UTC.

    ``resolution`` is how finely it tells: the true time was up to that much later than ``said``.
    """

    clock: str
    before: datetime
    said: datetime
    after: datetime
    resolution: timedelta = timedelta(0)

    @property
    def ahead(self) -> timedelta:
        """How far it is ahead of this machine's at least; negative if it is behind, else zero."""
        if self.said > self.after:
            return self.said - self.after
        latest = self.said + self.resolution
        return latest - self.before if latest < self.before else timedelta(0)


def judge_clocks(check: str, readings: Sequence[ClockReading]) -> CheckResult:
    """What is to be said of the clocks that could be read."""
    if not readings:
        return warning(
            check,
            "no other clock could be read",
            "Fix the problems above first; then its clock can be read.",
        )
    worst = max(readings, key=lambda each: abs(each.ahead))
    if abs(worst.ahead) <= TOLERATED:
        names = ", ".join(each.clock for each in readings)
        return ok(check, f"this machine and {names} are within {_seconds(TOLERATED)}")
    wrong = "; ".join(_said(each) for each in readings if abs(each.ahead) > TOLERATED)
    if abs(worst.ahead) <= REFUSED:
        return warning(check, wrong, _ADVICE)
    why = "Iceberg refuses a commit that is more than a minute older than the one before it"
    return broken(check, f"{wrong}. {why}", _ADVICE)


def _said(reading: ClockReading) -> str:
    away = "ahead of" if reading.ahead > timedelta(0) else "behind"
    return f"{reading.clock} is {_seconds(abs(reading.ahead))} {away} this machine"


def _seconds(length: timedelta) -> str:
    return f"{length.total_seconds():.0f} s"
