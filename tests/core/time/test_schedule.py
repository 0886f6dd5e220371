"""Due, missing, batches and waiting. Expected values come from the seed and the calendar."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from tests.core.tables import rows
from tests.core.time.scheduled_models import model, span, spans, utc
from vde_dagster.core.model.kinds import (
    Full,
    IncrementalByPartition,
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    IncrementalUnmanaged,
    Kind,
    ScdType2ByTime,
)
from vde_dagster.core.time.schedule import (
    batches,
    blocked_for_whole,
    due_at_once,
    due_interval,
    lacking,
    missing,
    missing_sequential,
)


# What is due: whole units from the start to the last tick. 2024-01-01 was a Monday.
@pytest.mark.parametrize(
    "unit,cron,start,now,expected",
    rows("""
day | @daily | 2024-01-01 | 2024-01-01T23:59:59 |
day | @daily | 2024-01-01 | 2024-01-03T12:00 | 2024-01-01 2024-01-03
day | @daily | 2024-02-27 | 2024-03-01 | 2024-02-27 2024-03-01  # three days
day | @daily | 2024-01-05 | 2024-01-01 |
day | @daily | 2024-01-01T00:00:01 | 2024-01-03 | 2024-01-02 2024-01-03
# A cron later in the day moves the moment, not the borders.
day | 30 6 * * * | 2024-01-01 | 2024-01-02T06:29 |
day | 30 6 * * * | 2024-01-01 | 2024-01-02T06:30 | 2024-01-01 2024-01-02
# A weekly cron makes seven days due at once.
day | @weekly | 2024-01-01 | 2024-01-06T23:59 |
day | @weekly | 2024-01-01 | 2024-01-07 | 2024-01-01 2024-01-07
day | @weekly | 2024-01-01 | 2024-01-14 | 2024-01-01 2024-01-14
day | 0 0 * * 1-5 | 2024-01-01 | 2024-01-07T12:00 | 2024-01-01 2024-01-05
day | 0 0 1,15 * * | 2024-01-01 | 2024-01-31T12:00 | 2024-01-01 2024-01-15
day | 0 0 1 * * | 2024-01-01 | 2024-02-29T12:00 | 2024-01-01 2024-02-01
# Units that were set smaller than the cron.
hour | @daily | 2024-01-01 | 2024-01-02T05:30 | 2024-01-01 2024-01-02
five_minute | @hourly | 2024-01-01 | 2024-01-01T01:59 | 2024-01-01 2024-01-01T01:00
hour | 0 */6 * * * | 2024-01-01 | 2024-01-01T11:59 | 2024-01-01 2024-01-01T06:00
# Every unit.
five_minute | */5 * * * * | 2024-02-29T23:52 | 2024-03-01T00:04:59 | 2024-02-29T23:55 2024-03-01
quarter_hour | */15 * * * * | 2024-01-01T00:10 | 2024-01-01T01:00
  | 2024-01-01T00:15 2024-01-01T01:00
half_hour | 5/30 * * * * | 2024-01-01 | 2024-01-01T01:04 | 2024-01-01 2024-01-01T00:30
hour | @hourly | 2023-12-31T22:30 | 2024-01-01T00:59 | 2023-12-31T23:00 2024-01-01
month | @monthly | 2024-01-01 | 2024-02-29T23:59 | 2024-01-01 2024-02-01
month | @monthly | 2024-01-15 | 2024-03-01 | 2024-02-01 2024-03-01
month | 0 0 15 * * | 2024-01-01 | 2024-02-14T23:59 |
month | 0 0 31 * * | 2024-01-01 | 2024-04-30 | 2024-01-01 2024-03-01
month | 0 0 1 */3 * | 2024-01-01 | 2024-06-30 | 2024-01-01 2024-04-01
year | @yearly | 2020-01-01 | 2023-12-31T23:59 | 2020-01-01 2023-01-01
year | 0 0 29 2 * | 2020-01-01 | 2024-02-28 |
year | 0 0 29 2 * | 2020-01-01 | 2024-02-29 | 2020-01-01 2024-01-01
"""),
)
def test_whole_units_up_to_the_last_tick_are_due(
    unit: str, cron: str, start: str, now: str, expected: str
) -> None:
    found = due_interval(model(unit=unit, cron=cron, start=start), utc(now))
    assert found == (span(expected) if expected else None)


# The zone moves the moment at which a day is due; the day is that of UTC.
@pytest.mark.parametrize(
    "cron,tz,now,until",
    rows("""
