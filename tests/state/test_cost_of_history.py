"""History costs nothing: a plan, a step and a look at the status read the same after 1,000 runs.

What they read is counted by the database itself (`tests.database_reads`), so a row that is looked
at and thrown away counts, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

import pytest
from sqlalchemy import text

from tests.app.memory_world import EVENTS, MemoryWorld, bound, build, graph_of, hour_of
from tests.app.staleness.test_staleness_cost import CHAIN
from tests.database_reads import Reads, reads_of
from tests.long_history import lengthen
from tests.postgres_server import new_database
from tests.state.conftest import SQL
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.inspect.status import look_at_environment, look_at_operations
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.state.sql_state import SqlState

SHORT, LONG = 10, 1_000
MODELS: Final = {**CHAIN, "events": EVENTS}
"""By hour and by day, a view, and one that is loaded by sessions."""


def long_world(state: SqlState | None, more: int) -> MemoryWorld:
    """Production after a day, and after ``more`` runs of each model that came before."""
    world = MemoryWorld()
    if state is not None:
        world.state = state
    graph = graph_of(MODELS)
    for hour in (1, 24):  # so that the first hour is one unit of work
        world.land((hour - 0.5, hour), until=hour)
        build(world.services(), graph)
    assert isinstance(world.state, SqlState)
    engine = world.state._database.engine
    with engine.begin() as connection:
        assert lengthen(connection, more) == 5
        if engine.dialect.name == "postgresql":  # which its server does by itself, some time
            connection.execute(text("ANALYZE"))
    return world


@pytest.fixture(params=SQL, scope="module")
def worlds(request: pytest.FixtureRequest) -> Iterator[Mapping[int, MemoryWorld]]:
    """Two worlds that differ in how long their models have been run; their states are alike."""
    if request.param == "sqlite":
        yield {more: long_world(None, more) for more in (SHORT, LONG)}
        return
    server: str = request.getfixturevalue("postgres_server")
    states = {more: SqlState.open(new_database(server)) for more in (SHORT, LONG)}
    yield {more: long_world(state, more) for more, state in states.items()}
    for state in states.values():
        state.close()


def plan(world: MemoryWorld) -> None:
    found = plan_environment(world.services(), graph_of(MODELS), "prod")
    assert found.is_up_to_date


def run(world: MemoryWorld) -> None:
    assert plan_run(world.services(), "prod").is_up_to_date


def status(world: MemoryWorld) -> None:
    services = world.services()
    assert look_at_environment(services, "prod").is_up_to_date
    look_at_operations(services, plan_run(services, "prod"))


def totals(world: MemoryWorld) -> None:
    services, binding = world.services(), bound(world.services())
    keys = [binding.key(ModelName("mart", "copy"))]
    assert services.state.newest_computed(keys[0], limit=3)
    assert not services.state.drifted(keys)
    assert not services.state.accepted(keys)
    assert not services.state.audited(keys[0], limit=1)
    assert not services.state.failed(keys)


def step(world: MemoryWorld) -> None:
    """An hour that is computed again, with a session that loads a late row."""
    world.land((22.5, 7), until=24)
    hour = Interval(hour_of(22), hour_of(23))
    for name in ("copy", "again", "near", "last"):
        model = ModelName("mart", name)
        (done,) = evaluate_range(world.services(), bound(world.services()), model, hour, force=True)
        assert done.rows > 0
    loaded = catch_up(world.services(), bound(world.services()), ModelName("staging", "events"))
    assert isinstance(loaded, Evaluated)


@pytest.mark.full
@pytest.mark.parametrize("act", [plan, run, status, totals, step])
def test_what_is_asked_and_read_does_not_grow_with_the_history(
    worlds: Mapping[int, MemoryWorld], act: Callable[[MemoryWorld], None]
) -> None:
    asked: dict[int, Reads] = {}
    for more, world in worlds.items():
        act(world)  # what is compiled and remembered once
        asked[more] = reads_of(world.state, partial(act, world))
    short, long = asked[SHORT], asked[LONG]
    assert long.statements == short.statements
    assert long.total < 1.5 * short.total + 200, long.above(short)
