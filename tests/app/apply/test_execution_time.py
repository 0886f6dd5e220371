"""All that one plan or run evaluates is asked for at one moment, in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest

from tests.app.memory_world import RAW, MemoryWorld, bound, graph_of, hour_of, there
from tests.worlds.clock import ManualClock
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import environment_resource

TEXTS = {
    "hours": "MODEL (name m.hours, kind INCREMENTAL_BY_TIME_RANGE (time_column at, batch_size 1), "
    "cron '@hourly'); SELECT id AS id, at AS at, @execution_tstz AS asked FROM raw.events "
    "WHERE at BETWEEN @start_ts AND @end_ts",
    "full": "MODEL (name m.full, kind FULL, cron '@hourly'); "
    "SELECT id AS id, @execution_tstz AS asked FROM raw.events",
    "keys": "MODEL (name m.keys, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id), cron '@hourly'); "
    "SELECT id AS id, @execution_tstz AS asked FROM raw.events "
    "WHERE at BETWEEN @start_ts AND @end_ts",
    "late": "MODEL (name m.late, kind INCREMENTAL_BY_TIME_RANGE (time_column at), "
    "cron '@hourly', late_data (mode stateless, sources (raw.events))); "
    "SELECT id AS id, at AS at, @execution_tstz AS asked FROM raw.events "
    "WHERE at BETWEEN @start_ts AND @end_ts",
    "state": "MODEL (name m.state, kind INCREMENTAL_BY_TIME_RANGE (time_column at), "
    "cron '@hourly', late_data (mode stateful, sources ('raw.events|at'))); "
    "SELECT id AS id, at AS at, @execution_tstz AS asked FROM raw.events "
    "WHERE at BETWEEN @start_ts AND @end_ts",
}
HISTORIES = {
    name: f"MODEL (name m.{name}, kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns [amount], "
    "invalidate_hard_deletes true), cron '@hourly'); "
    "SELECT id AS id, amount AS amount FROM raw.events"
    for name in ("first", "second", "third")
}


@dataclass
class Passing:
    """The clock of the world, which is a second later each time that it is read."""

    clock: ManualClock

    def now(self) -> datetime:
        self.clock.advance(timedelta(seconds=1))
        return self.clock.now()

    def wait(self, length: timedelta) -> None:
        self.clock.wait(length)


def moments(world: MemoryWorld, *names: str) -> set[datetime]:
    """The moments that rows have, of their evaluation."""
    rows = (row for name in names for row in world.rows(f"m.{name}"))
    return {datetime.fromisoformat(str(row[-1])) for row in rows}


def applied(world: MemoryWorld, graph: Graph | None) -> datetime:
    """Apply a plan, or a run, while time passes; returns when it began."""
    services = world.services()
    began = world.clock.now()
    plan = world.plan_run() if graph is None else plan_environment(services, graph, "prod")
    apply_plan(services, plan, lambda _: world.clock.advance(timedelta(seconds=36)))
    assert world.clock.now() > began
    return began


def test_every_kind_has_the_moment_at_which_its_plan_was_asked_for() -> None:
    world, graph = MemoryWorld(), graph_of(TEXTS)
    world.land((0.5, 10), (1.5, 20), (2.5, 30), until=3)
    began = applied(world, graph)
    assert moments(world, *TEXTS) == {began}
    services = world.services()
    for name in TEXTS:
        key = world.bound().key(ModelName("m", name))
        works = services.state.works(e.work_id for e in services.state.ledger([key])[key])
        assert {each.intent.execution_time for each in works.values()} == {began}, name


@pytest.mark.full
@pytest.mark.parametrize("by_plan", [True, False], ids=["plan", "run"])
def test_histories_that_one_run_closes_end_at_one_moment(by_plan: bool) -> None:
    world, graph = MemoryWorld(), graph_of(HISTORIES)
    world.land((0.5, 10), (1.5, 20), until=3)
    applied(world, graph)
    left = [row for row in world.rows("raw.events") if row[2] != 10]
    world.catalog.overwrite(RAW, left)
    world.land(until=4)
    world.clock.advance(timedelta(minutes=1))
    began = applied(world, graph if by_plan else None)
    ended = {row[-1] for name in HISTORIES for row in world.rows(f"m.{name}")} - {None}
    assert ended == {began}


@pytest.mark.parametrize("name", ["late", "state"])
def test_a_session_that_nobody_planned_has_one_moment(name: str) -> None:
    world, graph = MemoryWorld(), graph_of({name: TEXTS[name]})
    world.land((0.5, 10), (1.5, 20), until=2)
    built = applied(world, graph)
    world.land((2.5, 30), until=3)
    services = world.services()
    services = replace(services, clock=Passing(world.clock))
    done = catch_up(services, bound(services), ModelName("m", name))
    assert isinstance(done, Evaluated)
    work = there(services.state.work(done.work_id))
    assert moments(world, name) == {built, work.intent.execution_time}


def test_a_rebuild_that_nobody_planned_has_one_moment() -> None:
    text = TEXTS["keys"].replace("unique_key id", "unique_key id, batch_size 1")
    world, graph, name = MemoryWorld(), graph_of({"keys": text}), ModelName("m", "keys")
    world.land((0.5, 10), (1.5, 20), (2.5, 30), until=3)
    applied(world, graph)
    services = world.services()
    binding, hours = bound(services), Interval(hour_of(0), hour_of(3))
    with services.lease(environment_resource("prod"), "a check") as lease:
        services.state.outdate({binding.key(name): [hours]}, reason="a check", lease=lease)
    (done,) = evaluate_range(replace(services, clock=Passing(world.clock)), binding, name, hours)
    assert done.rows == 3
    assert len(moments(world, "keys")) == 1


def test_a_history_goes_on_in_time_whoever_was_asked_first() -> None:
    world, graph = MemoryWorld(), graph_of({"first": HISTORIES["first"]})
    world.land((0.5, 10), until=1)
    applied(world, graph)
    asked: list[datetime] = []
    for _ in range(4):
        world.clock.advance(timedelta(minutes=10))
        asked.append(world.clock.now())
    for number, asked_at in enumerate((asked[3], asked[0], asked[2], asked[1]), start=1):
        world.clock.advance(timedelta(minutes=5))
        rows = world.rows("raw.events")
        world.catalog.overwrite(RAW, [(n, at, int(str(v)) + 1) for n, at, v in rows])
        world.land(until=1 + number)
        services = replace(world.services(), asked_at=asked_at)
        hour = Interval(hour_of(number), hour_of(number + 1))
        evaluate_range(services, bound(services), ModelName("m", "first"), hour)
    rows = sorted(world.rows("m.first"), key=lambda row: int(str(row[1])))
    assert [row[1] for row in rows] == [10, 11, 12, 13, 14]
    assert all(row[-2] < row[-1] for row in rows[1:-1])  # type: ignore[operator]
    assert [row[-2] for row in rows[1:]] == [row[-1] for row in rows[:-1]]
    assert rows[1][-2] == asked[3]
    assert rows[-1][-1] is None


def test_another_run_has_another_moment() -> None:
    world, graph = MemoryWorld(), graph_of({"hours": TEXTS["hours"]})
    world.land((0.5, 10), until=1)
    first = applied(world, graph)
    world.land((1.5, 20), (2.5, 30), until=3)
    second = applied(world, None)
    assert moments(world, "hours") == {first, second}
