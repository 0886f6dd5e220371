"""Plans and what applying them does, on the ports in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import pytest

from tests.app.memory_world import DAILY, EVENTS, PROJECT, MemoryWorld, graph_of, hour_of, there
from vde_dagster.app.apply.applying import Walk, promote_followed, walking
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.apply.stopped import raise_stopped
from vde_dagster.core.errors import (
    AuditFailed,
    Conflict,
    EvaluationFailed,
    Finding,
    OutcomeUnknown,
    Refused,
    VdeError,
)
from vde_dagster.core.ledger.entries import SchemaOutgrown
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.changes.difference import Change
from vde_dagster.core.sql.canonical import QueryInvalid
from vde_dagster.core.time.intervals import Interval

DAILY_NAME = ModelName("mart", "daily")


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld.landed((1, 10), (2.5, 20), (30, 5), (31, -4), until=48)


def test_the_first_plan_builds_every_model_and_shows_it(world: MemoryWorld) -> None:
    world.build(graph_of(PROJECT))
    days = [(date(2024, 1, 1), 30), (date(2024, 1, 2), 5)]
    assert world.rows("mart.daily") == days
    assert world.rows("mart.people") == days
    assert world.rows("mart.totals") == [(2, 35)]
    assert len(world.rows("staging.events")) == 4


def test_a_second_plan_of_the_same_project_is_empty(world: MemoryWorld) -> None:
    world.build(graph_of(PROJECT))
    assert world.plan(graph_of(PROJECT)).is_empty


def test_only_units_that_ended_by_the_projects_clock_are_built() -> None:
    world = MemoryWorld.landed((1, 10), (25, 1), until=30)
    world.build(graph_of(PROJECT))
    assert world.rows("mart.daily") == [(date(2024, 1, 1), 10)]
    assert [row[2] for row in world.rows("staging.events")] == [10, 1]


@pytest.mark.full
def test_promoting_what_was_built_elsewhere_computes_nothing(world: MemoryWorld) -> None:
    world.build(graph_of(PROJECT))
    edited = graph_of({**PROJECT, "daily": DAILY.replace("> 0", "> 10")})
    world.build(edited, "dev")
    assert world.build(edited) == ()
    assert world.rows("mart.totals") == [(1, 20)]


def test_an_environment_may_not_write_a_version_that_production_owns(world: MemoryWorld) -> None:
    """Rule R9."""
    world.build(graph_of(PROJECT))
    world.build(graph_of(PROJECT), "dev")
    services = world.services()
    with pytest.raises(Refused, match="prod, which owns it"):
        evaluate_range(services, world.bound("dev"), DAILY_NAME, Interval(hour_of(0), hour_of(24)))


def test_an_appended_column_keeps_the_versions_downstream(world: MemoryWorld) -> None:
    world.build(graph_of(PROJECT))
    wider = EVENTS.replace("amount AS amount FROM", "amount AS amount, 1 AS one FROM")
    made = world.plan(graph_of({**PROJECT, "events": wider}))
    changes = {str(each.name): each for each in made.changes}
    assert changes["staging.events"].change is Change.DIRECT
    assert changes["mart.daily"].change is Change.INDIRECT
    assert changes["mart.daily"].version == changes["mart.daily"].previous_version
    assert [str(each.name) for each in made.backfills] == ["staging.events"]


def test_a_removed_model_loses_its_view_and_keeps_its_table(world: MemoryWorld) -> None:
    """Rule R12: an earlier plan may be applied again, which shows the table."""
    world.build(graph_of(PROJECT))
    totals = world.bound().key(ModelName("mart", "totals"))
    world.build(graph_of({k: v for k, v in PROJECT.items() if k != "totals"}))
    with pytest.raises(EvaluationFailed):
        world.rows("mart.totals")
    assert world.catalog.table(totals.table) is not None


def test_of_two_plans_at_once_the_second_is_refused_with_the_first_ones_id(
    world: MemoryWorld,
) -> None:
    first = world.plan(graph_of(PROJECT))
    second = world.plan(graph_of(PROJECT))
    with walking(world.services(), first), pytest.raises(Conflict, match=first.plan_id):
        world.apply(second)


def test_an_interval_is_refused_when_a_parent_does_not_hold_what_it_reads(
    world: MemoryWorld,
) -> None:
    world.build(graph_of(PROJECT))
    services = world.services()
    with pytest.raises(
        Refused, match=r"staging\.events is not loaded for \[2024-01-03, 2024-01-04\)"
    ):
        evaluate_range(services, world.bound(), DAILY_NAME, Interval(hour_of(48), hour_of(72)))


@pytest.mark.full
def test_evaluating_a_loaded_interval_again_gives_the_same_digest(world: MemoryWorld) -> None:
    world.build(graph_of(PROJECT))
    services = world.services()
    key = world.bound().key(DAILY_NAME)
    before = [entry.digest for entry in services.state.ledger([key])[key]]
    evaluate_range(services, world.bound(), DAILY_NAME, Interval(hour_of(0), hour_of(24)))
    assert [entry.digest for entry in services.state.ledger([key])[key]] == before


FULL = "MODEL (name mart.{0}, kind FULL);\nSELECT {1} AS amount FROM {2}"
FAILS = "SUM(CAST('x' AS BIGINT))"


@pytest.mark.full
def test_one_error_names_all_models_that_failed_and_all_that_waited_for_them(
    world: MemoryWorld,
) -> None:
    world.build(graph_of(PROJECT))
    new = {
        "good": FULL.format("good", "SUM(amount)", "raw.events"),
        "bad": FULL.format("bad", FAILS, "raw.events"),
        "worse": FULL.format("worse", FAILS, "raw.events"),
        "below": FULL.format("below", "amount", "mart.bad"),
        "last": FULL.format("last", "amount", "mart.below"),
    }
    with pytest.raises(EvaluationFailed) as caught:
        world.build(graph_of({**PROJECT, **new}))
    lines = str(caught.value).splitlines()
    assert [line.partition("@")[0] for line in lines[:2]] == [
        "models/bad.sql:2: mart.bad",
        "models/worse.sql:2: mart.worse",
    ]
    assert lines[2:] == [
        "Not filled, because they wait for failed models: mart.below, mart.last.",
        "No view of prod was moved. Filled intervals stay.",
    ]
    left = world.plan(graph_of({**PROJECT, **new}))
    assert "good" not in {change.name.name for change in left.backfills}
    assert world.catalog.view(TableName("mart", "good")) is None


def test_at_the_end_of_a_walk_no_model_is_filled_and_nothing_is_promoted_that_waits(
    world: MemoryWorld,
) -> None:
    asked = world.plan(graph_of(PROJECT))
    with walking(world.services(), asked) as walk:
        with walk.visit(walk.stages[0]) as first:
            list(first)
        assert list(walk.end()) == []
    assert world.state.environment("prod") is None
    left = world.plan(graph_of(PROJECT))
    assert [each.name.name for each in left.backfills] == ["daily", "people", "totals"]


def test_what_fails_while_a_driver_shows_it_counts_as_failed(world: MemoryWorld) -> None:
    asked = world.plan(graph_of(PROJECT))

    def without_room(walk: Walk) -> None:
        with walk.visit(walk.stages[0]) as steps:
            list(steps)
            raise Refused("no room")

    def driven() -> None:
        with walking(world.services(), asked) as walk:
            with pytest.raises(Refused, match=r"^no room$"):
                without_room(walk)
            assert walk.failed == {ModelName("staging", "events")}
            assert list(walk.rest()) == []

    with pytest.raises(Refused, match=r"(?s)^no room.*wait for.*mart\.daily.*No view of prod"):
        driven()
    assert world.state.environment("prod") is None


def test_a_plan_whose_models_others_fill_is_promoted_and_fills_none(world: MemoryWorld) -> None:
    asked = world.plan(graph_of(PROJECT), "dev")
    assert [each.name.name for each in asked.backfills] == ["events", "daily", "people", "totals"]
    promote_followed(world.services(), asked)
    shown = there(world.state.environment("dev"))
    assert (shown.revision, shown.promoting) == (1, False)
    assert not world.state.ledger([each.key for each in shown.snapshots.values()])
    assert not world.state.lease_holder("environment:dev")
    after = world.plan(graph_of(PROJECT), "dev")
    assert not after.promotes
    assert [each.to_evaluate for each in after.backfills] == [
        each.to_evaluate for each in asked.backfills
    ]
    with pytest.raises(Conflict, match="plan again"):
        promote_followed(world.services(), asked)


def test_errors_of_several_kinds_are_raised_as_one(world: MemoryWorld) -> None:
    plan_of = world.plan(graph_of(PROJECT))
    refused, failed = Refused("not as things stand"), AuditFailed("bad rows")

    def reported(*errors: VdeError, failed: Sequence[ModelName] = ()) -> VdeError:
        with pytest.raises(VdeError) as raised:
            raise_stopped(plan_of, errors, failed)
        return raised.value

    assert type(reported(failed, failed=[DAILY_NAME])) is AuditFailed
    assert type(reported(failed, EvaluationFailed("no"))) is EvaluationFailed
    both = reported(refused, failed, refused)
    assert (type(both), str(both)) == (EvaluationFailed, "not as things stand\nbad rows")
    unknown = reported(failed, OutcomeUnknown("no answer"))
    assert (type(unknown), str(unknown)) == (OutcomeUnknown, "bad rows\nno answer")
    outgrown = SchemaOutgrown([Interval(hour_of(0), hour_of(24))])
    assert reported(outgrown) is outgrown
    assert reported(outgrown, refused).args == (f"{outgrown}\n{refused}",)
    invalid = QueryInvalid(Finding(message="no column 'x'", advice="Name one."))
    assert reported(invalid, failed=[DAILY_NAME]).args[0].startswith(str(invalid))
