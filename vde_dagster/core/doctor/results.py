"""What came of trying one part: it works, perhaps not as it should, is broken, or was not tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """The four outcomes; the value is the word for people and for JSON."""

    OK = "ok"
    WARNING = "warning"
    BROKEN = "broken"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What came of one check.

    ``advice`` is what to do; only a warning and a broken part have one. ``usable`` is whether what
    needs this part can be tried.
    """

    check: str
    outcome: Outcome
    message: str
    advice: str = ""
    usable: bool = True

    def __post_init__(self) -> None:
        if (self.outcome in (Outcome.WARNING, Outcome.BROKEN)) != bool(self.advice):
            raise ValueError(f"{self.check}: a failed check, and only that, has advice")


def ok(check: str, message: str) -> CheckResult:
    """A part that works."""
    return CheckResult(check=check, outcome=Outcome.OK, message=message)


def warning(check: str, message: str, advice: str, *, usable: bool = True) -> CheckResult:
    """A part that works and is not as it should be, or that is missing yet."""
    return CheckResult(
        check=check, outcome=Outcome.WARNING, message=message, advice=advice, usable=usable
    )


def broken(check: str, message: str, advice: str) -> CheckResult:
    """A part that does not work."""
    return CheckResult(
        check=check, outcome=Outcome.BROKEN, message=message, advice=advice, usable=False
    )


def not_tried(check: str, lacking: Sequence[str]) -> CheckResult:
    """A part that cannot be tried without others that cannot be used."""
    return CheckResult(
        check=check,
        outcome=Outcome.NOT_TRIED,
        message=f"needs {' and '.join(lacking)}",
        usable=False,
    )


def left_out(check: str, why: str) -> CheckResult:
    """A part that was not to be checked."""
    return CheckResult(check=check, outcome=Outcome.NOT_TRIED, message=why, usable=False)


def is_healthy(results: Iterable[CheckResult]) -> bool:
    """Whether nothing is broken."""
    return all(each.outcome is not Outcome.BROKEN for each in results)
