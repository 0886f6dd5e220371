"""How far clocks are away is said only as far as it is certain."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from vde_dagster.core.doctor.clocks import ClockReading, judge_clocks
from vde_dagster.core.doctor.results import Outcome

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def reading(
    said: float, *, took: float = 0, resolution: float = 0, clock: str = "the database"
) -> ClockReading:
    """A clock that said so many seconds after noon, looked at from noon on for a while."""
    return ClockReading(
        clock=clock,
        before=NOON,
        said=NOON + seconds(said),
        after=NOON + seconds(took),
        resolution=seconds(resolution),
    )


@pytest.mark.parametrize(
    "said,took,resolution,ahead",
    [
        (0, 0, 0, 0),
        (0.5, 1, 0, 0),  # it was read in between
        (3, 1, 0, 2),
        (-3, 1, 0, -3),
        (-0.9, 1, 1, 0),  # whole seconds: it may have been noon
        (-3, 1, 1, -2),
        (90, 100, 0, 0),  # a slow answer says nothing
    ],
)
def test_a_clock_is_away_by_what_no_delay_and_no_rounding_explains(
    said: float, took: float, resolution: float, ahead: float
) -> None:
    assert reading(said, took=took, resolution=resolution).ahead == seconds(ahead)


@pytest.mark.parametrize(
    "said,outcome,text",
    [
        (0, Outcome.OK, "this machine and the database are within 5 s"),
        (5, Outcome.OK, "within 5 s"),
        (-5, Outcome.OK, "within 5 s"),
        (6, Outcome.WARNING, "the database is 6 s ahead of this machine"),
        (-60, Outcome.WARNING, "the database is 60 s behind this machine"),
        (61, Outcome.BROKEN, "Iceberg refuses a commit"),
        (-3600, Outcome.BROKEN, "the database is 3600 s behind this machine"),
    ],
)
def test_what_iceberg_would_refuse_is_broken_and_less_is_a_warning(
    said: float, outcome: Outcome, text: str
) -> None:
    result = judge_clocks("clock", [reading(said)])
    assert result.outcome is outcome
    assert text in result.message
    assert bool(result.advice) == (outcome is not Outcome.OK)


def test_each_clock_that_is_away_is_named_and_no_other() -> None:
    found = [reading(0, clock="a"), reading(10, clock="b"), reading(-20, clock="c")]
    message = judge_clocks("clock", found).message
    assert message == "b is 10 s ahead of this machine; c is 20 s behind this machine"


def test_without_any_other_clock_nothing_is_certain() -> None:
    assert judge_clocks("clock", []).outcome is Outcome.WARNING
