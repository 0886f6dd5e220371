"""What due intervals wait for is named: sources, models and their intervals, environments."""

from __future__ import annotations

import pytest

from tests.app.memory_world import RAW, MemoryWorld, graph_of
from vde_dagster.app.inspect.interval_report import report_intervals
from vde_dagster.app.plan.fillers import Filler, _shortened
from vde_dagster.app.plan.waiting import Reason, Wait
from vde_dagster.app.services import VALID_TO
from vde_dagster.core.time.intervals import IntervalUnit

# The project's clock is the source's. 2024-01-01 was a Monday, so a weekly model is due on the 7th.
WEEKLY = """
MODEL (name m.weekly, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@weekly');
SELECT id AS id, at AS at, amount AS amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
OPEN = """
MODEL (name m.open, kind VIEW);
SELECT at AS at, amount AS amount FROM m.weekly
"""
WITHIN = """
MODEL (name m.within, kind EMBEDDED);
SELECT at AS at, amount AS amount FROM m.weekly
"""
CHILD = """
MODEL (name m.child, kind {kind}, cron '@daily');
SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM {parent}
{where} GROUP BY CAST(at AS DATE)
"""
BY_DAY = "INCREMENTAL_BY_TIME_RANGE (time_column day)"
DAY = IntervalUnit.DAY
SAME_DAY = "WHERE at BETWEEN @start_dt AND @end_dt"
NEXT_DAY = "WHERE at BETWEEN @start_dt AND @end_dt + INTERVAL '1' DAY"
UPSERT = "INCREMENTAL_BY_UNIQUE_KEY (unique_key day)"


def world_until(day: float) -> MemoryWorld:
    return MemoryWorld.landed(*((24 * each + 1, each) for each in range(3)), until=24 * day)


def waits(world: MemoryWorld, texts: dict[str, str], environment: str = "prod") -> list[Wait]:
    """What m.child waits for."""
    reports = report_intervals(world.services(), world.plan(graph_of(texts), environment))
    (found,) = (each for each in reports if str(each.node.name) == "m.child")
    return list(found.waits)


def child(kind: str = BY_DAY, where: str = SAME_DAY, parent: str = "m.weekly") -> str:
    return CHILD.format(kind=kind, where=where, parent=parent)


@pytest.mark.full
@pytest.mark.parametrize(
    "text, day, said",
    [
        # Nothing of the parent is due: it lacks its first day.
        (child(), 4, ["m.weekly lacks 2024-01-01 to 2024-01-02"]),
        (child("FULL", ""), 4, ["m.weekly lacks 2024-01-01 to 2024-01-02"]),
        (child(parent="m.within"), 4, ["m.weekly lacks 2024-01-01 to 2024-01-02"]),
        # The view cannot be created before its parent's table exists.
        (child(parent="m.open"), 4, ["m.open is not built yet"]),
        # The six days up to Sunday are in the plan; the seventh is the first missing one.
        (child(), 9, ["m.weekly lacks 2024-01-07 to 2024-01-08"]),
        (child("FULL", ""), 9, ["m.weekly lacks 2024-01-07 to 2024-01-08"]),
        (child(UPSERT, ""), 9, ["m.weekly lacks 2024-01-07 to 2024-01-08"]),
        (child(parent="m.within"), 9, ["m.weekly lacks 2024-01-07 to 2024-01-08"]),
        (child(parent="m.open"), 9, ["m.weekly lacks 2024-01-07 to 2024-01-08"]),
        # Saturday reads Sunday, too, so it waits, and for Sunday.
        (child(where=NEXT_DAY), 7, ["m.weekly lacks 2024-01-07 to 2024-01-08"]),
        (child(), 6, []),
    ],
)
def test_a_parent_that_lacks_something_is_named_with_its_first_interval(
    text: str, day: int, said: list[str]
) -> None:
    texts = {"weekly": WEEKLY, "open": OPEN, "within": WITHIN, "child": text}
    assert [str(each) for each in waits(world_until(day), texts)] == said


def test_only_the_parent_that_lacks_something_is_named() -> None:
    daily = WEEKLY.replace("m.weekly", "m.daily").replace("@weekly", "@daily")
    both = child(parent="(SELECT * FROM m.weekly UNION SELECT * FROM m.daily) AS both_of_them")
    found = waits(world_until(4), {"weekly": WEEKLY, "daily": daily, "child": both})
    assert [each.name for each in found] == ["m.weekly"]


def test_a_view_says_which_of_its_parents_holds_nothing_also_without_a_time() -> None:
    world = MemoryWorld()
    world.catalog.set_property(RAW, VALID_TO, "")
    seen = OPEN.replace("m.open", "m.child")
    assert [str(each) for each in waits(world, {"weekly": WEEKLY, "child": seen})] == [
        "m.weekly lacks 2024-01-01 to 2024-01-02"
    ]


def test_a_clock_without_a_time_names_its_source() -> None:
    world = MemoryWorld()
    world.catalog.set_property(RAW, VALID_TO, "")
    found = waits(world, {"weekly": WEEKLY, "child": child()})
    assert found == [Wait(reason=Reason.CLOCK, name="raw.events")]


@pytest.mark.full
def test_another_environment_that_fills_the_version_is_named() -> None:
    world = world_until(6)
    texts = {"weekly": WEEKLY, "child": child()}
    world.build(graph_of(texts))
    world.land(until=24 * 14)
    assert waits(world, texts, "dev") == [
        Wait(reason=Reason.ENVIRONMENT, name="prod", filler=Filler(environment="prod"))
    ]


def test_a_source_without_any_row_is_named_where_late_data_of_it_is_loaded() -> None:
    world = MemoryWorld.landed(until=48)
    late = WEEKLY.replace("@weekly'", "@daily', late_data (mode stateless, sources (raw.events))")
    texts = {"weekly": late, "child": child()}
    assert waits(world, texts) == [Wait(reason=Reason.SOURCE, name="raw.events")]
    assert str(waits(world, texts)[0]) == "raw.events has no data"


@pytest.mark.full
def test_a_model_that_another_environment_fills_is_reported_as_far_as_it_is_complete() -> None:
    world = world_until(6)
    world.build(graph_of({"weekly": WEEKLY, "child": child()}))
    world.land(until=24 * 14)
    own = child().replace("SUM(amount)", "SUM(amount * 2)")
    (found,) = waits(world, {"weekly": WEEKLY, "child": own}, "dev")
    assert str(found) == "m.weekly is complete only up to 2024-01-07"


@pytest.mark.full
@pytest.mark.parametrize(
    "text",
    [
        child(),
        child("FULL", ""),
        child(parent="m.open"),
        *(
            pytest.param(each, marks=pytest.mark.full)
            for each in (
                child(UPSERT, ""),
                child(where=NEXT_DAY),
                child(parent="m.within"),
                child(parent="m.within", kind="FULL", where=""),
            )
        ),
    ],
)
def test_whatever_is_due_and_in_no_plan_waits_for_something_that_is_named(text: str) -> None:
    world = MemoryWorld()
    graph = graph_of({"weekly": WEEKLY, "open": OPEN, "within": WITHIN, "child": text})
    world.land((1, 1), until=0)
    for day in range(16):
        world.land(until=24 * day + 5)
        services = world.services()
        made = world.plan(graph)
        (found,) = (
            each for each in report_intervals(services, made) if str(each.node.name) == "m.child"
        )
        done = {each for part in (*found.loaded, *found.missing) for each in DAY.cells(part)}
        # The source is complete to five in the morning: the days before it are due.
        assert bool(found.waits) == (len(done) < day), f"{day}: {found.waits}"
        world.build(graph)


@pytest.mark.parametrize(
    "reason, shown",
    [
        ("a disk is full.", "a disk is full"),
        ("a" * 200, "a" * 160 + " ..."),
        (f"{'a' * 150}. Run `vde plan prod --allow-empty`.", "a" * 150 + ". Run ..."),
        (
            f"{'a' * 100}. Run `vde plan prod`. {'b' * 100}",
            f"{'a' * 100}. Run `vde plan prod`. {'b' * 37} ...",
        ),
    ],
)
def test_a_reason_that_is_shortened_ends_within_no_command(reason: str, shown: str) -> None:
    assert _shortened(reason) == shown