@daily | Europe/Berlin | 2024-01-03T22:59 | 2024-01-02  # tick 2024-01-02 23:00Z
@daily | Europe/Berlin | 2024-01-03T23:00 | 2024-01-03
@daily | Asia/Kolkata | 2024-01-03T18:29 | 2024-01-02
@daily | Asia/Kolkata | 2024-01-03T18:30 | 2024-01-03
@daily | America/New_York | 2024-01-03T04:59 | 2024-01-02
@daily | America/New_York | 2024-01-03T05:00 | 2024-01-03
@daily | America/New_York | 2024-03-11T04:00 | 2024-03-11  # summer time
@daily | America/New_York | 2024-03-10T04:59 | 2024-03-09
0 1 * * * | Europe/Berlin | 2024-07-02T22:59 | 2024-07-01  # tick 23:00Z the day before
0 2 * * * | Europe/Berlin | 2024-07-03T00:00 | 2024-07-03
30 2 * * * | Europe/Berlin | 2024-03-31T00:59 | 2024-03-30
30 2 * * * | Europe/Berlin | 2024-03-31T01:00 | 2024-03-31  # skipped, so at 3:00
30 2 * * * | Europe/Berlin | 2024-10-27T00:30 | 2024-10-27  # the first 2:30
@daily | America/Sao_Paulo | 2017-10-15T02:59 | 2017-10-14
@daily | America/Sao_Paulo | 2017-10-15T03:00 | 2017-10-15  # midnight is skipped
"""),
)
def test_a_zone_moves_when_a_day_is_due_and_not_the_day(
    cron: str, tz: str, now: str, until: str
) -> None:
    found = due_interval(model(cron=cron, tz=tz, start="2017-01-01"), utc(now))
    assert found == span(f"2017-01-01 {until}")


@pytest.mark.parametrize(
    "unit,end,now,expected",
    [
        ("day", "2024-01-03", "2024-01-02T12:00", "2024-01-01 2024-01-02"),
        ("day", "2024-01-03", "2024-01-03", "2024-01-01 2024-01-03"),
        ("day", "2024-01-03", "2030-01-01", "2024-01-01 2024-01-03"),
        ("day", "2024-01-03T12:00", "2030-01-01", "2024-01-01 2024-01-03"),
        ("day", "2024-01-01", "2030-01-01", ""),
        ("day", "2023-01-01", "2030-01-01", ""),
        ("month", "2024-03-15", "2030-01-01", "2024-01-01 2024-03-01"),
        ("hour", "2024-01-01T02:30", "2030-01-01", "2024-01-01 2024-01-01T02:00"),
        ("year", "2024-12-31", "2030-01-01", ""),
        ("year", "2025-01-01", "2030-01-01", "2024-01-01 2025-01-01"),
    ],
)
def test_nothing_is_due_after_the_end(unit: str, end: str, now: str, expected: str) -> None:
    found = due_interval(model(unit=unit, end=end), utc(now))
    assert found == (span(expected) if expected else None)


def test_what_is_made_as_a_whole_goes_up_to_the_first_time_that_is_blocked() -> None:
    full = model(Full())
    now = utc("2024-01-10")
    assert due_at_once(full, now) == span("2024-01-01 2024-01-10")
    blocked = spans("2024-01-08 2024-01-09,2024-01-05T12:00 2024-01-06")
    assert due_at_once(full, now, blocked) == span("2024-01-01 2024-01-05")
    assert due_at_once(full, now, [span("2023-12-01 2024-01-02"), *blocked]) is None


# The lookback is 2. Only what is new makes the units before it missing again.
@pytest.mark.parametrize(
    "loaded,now,expected",
    rows("""
