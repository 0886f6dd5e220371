"""Sessions of append-only models, whose rows belong to no interval, in memory."""

from __future__ import annotations

from typing import Final

import pytest

from tests.app.memory_world import (
    RAW,
    START,
    Fuse,
    MemoryWorld,
    bound,
    graph_of,
    hour_of,
    made_once,
    mismatches,
)
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.time.intervals import Interval

NAME: Final = ModelName("a", "log")
BOUNDED: Final = "WHERE at BETWEEN @start_dt AND @end_dt"


def project(where: str = BOUNDED, kind: str = "INCREMENTAL_UNMANAGED", more: str = "") -> Graph:
    return graph_of(
        {
            "log": f"MODEL (name a.log, kind {kind}, cron '@hourly', "
            "late_data (mode stateless, sources (raw.events))); "
            f"SELECT id AS id, at AS at, amount AS amount{more} FROM raw.events {where}"
        }
    )


@made_once
def loaded(where: str = BOUNDED, kind: str = "INCREMENTAL_UNMANAGED") -> MemoryWorld:
    """Two hours are loaded, of a row each; a row of the fourth hour is there already."""
    world = MemoryWorld.landed((0.5, 10), (1.5, 20), until=2)
    world.build(project(where, kind))
    return world


def session(world: MemoryWorld, fuse: Fuse | None = None, *, reload: bool = False) -> object:
    services = world.services(fuse)
    return catch_up(services, bound(services), NAME, reload=reload)


@pytest.mark.full
@pytest.mark.parametrize("where", [BOUNDED, "", "WHERE amount > 0"], ids=["bounded", "all", "some"])
def test_late_and_new_rows_are_appended_once(where: str) -> None:
    world = loaded(where)
    world.land((0.7, 1), until=2)
    assert isinstance(session(world), Evaluated)
    assert world.amounts("a.log") == [1, 10, 20]
    world.land((1.7, 2), (2.5, 30), until=3)
    assert isinstance(session(world), Evaluated)
    assert world.amounts("a.log") == [1, 2, 10, 20, 30]
    assert isinstance(session(world), NothingToLoad)
    assert world.amounts("a.log") == [1, 2, 10, 20, 30]
    assert mismatches(world.services(), NAME) == []
    assert world.state.holdings([world.bound().key(NAME)])[world.bound().key(NAME)].computed == (
        Interval(START, hour_of(3)),
    )


def test_rows_of_hours_that_are_not_due_wait_for_them() -> None:
    world = loaded()
    world.land((2.5, 30), until=2)
    assert isinstance(session(world), NothingToLoad)
    assert world.amounts("a.log") == [10, 20]
    world.land((0.7, 1), (2.6, 31), until=2)
    session(world)
    assert world.amounts("a.log") == [1, 10, 20]
    world.land((0.8, 2), until=3)
    session(world)
    assert world.amounts("a.log") == [1, 2, 10, 20, 30, 31]


def test_rows_that_are_not_read_by_time_come_with_the_next_session() -> None:
    world = loaded("WHERE amount > 0")
    world.land((0.7, 1), (2.6, 31), until=2)
    session(world)
    assert world.amounts("a.log") == [1, 10, 20, 31]
    world.land(until=3)
    session(world)
    assert world.amounts("a.log") == [1, 10, 20, 31]


def test_late_data_may_be_switched_off_and_on_again_without_doubling_a_row() -> None:
    world = loaded()
    ordinary = graph_of(
        {
            "log": "MODEL (name a.log, kind INCREMENTAL_UNMANAGED, cron '@hourly'); "
            f"SELECT id AS id, at AS at, amount AS amount FROM raw.events {BOUNDED}"
        }
    )
    world.land((0.7, 1), (2.5, 30), until=2)
    session(world)
    world.build(ordinary)
    world.land((2.6, 31), until=3)
    world.build(ordinary)
    assert world.amounts("a.log") == [1, 10, 20, 30, 31]
    world.land((3.1, 40), until=4)
    world.build(project())
    assert world.amounts("a.log") == [1, 10, 20, 30, 31, 40]
    world.land((2.7, 32), until=4)
    session(world)
    assert world.amounts("a.log") == [1, 10, 20, 30, 31, 32, 40]


def test_rows_after_the_models_end_are_not_loaded() -> None:
    world = MemoryWorld.landed((0.5, 10), (3.5, 99), until=5)
    graph = graph_of(
        {
            "log": "MODEL (name a.log, kind INCREMENTAL_UNMANAGED, cron '@hourly', "
            "end '2024-01-01 02:00:00', late_data (mode stateless, sources (raw.events))); "
            f"SELECT id AS id, at AS at, amount AS amount FROM raw.events {BOUNDED}"
        }
    )
    world.build(graph)
    world.land((0.7, 1), (4.5, 100), until=5)
    session(world)
    assert world.amounts("a.log") == [1, 10]


