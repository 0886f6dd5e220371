"""Defects that a review found: each test is the scenario that went wrong."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from tests.app.memory_world import (
    DAILY,
    EVENTS,
    PROJECT,
    SOURCE,
    MemoryWorld,
    bound,
    graph_of,
    hour_of,
    instead,
    made_once,
    raising,
)
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.leases import leased
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.app.publish.foreign_writes import ForeignWrite
from vde_dagster.core.errors import Conflict, EvaluationFailed, OutcomeUnknown, Refused
from vde_dagster.core.ledger.late.decision import Load
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.changes.comparison import compare_graphs
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import environment_resource

EVENTS_NAME = ModelName("staging", "events")
DAILY_NAME = ModelName("mart", "daily")
FILTERED = graph_of({**PROJECT, "daily": DAILY.replace("> 0", "> 10")})


@pytest.fixture
@made_once
def world() -> MemoryWorld:
    world = MemoryWorld.landed((1, 10), (2.5, 20), (30, 5), until=48)
    world.build(graph_of(PROJECT))
    return world


def test_an_interval_is_not_recorded_beyond_what_its_source_is_complete_to(
    world: MemoryWorld,
) -> None:
    plain = graph_of(
        {"events": EVENTS.replace(",\n  late_data (mode stateless, sources (raw.events))", "")}
    )
    world.build(plain)
    services = world.services()
    with pytest.raises(Refused, match=r"raw\.events is complete only up to 2024-01-03"):
        evaluate_range(services, world.bound(), EVENTS_NAME, Interval(hour_of(48), hour_of(49)))


def test_the_first_write_of_a_version_does_not_undo_a_promotion_meanwhile() -> None:
    world = MemoryWorld.landed(until=3)
    world.build(graph_of(PROJECT))  # nothing is due for the daily models yet
    world.land((1, 10), (2.5, 20), until=24)
    services = world.services()
    old = bound(services)
    swap_views = world.catalog.swap_views

    def overtaken(views: Any, drops: Any, **more: Any) -> None:
        world.catalog.swap_views = swap_views  # type: ignore[method-assign]
        world.build(FILTERED)
        swap_views(views, drops, **more)

    evaluate_range(services, old, EVENTS_NAME, Interval(hour_of(0), hour_of(24)))
    world.catalog.swap_views = overtaken  # type: ignore[method-assign]
    evaluate_range(services, old, DAILY_NAME, Interval(hour_of(0), hour_of(24)))
    assert world.rows("mart.daily") == [(date(2024, 1, 1), 20)]


def test_two_recoveries_at_once_exclude_each_other(world: MemoryWorld) -> None:
    services = world.services()
    stale = world.plan(FILTERED)
    with leased(
        services.state, environment_resource("prod"), holder=f"plan {stale.plan_id}"
    ) as lease:
        services.state.store_snapshots(tuple(stale.snapshots.values()), environment="prod")
        services.state.begin_promotion(
            "prod",
            expected_revision=stale.base_revision,
            plan_id=stale.plan_id,
            snapshots=tuple(stale.snapshots.values()),
            lease=lease,
        )
        with pytest.raises(Conflict):
            finish_promotions(world.services(), "prod")


def test_a_lease_that_cannot_be_given_back_changes_nothing_about_what_was_done_under_it(
    world: MemoryWorld,
) -> None:
    error = Refused("the state cannot be used, since the disk is full")
    full = instead(world.services(), "state", release_lease=raising(error)).state
    with leased(full, "one", holder="a"):
        pass
    with pytest.raises(ValueError, match="of its own"), leased(full, "other", holder="b"):
        raise ValueError("an error of its own")


def test_a_plan_whose_version_another_one_stored_differently_is_refused(
    world: MemoryWorld,
) -> None:
    edited = graph_of({**PROJECT, "daily": DAILY.replace("amount > 0", "amount > 1")})
    forward = PlanOptions(forward_only=True)
    waiting = plan_environment(world.services(), edited, "prod", forward)  # keeps the version
    world.build(edited, "dev")  # gives it a new one
    stored = world.state.snapshots([(DAILY_NAME, edited[DAILY_NAME].fingerprint)])
    (other,) = stored.values()
    assert other.version != waiting.snapshots[DAILY_NAME].version
    with pytest.raises(Conflict, match=r"mart\.daily"):
        world.apply(waiting)


def test_production_is_not_promoted_to_less_than_it_shows(world: MemoryWorld) -> None:
    before = world.rows("mart.daily")
    world.catalog.set_property(TableName("raw", "events"), "vde.valid-to", hour_of(24).isoformat())
    with pytest.raises(Refused, match=r"mart\.daily \(\[2024-01-02, 2024-01-03\)\)"):
        world.build(FILTERED)
    assert world.rows("mart.daily") == before
    assert world.plan(graph_of(PROJECT)).is_empty


def test_a_parents_new_column_reaches_who_reads_all_of_them() -> None:
    hashed = "MODEL (name mart.hashed, kind FULL);\nSELECT HASH(*) AS h FROM staging.events"
    counted = "MODEL (name mart.counted, kind FULL);\nSELECT COUNT(*) AS n FROM staging.events"
    texts = {**PROJECT, "hashed": hashed, "counted": counted}
    more = EVENTS.replace("amount AS amount FROM", "amount AS amount, 1 AS one FROM")
    found = compare_graphs(graph_of(texts), graph_of({**texts, "events": more}))
    assert found[ModelName("mart", "hashed")].rebuild
    assert not found[ModelName("mart", "counted")].rebuild


@pytest.mark.full
def test_what_production_no_longer_shows_another_environment_may_fill(world: MemoryWorld) -> None:
    world.build(graph_of(PROJECT), "dev")
    world.build(FILTERED)
    world.land((50, 7), until=72)
    world.build(FILTERED)
    world.build(graph_of(PROJECT), "dev")
    assert world.rows("mart__dev.totals") == [(3, 42)]


def test_a_source_that_lost_the_rows_of_hours_is_loaded_again_when_a_person_says_so(
    world: MemoryWorld,
) -> None:
    world.catalog.overwrite(
        TableName("raw", "events"),
        [(1, hour_of(0) + timedelta(minutes=5), 3)],
    )
    services = world.services()
    found = detect(services, world.bound(), EVENTS_NAME)
    assert isinstance(found, Load)
    assert "overwrites rows that may be loaded already" in found.rewrite
    with pytest.raises(Refused, match="--allow-empty"):
        world.catch_up(EVENTS_NAME)
    assert isinstance(detect(services, world.bound(), EVENTS_NAME, reload=True), Load)
    world.catch_up(EVENTS_NAME, reload=True)
    assert [row[2] for row in world.rows("staging.events")] == [3]
    assert services.state.marks(world.bound().key(EVENTS_NAME))[SOURCE].iceberg_snapshot_id == (
        world.catalog.tables[TableName("raw", "events")].head
    )


@pytest.mark.parametrize("error", [Conflict("busy"), OutcomeUnknown("lost")], ids=str)
def test_a_branch_that_cannot_be_removed_fails_no_step_that_is_recorded(
    world: MemoryWorld, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    stubborn = instead(world.services(), "catalog", drop_branch=raising(error))
    first = Interval(hour_of(0), hour_of(24))
    binding = bound(stubborn)
    (did,) = evaluate_range(world.services(), binding, DAILY_NAME, first, force=True)
    table = world.catalog.tables[did.key.table]
    assert table.branches == {}
    assert table.head is not None
    table.branches[did.work_id] = table.head  # a process wrote on that had lost its lease
    evaluate_range(stubborn, binding, DAILY_NAME, first, force=True)
    assert world.catalog.branches(did.key.table) == (did.work_id,)
    assert "the next run removes it" in caplog.text
    evaluate_range(world.services(), binding, DAILY_NAME, first, force=True)
    assert world.catalog.branches(did.key.table) == ()


def test_a_unit_of_a_batch_is_computed_again_if_its_rows_depended_on_the_batch() -> None:
    running = """
    MODEL (name a.p, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily');
    SELECT at AS at, SUM(amount) OVER (ORDER BY at) AS running FROM raw.events
    WHERE at BETWEEN @start_dt AND @end_dt
    """
    world = MemoryWorld.landed((1, 1), (25, 2), until=48)
    world.build(graph_of({"p": running}))
    assert [row[1] for row in world.rows("a.p")] == [1, 3]
    second = Interval(hour_of(24), hour_of(48))
    (did,) = evaluate_range(world.services(), world.bound(), ModelName("a", "p"), second)
    assert not did.reused
    assert [row[1] for row in world.rows("a.p")] == [1, 2]


def test_a_foreign_write_is_reported_after_a_compaction_and_an_expiry(world: MemoryWorld) -> None:
    services = world.services()
    binding = world.bound()
    table = binding.key(DAILY_NAME).table
    world.catalog.compact(table)
    world.catalog.append(table, [(date(2024, 1, 1), 666)])
    world.catalog.expire(table)
    with pytest.raises(ForeignWrite):
        evaluate_range(services, binding, DAILY_NAME, Interval(hour_of(0), hour_of(24)), force=True)


@pytest.mark.parametrize("kind", ["FULL", "INCREMENTAL_BY_TIME_RANGE (time_column at)"])
def test_a_query_that_fails_names_its_file_and_line(world: MemoryWorld, kind: str) -> None:
    text = (
        f"MODEL (\n  name mart.broken, kind {kind}, cron '@hourly'\n);\n"
        "SELECT at, CAST(CAST(at AS string) AS int) AS n\nFROM raw.events\n"
        "WHERE at BETWEEN @start_ts AND @end_ts"
    )
    with pytest.raises(EvaluationFailed, match=r"^models/\S+\.sql:4: "):
        world.build(graph_of({"broken": text}))