- | 2024-01-05 | 2024-01-01 2024-01-05  # nothing before the start
2024-01-01 2024-01-04 | 2024-01-05 | 2024-01-02 2024-01-05
2024-01-01 2024-01-02 | 2024-01-03 | 2024-01-01 2024-01-03  # clipped to the start
2024-01-01 2024-01-05 | 2024-01-05 | -
2024-01-01 2024-01-05 | 2024-01-05T23:59 | -
2024-01-03 2024-01-05 | 2024-01-05 | 2024-01-01 2024-01-03
# a gap in the middle
2024-01-01 2024-01-06,2024-01-07 2024-01-10 | 2024-01-10 | 2024-01-04 2024-01-07
# two gaps whose looks back do not meet, and two that do
2024-01-01 2024-01-04,2024-01-05 2024-01-09 | 2024-01-10
  | 2024-01-02 2024-01-05,2024-01-07 2024-01-10
2024-01-01 2024-01-04,2024-01-05 2024-01-06 | 2024-01-07 | 2024-01-02 2024-01-07
"""),
)
def test_a_look_back_follows_what_is_new(loaded: str, now: str, expected: str) -> None:
    kind = IncrementalByTimeRange(time_column="ts", lookback=2)
    assert missing(model(kind), spans(loaded), utc(now)) == spans(expected)
    other = IncrementalByUniqueKey(unique_key=("id",), lookback=2)
    assert missing(model(other), spans(loaded), utc(now)) == spans(expected)


@pytest.mark.parametrize(
    "unit,cron,lookback,loaded,now,expected",
    rows("""
month | @monthly | 1 | 2024-01-01 2024-03-01 | 2024-04-01 | 2024-02-01 2024-04-01
month | @monthly | 13 | 2024-01-01 2024-03-01 | 2024-04-01 | 2024-01-01 2024-04-01
year | @yearly | 1 | 2024-01-01 2026-01-01 | 2027-01-01 | 2025-01-01 2027-01-01
five_minute | */5 * * * * | 3 | 2024-01-01 2024-01-02 | 2024-01-02T00:05
  | 2024-01-01T23:45 2024-01-02T00:05
# more than all time
day | @daily | 1000000000000 | 2024-01-01 2024-01-03 | 2024-01-04 | 2024-01-01 2024-01-04
# a weekly cron: two days before the new week
day | @weekly | 2 | 2024-01-01 2024-01-07 | 2024-01-14 | 2024-01-05 2024-01-14
"""),
)
def test_a_look_back_counts_units(
    unit: str, cron: str, lookback: str, loaded: str, now: str, expected: str
) -> None:
    kind = IncrementalByTimeRange(time_column="ts", lookback=int(lookback))
    assert missing(model(kind, unit=unit, cron=cron), spans(loaded), utc(now)) == spans(expected)


@pytest.mark.parametrize("now", ["2024-01-10", "2024-01-11", "2024-01-12", "2024-01-14"])
def test_after_the_end_nothing_is_looked_at_again(now: str) -> None:
    """Nobody could tell that it was: it would be due again after each run."""
    ended = model(IncrementalByTimeRange(time_column="ts", lookback=3), end="2024-01-10")
    assert missing(ended, spans("2024-01-01 2024-01-10"), utc(now)) == ()


def test_after_the_end_gaps_are_missing_for_good() -> None:
    kind = IncrementalByTimeRange(time_column="ts", lookback=1)
    ended = model(kind, end="2024-01-10")
    loaded = spans("2024-01-01 2024-01-04,2024-01-05 2024-01-10")
    assert missing(ended, loaded, utc("2024-02-01")) == spans("2024-01-03 2024-01-05")
    assert missing(ended, (), utc("2024-02-01")) == spans("2024-01-01 2024-01-10")


@pytest.mark.parametrize(
    "lookback,loaded,blocked,expected",
    rows("""
