"""When a model's next interval is due: expectations are counted by hand from the calendar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from vde_dagster.app.interval_report import next_due
from vde_dagster.core.errors import Place
from vde_dagster.core.intervals import IntervalUnit, parse_instant
from vde_dagster.core.kind import Full, IncrementalByTimeRange, Kind, Seed, View
from vde_dagster.core.model import Model, ModelSource
from vde_dagster.core.names import ModelName

BY_TIME = IncrementalByTimeRange(time_column="at")


def model(kind: Kind = BY_TIME, **given: object) -> Model:
    made = Model(
        name=ModelName("a", "b"),
        kind=kind,
        body=None,
        source=ModelSource(path=Path("a.sql"), text=""),
        place=Place(path=Path("a.sql")),
        start=datetime(2024, 1, 1, tzinfo=UTC),
    )
    change: Callable[..., Model] = replace
    return change(made, **given)


HOUR, DAY, MONTH = IntervalUnit.HOUR, IntervalUnit.DAY, IntervalUnit.MONTH


@pytest.mark.parametrize(
    "given, now, expected",
    [
        ({}, "2024-01-05T10:00", "2024-01-06"),
        ({}, "2024-01-05", "2024-01-06"),
        ({"unit": HOUR, "cron": "@hourly"}, "2024-01-05T10:30", "2024-01-05T11:00"),
        ({"unit": HOUR, "cron": "5 * * * *"}, "2024-01-05T10:03", "2024-01-05T10:05"),
        ({"cron": "30 6 * * *"}, "2024-01-05T06:00", "2024-01-05T06:30"),
        ({"cron": "30 6 * * *"}, "2024-01-05T06:30", "2024-01-06T06:30"),
        # Midnight in New York is five in the morning in UTC: the UTC day has ended long before.
        ({"cron_tz": "America/New_York"}, "2024-01-05T04:00", "2024-01-05T05:00"),
        # 2024-01-07 is a Sunday: only then are the days of the week due.
        ({"cron": "@weekly"}, "2024-01-03", "2024-01-07"),
        ({"unit": MONTH, "cron": "@monthly"}, "2024-01-31T23:59", "2024-02-01"),
        # Before the start: the first day is due when it is over.
        ({"start": datetime(2030, 6, 1, tzinfo=UTC)}, "2024-01-05", "2030-06-02"),
        ({"end": datetime(2024, 1, 4, tzinfo=UTC)}, "2024-01-03T12:00", "2024-01-04"),
        ({"end": datetime(2024, 1, 4, tzinfo=UTC)}, "2024-01-04", None),
        ({"start": datetime(9999, 12, 31, 12, tzinfo=UTC)}, "2024-01-04", None),
        ({"kind": Full()}, "2024-01-05T10:00", "2024-01-06"),
        ({"kind": View()}, "2024-01-05T10:00", None),
        ({"kind": Seed(path="a.csv")}, "2024-01-05T10:00", None),
    ],
)
def test_the_next_moment_at_which_something_is_due(
    given: dict[str, object], now: str, expected: str | None
) -> None:
    found = next_due(model(**given), parse_instant(now))  # type: ignore[arg-type]
    assert found == (parse_instant(expected) if expected else None)
