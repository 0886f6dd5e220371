"""Sessions of a version that others have written, or whose table got other columns, in memory."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import pytest

from tests.app.memory_world import (
    RAW,
    RAW_COLUMNS,
    SOURCE,
    START,
    MemoryWorld,
    bound,
    build_due,
    declared_source,
    graph_of,
    hour_of,
    made_once,
    mismatches,
)
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.time.intervals import Interval

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


def marked(world: MemoryWorld) -> HighWaterMark | None:
    return world.state.marks(world.bound().key(NAME)).get(SOURCE)


@pytest.mark.full
def test_what_others_evaluated_between_two_sessions_is_not_loaded_twice() -> None:
    world = MemoryWorld.landed((0.5, 10), until=1)
    world.build(project())
    key = world.bound().key(NAME)
    world.land((1.5, 20), until=2)
    world.build(ORDINARY)
    assert marked(world) is None
    world.land((2.5, 30), until=3)
    world.build(project())
    assert world.bound().key(NAME) == key
    assert world.amounts("a.p") == [10, 20, 30]
    world.land((0.6, 1), (1.6, 2), until=3)
    world.build(project())
    world.catch_up(NAME)
    assert world.amounts("a.p") == [1, 2, 10, 20, 30]
    assert mismatches(world.services(), NAME) == []


@made_once
def kept_without_a_mark() -> MemoryWorld:
    """A model gets late_data when two hours are loaded, and then a row for the first one comes."""
    world = MemoryWorld.landed((0.5, 10), (1.5, 5), until=2)
    world.build(ORDINARY)
    world.land((0.6, 100), until=2)
    build_due(world.services(), project())
    return world


def test_the_first_session_of_what_others_loaded_overwrites_it() -> None:
    world = kept_without_a_mark()
    assert world.amounts("a.p") == [5, 10]
    found = world.catch_up(NAME)
    assert isinstance(found, Evaluated)
    assert world.amounts("a.p") == [5, 10, 100]
    assert isinstance(detect(world.services(), world.bound(), NAME), NothingToLoad)


def test_a_loaded_hour_without_a_mark_is_refused_with_what_to_do() -> None:
    world = kept_without_a_mark()
    services = world.services()
    with pytest.raises(Refused, match=r"`vde catch-up a\.p --reload`"):
        evaluate_range(services, world.bound(), NAME, Interval(START, hour_of(1)))
    assert world.amounts("a.p") == [5, 10]
    world.catch_up(NAME, reload=True)
    evaluate_range(services, world.bound(), NAME, Interval(START, hour_of(1)))
    assert world.amounts("a.p") == [5, 10, 100]


def test_r8_an_hour_that_is_evaluated_again_leaves_the_mark() -> None:
    world = MemoryWorld.landed((0.5, 10), (1.5, 5), until=2)
    world.build(project())
    before = marked(world)
    world.land((0.6, 100), until=2)
    hour = Interval(START, hour_of(1))
    (again,) = evaluate_range(world.services(), world.bound(), NAME, hour, force=True)
    assert (again.reused, again.rows) == (False, 1)
    assert before is not None
    assert marked(world) == before
    assert world.amounts("a.p") == [5, 10]
    world.catch_up(NAME)
    assert world.amounts("a.p") == [5, 10, 100]


@pytest.mark.full
def test_late_rows_of_hours_with_fewer_columns_rebuild_these_hours_and_no_others() -> None:
    world = MemoryWorld.landed((0.5, 10), (1.5, 5), until=2)
    world.build(project())
    key = world.bound().key(NAME)
    wider = project(more=TWICE)
    world.build(wider)
    world.land((0.6, 100), (2.5, 7), until=3)
    world.build(wider)
    assert world.bound().key(NAME) == key
    shown = [row[2:] for row in world.rows("a.p")]
    assert sorted(shown, key=str) == [(10, 20), (100, 200), (5, None), (7, 14)]
    world.land((0.7, 1), (2.6, 2), until=3)
    world.catch_up(NAME)
    assert world.amounts("a.p") == [1, 2, 5, 7, 10, 100]
    assert isinstance(detect(world.services(), world.bound(), NAME), NothingToLoad)
    assert mismatches(world.services(), NAME) == []


def removing(world: MemoryWorld, *gone: int) -> None:
    """Somebody deletes the rows of these amounts from the source."""
    table = world.catalog.tables[RAW]
    kept = [row for row in table.rows_at(table.head) if row[2] not in gone]
    world.catalog.delete(RAW, kept)


STOPPING: Final = LATE.replace("))", "), on_source_rewrite stop)")


def test_r7_a_delete_in_the_source_is_followed_by_overwriting_what_is_loaded() -> None:
    world = MemoryWorld.landed((0.5, 10), (0.6, 11), (1.5, 20), until=2)
    world.build(project())
    removing(world, 11)
    world.land((1.6, 21), until=3)
    found = world.catch_up(NAME)
    assert isinstance(found, Evaluated)
    assert found.session is not None
    assert "deletes rows that may be loaded already" in found.session.rewrite
    assert world.amounts("a.p") == [10, 20, 21]
    assert mismatches(world.services(), NAME) == []
    world.land((0.7, 12), until=3)
    world.catch_up(NAME)
    assert world.amounts("a.p") == [10, 12, 20, 21]
    assert isinstance(detect(world.services(), world.bound(), NAME), NothingToLoad)


@pytest.mark.parametrize("by_plan", [True, False], ids=["plan", "reload"])
def test_r8_a_delete_that_would_empty_an_hour_is_refused_until_a_person_says_so(
    by_plan: bool,
) -> None:
    world = MemoryWorld.landed((0.5, 10), (1.5, 20), until=2)
    world.build(project())
    before = marked(world)
    removing(world, 20)
    services = world.services()
    said = r"no rows left for \[2024-01-01 01:00, .*`vde run prod --allow-empty`"
    with pytest.raises(Refused, match=said):
        world.catch_up(NAME)
    assert (world.amounts("a.p"), marked(world)) == ([10, 20], before)
    if by_plan:
        allowed = plan_environment(services, project(), "prod", PlanOptions(allow_empty=True))
        world.apply(allowed)
    else:
        world.catch_up(NAME, reload=True)
    assert world.amounts("a.p") == [10]
    assert mismatches(world.services(), NAME) == []


OTHER: Final = TableName("raw", "others")


def shop(*, p2: str = "", q2: str = "") -> Graph:
    """One model that stops at rewrites with one that reads it, and another such pair."""

    def model(name: str, of: str, more: str) -> str:
        kind = "INCREMENTAL_BY_TIME_RANGE (time_column at)"
        query = f"SELECT id AS id, at AS at, amount AS amount FROM {of}"
        text = f"MODEL (name a.{name}, kind {kind}, cron '@hourly'{more}); {query}"
        return f"{text} WHERE at BETWEEN @start_dt AND @end_dt"

    texts = {
        "p": model("p", "raw.events", STOPPING),
        "p2": model("p2", "a.p", "") + p2,
        "q": model("q", "raw.others", STOPPING.replace("raw.events", "raw.others")),
        "q2": model("q2", "a.q", "") + q2,
    }
    others = declared_source(ModelName("raw", "others"), RAW_COLUMNS)
    return graph_of(texts, others)


@made_once
def shop_world() -> MemoryWorld:
    world = MemoryWorld()
    columns = tuple(Column(name=name, type=kind) for name, kind in RAW_COLUMNS.items())
    world.catalog.create_table(OTHER, columns)
    world.catalog.append(OTHER, [(1000, hour_of(0.5), 7)])
    world.land((0.5, 10), (0.6, 11), until=1)
    world.build(shop())
    removing(world, 11)
    world.catalog.append(OTHER, [(1001, hour_of(1.5), 8)])
    world.land((1.5, 12), until=2)
    return world


@pytest.mark.full
def test_a_stopped_model_stops_what_reads_it_and_nothing_else() -> None:
    world = shop_world()
    with pytest.raises(Refused, match=r"a\.p was not loaded: Iceberg snapshot"):
        world.build(shop())
    shown = [world.amounts(f"a.{name}") for name in NAMES]
    assert shown == [[10, 11], [10, 11], [7, 8], [7, 8]]


NAMES: Final = ("p", "p2", "q", "q2")


@pytest.mark.full
def test_a_lookback_over_an_interval_of_fewer_columns_is_recorded_with_those_of_now() -> None:
    def by_key(more: str) -> Graph:
        kind = "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, lookback 1, forward_only true)"
        query = f"SELECT id AS id, at AS at, amount AS amount{more} FROM raw.events"
        text = f"MODEL (name a.p, kind {kind}, cron '@daily'); {query}"
        return graph_of({"p": f"{text} WHERE at BETWEEN @start_dt AND @end_dt"})

    world = MemoryWorld()
    for day in (1, 2):
        world.land((24 * day - 1, day), until=24 * day)
        world.clock.advance(timedelta(days=1))
        world.build(by_key(""))
    world.build(by_key(TWICE))
    services = world.services()
    evaluate(services, bound(services), NAME, Interval(hour_of(24), hour_of(48)))
    assert [row[2:] for row in world.rows("a.p")] == [(1, None), (2, 4)]
    assert mismatches(world.services(), NAME) == []
