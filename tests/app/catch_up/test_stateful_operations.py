"""What each operation on a source leads to in stateful mode, in memory (late-data.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.app.catch_up.lifecycle import hours, span
from tests.app.memory_world import (
    RAW,
    RAW_COLUMNS,
    MemoryWorld,
    bound,
    graph_of,
    hour_of,
    made_once,
)
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.services import VALID_TO
from vde_dagster.core.columns import Column
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.late.decision import Decision, Load, NothingToLoad, Stop
from vde_dagster.core.ledger.late.pending import PendingReason
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.time.intervals import Interval, IntervalUnit

NAME = ModelName("a", "sums")


def project(options: str = "") -> Graph:
    text = (
        "MODEL (name a.sums, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly', "
        f"late_data (mode stateful, sources ('raw.events|at'){options})); "
        "SELECT DATE_TRUNC('HOUR', at) AS at, SUM(amount) AS amount FROM raw.events "
        "WHERE at BETWEEN @start_ts AND @end_ts GROUP BY 1"
    )
    return graph_of({"sums": text})


@made_once
def loaded(options: str = "") -> MemoryWorld:
    """Hours 0 to 5 with one row each, in one commit each."""
    world = MemoryWorld()
    for hour in range(6):
        world.land((hour + 0.5, 10 + hour), until=hour + 1)
    world.build(project(options))
    return world


def decided(world: MemoryWorld) -> Decision:
    return detect(world.services(), world.bound(), NAME)


def session(world: MemoryWorld) -> None:
    world.catch_up(NAME)


def amounts(world: MemoryWorld) -> list[int]:
    return [int(str(row[1])) for row in world.rows("a.sums")]


def kept(world: MemoryWorld, *gone: int) -> list[tuple[object, ...]]:
    table = world.catalog.tables[RAW]
    return [row for row in table.rows_at(table.head) if row[2] not in gone]


def test_one_commit_is_as_wide_as_its_file_and_two_commits_are_not() -> None:
    world = loaded()
    world.land((1.7, 5), until=6)
    world.land((4.7, 5), until=6)
    found = decided(world)
    assert isinstance(found, Load)
    assert found.fill == (*hours(1), *hours(4))


def test_a_compaction_moves_the_mark_and_loads_nothing() -> None:
    world = loaded()
    world.catalog.compact(RAW)
    found = decided(world)
    assert isinstance(found, NothingToLoad)
    assert found.has_moved
    session(world)
    now = decided(world)
    assert isinstance(now, NothingToLoad)
    assert not now.has_moved


def test_two_commits_of_one_hour_with_a_compaction_between_are_loaded_once() -> None:
    world = loaded()
    world.land((2.6, 5), until=6)
    world.catalog.compact(RAW)
    world.land((2.8, 7), until=6)
    found = decided(world)
    assert isinstance(found, Load)
    assert found.fill == hours(2)
    session(world)
    assert amounts(world) == [10, 11, 24, 13, 14, 15]


def test_an_overwrite_touches_the_hours_whose_rows_it_changed() -> None:
    world = loaded()
    changed = [(n, at, 100 if amount == 13 else amount) for n, at, amount in kept(world)]
    world.catalog.overwrite(RAW, changed)
    found = decided(world)
    assert isinstance(found, Load)
    assert found.fill == hours(3)
    assert "overwrites rows" in found.rewrite
    session(world)
    assert amounts(world) == [10, 11, 12, 100, 14, 15]


@pytest.mark.full
def test_rows_that_a_source_has_lost_are_pending_and_stay_so() -> None:
    world = loaded()
    world.catalog.delete(RAW, kept(world, 10, 11))
    found = decided(world)
    assert isinstance(found, NothingToLoad)
    assert {each.reason for each in found.pending} == {PendingReason.REMOVED}
    assert {each.interval for each in found.pending} == set(hours(0, 1))
    session(world)
    world.land((4.6, 1), until=6)
    later = decided(world)
    assert isinstance(later, Load)
    assert later.fill == hours(4)
    assert {each.interval for each in later.pending} == set(hours(0, 1))
    session(world)
    assert amounts(world) == [10, 11, 12, 13, 15, 15]


def test_rows_that_came_in_an_expired_history_are_not_taken_for_removed() -> None:
    world = loaded()
    world.catalog.delete(RAW, kept(world, 10))
    session(world)
    world.land((0.6, 77), until=6)
    world.land((4.6, 1), until=6)
    world.catalog.expire(RAW)
    found = decided(world)
    assert isinstance(found, Load)
    assert {*hours(0, 4)} <= {cell for each in found.fill for cell in cells(each)}
    session(world)
    assert amounts(world) == [77, 11, 12, 13, 15, 15]


def test_a_stopped_model_is_loaded_by_the_advice_that_it_gives() -> None:
    world = loaded(", on_source_rewrite stop")
    changed = [(n, at, 100 if amount == 13 else amount) for n, at, amount in kept(world)]
    world.catalog.overwrite(RAW, changed)
    found = decided(world)
    assert isinstance(found, Stop)
    assert f"`vde catch-up {NAME} --reload`" in found.advice
    world.catch_up(NAME, reload=True)
    assert amounts(world) == [10, 11, 12, 100, 14, 15]
    assert isinstance(decided(world), NothingToLoad)


def test_a_rollback_overwrites_what_had_been_read_from_what_is_gone() -> None:
    world = loaded()
    table = world.catalog.tables[RAW]
    fourth = [each.id for each in table.line(table.head)][2]
    world.catalog.roll_back(RAW, fourth)
    world.land((4.2, 40), (5.2, 50), until=6)
    found = decided(world)
    assert isinstance(found, Load)
    assert "rolled back" in found.rewrite
    assert set(hours(4, 5)) <= {cell for each in found.fill for cell in cells(each)}
    session(world)
    assert amounts(world) == [10, 11, 12, 13, 40, 50]


def cells(interval: Interval) -> list[Interval]:
    return list(IntervalUnit.HOUR.cells(interval))


def test_an_expired_history_is_never_taken_for_no_change() -> None:
    world = loaded()
    world.land((2.7, 5), until=6)
    world.land((3.7, 5), until=6)
    world.catalog.expire(RAW)
    found = decided(world)
    assert isinstance(found, Load)
    assert {*hours(2, 3)} <= {cell for each in found.fill for cell in cells(each)}
    session(world)
    assert amounts(world) == [10, 11, 17, 18, 14, 15]


def test_a_source_that_was_created_again_is_read_again() -> None:
    world = loaded()
    rows = [(n, at, 2 * int(str(amount))) for n, at, amount in kept(world)]
    world.catalog.drop_table(RAW)
    columns = tuple(Column(name=name, type=kind) for name, kind in RAW_COLUMNS.items())
    properties = {VALID_TO: hour_of(6).isoformat()}
    world.catalog.create_table(RAW, columns, properties=properties)
    world.catalog.append(RAW, rows)
    found = decided(world)
    assert isinstance(found, Load)
    assert found.fill == (span(0, 5),)
    session(world)
    assert amounts(world) == [20, 22, 24, 26, 28, 30]


def test_a_source_that_is_gone_stops() -> None:
    world = loaded()
    world.catalog.drop_table(RAW)
    services = replace(world.services(), clock_sources=())
    found = detect(services, bound(services), NAME)
    assert isinstance(found, Stop)
    assert "raw.events does not exist" in found.reason


@pytest.mark.full
def test_what_is_beyond_the_threshold_is_loaded_by_a_person() -> None:
    world = loaded(", catchup_threshold '3 hours'")
    world.land((1.7, 5), until=6)
    world.land((4.7, 5), until=6)
    session(world)
    assert amounts(world) == [10, 11, 12, 13, 19, 15]
    services = world.services()
    key = world.bound().key(NAME)
    assert [each.reason for each in services.state.pending([key])[key]] == [
        PendingReason.BEYOND_THRESHOLD
    ]
    evaluate_range(services, world.bound(), NAME, span(1, 1))
    assert amounts(world) == [10, 16, 12, 13, 19, 15]
    assert services.state.pending([key]) == {}
    assert isinstance(decided(world), NothingToLoad)


@pytest.mark.parametrize(
    "options,gone,wanted",
    [
        (", catchup_threshold '3 hours'", (), [10, 16, 12, 13, 14, 15]),
        ("", (11,), [10, 12, 13, 14, 15]),
    ],
    ids=["beyond threshold", "removed"],
)
def test_a_plan_that_restates_it_loads_what_is_pending(
    options: str, gone: tuple[int, ...], wanted: list[int]
) -> None:
    world = loaded(options)
    if gone:
        world.catalog.delete(RAW, kept(world, *gone))
    else:
        world.land((1.7, 5), until=6)
    session(world)
    assert amounts(world) == [10, 11, 12, 13, 14, 15]
    services = world.services()
    again = PlanOptions(
        restate=("a.sums",), start=hour_of(1), end=hour_of(2), allow_empty=bool(gone)
    )
    planned = plan_environment(services, project(options), "prod", again)
    world.apply(planned)
    assert amounts(world) == wanted
    assert services.state.pending([world.bound().key(NAME)]) == {}
    assert isinstance(decided(world), NothingToLoad)
