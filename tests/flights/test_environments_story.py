"""Environments over real flights: each edit computes what it has to, and production only moves.

What each model must hold is computed by DuckDB from the CSV files, by code that knows nothing of
the project.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import expected
import pytest

from tests.flights.lakes import OnSpark, on_spark, unordered
from tests.flights.world import HOUR, START

Rows: TypeAlias = dict[str, list[list[Any]]]

FIRST: Final = START + timedelta(hours=26)
"""When production is built: a whole day, and two hours of the next one."""
TIMES: Final = {
    "staging.arrivals": "scheduled_departure",
    "staging.departures": "scheduled_departure",
    "staging.weather": "observed_at",
    "core.flights": "scheduled_departure",
}
"""The hourly models with their time columns."""
DAILY: Final = ("mart.airport_delays", "mart.carrier_delays")
MARTS: Final = (*DAILY, "mart.punctuality")
ANY_COLUMN: Final = {"mart.punctuality": 1}
"""The model that may read any column, so that a change of one concerns it."""
LANDED_AT: Final = "event_landing_ts AS landed_at -- When the row landed upstream"
WIND: Final = "w.wind_speed_mph AS wind_speed_mph,"
LEFT: Final = "FROM staging.departures\n  WHERE\n"


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """What the models mean after edits."""

    landed_on: bool = False
    strongest_wind: int | None = None
    without_cancelled: bool = False

    def rows(self, until: datetime) -> Rows:
        """What each model holds when all is landed that was known before ``until``."""
        return {name: unordered(each) for name, each in _wanted(self, until).items()}


@cache
def _wanted(meaning: Meaning, until: datetime) -> dict[str, list[tuple[object, ...]]]:
    extra = ", departure_lands::DATE AS landed_on FROM fact" if meaning.landed_on else " FROM fact"
    departures = "".join(expected.MODELS["staging.departures"].rsplit(" FROM fact", 1))
    queries = {**expected.MODELS}
    queries["staging.departures"] = departures.rstrip() + extra
    with expected.expectation(until) as connection:
        staged = {each: queries.pop(each) for each in list(queries) if each.startswith("staging.")}
        found = {name: connection.execute(sql).fetchall() for name, sql in staged.items()}
        if meaning.strongest_wind is not None:
            connection.execute(
                "UPDATE fact SET wind_100000ths = NULL WHERE wind_100000ths > ? * 100000",
                [meaning.strongest_wind],
            )
        if meaning.without_cancelled:
            connection.execute("DELETE FROM fact WHERE dep_delay IS NULL")
        found |= {name: connection.execute(sql).fetchall() for name, sql in queries.items()}
        return found


@contextmanager
def untouched(lake: OnSpark, environment: str = "prod") -> Iterator[None]:
    """No view of an environment shows other rows afterwards, and nobody wrote to its tables."""
    rows, heads = lake.shown(environment), lake.heads(environment)
    yield
    assert lake.heads(environment) == heads
    assert lake.shown(environment) == rows


def in_dev(lake: OnSpark, model: str, old: str, new: str) -> dict[str, int]:
    """Edit a model and plan that for dev: what was computed, while production was untouched."""
    lake.edit(model, old, new)
    with untouched(lake):
        return lake.plan("dev")


def hours(until: datetime) -> int:
    return round((until - START) / HOUR)


def moved(before: datetime, after: datetime, meaning: Meaning) -> dict[str, int]:
    """How many hours of the hourly models are new or changed, and days whose flights changed.

    An hour of `core.flights` is also one where what it reads has changed.
    """
    old, new = (_by_hour(meaning, each) for each in (before, after))
    landed = {before + number * HOUR for number in range(round((after - before) / HOUR))}
    changed = {
        name: landed | {at for at in old[name].keys() | new[name].keys()
                        if old[name].get(at) != new[name].get(at)}
        for name in TIMES
    }  # fmt: skip
    read = {hour for hour in changed["core.flights"] if hour < START + timedelta(days=1)}
    changed["core.flights"] |= set().union(*(changed[name] for name in TIMES))
    counts = {name: len(each) for name, each in changed.items()}
    return counts | (dict.fromkeys(MARTS, 1) if read else {})


def _by_hour(meaning: Meaning, until: datetime) -> dict[str, dict[datetime, list[object]]]:
    found: dict[str, dict[datetime, list[object]]] = {}
    rows = _wanted(meaning, until)
    for name, column in TIMES.items():
        at = _columns(name).index(column)
        by_hour = found.setdefault(name, {})
        for row in rows[name]:
            time = row[at]
            assert isinstance(time, datetime)
            start = START + (time - START) // HOUR * HOUR
            by_hour.setdefault(start, []).append(row)
        for each in by_hour.values():
            each.sort(key=str)
    return found


@cache
def _columns(name: str) -> tuple[str, ...]:
    return expected.model_rows(FIRST)[name].columns


def story(lake: OnSpark) -> None:
    """Everything, in order; each chapter goes on where the last one ended."""
    meaning = built_and_shared(lake)
    meaning = a_non_breaking_edit(lake, meaning)
    now, meaning = edits_in_dev(lake, meaning)
    promoted_and_back(lake, now, meaning)
    a_gap(lake, now, meaning)
    cleaned_up(lake)


def built_and_shared(lake: OnSpark) -> Meaning:
    """Production is built; dev shows all of it at once, and computes nothing."""
    meaning = Meaning()
    lake.land(FIRST)
    staged = dict.fromkeys(TIMES, hours(FIRST))
    once = dict.fromkeys(("staging.airlines", *MARTS), 1)
    assert lake.plan("prod") == {**staged, **once}
    assert lake.shown("prod") == meaning.rows(FIRST)
    with untouched(lake):
        assert lake.plan("dev") == {}
    assert lake.shown("dev") == meaning.rows(FIRST)
    return meaning


def a_non_breaking_edit(lake: OnSpark, meaning: Meaning) -> Meaning:
    """A column more at the top of a chain: nothing below is computed, then or later (R10)."""
    added = f"{LANDED_AT.replace(' --', ', --')}\n  CAST(event_landing_ts AS DATE) AS landed_on"
    done = in_dev(lake, "staging.departures", LANDED_AT, added)
    assert done == {"staging.departures": hours(FIRST)}
    edited = replace(meaning, landed_on=True)
    assert lake.shown("dev") == edited.rows(FIRST)
    assert lake.promote("dev") == {}
    assert lake.shown("prod") == edited.rows(FIRST)
    assert lake.run("prod") == {}, "the next tick"
    assert lake.rollback("prod") == {}
    assert lake.shown("prod") == meaning.rows(FIRST)
    assert lake.run("prod") == {}
    assert lake.rollback("prod") == {}, "forward again"
    assert lake.shown("prod") == edited.rows(FIRST)
    return edited


def edits_in_dev(lake: OnSpark, meaning: Meaning) -> tuple[datetime, Meaning]:
    """After more has landed, four edits of dev, each of which computes what it has to."""
    now = FIRST + 3 * HOUR
    lake.land(now)
    assert lake.run("prod") == moved(FIRST, now, meaning)
    assert lake.shown("prod") == meaning.rows(now)
    assert lake.plan("dev") == {}

    quiet = f"CASE WHEN w.wind_speed_mph <= 12 THEN w.wind_speed_mph END {WIND.split(' ', 1)[1]}"
    done = in_dev(lake, "core.flights", WIND, quiet)
    assert done == {"core.flights": hours(now), "mart.airport_delays": 1, **ANY_COLUMN}
    meaning = replace(meaning, strongest_wind=12)
    assert lake.shown("dev") == meaning.rows(now), "by column"

    done = in_dev(lake, "core.flights", LEFT, f"{LEFT}    NOT cancelled AND\n")
    assert done == {"core.flights": hours(now), **dict.fromkeys(MARTS, 1)}
    meaning = replace(meaning, without_cancelled=True)
    assert lake.shown("dev") == meaning.rows(now), "breaking"

    done = in_dev(lake, "mart.carrier_delays", "(UTC) and carrier", "(UTC) and airline")
    assert done == {}, "metadata"
    join = "ON w.origin = d.origin AND"
    done = in_dev(lake, "core.flights", join, f"{join} w.origin IS NOT NULL AND")
    assert done == {"core.flights": hours(now)}, "the output is equal"
    assert lake.shown("dev") == meaning.rows(now)
    return now, meaning


def promoted_and_back(lake: OnSpark, now: datetime, meaning: Meaning) -> None:
    """All of that is promoted, rolled back and forward, with nothing to be computed."""
    before = lake.shown("prod")
    assert lake.promote("dev") == {}
    assert lake.shown("prod") == meaning.rows(now)
    assert lake.versions("prod") == lake.versions("dev")
    assert lake.rollback("prod") == {}
    assert lake.shown("prod") == before
    assert lake.rollback("prod") == {}
    assert lake.shown("prod") == meaning.rows(now)
    assert lake.run("prod") == {}


def a_gap(lake: OnSpark, now: datetime, meaning: Meaning) -> None:
    """What lands after dev was filled is computed before production shows it, and only that."""
    done = in_dev(lake, "core.flights", "wind_speed_mph <= 12", "wind_speed_mph <= 14")
    assert done == {"core.flights": hours(now), "mart.airport_delays": 1, **ANY_COLUMN}
    later = now + 2 * HOUR
    lake.land(later)
    lake.run("prod")
    assert lake.shown("prod") == meaning.rows(later)
    edited = replace(meaning, strongest_wind=14)
    gap = moved(now, later, edited)
    done = lake.promote("dev")
    own = {"core.flights", "mart.airport_delays", *ANY_COLUMN}
    assert done == {name: count for name, count in gap.items() if name in own}
    assert lake.shown("prod") == edited.rows(later)
    assert lake.run("prod") == {}
    assert lake.rollback("prod") == {}
    assert lake.shown("prod") == meaning.rows(later)


def cleaned_up(lake: OnSpark) -> None:
    """Exactly what no environment shows any more goes from disk; then the rest is maintained."""
    before = lake.physical()
    environments = {each: lake.shown(each) for each in ("prod", "dev")}
    reachable = lake.tables("prod") | lake.tables("dev")
    assert before.keys() > reachable
    lake.clean_up()
    assert lake.physical() == {name: before[name] for name in before if name in reachable}
    assert {each: lake.shown(each) for each in environments} == environments
    assert lake.run("prod") == {}
    lake.maintain()
    assert lake.physical().keys() == before.keys() & reachable
    assert {each: lake.shown(each) for each in environments} == environments
    assert lake.run("prod") == {}


@pytest.mark.full
@pytest.mark.usefixtures("spark")
def test_each_edit_computes_what_it_has_to_and_production_only_moves_by_promotions(
    tmp_path: Path,
) -> None:
    story(on_spark(tmp_path / "flights"))
