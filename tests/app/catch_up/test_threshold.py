"""How far back late rows are added in stateless mode, and what stays pending, in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from tests.app.memory_world import RAW, SOURCE, MemoryWorld, graph_of, hour_of
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.catch_up.sessions import note_detected
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.inspect.verify import verify
from vde_dagster.app.services import VALID_TO
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.ledger.late.pending import Pending, PendingReason
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import Interval

NAME: Final = ModelName("a", "p")


def project(options: str = ", catchup_threshold '3 hours'") -> Graph:
    text = f"""
    MODEL (
      name a.p, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly',
      late_data (mode stateless, sources (raw.events){options})
    );
    SELECT id AS id, at AS at, amount AS amount FROM raw.events
    WHERE at BETWEEN @start_dt AND @end_dt
    """
    return graph_of({"p": text})


def loaded_to_hour_ten(graph: Graph | None = None) -> MemoryWorld:
    """One row of each of ten hours; 7 is the first one within the threshold."""
    world = MemoryWorld.landed(*((hour + 0.5, 10 * hour) for hour in range(10)), until=10)
    world.build(graph or project())
    return world


def pending(world: MemoryWorld) -> list[Pending]:
    key = world.bound().key(NAME)
    return list(world.state.pending([key]).get(key, ()))


def hour(number: int) -> Interval:
    return Interval(hour_of(number), hour_of(number + 1))


def left(*numbers: int) -> list[Pending]:
    reason = PendingReason.BEYOND_THRESHOLD
    return [Pending(interval=hour(each), sources=(SOURCE,), reason=reason) for each in numbers]


TEN = [10 * each for each in range(10)]


def caught_up(world: MemoryWorld, *, reload: bool = False) -> Evaluated | NothingToLoad:
    return world.catch_up(NAME, reload=reload)


@pytest.mark.full
def test_late_rows_within_the_threshold_are_added_and_others_are_pending() -> None:
    world = loaded_to_hour_ten()
    world.land((2.2, 1), until=10)
    world.land((7.2, 2), until=10)
    assert isinstance(caught_up(world), Evaluated)
    assert world.amounts("a.p") == sorted([*TEN, 2])
    assert pending(world) == left(2)


def test_rows_of_hours_that_are_not_loaded_yet_need_no_session() -> None:
    world = loaded_to_hour_ten(project(""))
    world.land((10.2, 1), until=10)
    services = world.services()
    found = detect(services, world.bound(), NAME)
    assert isinstance(found, NothingToLoad)
    assert found.has_moved
    note_detected(services, world.bound())
    world.land((10.4, 2), until=11)
    caught_up(world)
    assert world.amounts("a.p") == sorted([*TEN, 1, 2])


@pytest.mark.full
def test_what_is_pending_stays_so_until_a_person_asks_for_it() -> None:
    world = loaded_to_hour_ten()
    world.land((2.2, 1), until=10)
    found = caught_up(world)
    assert isinstance(found, NothingToLoad)
    assert "further back than catchup_threshold" in found.reason
    assert pending(world) == left(2)
    world.land((3.3, 2), until=10)
    world.land((10.5, 100), until=11)
    caught_up(world)
    assert world.amounts("a.p") == sorted([*TEN, 100])
    assert pending(world) == [replace(left(2)[0], interval=Interval(hour_of(2), hour_of(4)))]
    services = world.services()
    evaluate_range(services, world.bound(), NAME, hour(2))
    assert world.amounts("a.p") == sorted([*TEN, 100, 1])
    assert pending(world) == left(3)
    evaluate_range(services, world.bound(), NAME, hour(3))
    assert (world.amounts("a.p"), pending(world)) == (sorted([*TEN, 100, 1, 2]), [])
    (checked,) = verify(services, world.bound(), [NAME])
    assert not checked.mismatches


def test_what_a_session_would_leave_pending_is_loaded_by_a_person_before_there_is_one() -> None:
    world = loaded_to_hour_ten()
    world.land((2.2, 1), (3.3, 2), until=10)
    evaluate_range(world.services(), world.bound(), NAME, hour(2))
    assert (world.amounts("a.p"), pending(world)) == (sorted([*TEN, 1]), left(3))
    assert isinstance(caught_up(world), NothingToLoad)
    assert (world.amounts("a.p"), pending(world)) == (sorted([*TEN, 1]), left(3))


def test_what_is_pending_stays_so_while_the_clock_of_the_sources_has_no_time() -> None:
    world = loaded_to_hour_ten()
    world.land((2.2, 1), until=10)
    caught_up(world)
    world.catalog.tables[RAW].properties.pop(VALID_TO)
    world.catalog.delete(RAW, ())
    assert world.services().project_now() is None
    assert "is not set yet" in str(caught_up(world))
    assert pending(world) == left(2)


@pytest.mark.full
def test_a_plan_keeps_what_is_pending_and_says_so() -> None:
    world = loaded_to_hour_ten()
    world.land((2.2, 1), until=10)
    caught_up(world)
    plan = world.plan_run()
    (change,) = [each for each in plan.changes if each.name == NAME]
    assert change.staleness is not None
    assert change.staleness.kept == (hour(2),)
    assert "catchup_threshold" in change.staleness.why_kept
    assert not plan.backfills


@pytest.mark.full
def test_a_rewritten_source_is_overwritten_as_far_back_as_the_threshold() -> None:
    world = loaded_to_hour_ten()
    table = TableName("raw", "events")
    found = world.catalog.tables[table]
    before = found.rows_at(found.head)
    changed = {20: 21, 80: 81}
    world.catalog.overwrite(
        table, [(row[0], row[1], changed.get(int(str(row[2])), row[2])) for row in before]
    )
    assert isinstance(caught_up(world), Evaluated)
    assert world.amounts("a.p") == sorted([*(each for each in TEN if each != 80), 81])
    assert pending(world) == [replace(left(0)[0], interval=Interval(hour_of(0), hour_of(7)))]
