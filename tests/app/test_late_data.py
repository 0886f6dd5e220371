"""Sessions of a version that others have written, or whose table got other columns, in memory."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import pytest

from tests.app.memory_world import (
    SOURCE,
    START,
    MemoryWorld,
    bound,
    build,
    graph_of,
    hour_of,
)
from vde_dagster.app.apply import evaluate_range
from vde_dagster.app.catch_up import catch_up
from vde_dagster.app.detecting import detect
from vde_dagster.app.evaluate import evaluate
from vde_dagster.app.evaluated import Evaluated
from vde_dagster.app.verify import verify
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph import Graph
from vde_dagster.core.intervals import Interval
from vde_dagster.core.late_data import HighWaterMark, NothingToLoad
from vde_dagster.core.names import ModelName

NAME: Final = ModelName("a", "p")
LATE: Final = ", late_data (mode stateless, sources (raw.events))"
TWICE: Final = ", amount * 2 AS twice"


def project(late: str = LATE, more: str = "") -> Graph:
    """One model that keeps its version, whether it has late data or not."""
    kind = "INCREMENTAL_BY_TIME_RANGE (time_column at, forward_only true)"
    query = f"SELECT id AS id, at AS at, amount AS amount{more} FROM raw.events"
    text = f"MODEL (name a.p, kind {kind}, cron '@hourly'{late}); {query}"
    return graph_of({"p": f"{text} WHERE at BETWEEN @start_dt AND @end_dt"})


ORDINARY: Final = project(late="")


def amounts(world: MemoryWorld) -> list[int]:
    return sorted(int(str(row[2])) for row in world.rows("a.p"))


def marked(world: MemoryWorld) -> HighWaterMark | None:
    return world.state.marks(bound(world.services()).key(NAME)).get(SOURCE)


def verified(world: MemoryWorld) -> list[str]:
    services = world.services()
    found = verify(services, bound(services), [NAME])
    return [str(each) for one in found for each in one.mismatches]


def test_what_others_evaluated_between_two_sessions_is_not_loaded_twice() -> None:
    world = MemoryWorld()
    world.land((0.5, 10), until=1)
    build(world.services(), project())
    key = bound(world.services()).key(NAME)
    world.land((1.5, 20), until=2)
    build(world.services(), ORDINARY)
    assert marked(world) is None
    world.land((2.5, 30), until=3)
    build(world.services(), project())
    assert bound(world.services()).key(NAME) == key
    assert amounts(world) == [10, 20, 30]
    world.land((0.6, 1), (1.6, 2), until=3)
    build(world.services(), project())
    services = world.services()
    catch_up(services, bound(services), NAME)
    assert amounts(world) == [1, 2, 10, 20, 30]
    assert verified(world) == []


def kept_without_a_mark() -> MemoryWorld:
    """A model gets late data when it holds two hours, and then a row for the first one comes."""
    world = MemoryWorld()
    world.land((0.5, 10), (1.5, 5), until=2)
    build(world.services(), ORDINARY)
    world.land((0.6, 100), until=2)
    build(world.services(), project())
    return world


def test_the_first_session_of_what_others_loaded_overwrites_it() -> None:
    world = kept_without_a_mark()
    assert amounts(world) == [5, 10]
    services = world.services()
    found = catch_up(services, bound(services), NAME)
    assert isinstance(found, Evaluated)
    assert amounts(world) == [5, 10, 100]
    assert isinstance(detect(services, bound(services), NAME), NothingToLoad)


def test_a_new_hour_of_what_others_loaded_brings_the_late_rows_of_the_others() -> None:
    world = kept_without_a_mark()
    world.land((2.5, 7), until=3)
    build(world.services(), project())
    world.land((3.5, 8), until=4)
    build(world.services(), project())
    assert amounts(world) == [5, 7, 8, 10, 100]
    assert verified(world) == []


def test_a_held_hour_without_a_mark_is_refused_with_what_to_do() -> None:
    world = kept_without_a_mark()
    services = world.services()
    with pytest.raises(Refused, match=r"`vde catch-up a\.p --reload`"):
        evaluate_range(services, bound(services), NAME, Interval(START, hour_of(1)))
    assert amounts(world) == [5, 10]
    catch_up(services, bound(services), NAME, reload=True)
    evaluate_range(services, bound(services), NAME, Interval(START, hour_of(1)))
    assert amounts(world) == [5, 10, 100]


def test_r8_an_hour_that_is_evaluated_again_leaves_the_mark() -> None:
    world = MemoryWorld()
    world.land((0.5, 10), (1.5, 5), until=2)
    build(world.services(), project())
    before = marked(world)
    world.land((0.6, 100), until=2)
    services = world.services()
    hour = Interval(START, hour_of(1))
    (again,) = evaluate_range(services, bound(services), NAME, hour, force=True)
    assert (again.reused, again.rows) == (False, 1)
    assert before is not None
    assert marked(world) == before
    assert amounts(world) == [5, 10]
    catch_up(services, bound(services), NAME)
    assert amounts(world) == [5, 10, 100]


def test_late_rows_of_hours_with_fewer_columns_make_these_hours_anew_and_no_others() -> None:
    world = MemoryWorld()
    world.land((0.5, 10), (1.5, 5), until=2)
    build(world.services(), project())
    key = bound(world.services()).key(NAME)
    wider = project(more=TWICE)
    build(world.services(), wider)
    world.land((0.6, 100), (2.5, 7), until=3)
    build(world.services(), wider)
    assert bound(world.services()).key(NAME) == key
    shown = [row[2:] for row in world.rows("a.p")]
    assert sorted(shown, key=str) == [(10, 20), (100, 200), (5, None), (7, 14)]
    world.land((0.7, 1), (2.6, 2), until=3)
    services = world.services()
    catch_up(services, bound(services), NAME)
    assert amounts(world) == [1, 2, 5, 7, 10, 100]
    assert isinstance(detect(services, bound(services), NAME), NothingToLoad)
    assert verified(world) == []


def test_a_lookback_over_an_interval_of_fewer_columns_is_booked_under_those_of_now() -> None:
    def by_key(more: str) -> Graph:
        kind = "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, lookback 1, forward_only true)"
        query = f"SELECT id AS id, at AS at, amount AS amount{more} FROM raw.events"
        text = f"MODEL (name a.p, kind {kind}, cron '@daily'); {query}"
        return graph_of({"p": f"{text} WHERE at BETWEEN @start_dt AND @end_dt"})

    world = MemoryWorld()
    for day in (1, 2):
        world.land((24 * day - 1, day), until=24 * day)
        world.clock.advance(timedelta(days=1))
        build(world.services(), by_key(""))
    build(world.services(), by_key(TWICE))
    services = world.services()
    evaluate(services, bound(services), NAME, Interval(hour_of(24), hour_of(48)))
    assert [row[2:] for row in world.rows("a.p")] == [(1, None), (2, 4)]
    assert verified(world) == []
