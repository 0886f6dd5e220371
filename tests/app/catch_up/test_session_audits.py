"""Audits that compare what a session writes with a source, in memory (late-data.md)."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld, graph_of
from vde_dagster.core.errors import AuditFailed
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName

NAME = ModelName("a", "kept")
AUDITS = {
    "count": "source_to_target_count (source := raw.events, time_column := at)",
    "missing": "no_missing_events (source := raw.events, event_id := id, time_column := at)",
}


def project(mode: str, audit: str) -> Graph:
    """A model that loses events of large amounts."""
    text = (
        "MODEL (name a.kept, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly', "
        f"late_data (mode {mode}), audits ({AUDITS[audit]})); "
        "SELECT id AS id, at AS at, amount AS amount FROM raw.events "
        "WHERE at BETWEEN @start_ts AND @end_ts AND amount < 100"
    )
    return graph_of({"kept": text})


def loaded(mode: str, audit: str) -> MemoryWorld:
    world = MemoryWorld.landed((0.5, 10), (1.5, 11), until=2)
    world.build(project(mode, audit))
    return world


def session(world: MemoryWorld) -> None:
    world.catch_up(NAME)


STATEFUL = "stateful, sources ('raw.events|at')"
STATELESS = "stateless, sources (raw.events)"


@pytest.mark.full
@pytest.mark.parametrize(
    "audit,found",
    [("missing", r"1 row fails: \(id = 4\)"), ("count", "source_rows = 3")],
)
def test_an_event_that_an_overwritten_hour_lacks_stops_the_session(audit: str, found: str) -> None:
    world = loaded(STATEFUL, audit)
    world.land((1.2, 12), (1.7, 500), until=2)
    with pytest.raises(AuditFailed, match=found):
        session(world)
    assert [row[2] for row in world.rows("a.kept")] == [10, 11]


@pytest.mark.parametrize("audit", AUDITS)
def test_rows_that_are_added_to_an_hour_are_not_compared_with_all_of_it(audit: str) -> None:
    world = loaded(STATELESS, audit)
    world.land((1.2, 12), until=2)
    session(world)
    assert sorted(int(str(row[2])) for row in world.rows("a.kept")) == [10, 11, 12]


KEYED = "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, sequence_by at)"


@pytest.mark.parametrize("where", ["", "WHERE at BETWEEN @start_ts AND @end_ts"])
@pytest.mark.parametrize(
    "kind,audit",
    [("INCREMENTAL_UNMANAGED", "count"), ("INCREMENTAL_UNMANAGED", "missing"), (KEYED, "missing")],
)
def test_rows_that_are_added_to_a_table_without_times_are_not_compared_with_all_of_it(
    kind: str, audit: str, where: str
) -> None:
    text = (
        f"MODEL (name a.kept, kind {kind}, cron '@hourly', late_data (mode {STATELESS}), "
        f"audits ({AUDITS[audit]})); SELECT id, at, amount FROM raw.events {where}"
    )
    world = MemoryWorld.landed((0.5, 10), (1.5, 11), until=2)
    world.build(graph_of({"kept": text}))
    world.land((1.2, 12), until=2)
    session(world)
    world.land((1.3, 13), (2.5, 14), until=3)
    session(world)
    assert world.amounts("a.kept") == [10, 11, 12, 13, 14]


@pytest.mark.full
@pytest.mark.parametrize("audit", AUDITS)
def test_a_stateless_session_that_only_loads_whole_hours_is_compared(audit: str) -> None:
    world = loaded(STATELESS, audit)
    world.land((2.2, 12), (2.7, 500), until=3)
    with pytest.raises(AuditFailed):
        session(world)
