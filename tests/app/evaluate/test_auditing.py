"""Audits see what an evaluation processed; what they found is kept, and a person can ask for it."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld, graph_of, hour_of
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.errors import AuditFailed
from vde_dagster.core.ledger.unit_of_work import UnitOfWork, UnitOfWorkState
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.time.intervals import Interval

NAME = ModelName("mart", "kept")
AUDIT = "accepted_range{only_warns} (column := amount, max_v := 15)"
TEXT = """
MODEL (name mart.kept, kind {kind}, {more}cron '@daily', audits ({audit}));
SELECT id AS id, CAST(at AS DATE) AS day, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
BOTH, SECOND = 3, 1
"""Rows above 15: two of the first day (20, 30), and one of the second (40)."""
KINDS = [
    ("INCREMENTAL_BY_TIME_RANGE (time_column day)", "", SECOND),
    (
        "INCREMENTAL_BY_TIME_RANGE (time_column day, partition_by_time_column false)",
        "",
        SECOND,
    ),
    ("INCREMENTAL_BY_UNIQUE_KEY (unique_key id)", "", SECOND),
    ("INCREMENTAL_BY_PARTITION", "partitioned_by day, ", SECOND),
    ("INCREMENTAL_UNMANAGED", "", SECOND),
    # A history's open rows are all compared with the source, and written again.
    ("SCD_TYPE_2_BY_COLUMN (unique_key id, columns (amount))", "", BOTH),
]
every_kind = pytest.mark.parametrize(
    "kind,more,failing", KINDS, ids=[kind.replace("INCREMENTAL_", "") for kind, _, _ in KINDS]
)


def text(kind: str, more: str, *, only_warns: bool) -> str:
    audit = AUDIT.format(only_warns="_non_blocking" if only_warns else "")
    return TEXT.format(kind=kind, more=more, audit=audit)


def two_days(kind: str, more: str) -> MemoryWorld:
    """The first day is loaded with an audit that warns, then the second."""
    world = MemoryWorld.landed((1, 20), (2, 30), (3, 1), until=24)
    world.build(graph_of({"kept": text(kind, more, only_warns=True)}))
    world.land((25, 40), (26, 2), until=48)
    world.build(graph_of({"kept": text(kind, more, only_warns=True)}))
    return world


def audited(world: MemoryWorld) -> list[UnitOfWork]:
    return list(world.services().state.audited(world.bound().key(NAME), limit=10))


@pytest.mark.full
@every_kind
def test_audits_see_what_was_processed_and_nothing_that_was_there(
    kind: str, more: str, failing: int
) -> None:
    newest, oldest = audited(two_days(kind, more))
    assert [each.failing for each in oldest.audits] == [2]
    assert [each.failing for each in newest.audits] == [failing]
    assert newest.state is UnitOfWorkState.DONE


def test_what_only_warns_is_told_to_whoever_computes() -> None:
    world = MemoryWorld.landed((1, 20), (2, 3), until=24)
    kind, more, _ = KINDS[0]
    done = world.build(graph_of({"kept": text(kind, more, only_warns=True)}))
    (warning,) = [each for unit in done for each in unit.warnings]
    assert "accepted_range_non_blocking" in warning
    assert "1 row fails" in warning


def test_a_full_table_is_looked_at_as_a_whole() -> None:
    """The first load of a version."""
    world = MemoryWorld()
    whole = text("FULL", "", only_warns=True).replace("WHERE at BETWEEN @start_dt AND @end_dt", "")
    world.land((1, 20), (2, 30), (3, 1), (25, 40), (26, 2), until=48)
    world.build(graph_of({"kept": whole}))
    (only,) = audited(world)
    assert [each.failing for each in only.audits] == [BOTH]


@pytest.mark.full
@every_kind
def test_a_blocking_audit_publishes_nothing_and_keeps_what_failed(
    kind: str, more: str, failing: int
) -> None:
    del failing
    world = MemoryWorld.landed((3, 1), until=24)
    graph = graph_of({"kept": text(kind, more, only_warns=False)})
    world.build(graph)
    before = world.rows("mart.kept")
    world.land((25, 40), (26, 2), until=48)
    with pytest.raises(AuditFailed, match="amount = 40") as caught:
        evaluate(world.services(), world.bound(), NAME, Interval(hour_of(24), hour_of(48)))
    assert "nothing was published" in str(caught.value)
    assert world.rows("mart.kept") == before
    newest = audited(world)[0]
    (result,) = newest.audits
    assert (newest.state, result.failing) == (UnitOfWorkState.ABANDONED, 1)
    (failed,) = result.sample
    assert dict(zip(result.columns, failed, strict=True))["amount"] == 40
    key = world.bound().key(NAME)
    assert newest.intent.work_id in str(world.catalog.branches(key.table))
    world.build(graph_of({"kept": text(kind, more, only_warns=True)}))
    assert len(world.rows("mart.kept")) == len(before) + 2, "the next one that passes is seen"
    assert newest.intent.work_id not in str(world.catalog.branches(key.table))


def test_a_table_rebuilt_in_several_batches_is_audited_when_it_is_whole() -> None:
    """A key of two batches is in the table once."""
    unique = """
MODEL (
  name mart.kept, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key part, batch_size 1), cron '@daily',
  audits (unique_values (columns := part), number_of_rows_non_blocking (threshold := 1))
);
SELECT amount % 2 AS part, MAX(amount) AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY amount % 2
"""
    world, graph = MemoryWorld(), graph_of({"kept": unique})
    world.land((1, 20), (2, 31), (25, 40), (26, 51), until=48)
    world.build(graph)
    again = plan_environment(world.services(), graph, "prod", PlanOptions(restate=(str(NAME),)))
    world.apply(again)
    assert world.rows("mart.kept") == [(0, 40), (1, 51)]
    newest = audited(world)[0]
    assert [each.failing for each in newest.audits] == [0, 0]


COUNTED = """
MODEL (
  name mart.kept, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily',
  audits (source_to_target_count (source := staging.copies))
);
SELECT id AS id, day AS day FROM staging.copies WHERE day BETWEEN @start_date AND @end_date
"""
COPIES = """
MODEL (name staging.copies, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT id AS id, CAST(at AS DATE) AS day FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""


@pytest.mark.full
def test_a_source_is_counted_within_what_was_computed_and_not_within_what_was_kept() -> None:
    world, graph = MemoryWorld(), graph_of({"kept": COUNTED, "copies": COPIES})
    world.land((1, 1), (2, 2), (25, 3), until=48)
    world.build(graph)
    world.land((26, 4), until=48)
    services = world.services()
    both = Interval(hour_of(0), hour_of(48))
    evaluate(services, world.bound(), ModelName("staging", "copies"), both, force=True)
    done = evaluate(services, world.bound(), NAME, both)
    assert done.rows == 2  # the second day; the first is kept
    assert [each.failing for each in audited(world)[0].audits] == [0]
