"""Whether an audit would refuse the same rows again, in memory."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld, bound, build, graph_of, hour_of
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.evaluate.refusals import still_refused
from vde_dagster.core.errors import AuditFailed
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

NAME = ModelName("a", "kept")


def project(most: int = 50) -> Graph:
    text = (
        "MODEL (name a.kept, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly', "
        "late_data (mode stateful, sources ('raw.events|at')), "
        f"audits (accepted_range (column := amount, max_v := {most}))); "
        "SELECT id AS id, at AS at, amount AS amount FROM raw.events "
        "WHERE at BETWEEN @start_ts AND @end_ts"
    )
    return graph_of({"kept": text})


def refused(world: MemoryWorld, *, of_session: bool = False) -> str:
    services = world.services()
    return still_refused(services, bound(services), NAME, of_session=of_session)


def loaded() -> MemoryWorld:
    world = MemoryWorld()
    world.land((0.5, 10), (1.5, 11), until=2)
    build(world.services(), project())
    return world


def fail(world: MemoryWorld) -> None:
    services = world.services()
    with pytest.raises(AuditFailed):
        catch_up(services, bound(services), NAME)


def test_rows_are_refused_until_their_source_has_others() -> None:
    world = loaded()
    assert refused(world) == ""
    world.land((1.7, 100), until=2)
    fail(world)
    assert refused(world, of_session=True).startswith("accepted_range refused its rows")
    world.land((1.8, 5), until=2)
    assert refused(world) == ""
    fail(world)
    assert refused(world) != ""


def test_an_edited_audit_may_let_the_rows_pass() -> None:
    world = loaded()
    world.land((1.7, 100), until=2)
    fail(world)
    with pytest.raises(AuditFailed):  # the plan shows the new audit, and what it loads fails
        build(world.services(), project(most=90))
    build(world.services(), project(most=100))
    assert refused(world) == ""


def test_what_a_person_evaluated_says_nothing_about_the_next_session() -> None:
    world = loaded()
    world.land((0.7, 100), until=2)
    services = world.services()
    with pytest.raises(AuditFailed):
        evaluate(services, bound(services), NAME, Interval(hour_of(0), hour_of(1)))
    assert refused(world) != ""
    assert refused(world, of_session=True) == ""
