"""When a model's next interval is due: expectations are counted by hand from the calendar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from vde_dagster.app.inspect.interval_report import next_due
from vde_dagster.core.errors import Place
from vde_dagster.core.model.kinds import Full, IncrementalByTimeRange, Kind, Seed, View
from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.core.names import ModelName
from vde_dagster.core.time import schedule
from vde_dagster.core.time.intervals import Interval, IntervalUnit, parse_instant

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


# Berlin is at +1, from 2024-03-31 01:00Z to 2024-10-27 01:00Z at +2. New York is at -5, from
# 2024-03-10 07:00Z to 2024-11-03 06:00Z at -4. Units are days and hours of UTC, half-open: a unit
# is due at the first tick at or after its end.
BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
AT_HALF_PAST_TWO = "30 2 * * *"


MINUTE = timedelta(minutes=1)


def watched(cron: str, tz: str, start: datetime, end: datetime) -> list[datetime]:
    """The times found by checking a clock in the zone every minute, once a day or hour."""
    ticks, instant, zone = [], start, ZoneInfo(tz)
    latest = (start - MINUTE).astimezone(zone).replace(tzinfo=None)
    while instant < end:
        wall = instant.astimezone(zone).replace(tzinfo=None)
        hour, minute = (2, 30) if cron == AT_HALF_PAST_TWO else (0, 0)
        at = wall.replace(hour=hour, minute=minute)
        if wall.minute == 0 if cron == "@hourly" else latest < at <= wall:
            ticks.append(instant)
        latest = max(latest, wall)
        instant += MINUTE
    return ticks


@pytest.mark.full
@pytest.mark.parametrize("cron", ["@daily", "@hourly", AT_HALF_PAST_TWO])
@pytest.mark.parametrize(
    "tz, day",
    [
        (BERLIN, "2024-03-31"),
        (BERLIN, "2024-10-27"),
        (NEW_YORK, "2024-03-10"),
        (NEW_YORK, "2024-11-03"),
    ],
)
def test_around_a_change_of_the_clock_units_are_due_when_a_clock_on_the_wall_says(
    cron: str, tz: str, day: str
) -> None:
    length = timedelta(hours=1 if cron == "@hourly" else 24)
    change = parse_instant(day)
    start = change - timedelta(days=3)
    made = model(cron=cron, cron_tz=tz, unit=HOUR if cron == "@hourly" else DAY, start=start)
    ticks = watched(cron, tz, start, change + timedelta(days=6))
    now = change - timedelta(days=1)
    while now < change + timedelta(days=3):
        last = max(tick for tick in ticks if tick <= now)
        end = start + (last - start) // length * length
        assert schedule.due_interval(made, now) == Interval(start, end)
        assert next_due(made, now) == min(tick for tick in ticks if tick >= end + length)
        now += 7 * MINUTE
