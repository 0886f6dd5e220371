"""Late and changed rows while environments, people and sources interfere with each other."""

from __future__ import annotations

from typing import Final

import pytest

from tests.app.clean_up.between import Between
from tests.app.memory_world import RAW, MemoryWorld, bound, graph_of, hour_of, made_once
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.services import VALID_TO
from vde_dagster.core.errors import Conflict, VdeError
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval

KIND: Final = "INCREMENTAL_BY_TIME_RANGE (time_column at{})"
TEXT: Final = """MODEL (name m.{}, kind {}, cron '@hourly');
SELECT id AS id, at AS at, amount AS amount FROM {} WHERE at BETWEEN @start_dt AND @end_dt
"""
PARENT: Final = TEXT.format("a", KIND.format(""), "raw.events")
CHILD: Final = TEXT.format("b", KIND.format(""), "m.a")
PAIR: Final = {"a": PARENT, "b": CHILD}
A, B = ModelName("m", "a"), ModelName("m", "b")


@made_once
def production(texts: dict[str, str] = PAIR) -> MemoryWorld:
    """Six hours with the amounts 1 to 6."""
    world = MemoryWorld.landed(*((hour + 0.5, hour + 1) for hour in range(6)), until=6)
    world.build(graph_of(texts))
    return world


def stale(plan: Plan) -> dict[str, tuple[Interval, ...]]:
    return {each.name.name: each.stale for each in plan.changes if each.stale}


def kept(plan: Plan) -> dict[str, tuple[Interval, ...]]:
    reported = {each.name.name: each.staleness for each in plan.changes}
    return {name: each.kept for name, each in reported.items() if each is not None}


def hours(first: int, last: int) -> Interval:
    return Interval(hour_of(first), hour_of(last))


def late(world: MemoryWorld) -> None:
    world.land((1.25, 100), until=6)


# Environments
@pytest.mark.full
def test_what_production_owns_is_brought_up_to_date_there_and_shown_elsewhere() -> None:
    world = production()
    world.build(graph_of(PAIR), "dev")
    late(world)
    assert not world.plan_run("dev").is_up_to_date, "production has to run"
    assert not stale(world.plan_run("dev")), "and dev has nothing to compute"
    world.run()
    assert world.plan_run("dev").is_up_to_date
    assert world.amounts("m__dev.b") == [1, 2, 3, 4, 5, 6, 100]


# Sources
def test_what_a_source_of_the_same_name_has_is_computed_and_what_it_lacks_is_kept() -> None:
    world = production()
    table = world.catalog.tables[RAW]
    rows = [(number, at, amount) for number, at, amount in table.rows_at(table.head)]
    world.catalog.drop_table(RAW)
    assert kept(world.plan_run()) == {"a": (hours(0, 6),)}
    assert world.run() == ()
    until = {VALID_TO: hour_of(6).isoformat()}
    world.catalog.create_table(RAW, table.columns, properties=until)
    world.catalog.append(
        RAW, [(number, at, int(str(amount)) * 10) for number, at, amount in rows[3:]]
    )
    assert stale(world.plan_run()) == {"a": (hours(3, 6),), "b": (hours(3, 6),)}
    world.run()
    assert world.amounts("m.b") == [1, 2, 3, 40, 50, 60]
    after = world.plan_run()
    assert after.is_empty
    assert kept(after) == {"a": (hours(0, 3),)}


@pytest.mark.parametrize("expires", [False, True])
def test_r14_what_has_no_trace_is_stale_once_what_it_read_has_expired(*, expires: bool) -> None:
    chance = PARENT.replace("amount AS amount", "amount AS amount, UUID() AS chance")
    world = production({"a": chance})
    late(world)
    if expires:
        world.catalog.expire(RAW)
    assert stale(world.plan_run()) == {"a": (hours(0, 6) if expires else hours(1, 2),)}


def test_a_compaction_whose_origin_is_forgotten_changes_nothing() -> None:
    world = production()
    world.catalog.compact(RAW)
    world.catalog.expire(RAW)
    assert world.plan_run().is_up_to_date
    late(world)
    assert stale(world.plan_run()) == {"a": (hours(1, 2),), "b": (hours(1, 2),)}


# At the same time
@pytest.mark.full
def test_what_is_recorded_after_a_look_of_rows_from_before_it_is_looked_at_next() -> None:
    """A step by hand reads a parent that a run computes again, and ends after that run's look."""
    world = production()
    world.land((6.5, 7), until=7)
    services = world.services()
    evaluate_range(services, bound(services), A, hours(6, 7))

    def overtake() -> None:
        world.land((6.25, 100), until=7)
        with pytest.raises(VdeError) as error:
            world.run()
        assert isinstance(error.value, Conflict)

    services = Between(world, "stage", after=True, then=overtake).services()
    evaluate_range(services, bound(services), B, hours(6, 7))
    assert world.amounts("m.b") == [1, 2, 3, 4, 5, 6, 7]
    assert stale(world.plan_run()) == {"b": (hours(6, 7),)}
    world.run()
    assert world.amounts("m.b") == [1, 2, 3, 4, 5, 6, 7, 100]
    assert world.plan_run().is_up_to_date
