"""Whether an audit would refuse the same rows again, in memory."""

from __future__ import annotations

from typing import Final

import pytest

from tests.app.memory_world import RAW, MemoryWorld, build_due, declared_source, graph_of, hour_of
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.evaluate.refusals import still_refused
from vde_dagster.app.services import VALID_TO
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import AuditFailed
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import Interval

NAME = ModelName("a", "kept")
LIMITS: Final = TableName("raw", "limits")


def project(most: int = 50, *, kind: str = "", amount: str = "amount", more: str = "") -> Graph:
    text = (
        f"MODEL (name a.kept, kind INCREMENTAL_BY_TIME_RANGE (time_column at{kind}), "
        f"cron '@hourly', {more}late_data (mode stateful, sources ('raw.events|at')), "
        f"audits (accepted_range (column := amount, max_v := {most}))); "
        f"SELECT id AS id, at AS at, {amount} AS amount FROM raw.events "
        "WHERE at BETWEEN @start_ts AND @end_ts"
    )
    return graph_of({"kept": text})


def limited() -> Graph:
    """The largest amount is in a table that the audit reads, and the query does not."""
    text = """
    MODEL (name a.kept, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly',
      depends_on (raw.limits), audits (below_the_limit));
    SELECT id AS id, at AS at, amount AS amount FROM raw.events
    WHERE at BETWEEN @start_ts AND @end_ts;
    AUDIT (name below_the_limit);
    SELECT * FROM @this_model WHERE amount > (SELECT MAX(most) FROM raw.limits)
    """
    limits = declared_source(ModelName("raw", "limits"), {"most": "bigint"})
    return graph_of({"kept": text}, limits)


def refused(world: MemoryWorld) -> str:
    return still_refused(world.services(), world.bound(), NAME)


def loaded() -> MemoryWorld:
    world = MemoryWorld.landed((0.5, 10), (1.5, 11), until=2)
    world.build(project())
    return world


def fail(world: MemoryWorld) -> None:
    with pytest.raises(AuditFailed):
        world.catch_up(NAME)


@pytest.mark.full
def test_rows_are_refused_until_their_source_has_others() -> None:
    world = loaded()
    assert refused(world) == ""
    world.land((1.7, 100), until=2)
    fail(world)
    assert refused(world).startswith("its rows failed accepted_range")
    world.land((1.8, 5), until=2)
    assert refused(world) == ""
    fail(world)
    assert refused(world) != ""


def test_what_a_person_evaluated_says_nothing_about_the_next_session() -> None:
    world = loaded()
    world.land((0.7, 100), until=2)
    with pytest.raises(AuditFailed):
        evaluate(world.services(), world.bound(), NAME, Interval(hour_of(0), hour_of(1)))
    assert refused(world) == ""


@pytest.mark.full
def test_an_audit_counts_as_edited_by_what_it_was_and_not_by_when_it_was_promoted() -> None:
    """The clock stands still; what is promoted while rows are refused may be older, too."""
    world = loaded()
    world.land((1.7, 100), until=2)
    fail(world)
    build_due(world.services(), project(more="owner 'somebody else', "))
    assert refused(world) == ""
    fail(world)
    build_due(world.services(), project(most=90))
    fail(world)
    assert refused(world) != ""
    build_due(world.services(), project(most=100))
    assert refused(world) == ""


def test_a_query_that_is_edited_and_keeps_its_table_may_give_other_rows() -> None:
    """Neither the version nor what is read nor the audits have changed."""
    forward_only = ", forward_only true"
    world = MemoryWorld.landed((0.5, 10), (1.5, 11), until=2)
    world.build(project(kind=forward_only))
    world.land((1.7, 100), until=2)
    fail(world)
    before = world.bound().key(NAME)
    assert refused(world) != ""
    build_due(
        world.services(), project(kind=forward_only, amount="CAST(LEAST(amount, 50) AS BIGINT)")
    )
    assert world.bound().key(NAME) == before
    assert refused(world) == ""


def test_what_an_audit_reads_besides_the_rows_counts_as_its_input() -> None:
    world = MemoryWorld()
    column = Column(name="most", type="bigint")
    world.catalog.create_table(LIMITS, [column], properties={VALID_TO: hour_of(99).isoformat()})
    world.catalog.append(LIMITS, [(50,)])
    world.land((0.5, 10), (1.5, 11), until=2)
    world.build(limited())
    world.land((1.7, 100), until=2)
    with pytest.raises(AuditFailed):
        evaluate(world.services(), world.bound(), NAME, Interval(hour_of(1), hour_of(2)))
    assert refused(world).startswith("its rows failed below_the_limit")
    for table in (LIMITS, RAW):
        world.catalog.compact(table)
    assert refused(world) != ""
    world.catalog.append(LIMITS, [(100,)])
    assert refused(world) == ""
