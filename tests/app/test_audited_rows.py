"""Audits see what an evaluation processed; what they found is kept, and a person can ask for it."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld, bound, build, graph_of, hour_of
from vde_dagster.app.evaluate import evaluate
from vde_dagster.core.errors import AuditFailed
from vde_dagster.core.intervals import Interval
from vde_dagster.core.names import ModelName
from vde_dagster.core.work import Work, WorkState

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
    world = MemoryWorld()
    world.land((1, 20), (2, 30), (3, 1), until=24)
    build(world.services(), graph_of({"kept": text(kind, more, only_warns=True)}))
    world.land((25, 40), (26, 2), until=48)
    build(world.services(), graph_of({"kept": text(kind, more, only_warns=True)}))
    return world


def audited(world: MemoryWorld) -> list[Work]:
    services = world.services()
    return list(services.state.audited(bound(services).key(NAME), limit=10))


@every_kind
def test_audits_see_what_was_processed_and_nothing_that_was_there(
    kind: str, more: str, failing: int
) -> None:
    newest, oldest = audited(two_days(kind, more))
    assert [each.failing for each in oldest.audits] == [2]
    assert [each.failing for each in newest.audits] == [failing]
    assert newest.state is WorkState.DONE


def test_a_full_table_is_looked_at_as_a_whole() -> None:
    """Nothing of it was there before."""
    world = MemoryWorld()
    whole = text("FULL", "", only_warns=True).replace("WHERE at BETWEEN @start_dt AND @end_dt", "")
    world.land((1, 20), (2, 30), (3, 1), (25, 40), (26, 2), until=48)
    build(world.services(), graph_of({"kept": whole}))
    (only,) = audited(world)
    assert [each.failing for each in only.audits] == [BOTH]


@every_kind
def test_a_blocking_audit_publishes_nothing_and_keeps_what_failed(
    kind: str, more: str, failing: int
) -> None:
    del failing
    world = MemoryWorld()
    world.land((3, 1), until=24)
    graph = graph_of({"kept": text(kind, more, only_warns=False)})
    build(world.services(), graph)
    before = world.rows("mart.kept")
    world.land((25, 40), (26, 2), until=48)
    services = world.services()
    with pytest.raises(AuditFailed, match="amount = 40") as caught:
        evaluate(services, bound(services), NAME, Interval(hour_of(24), hour_of(48)))
    assert "nothing was published" in str(caught.value)
    assert world.rows("mart.kept") == before
    newest = audited(world)[0]
    (result,) = newest.audits
    assert (newest.state, result.failing) == (WorkState.ABANDONED, 1)
    (failed,) = result.sample
    assert dict(zip(result.columns, failed, strict=True))["amount"] == 40
    key = bound(services).key(NAME)
    assert newest.intent.work_id in str(world.catalog.branches(key.table))