def test_a_bounded_plan_of_dev_loads_what_lies_within_its_bounds() -> None:
    world = loaded()
    world.land((2.5, 30), until=3)
    kind = "INCREMENTAL_UNMANAGED (forward_only false)"
    options = PlanOptions(start=hour_of(1), end=hour_of(2))
    plan = plan_environment(
        world.services(), project(kind=kind, where=f"{BOUNDED} AND id > 0"), "dev", options
    )
    world.apply(plan)
    assert [int(str(row[2])) for row in world.rows("a__dev.log")] == [20]  # of [1:00, 2:00) alone


def test_rows_before_the_first_interval_are_not_loaded() -> None:
    world = loaded()
    world.land((-1.5, 1), (0.7, 2), until=2)
    session(world)
    assert world.amounts("a.log") == [2, 10, 20]


def test_a_plan_and_a_run_load_what_is_late_by_a_session() -> None:
    world, graph = loaded(), project()
    world.land((0.7, 1), until=2)
    world.build(graph)
    assert world.amounts("a.log") == [1, 10, 20]
    world.land((0.8, 2), (2.5, 30), until=3)
    world.run()
    assert world.amounts("a.log") == [1, 2, 10, 20, 30]
    assert not world.plan_run().backfills


def test_changed_rows_rebuild_the_table() -> None:
    world = loaded()
    rows = [(1, hour_of(0.5), 11), (2, hour_of(1.5), 20), (3, hour_of(1.6), 21)]
    world.catalog.overwrite(RAW, rows)
    session(world)
    assert world.amounts("a.log") == [11, 20, 21]
    world.land((0.7, 1), until=2)
    session(world)
    assert world.amounts("a.log") == [1, 11, 20, 21]
    assert mismatches(world.services(), NAME) == []


def test_a_source_with_fewer_rows_does_not_rebuild_the_table_unless_asked() -> None:
    world = loaded()
    world.catalog.overwrite(RAW, [(1, hour_of(0.5), 11)])
    with pytest.raises(Refused, match="fewer rows than before"):
        session(world)
    assert world.amounts("a.log") == [10, 20]
    session(world, reload=True)
    assert world.amounts("a.log") == [11]


def test_a_table_that_must_not_be_restated_is_not_rebuilt_by_itself() -> None:
    kind = "INCREMENTAL_UNMANAGED (disable_restatement true)"
    world = loaded(kind=kind)
    rows = [(1, hour_of(0.5), 11), (2, hour_of(1.5), 20)]
    world.catalog.overwrite(RAW, rows)
    with pytest.raises(Refused, match="reload"):
        session(world)
    assert world.amounts("a.log") == [10, 20]
    session(world, reload=True)
    assert world.amounts("a.log") == [11, 20]


def test_a_restatement_rebuilds_it_as_of_the_source_now_and_sets_the_mark() -> None:
    world, graph = loaded(), project()
    world.land((0.7, 1), (2.2, 5), until=2)
    plan = plan_environment(world.services(), graph, "prod", PlanOptions(restate=("a.log",)))
    world.apply(plan)
    assert world.amounts("a.log") == [1, 10, 20]
    assert isinstance(session(world), NothingToLoad)
    world.land((1.7, 2), until=3)
    session(world)
    assert world.amounts("a.log") == [1, 2, 5, 10, 20]
    assert mismatches(world.services(), NAME) == []


def test_a_loaded_interval_is_refused_and_never_appended_twice() -> None:
    world = loaded()
    services = world.services()
    with pytest.raises(Refused, match=r"has already loaded .*no new rows"):
        evaluate_range(services, world.bound(), NAME, Interval(START, hour_of(1)), force=True)
    assert world.amounts("a.log") == [10, 20]


def test_new_columns_of_a_kept_table_stay_null_in_older_rows() -> None:
    world = loaded()
    graph = project(more=", amount * 2 AS twice")
    world.build(graph)
    world.land((0.7, 1), (2.5, 30), until=3)
    world.build(graph)
    found = sorted((row[2], row[3]) for row in world.rows("a.log"))
    assert found == [(1, 2), (10, None), (20, None), (30, 60)]
    assert mismatches(world.services(), NAME) == []


def test_late_rows_that_the_query_leaves_out_change_nothing() -> None:
    world = loaded("WHERE amount > 5")
    world.land((0.7, 1), until=2)
    assert isinstance(session(world), Evaluated)
    assert world.amounts("a.log") == [10, 20]
    assert isinstance(detect(world.services(), world.bound(), NAME), NothingToLoad)


def late() -> MemoryWorld:
    world = loaded()
    world.land((0.7, 1), (2.5, 30), until=3)
    return world
