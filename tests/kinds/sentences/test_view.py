"""VIEW: no rows of its own, sentence by sentence."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld
from tests.kinds.sentences.projects import built, graph_of, node_of, plan_of, read, table_of
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.core.model.kinds import View
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import ALWAYS

EXAMPLE = """MODEL (name demo.example_view, kind VIEW, cron '@daily');
SELECT 'hello there' AS a_column"""
EVENTS = """MODEL (
  name demo.events,
  kind INCREMENTAL_BY_TIME_RANGE (time_column at),
  start '2024-01-01'
);
SELECT id, at, amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
LARGE = "MODEL (name demo.large, kind VIEW); SELECT id, amount FROM demo.events WHERE amount > 10"
READER = """MODEL (name demo.reader, kind FULL, start '2024-01-01');
SELECT COUNT(*) AS n FROM demo.large"""


def world_of(*amounts: int) -> MemoryWorld:
    return MemoryWorld.landed(*((hour, amount) for hour, amount in enumerate(amounts)), until=24)


def test_no_data_is_written_for_it() -> None:
    world = world_of(5, 20)
    built(world, EVENTS, LARGE)
    table = table_of(world, "demo.large")
    assert table not in world.catalog.tables
    assert table in world.catalog.queries
    assert world.rows("demo.large") == [(2, 20)]


def test_its_name_has_its_version() -> None:
    world = world_of()
    built(world, EXAMPLE)
    table = table_of(world, "demo.example_view")
    graph = graph_of(EXAMPLE)
    version = plan_of(graph, world=world).snapshots[ModelName("demo", "example_view")].version
    assert str(table) == f"vde__demo.demo__example_view__{version}"
    edited = EXAMPLE.replace("hello there", "good bye")
    built(world, edited)
    assert table_of(world, "demo.example_view") != table
    assert world.rows("demo.example_view") == [("good bye",)]


@pytest.mark.parametrize(
    "text",
    [
        "MODEL (name m.x); SELECT id FROM raw.events",
        "SELECT id FROM raw.events",
        "MODEL (name m.x, kind VIEW); SELECT id FROM raw.events",
    ],
)
def test_a_model_without_a_kind_is_one(text: str) -> None:
    assert read(text).kind == View()


@pytest.mark.full
def test_its_query_runs_whenever_somebody_reads_it() -> None:
    world = world_of(5, 20)
    built(world, EVENTS, LARGE)
    world.land((25, 30), until=48)
    assert [name for name, _ in built(world, EVENTS, LARGE)] == ["demo.events"]
    assert world.rows("demo.large") == [(2, 20), (3, 30)]


@pytest.mark.full
def test_it_is_rebuilt_only_when_its_query_or_what_it_reads_changed() -> None:
    world = world_of(5, 20)
    assert ("demo.large", ALWAYS) in built(world, EVENTS, LARGE)
    assert built(world, EVENTS, LARGE) == []
    assert built(world, EVENTS, LARGE.replace(" WHERE", "\n where")) == []
    assert built(world, EVENTS, LARGE.replace("> 10", "> 15")) == [("demo.large", ALWAYS)]
    other = EVENTS.replace("WHERE at", "WHERE amount <> 20 AND at")
    assert ("demo.large", ALWAYS) in built(world, other, LARGE)
    assert world.rows("demo.large") == []


def test_a_view_that_is_not_there_any_more_is_made_by_its_next_evaluation() -> None:
    world = world_of(5, 20)
    built(world, EVENTS, LARGE)
    table = table_of(world, "demo.large")
    del world.catalog.queries[table]  # somebody else dropped it
    (done,) = evaluate_range(world.services(), world.bound(), ModelName("demo", "large"), ALWAYS)
    assert done.interval == ALWAYS
    assert table in world.catalog.queries
    assert world.rows("demo.large") == [(2, 20)]


def test_materialized_is_accepted_with_a_warning_and_has_no_effect() -> None:
    plain = "MODEL (name m.x, kind VIEW); SELECT id FROM raw.events"
    flagged = plain.replace("VIEW", "VIEW (materialized true)")
    (warning,) = read(flagged).warnings
    assert "`materialized` has no effect" in warning.message
    assert node_of(flagged).fingerprint == node_of(plain).fingerprint
    assert read(plain.replace("VIEW", "VIEW (materialized false)")).warnings == ()


def test_downstream_models_read_through_it() -> None:
    world = world_of(5, 20, 30)
    built(world, EVENTS, LARGE, READER)
    assert world.rows("demo.reader") == [(2,)]
    assert TableName("demo", "large") in world.catalog.views([TableName("demo", "large")])
