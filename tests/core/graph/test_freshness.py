"""When stale rows may be recomputed by themselves. Expected values are counted on the clock."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.core.time.scheduled_models import BY_TIME, model, utc
from vde_dagster.core.errors import Place
from vde_dagster.core.graph.freshness import (
    FreshnessInvalid,
    Recompute,
    Wait,
    awaited_parents,
    expected_within,
    may_recompute,
    parse_freshness,
)
from vde_dagster.core.graph.graph import build_graph
from vde_dagster.core.model.kinds import Embedded, External, Full, Kind, Seed, View
from vde_dagster.core.model.model import Model, ModelSource, UpdatesOn
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import format_duration, parse_duration

A, B = ModelName("core", "a"), ModelName("core", "b")
NOON = utc("2024-01-01T12:00")


def asked(
    freshness: str = "",
    updates_on: UpdatesOn = UpdatesOn.ANY,
    *,
    now: str = "2024-01-01T14:00",
    changed: tuple[ModelName, ...] = (A,),
    awaited: tuple[ModelName, ...] = (A, B),
) -> Recompute | Wait:
    """Of rows that were computed at noon."""
    bound = parse_freshness(freshness) if freshness else None
    return may_recompute(
        replace(model(), freshness=bound, updates_on=updates_on),
        now=utc(now),
        computed_at=NOON,
        changed=changed,
        awaited=awaited,
    )


def test_without_options_every_change_counts_at_once() -> None:
    assert asked(now="2024-01-01T12:00:01") == Recompute(changed=(A,))
    assert asked(changed=(B, A)) == Recompute(changed=(A, B))


@pytest.mark.parametrize(
    "freshness,now,until",
    [
        ("4 hours", "2024-01-01T15:59:59", "2024-01-01T16:00"),
        ("4 hours", "2024-01-01T16:00", None),
        ("4 hours", "2024-03-01", None),
        ("1 minute", "2024-01-01T12:00:59", "2024-01-01T12:01"),
        ("2 weeks", "2024-01-15T11:59", "2024-01-15T12:00"),
        ("999999 weeks", "2024-01-15T11:59", "9999-01-01"),  # the end of time
    ],
)
def test_rows_wait_until_they_are_old_enough(freshness: str, now: str, until: str | None) -> None:
    found = asked(freshness, now=now)
    if until is None:
        assert found == Recompute(changed=(A,))
    else:
        assert isinstance(found, Wait)
        assert (found.until, found.parents) == (utc(until), ())


def test_all_parents_with_data_to_come_have_to_change() -> None:
    found = asked(updates_on=UpdatesOn.ALL)
    assert isinstance(found, Wait)
    assert (found.until, found.parents) == (None, (B,))
    assert asked(updates_on=UpdatesOn.ALL, changed=(A, B)) == Recompute(changed=(A, B))
    # What nobody waits for is enough where it is all that there is.
    assert asked(updates_on=UpdatesOn.ALL, awaited=()) == Recompute(changed=(A,))


def test_a_person_reads_what_changed_until_when_it_waits_and_for_whom() -> None:
    found = asked("4 hours", UpdatesOn.ALL)
    assert isinstance(found, Wait)
    assert (found.until, found.parents) == (utc("2024-01-01T16:00"), (B,))
    assert found.reason == (
        "core.a changed, and it waits until 2024-01-01 16:00 UTC (freshness '4 hours') and for a "
        "change of core.b (updates_on all)"
    )
    later = asked("4 hours", UpdatesOn.ALL, now="2024-01-01T17:00")
    assert isinstance(later, Wait)
    assert later.until is None
    assert later.reason.endswith("waits for a change of core.b (updates_on all)")


@pytest.mark.parametrize(
    "cron,tz,hours",
    [
        ("@daily", "UTC", 24 + 4),
        ("@hourly", "UTC", 1 + 4),
        ("30 6 * * 1-5", "UTC", 3 * 24 + 4),
        ("@daily", "Europe/Berlin", 25 + 4),  # a day in October
    ],
)
def test_a_result_is_expected_once_a_cron_period_and_may_lag_behind_by_the_freshness(
    cron: str, tz: str, hours: int
) -> None:
    bound = replace(model(cron=cron, tz=tz), freshness=timedelta(hours=4))
    assert expected_within(bound) == timedelta(hours=hours)
    assert expected_within(model(cron=cron, tz=tz)) is None


def named(
    name: str, kind: Kind, *parents: str, end: datetime | None = None, start: datetime = NOON
) -> Model:
    path = Path(f"{name}.sql")
    return Model(
        name=ModelName.parse(name),
        kind=kind,
        body=None,
        source=ModelSource(path=path, text=""),
        place=Place(path=path),
        parents=tuple(map(ModelName.parse, parents)),
        start=start,
        end=end,
    )


def test_what_is_waited_for_has_data_to_come_and_rows_of_its_own() -> None:
    graph = build_graph(
        [
            named("raw.t", External()),
            named("m.seed", Seed(path="x.csv")),
            named("m.far", Full(), "raw.t"),
            named("m.near", BY_TIME, "m.far"),
            named("m.ended", BY_TIME, "m.far", end=utc("2024-02-01")),
            named("m.inner", Embedded(), "m.near", "raw.t"),
            named("m.view", View(), "m.inner", "m.seed"),
            named("m.x", Full(), "m.view", "m.ended", "m.seed", "raw.t"),
        ]
    )
    x = ModelName("m", "x")
    before = awaited_parents(graph, x, utc("2024-01-31T23:59"))
    assert before == (ModelName("m", "ended"), ModelName("m", "near"))
    assert awaited_parents(graph, x, utc("2024-02-01")) == (ModelName("m", "near"),)
    assert awaited_parents(graph, ModelName("m", "far"), NOON) == ()


@pytest.mark.parametrize("text", ["", "4", "soon", "4 months", "-4 hours", "59 seconds", "0 days"])
def test_a_freshness_is_a_length_of_time_of_at_least_a_minute(text: str) -> None:
    with pytest.raises(FreshnessInvalid, match=r"freshness '.*'.*\. Write it like '4 hours'"):
        parse_freshness(text)
    assert parse_freshness("60 seconds") == timedelta(minutes=1)


@pytest.mark.parametrize("text", ["1 minute", "4 hours", "1 day 12 hours", "14 days", "90 seconds"])
def test_a_length_of_time_is_written_so_that_it_can_be_read_again(text: str) -> None:
    length = parse_duration(text)
    assert parse_duration(format_duration(length)) == length
    assert format_duration(timedelta(hours=36)) == "1 day 12 hours"