0 | - | 2024-01-04 9999-01-01 | 2024-01-01 2024-01-04
0 | - | 2024-01-03T05:00 9999-01-01 | 2024-01-01 2024-01-03
0 | - | 2024-01-02T23:00 2024-01-03T01:00 | 2024-01-01 2024-01-02,2024-01-04 2024-01-06
0 | - | 2023-01-01 9999-01-01 | -
# What is blocked is not new, and not looked at again.
2 | 2024-01-01 2024-01-04 | 2024-01-04 9999-01-01 | -
2 | 2024-01-01 2024-01-05 | 2024-01-04 2024-01-05 | 2024-01-03 2024-01-04,2024-01-05 2024-01-06
"""),
)
def test_what_is_blocked_is_not_missing(
    lookback: str, loaded: str, blocked: str, expected: str
) -> None:
    kind = IncrementalByTimeRange(time_column="ts", lookback=int(lookback))
    found = missing(model(kind), spans(loaded), utc("2024-01-06"), spans(blocked))
    assert found == spans(expected)


@pytest.mark.parametrize(
    "lookback,loaded,blocked,expected",
    [
        (0, "", "2024-01-03 2024-01-04", "2024-01-01 2024-01-03"),
        (0, "", "2024-01-03T05:00 2024-01-03T06:00", "2024-01-01 2024-01-03"),
        (0, "", "2024-01-01 2024-01-02", ""),
        (0, "2024-01-01 2024-01-03", "2024-01-03 2024-01-04", ""),
        (0, "2024-01-01 2024-01-02", "2024-01-03 2024-01-04", "2024-01-02 2024-01-03"),
        # What is loaded, or not due yet, holds nothing back.
        (0, "2024-01-01 2024-01-04", "2024-01-02 2024-01-03", "2024-01-04 2024-01-06"),
        (0, "2024-01-01 2024-01-04", "2024-01-06 9999-01-01", "2024-01-04 2024-01-06"),
        (1, "2024-01-01 2024-01-04", "2024-01-05 2024-01-06", "2024-01-03 2024-01-05"),
    ],
)
def test_what_builds_on_earlier_units_waits_behind_one_that_is_blocked(
    lookback: int, loaded: str, blocked: str, expected: str
) -> None:
    kind = IncrementalByUniqueKey(unique_key=("id",), lookback=lookback)
    found = missing_sequential(model(kind), spans(loaded), utc("2024-01-06"), spans(blocked))
    assert found == spans(expected)
    assert kind.missing(model(kind), spans(loaded), utc("2024-01-06"), spans(blocked)) == found


@pytest.mark.parametrize(
    "batch_size,unit,ranges,expected",
    rows("""
- | day | 2024-01-01 2024-01-06 | 2024-01-01 2024-01-06
2 | day | 2024-01-01 2024-01-06
  | 2024-01-01 2024-01-03,2024-01-03 2024-01-05,2024-01-05 2024-01-06
# a gap ends a batch
3 | day | 2024-01-01 2024-01-03,2024-01-04 2024-01-08
  | 2024-01-01 2024-01-03,2024-01-04 2024-01-07,2024-01-07 2024-01-08
1 | month | 2024-01-01 2024-04-01
  | 2024-01-01 2024-02-01,2024-02-01 2024-03-01,2024-03-01 2024-04-01
# adjacent ranges are one, and ranges come in any order
2 | hour | 2024-01-01T03:00 2024-01-01T04:00,2024-01-01T00:00 2024-01-01T03:00
  | 2024-01-01T00:00 2024-01-01T02:00,2024-01-01T02:00 2024-01-01T04:00
1 | day | 2024-02-28 2024-03-02
  | 2024-02-28 2024-02-29,2024-02-29 2024-03-01,2024-03-01 2024-03-02
1000000000000 | year | 2024-01-01 2027-01-01 | 2024-01-01 2027-01-01
12 | month | 2023-11-01 2025-01-01 | 2023-11-01 2024-11-01,2024-11-01 2025-01-01
4 | quarter_hour | 2024-01-01T00:15 2024-01-01T01:30
  | 2024-01-01T00:15 2024-01-01T01:15,2024-01-01T01:15 2024-01-01T01:30
