"""How many intervals ranges of a model are, as people count them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from vde_dagster.core.model.counted import in_units
from vde_dagster.core.time.intervals import Interval, IntervalUnit

START = datetime(2024, 1, 1, tzinfo=UTC)


def hours(first: int, last: int) -> Interval:
    return Interval(START + timedelta(hours=first), START + timedelta(hours=last))


@pytest.mark.parametrize(
    "unit, ranges, said",
    [
        (IntervalUnit.HOUR, [hours(4, 5)], "1 hour"),
        (IntervalUnit.HOUR, [hours(0, 3), hours(5, 7)], "5 hours"),
        (IntervalUnit.DAY, [hours(0, 48)], "2 days"),
        (IntervalUnit.FIVE_MINUTE, [hours(0, 1)], "12 5-minute intervals"),
        # a kept table of hours whose model has become one of days
        (IntervalUnit.DAY, [hours(4, 5)], "1 day"),
        (IntervalUnit.DAY, [hours(4, 5), hours(7, 9)], "1 day"),
        (IntervalUnit.DAY, [hours(4, 5), hours(47, 49)], "3 days"),
    ],
)
def test_units_are_counted_in_which_ranges_lie(
    unit: IntervalUnit, ranges: list[Interval], said: str
) -> None:
    assert in_units(unit, ranges) == said
