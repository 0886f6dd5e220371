"""Cron expressions: units, ticks, daylight saving. Expected values come from the calendar."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.tables import rows
from vde_dagster.core.time.cron import Cron, CronInvalid, unit_of
from vde_dagster.core.time.intervals import IntervalUnit
from vde_dagster.core.time.zones import ZoneUnknown, zone_of


@pytest.mark.parametrize(
    "cron,longest",
    [
        ("*/5 * * * *", timedelta(minutes=5)),
        ("0,45 * * * *", timedelta(minutes=45)),
        ("@hourly", timedelta(hours=1)),
        ("0 8-17 * * *", timedelta(hours=15)),  # 17:00 to 8:00
        ("0 8-17 * * mon-fri", timedelta(days=2, hours=15)),  # over a weekend
        ("30 6 * * 1-5", timedelta(days=3)),
        ("0 0 31 * *", timedelta(days=61)),  # from August to October
        ("@yearly", timedelta(days=366)),
        ("0 0 29 2 *", timedelta(days=4 * 365 + 1)),
    ],
)
def test_the_longest_time_between_two_ticks_is_counted_on_the_calendar(
    cron: str, longest: timedelta
) -> None:
    assert Cron.parse(cron).longest_gap == longest


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "cron,unit",
    [
        ("@hourly", "hour"),
        ("@daily", "day"),
        ("@midnight", "day"),
        ("@weekly", "day"),
        ("@monthly", "month"),
        ("@yearly", "year"),
        ("@annually", "year"),
        ("*/5 * * * *", "five_minute"),
        ("*/15 * * * *", "quarter_hour"),
        ("*/30 * * * *", "half_hour"),
        ("0,45 * * * *", "quarter_hour"),  # 15 minutes from 45 to 0
        ("*/25 * * * *", "five_minute"),  # 0, 25, 50, and ten minutes later 0 again
        ("0 * * * *", "hour"),
        ("0 */6 * * *", "hour"),
        ("0 8-17 * * mon-fri", "hour"),
        ("0 0,23 * * *", "hour"),
        ("*/5 3 * * *", "five_minute"),
        ("0,59 12 * * *", "half_hour"),
        ("0 0 * * 1-5", "day"),
        ("0 0 * * MON,fri", "day"),
        ("0 0 1,15 * *", "day"),
        ("0 0 */2 * *", "day"),  # the 31st and the 1st
        ("0 0 28-31 2 *", "day"),
        ("0 0 1 * *", "month"),
        ("0 0 31 * *", "month"),  # never two in a month
        ("0 0 1 */3 *", "month"),
        ("0 0 1 1 *", "year"),
        ("0 0 29 2 *", "year"),
        ("0 0 31 2,12 *", "year"),  # only in December
        ("0 0 1 1 1", "day"),  # cron joins day of month and weekday by OR
    ],
)
def test_the_unit_is_not_longer_than_the_time_between_two_ticks(cron: str, unit: str) -> None:
    assert unit_of(cron) is IntervalUnit(unit)


@pytest.mark.parametrize(
    "cron,reason",
    [
        ("", "five fields are needed"),
        ("@never", "unknown name"),
        ("* * *", "it has 3"),
        ("60 * * * *", "'60' is not a valid minute (0 to 59)"),
        ("0 24 * * *", "'24' is not a valid hour"),
        ("0 0 0 * *", "'0' is not a valid day of month"),
        ("0 0 1 13 *", "'13' is not a valid month"),
        ("0 0 * * 8", "'8' is not a valid weekday"),
        ("0 0 x y z", "'x' is not a valid day of month"),
        ("0 0 * mon *", "'mon' is not a valid month"),
        ("jan * * * *", "'jan' is not a valid minute"),
        ("² * * * *", "is not a valid minute"),
        ("-5 * * * *", "is not a valid minute"),
        ("0 0 1- * *", "is not a valid day of month"),
        ("*/0 * * * *", "step of '*/0' is zero"),
        ("0 17-9 * * *", "runs backwards"),
        ("0 0 * * fri-mon", "runs backwards"),
        ("0 0 L * *", "'l' is an extension"),
        ("0 0 15W * *", "extension"),
        ("0 0 ? * 1", "'?' is an extension"),
        ("0 0 * * 5L", "extension"),
        ("0 0 * * 5#2", "extension"),
        ("0 0 30 2 *", "never occurs"),
        ("0 0 31 4,6,9,11 *", "never occurs"),
        ("* * * * *", "more often than every 5 minutes"),
        ("*/7 * * * *", "more often"),  # four minutes from 56 to 0
        ("0,4 0 * * *", "more often"),
        ("59,0 0,23 * * *", "more often"),  # from 23:59 to 0:00 of the next day
    ],
)
def test_what_is_no_cron_is_refused_with_the_reason_and_examples(cron: str, reason: str) -> None:
    with pytest.raises(CronInvalid, match=f"{re.escape(reason)}.*@daily"):
        unit_of(cron)


@given(st.text("0123456789*/-, @adeilnyLW#?", max_size=20) | st.text(max_size=20))
def test_any_text_is_a_unit_or_refused(text: str) -> None:
    with contextlib.suppress(CronInvalid):
        assert isinstance(unit_of(text), IntervalUnit)


@pytest.mark.parametrize(
    "one,other",
    [
        ("@daily", "0 0 * * *"),
        ("@weekly", "0 0 * * 7"),
        ("0 0 * * 5-7", "0 0 * * fri-sun"),
        ("*/15 * * * *", "0,15,30,45 * * * *"),
        ("0 0 1-31 1-12 *", "0 0 * * *"),
        ("0  0\t1 * *", "@monthly"),
    ],
)
def test_two_texts_of_one_meaning_are_equal(one: str, other: str) -> None:
    assert Cron.parse(one) == Cron.parse(other)


# 2024-01-01 was a Monday.
@pytest.mark.parametrize(
    "cron,now,previous,following",
    [
        ("@daily", "2024-01-02T00:00", "2024-01-02", "2024-01-03"),
        ("*/5 * * * *", "2024-02-29T23:57:30", "2024-02-29T23:55", "2024-03-01"),
        ("*/15 9-10 * * *", "2024-01-02T08:00", "2024-01-01T10:45", "2024-01-02T09:00"),
        ("30 6 * * *", "2024-01-01T06:29", "2023-12-31T06:30", "2024-01-01T06:30"),
        ("@weekly", "2024-01-03T12:00", "2023-12-31", "2024-01-07"),
        ("0 0 * * 1-5", "2024-01-07T12:00", "2024-01-05", "2024-01-08"),
        ("0 9 * * sat-sun", "2024-01-08T00:00", "2024-01-07T09:00", "2024-01-13T09:00"),
        ("0 0 31 * *", "2024-05-15", "2024-03-31", "2024-05-31"),
        ("0 0 30 * *", "2024-03-01", "2024-01-30", "2024-03-30"),
        ("0 0 29 2 *", "2027-06-01", "2024-02-29", "2028-02-29"),
        ("0 0 29 2 *", "2101-01-01", "2096-02-29", "2104-02-29"),  # 2100 has no leap day
        ("0 0 29 2 *", "2000-02-29", "2000-02-29", "2004-02-29"),  # 2000 has one
        ("0 0 1 */3 *", "2024-06-30", "2024-04-01", "2024-07-01"),
        ("0 0 13 * 5", "2024-06-12T12:00", "2024-06-07", "2024-06-13"),  # Friday or the 13th
        ("0 0 13 * 5", "2024-06-13T12:00", "2024-06-13", "2024-06-14"),
        ("0 0 */2 * 1", "2024-01-01T12:00", "2024-01-01", "2024-01-03"),  # odd days or Mondays
        ("0 0 */2 * 1", "2024-01-07T12:00", "2024-01-07", "2024-01-08"),
        ("0 0 1-31 * 1", "2024-01-03", "2024-01-01", "2024-01-08"),  # every day restricts nothing
        ("0 12 1 1 1", "2024-02-01", "2024-01-29T12:00", "2025-01-01T12:00"),
    ],
)
def test_the_ticks_around_an_instant(cron: str, now: str, previous: str, following: str) -> None:
    found = Cron.parse(cron)
    assert found.previous(utc(now)) == utc(previous)
    assert found.following(utc(now)) == utc(following)


# Berlin: +1, from 2024-03-31 01:00Z to 2024-10-27 01:00Z +2. New York: -5, from 2024-03-10 07:00Z
# to 2024-11-03 06:00Z -4. Kolkata: +5:30. Sao Paulo: -3, from 2017-10-15 03:00Z (midnight) to
# 2018-02-18 02:00Z -2. Lord Howe: +10:30, from 2024-10-05 15:30Z +11. Apia: -10 until it left out
# 2011-12-30, then (from 2011-12-30 10:00Z) +14. St John's: -2:30 until 2010-11-07 00:01 (02:31Z),
# then -3:30.
@pytest.mark.parametrize(
    "cron,tz,now,previous,following",
    rows("""
