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


@pytest.mark.full
@pytest.mark.parametrize(
    "cron, tz, now, until, following",
    [
        # Berlin, the day of 23 hours: midnight is 23:00Z before it and 22:00Z on it.
        ("@daily", BERLIN, "2024-03-30T22:59", "2024-03-29", "2024-03-30T23:00"),
        ("@daily", BERLIN, "2024-03-30T23:00", "2024-03-30", "2024-03-31T22:00"),
        ("@daily", BERLIN, "2024-03-31T21:59", "2024-03-30", "2024-03-31T22:00"),
        ("@daily", BERLIN, "2024-03-31T22:00", "2024-03-31", "2024-04-01T22:00"),
        ("@hourly", BERLIN, "2024-03-31T00:59", "2024-03-31T00:00", "2024-03-31T01:00"),
        ("@hourly", BERLIN, "2024-03-31T01:00", "2024-03-31T01:00", "2024-03-31T02:00"),
        # 02:30 is left out that day: it is due at the first instant after the gap.
        (AT_HALF_PAST_TWO, BERLIN, "2024-03-31T00:59", "2024-03-30", "2024-03-31T01:00"),
        (AT_HALF_PAST_TWO, BERLIN, "2024-03-31T01:00", "2024-03-31", "2024-04-01T00:30"),
        # Berlin, the day of 25 hours: midnight is 22:00Z before it and 23:00Z on it.
        ("@daily", BERLIN, "2024-10-26T22:00", "2024-10-26", "2024-10-27T23:00"),
        ("@daily", BERLIN, "2024-10-27T22:59", "2024-10-26", "2024-10-27T23:00"),
        ("@daily", BERLIN, "2024-10-27T23:00", "2024-10-27", "2024-10-28T23:00"),
        # 02:00 comes twice, and both hours of UTC are due.
        ("@hourly", BERLIN, "2024-10-27T00:59", "2024-10-27T00:00", "2024-10-27T01:00"),
        ("@hourly", BERLIN, "2024-10-27T01:59", "2024-10-27T01:00", "2024-10-27T02:00"),
        # 02:30 comes twice, at 00:30Z and 01:30Z: the first one counts.
        (AT_HALF_PAST_TWO, BERLIN, "2024-10-27T00:29", "2024-10-26", "2024-10-27T00:30"),
        (AT_HALF_PAST_TWO, BERLIN, "2024-10-27T00:30", "2024-10-27", "2024-10-28T01:30"),
        (AT_HALF_PAST_TWO, BERLIN, "2024-10-27T01:30", "2024-10-27", "2024-10-28T01:30"),
        # New York, the day of 23 hours.
        ("@daily", NEW_YORK, "2024-03-10T05:00", "2024-03-10", "2024-03-11T04:00"),
        ("@daily", NEW_YORK, "2024-03-11T04:00", "2024-03-11", "2024-03-12T04:00"),
        ("@hourly", NEW_YORK, "2024-03-10T06:59", "2024-03-10T06:00", "2024-03-10T07:00"),
        ("@hourly", NEW_YORK, "2024-03-10T07:00", "2024-03-10T07:00", "2024-03-10T08:00"),
        (AT_HALF_PAST_TWO, NEW_YORK, "2024-03-10T06:59", "2024-03-09", "2024-03-10T07:00"),
        (AT_HALF_PAST_TWO, NEW_YORK, "2024-03-10T07:00", "2024-03-10", "2024-03-11T06:30"),
        # New York, the day of 25 hours: 01:00 comes twice there, 02:30 once.
        ("@daily", NEW_YORK, "2024-11-03T04:00", "2024-11-03", "2024-11-04T05:00"),
        ("@daily", NEW_YORK, "2024-11-04T04:59", "2024-11-03", "2024-11-04T05:00"),
        ("@daily", NEW_YORK, "2024-11-04T05:00", "2024-11-04", "2024-11-05T05:00"),
        ("@hourly", NEW_YORK, "2024-11-03T05:59", "2024-11-03T05:00", "2024-11-03T06:00"),
        ("@hourly", NEW_YORK, "2024-11-03T06:59", "2024-11-03T06:00", "2024-11-03T07:00"),
        (AT_HALF_PAST_TWO, NEW_YORK, "2024-11-03T07:29", "2024-11-02", "2024-11-03T07:30"),
        (AT_HALF_PAST_TWO, NEW_YORK, "2024-11-03T07:30", "2024-11-03", "2024-11-04T07:30"),
    ],
)
def test_on_days_of_daylight_saving_units_are_those_of_utc_and_due_once(
    cron: str, tz: str, now: str, until: str, following: str
) -> None:
    unit = HOUR if cron == "@hourly" else DAY
    made = model(cron=cron, cron_tz=tz, unit=unit)
    found = schedule.due_interval(made, parse_instant(now))
    assert found == Interval(made.start, parse_instant(until))
    assert next_due(made, parse_instant(now)) == parse_instant(following)


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
