"""Intervals are UTC; what a model may do about other zones, sentence by sentence."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tests.app.memory_world import MemoryWorld
from tests.kinds.sentences.projects import built, instant, read, span
from vde_dagster.core.time.schedule import due_interval, last_tick

DAILY = """MODEL (
  name demo.daily,
  kind INCREMENTAL_BY_TIME_RANGE (time_column day),
  start '2024-01-01'
);
SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY CAST(at AS DATE)
"""
LOCAL = """MODEL (
  name demo.local,
  kind INCREMENTAL_BY_TIME_RANGE (time_column day, lookback {lookback}),
  start '2024-01-01'
);
SELECT CAST(at - INTERVAL 8 HOURS AS DATE) AS day, SUM(amount) AS amount FROM raw.events
WHERE CAST(at - INTERVAL 8 HOURS AS DATE) BETWEEN @start_date AND @end_date
GROUP BY CAST(at - INTERVAL 8 HOURS AS DATE)
"""


@pytest.mark.full
@pytest.mark.parametrize("lookback", [0, 1])
def test_days_of_a_zone_behind_utc_are_made_whole_by_the_next_day(lookback: int) -> None:
    """A day in a zone eight hours behind ends eight hours after the day in UTC that is due."""
    world, text = MemoryWorld(), LOCAL.format(lookback=lookback)
    world.land((10, 10), until=24)
    built(world, text)
    assert world.rows("demo.local") == [(date(2024, 1, 1), 10)]
    world.land((28, 20), (40, 5), until=48)  # the first of these is still the first day there
    built(world, text)
    assert world.rows("demo.local") == [(date(2024, 1, 1), 30), (date(2024, 1, 2), 5)]


def test_the_borders_of_intervals_are_utc_whatever_the_zone_of_the_cron() -> None:
    model = read(DAILY.replace("start '2024", "cron_tz 'America/Los_Angeles', start '2024"))
    now = instant("2024-07-01T07:00")  # midnight there
    assert last_tick(model, now) == now
    assert due_interval(model, now) == span("2024-01-01", "2024-07-01")
    assert due_interval(model, now - timedelta(seconds=1)) == span("2024-01-01", "2024-06-30")


def test_a_cron_with_an_offset_moves_when_a_day_is_due_and_not_the_day() -> None:
    model = read(DAILY.replace("start '2024", "cron '0 8 * * *', start '2024"))
    before, at = instant("2024-01-03T07:59"), instant("2024-01-03T08:00")
    assert due_interval(model, before) == span("2024-01-01", "2024-01-02")
    assert due_interval(model, at) == span("2024-01-01", "2024-01-03")