@daily | Europe/Berlin | 2024-01-15T12:00 | 2024-01-14T23:00 | 2024-01-15T23:00
@daily | Europe/Berlin | 2024-07-15T12:00 | 2024-07-14T22:00 | 2024-07-15T22:00
@daily | Europe/Berlin | 2024-03-31T12:00 | 2024-03-30T23:00 | 2024-03-31T22:00
30 2 * * * | Europe/Berlin | 2024-03-31T12:00 | 2024-03-31T01:00 | 2024-04-01T00:30
30 2 * * * | Europe/Berlin | 2024-03-31T00:59 | 2024-03-30T01:30 | 2024-03-31T01:00
0 2,3 * * * | Europe/Berlin | 2024-03-31T01:00 | 2024-03-31T01:00 | 2024-04-01
*/15 2 * * * | Europe/Berlin | 2024-03-31T05:00 | 2024-03-31T01:00 | 2024-04-01
30 2 * * * | Europe/Berlin | 2024-10-27T02:00 | 2024-10-27T00:30 | 2024-10-28T01:30
0 3 * * * | Europe/Berlin | 2024-10-27T01:30 | 2024-10-26T01:00 | 2024-10-27T02:00
@hourly | Europe/Berlin | 2024-10-27T00:59 | 2024-10-27T00:00 | 2024-10-27T01:00
@hourly | Europe/Berlin | 2024-10-27T01:59 | 2024-10-27T01:00 | 2024-10-27T02:00
30 * * * * | Europe/Berlin | 2024-03-31T01:00 | 2024-03-31T00:30 | 2024-03-31T01:30
30 * * * 0 | Europe/Berlin | 2024-10-27T23:00 | 2024-10-27T22:30 | 2024-11-02T23:30
@daily | America/New_York | 2024-03-10T12:00 | 2024-03-10T05:00 | 2024-03-11T04:00
15 2 * * * | America/New_York | 2024-03-10T12:00 | 2024-03-10T07:00 | 2024-03-11T06:15
30 1 * * * | America/New_York | 2024-11-03T06:45 | 2024-11-03T05:30 | 2024-11-04T06:30
0 2 * * * | America/New_York | 2024-11-03T06:45 | 2024-11-02T06:00 | 2024-11-03T07:00
@monthly | America/New_York | 2024-11-15 | 2024-11-01T04:00 | 2024-12-01T05:00
@daily | Asia/Kolkata | 2024-01-15T12:00 | 2024-01-14T18:30 | 2024-01-15T18:30
@hourly | Asia/Kolkata | 2024-01-15T12:00 | 2024-01-15T11:30 | 2024-01-15T12:30
0 6 * * 1 | Asia/Kolkata | 2024-01-10 | 2024-01-08T00:30 | 2024-01-15T00:30
@daily | America/Sao_Paulo | 2017-10-15T12:00 | 2017-10-15T03:00 | 2017-10-16T02:00
30 0 * * * | America/Sao_Paulo | 2017-10-15T02:59 | 2017-10-14T03:30 | 2017-10-15T03:00
@hourly | America/Sao_Paulo | 2017-10-15T03:00 | 2017-10-15T03:00 | 2017-10-15T04:00
@daily | America/Sao_Paulo | 2018-02-18T02:30 | 2018-02-17T02:00 | 2018-02-18T03:00
30 23 * * * | America/Sao_Paulo | 2018-02-18T02:45 | 2018-02-18T01:30 | 2018-02-19T02:30
15 2 * * * | Australia/Lord_Howe | 2024-10-06 | 2024-10-05T15:30 | 2024-10-06T15:15
0 12 30 12 * | Pacific/Apia | 2011-12-31 | 2011-12-30T10:00 | 2012-12-29T22:00
@hourly | Pacific/Apia | 2011-12-30T10:00 | 2011-12-30T10:00 | 2011-12-30T11:00
0 0 * * * | America/St_Johns | 2010-11-07T02:45 | 2010-11-07T02:30 | 2010-11-08T03:30
30 23 * * * | America/St_Johns | 2010-11-07T03:10 | 2010-11-07T02:00 | 2010-11-08T03:00
@hourly | America/St_Johns | 2010-11-07T03:10 | 2010-11-07T02:30 | 2010-11-07T03:30
"""),
)
def test_the_ticks_of_a_zone_around_a_change_of_its_clock(
    cron: str, tz: str, now: str, previous: str, following: str
) -> None:
    found = Cron.parse(cron)
    assert found.previous(utc(now), tz) == utc(previous)
    assert found.following(utc(now), tz) == utc(following)


CHANGES = (
    ("UTC", "2024-02-29T12:00"),
    ("Europe/Berlin", "2024-03-31T01:00"),
    ("Europe/Berlin", "2024-10-27T01:00"),
    ("America/New_York", "2024-03-10T07:00"),
    ("America/New_York", "2024-11-03T06:00"),
    ("Asia/Kolkata", "2023-12-31T18:30"),
    ("America/Sao_Paulo", "2017-10-15T03:00"),
    ("America/Sao_Paulo", "2018-02-18T02:00"),
    ("Australia/Lord_Howe", "2024-10-05T15:30"),
    ("Australia/Lord_Howe", "2024-04-06T15:00"),
    ("Pacific/Apia", "2011-12-30T10:00"),
    ("America/St_Johns", "2010-11-07T02:31"),
    ("America/St_Johns", "2010-03-14T03:31"),
)


@st.composite
def crons(draw: st.DrawFn) -> tuple[list[set[int]], str]:
    """Five sets of values, and their text. Minutes are a multiple of five apart."""
    offset = draw(st.integers(0, 4))
    minutes = {
        offset + 5 * each for each in draw(st.sets(st.integers(0, 11), min_size=1, max_size=5))
    }
    hours = draw(st.just(set(range(24))) | st.sets(st.integers(0, 23), min_size=1, max_size=8))
    days = draw(st.just(set(range(1, 32))) | st.sets(st.integers(1, 28), min_size=1))
    months = draw(st.just(set(range(1, 13))) | st.sets(st.integers(1, 12), min_size=3))
    weekdays = draw(st.just(set(range(7))) | st.sets(st.integers(0, 6), min_size=1))
    fields = [minutes, hours, days, months, weekdays]
    return fields, " ".join(",".join(map(str, sorted(each))) for each in fields)


def matches(fields: list[set[int]], wall: datetime) -> bool:
    minutes, hours, days, months, weekdays = fields
    if not (wall.minute in minutes and wall.hour in hours and wall.month in months):
        return False
    by_day, by_weekday = wall.day in days, int(wall.strftime("%w")) in weekdays
    if len(days) < 31 and len(weekdays) < 7:
        return by_day or by_weekday
    return by_day and by_weekday


def watched(fields: list[set[int]], tz: str, start: datetime, end: datetime) -> list[datetime]:
    """The ticks that somebody sees who looks at a clock in the zone every minute.

    Where hours are restricted, what the clock skips is due when it has skipped it, and what it
    shows a second time is not due again.
    """
    zone, ticks = ZoneInfo(tz), []
    instant = start - timedelta(hours=26)
    latest = instant.astimezone(zone).replace(tzinfo=None)
    while instant < end:
        instant += timedelta(minutes=1)
        wall = instant.astimezone(zone).replace(tzinfo=None)
        if len(fields[1]) == 24:
            due = matches(fields, wall)
        else:
            steps = (wall - latest) // timedelta(minutes=1)
            due = any(matches(fields, wall - timedelta(minutes=back)) for back in range(steps))
        latest = max(latest, wall)
        if due and start < instant <= end:
            ticks.append(instant)
    return ticks


@given(crons(), st.sampled_from(CHANGES), st.integers(-1500, 1500), st.integers(1, 2000))
def test_ticks_are_those_that_a_look_at_the_clock_every_minute_finds(
    cron: tuple[list[set[int]], str], change: tuple[str, str], offset: int, length: int
) -> None:
    fields, text = cron
    tz, moment = change
    start = utc(moment) + timedelta(minutes=offset)
    end = start + timedelta(minutes=length)
    expected = watched(fields, tz, start, end)
    parsed, found = Cron.parse(text), []
    instant = parsed.following(start, tz)
    while instant <= end:
        found.append(instant)
        instant = parsed.following(instant, tz)
    assert found == expected
    before = [parsed.previous(start, tz), *expected]
    for left, right in zip(before, [*expected, instant], strict=True):
        assert parsed.previous(right - timedelta(microseconds=1), tz) == left
        assert parsed.following(left, tz) == right


@given(crons(), st.datetimes(datetime(1975, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)))
def test_between_the_tick_before_and_the_tick_after_there_is_none(
    cron: tuple[list[set[int]], str], instant: datetime
) -> None:
    fields, text = cron
    parsed = Cron.parse(text)
    before, after = parsed.previous(instant), parsed.following(instant)
    assert before <= instant < after
    assert matches(fields, before)
    assert matches(fields, after)
    assert parsed.following(before) == after


@pytest.mark.parametrize("tz", ["UTC", "Europe/Berlin", "Pacific/Apia"])
def test_at_both_ends_of_the_calendar_there_is_no_tick_and_no_crash(tz: str) -> None:
    cron = Cron.parse("0 0 29 2 *")
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert cron.previous(first, tz) == first
    assert cron.following(last, tz) == last
    assert Cron.parse("@hourly").previous(last, tz) > last - timedelta(hours=30)


def test_an_instant_without_a_zone_is_no_instant() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        Cron.parse("@daily").previous(datetime(2024, 1, 1))


@pytest.mark.parametrize("name", ["utc", "UTC", "Europe/Berlin", "Asia/Kolkata", "Etc/GMT+5"])
def test_zones_are_those_of_the_database(name: str) -> None:
    assert datetime(2024, 1, 1, tzinfo=zone_of(name)).utcoffset() is not None


@pytest.mark.parametrize(
    "name,words",
    [
        ("europe/berlin", "Did you mean 'Europe/Berlin'"),
        ("Europe/Berln", "Did you mean 'Europe/Berlin'"),
        ("Europe", "IANA"),
        ("", "IANA"),
        ("../../etc/passwd", "IANA"),
        ("/etc/localtime", "IANA"),
        ("a\0b", "IANA"),
        ("Mars/Olympus" * 500, "IANA"),
        ("\udcff", "IANA"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_closest_name(name: str, words: str) -> None:
    with pytest.raises(ZoneUnknown, match=words):
        Cron.parse("@daily").previous(utc("2024-01-01"), name)