- | day | - | -
"""),
)
@pytest.mark.parametrize(
    "kind",
    [
        partial(IncrementalByTimeRange, time_column="ts"),
        partial(IncrementalByUniqueKey, unique_key=("id",)),
        partial(ScdType2ByTime, unique_key=("id",)),
    ],
)
def test_batches_have_at_most_so_many_units(
    kind: Callable[..., Kind], batch_size: str, unit: str, ranges: str, expected: str
) -> None:
    sized = kind(batch_size=None if batch_size == "-" else int(batch_size))
    assert batches(model(sized, unit=unit), spans(ranges)) == spans(expected)


@pytest.mark.parametrize("kind", [IncrementalByPartition(), IncrementalUnmanaged()])
def test_what_has_no_batch_size_is_one_batch(kind: Kind) -> None:
    quarter = spans("2024-01-01 2024-03-01")
    assert batches(model(kind), quarter) == quarter


@pytest.mark.parametrize(
    "start,end,holds,expected",
    rows("""
2024-01-01 | | 2024-01-01 2024-01-05 | 2024-01-05 9999-01-01
2024-01-01 | | | 2024-01-01 9999-01-01
2024-01-01T01:00 | | | 2024-01-02 9999-01-01
2024-01-01 | 2024-01-05 | 2024-01-01 2024-01-05 |
2024-01-01 | 2024-01-05T12:00 | 2024-01-01 2024-01-05 |
2024-01-01 | 2024-01-09 | 2024-01-02 2024-01-05 | 2024-01-01 2024-01-02,2024-01-05 2024-01-09
9999-06-01 | | |
2024-01-01 | 2023-01-01 | |
"""),
)
def test_what_a_model_will_hold_one_day_and_does_not_hold_yet(
    start: str, end: str, holds: str, expected: str
) -> None:
    assert lacking(model(start=start, end=end), spans(holds)) == spans(expected)


@pytest.mark.parametrize(
    "since, expected",
    [
        ("2023-12-01", "2024-01-01 9999-01-01"),
        ("2024-01-03", "2024-01-03 9999-01-01"),
        ("2024-01-03T00:01", "2024-01-04 9999-01-01"),  # the day that begins before is left out
        ("9999-01-01", ""),
    ],
)
def test_nothing_is_lacking_of_units_that_begin_before_an_instant(
    since: str, expected: str
) -> None:
    assert lacking(model(start="2024-01-01"), (), since=utc(since)) == spans(expected)


# Who reads all of a daily parent for a time up to t needs all of its days that ended by then.
@pytest.mark.parametrize(
    "unit,lacks,expected",
    [
        ("day", "", ""),
        ("day", "2024-01-05 9999-01-01", "2024-01-05 9999-01-01"),
        ("day", "2024-01-03 2024-01-04,2024-01-09 9999-01-01", "2024-01-03 9999-01-01"),
        ("hour", "2024-01-05 9999-01-01", "2024-01-05T23:00 9999-01-01"),  # the day ends with it
        ("month", "2024-02-05 9999-01-01", "2024-02-01 9999-01-01"),
        ("year", "2024-02-05 9999-01-01", "2024-01-01 9999-01-01"),
    ],
)
def test_a_reader_of_a_whole_parent_waits_for_the_first_day_that_it_lacks(
    unit: str, lacks: str, expected: str
) -> None:
    assert blocked_for_whole(model(unit=unit), model(), spans(lacks)) == spans(expected)


def test_a_daily_reader_of_a_whole_monthly_parent_goes_on_within_the_month() -> None:
    parent = model(unit="month", cron="@monthly")
    lacks = lacking(parent, spans("2024-01-01 2024-02-01"))
    blocked = blocked_for_whole(model(), parent, lacks)
    assert blocked == spans("2024-02-29 9999-01-01")  # that day ends when February does
