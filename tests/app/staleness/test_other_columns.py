"""A source's column is dropped and added again, without a write: nothing calls that unchanged."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.app.memory_world import RAW, MemoryWorld, graph_of, hour_of
from vde_dagster.app.apply.running import Wanted
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.inspect.user_reads import source_version
from vde_dagster.app.plan.work_tokens import work_tokens
from vde_dagster.app.services import VALID_TO
from vde_dagster.core.ledger.late.decision import Load, NothingToLoad, Stop
from vde_dagster.core.names import ModelName

NAME = ModelName("a", "p")
BY_TIME = "INCREMENTAL_BY_TIME_RANGE (time_column at)"
QUERY = "SELECT id AS id, at AS at, amount AS amount FROM raw.events"
BOUNDED = f"{QUERY} WHERE at BETWEEN @start_dt AND @end_dt"
RANDOM = BOUNDED.replace("amount AS", "amount + CAST(RAND() * 0 AS BIGINT) AS")
STATELESS = ", late_data (mode stateless, sources (raw.events))"
STOPPING = STATELESS.replace("mode", "on_source_rewrite stop, mode")
STATEFUL = ", late_data (mode stateful, sources (raw.events))"


def model(kind: str, query: str, more: str = "") -> str:
    return f"MODEL (name a.p, kind {kind}, cron '@daily'{more}); {query}"


def built(text: str) -> MemoryWorld:
    """Two days, in a table that was built ten minutes ago."""
    world = MemoryWorld.landed((1, 10), (30, 20), until=48)
    world.build(graph_of({"p": text}))
    world.clock.advance(timedelta(minutes=10))
    return world


def add_again(world: MemoryWorld) -> None:
    world.catalog.replace_column(RAW, "amount")
    world.clock.advance(timedelta(minutes=10))


def run(world: MemoryWorld) -> int:
    """What `vde run` does: how many models were computed."""
    plan = world.plan_run("prod", Wanted.STALE)
    done = world.apply(plan)
    world.clock.advance(timedelta(minutes=10))
    return sum(not each.reused for each in done)


def amounts(world: MemoryWorld) -> list[object]:
    return [row[2] for row in world.rows("a.p")]


@pytest.mark.full
@pytest.mark.parametrize(
    "text",
    [
        model(BY_TIME, BOUNDED),
        model(BY_TIME, RANDOM),
        model("FULL", QUERY),
        model("FULL", RANDOM.partition(" WHERE")[0]),
        model("MANAGED", QUERY),
        model("MANAGED", RANDOM.partition(" WHERE")[0]),
        model(BY_TIME, BOUNDED, STATELESS),
        model(BY_TIME, BOUNDED, STATEFUL),
        model(BY_TIME, RANDOM, STATEFUL),
    ],
    ids=[
        *("by time", "random", "full", "random full", "managed", "random managed"),
        *("stateless", "stateful", "random stateful"),
    ],
)
def test_all_that_was_computed_from_it_is_computed_again_once(text: str) -> None:
    world = built(text)
    assert run(world) == 0
    add_again(world)
    assert run(world) == 1
    assert amounts(world) == [None, None]
    assert run(world) == 0
    world.land((31, 30), until=48)
    assert run(world) == 1
    assert amounts(world) == [None, None, 30]
    assert run(world) == 0


@pytest.mark.full
def test_a_session_says_why_it_overwrites_or_stops() -> None:
    for late, expected in ((STATELESS, Load), (STOPPING, Stop)):
        world = built(model(BY_TIME, BOUNDED, late))
        add_again(world)
        services = world.services()
        found = detect(services, world.bound(), NAME)
        assert isinstance(found, expected)
        assert "dropped and added again" in (
            found.rewrite if isinstance(found, Load) else str(getattr(found, "reason", ""))
        )
        world.catch_up(NAME, reload=True)
        assert isinstance(detect(services, world.bound(), NAME), NothingToLoad)
        assert amounts(world) == [None, None]


def test_its_version_and_the_key_of_the_work_are_others() -> None:
    world = built(model(BY_TIME, BOUNDED))
    services = world.services()
    before = source_version(services, world.bound(), "raw.events")
    world.catalog.set_property(RAW, VALID_TO, hour_of(72).isoformat())
    plan = world.plan_run()
    tokens = work_tokens(services, plan)
    add_again(world)
    assert source_version(services, world.bound(), "raw.events") != before
    assert work_tokens(services, plan).keys() == tokens.keys() == {NAME}
    assert work_tokens(services, plan) != tokens
