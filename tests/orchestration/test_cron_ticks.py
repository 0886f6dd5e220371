"""Ticks of a model's cron and of Dagster's schedules, and where they differ (ADR 13)."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

import pytest
from dagster._utils.schedules import cron_string_iterator
from hypothesis import given
from hypothesis import strategies as st

from tests.core.time.test_cron import crons, utc
from vde_dagster.core.time.cron import Cron

WITHOUT_CHANGES = ("UTC", "Asia/Tokyo", "Asia/Kolkata")
INSTANTS = st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC))


def in_dagster(text: str, tz: str, after: datetime, count: int) -> list[datetime]:
    """Dagster's next ticks after a whole minute."""
    ticks = cron_string_iterator(after.timestamp() + 1, text, tz)
    return [each.astimezone(UTC) for each in islice(ticks, count)]


def written(values: set[int], whole: int) -> str:
    return "*" if len(values) == whole else ",".join(map(str, sorted(values)))


def ours(text: str, tz: str, after: datetime, count: int) -> list[datetime]:
    cron, found = Cron.parse(text), [after]
    for _ in range(count):
        found.append(cron.following(found[-1], tz))
    return found[1:]


@pytest.mark.full
@given(crons(), st.sampled_from(WITHOUT_CHANGES), INSTANTS)
def test_ticks_are_dagsters_where_no_clock_is_changed(
    cron: tuple[list[set[int]], str], tz: str, instant: datetime
) -> None:
    after = instant.replace(second=0, microsecond=0)
    values, _ = cron
    text = " ".join(map(written, values, (60, 24, 31, 12, 7)))
    assert ours(text, tz, after, 5) == in_dagster(text, tz, after, 5)


@pytest.mark.parametrize(
    "text",
    ["@daily", "*/15 * * * *", "0 */6 * * *", "30 6 * * mon-fri", "0 0 */2 * 1", "0 0 31 * *"],
)
def test_so_are_those_of_steps_names_and_two_fields_of_days(text: str) -> None:
    after = utc("2024-01-01T00:00")
    assert ours(text, "UTC", after, 100) == in_dagster(text, "UTC", after, 100)


@pytest.mark.parametrize("text", ["30 2 * * *", "*/30 2 * * *", "0 */2 * * *", "30 * * * *"])
def test_so_are_those_of_a_night_in_which_an_hour_is_skipped(text: str) -> None:
    after = utc("2024-03-30T12:00")
    assert ours(text, "Europe/Berlin", after, 50) == in_dagster(text, "Europe/Berlin", after, 50)


@pytest.mark.parametrize(
    "text,our_tick,dagsters",
    [
        ("30 2 * * *", "2024-10-27T00:30", "2024-10-27T01:30"),
        ("0 */2 * * *", "2024-10-27T00:00", "2024-10-27T01:00"),
        ("*/30 * * * *", "2024-10-27T00:00", "2024-10-27T00:00"),  # where every hour comes, both do
    ],
)
def test_of_an_hour_that_comes_twice_dagster_takes_the_second(
    text: str, our_tick: str, dagsters: str
) -> None:
    after = utc("2024-10-26T23:45")
    assert ours(text, "Europe/Berlin", after, 1) == [utc(our_tick)]
    assert in_dagster(text, "Europe/Berlin", after, 1) == [utc(dagsters)]


@pytest.mark.parametrize(
    "text,our_tick,dagsters",
    [
        ("0 16-16 * * *", "2024-01-01T16:00", "2024-01-01T01:00"),  # Dagster takes it for *
        ("0 23/8 * * *", "2024-01-01T23:00", "2024-01-01T08:00"),  # and goes on after midnight
        ("0 0 1 12/3 *", "2024-12-01", "2024-04-01"),
        ("0 0 13 * 0-6", "2024-01-13", "2024-01-02"),  # all weekdays: does that restrict anything?
    ],
)
def test_dagster_reads_some_expressions_in_its_own_way(
    text: str, our_tick: str, dagsters: str
) -> None:
    after = utc("2024-01-01T00:00")
    assert ours(text, "UTC", after, 1) == [utc(our_tick)]
    assert in_dagster(text, "UTC", after, 1) == [utc(dagsters)]
