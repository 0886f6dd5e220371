"""Small values for the tests of the state, and what a process does with them, in one call."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import LedgerChange, LedgerEntry, LedgerOperation
from vde_dagster.core.ledger.late.decision import Load, SourceFound
from vde_dagster.core.ledger.late.history import ProcessingUri
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.model.fingerprint import Fingerprint, hash_parts
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.snapshot import Category, DecidedBy, ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import (
    Environment,
    Lease,
    State,
    environment_resource,
    version_resource,
)

START = datetime(2024, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SALES = ModelName("shop", "sales")
ORDERS = ModelName("shop", "orders")
RAW = ModelName("raw", "sales")
KEY = VersionKey(SALES, "a" * 32)
OTHER = VersionKey(ORDERS, "b" * 32)
COLUMNS = (Column(name="day", type="date"), Column(name="n", type="bigint", description="count"))
ROWS = RowSum.of_halves(3, 2**64 - 1, 2**63)


def day(number: int) -> Interval:
    return Interval(START + timedelta(days=number), START + timedelta(days=number + 1))


def snapshot(
    name: ModelName = SALES,
    *,
    text: str = "SELECT 1",
    version: str | None = None,
    decided_by: DecidedBy = DecidedBy.AUTOMATIC,
) -> ModelSnapshot:
    data = hash_parts(str(name), text)
    return ModelSnapshot(
        name=name,
        fingerprint=Fingerprint(
            data=data, parent_data="1" * 32, metadata="2" * 32, parent_metadata="3" * 32
        ),
        version=version or data,
        category=Category.INDIRECT_NON_BREAKING,
        reasons=("a column was added: n", "näher"),
        source=ModelSource(
            path=Path("models/shop/sales.sql"),
            text=text,
            defaults={"dialect": "spark"},
            attachments={"macros/m.py": "x = 1\n"},
        ),
        decided_by=decided_by,
    )


def many(count: int) -> list[ModelSnapshot]:
    """Snapshots of as many models."""
    return [snapshot(ModelName("shop", f"m{number}")) for number in range(count)]


def mark(sequence_number: int = 1, source: ModelName = RAW) -> HighWaterMark:
    return HighWaterMark(
        source=source,
        table_uuid="5f0c",
        iceberg_snapshot_id=2**62 + sequence_number,
        sequence_number=sequence_number,
        committed_at=START,
        complete_to=None,
    )


def session() -> Load:
    uri = ProcessingUri(partition=(("day", 19723), ("shop", None)), files=2, rows=9)
    found = SourceFound(before=mark(1), after=mark(2), evidence=(uri,))
    return Load(sources=(found,), fill=(day(1),), loaded=(day(0),))


def intent(work_id: str = "w1", *, key: VersionKey = KEY, late: Load | None = None) -> Intent:
    return Intent(
        work_id=work_id,
        key=key,
        environment="prod",
        intervals=(day(0),),
        inputs={RAW: 7, ModelName("raw", "empty"): None},
        base=None,
        execution_time=START + timedelta(microseconds=1),
        session=late,
    )


def change(
    number: int = 0,
    *,
    operation: LedgerOperation = LedgerOperation.REPLACE,
    rows: RowSum = ROWS,
) -> LedgerChange:
    return LedgerChange(operation=operation, interval=day(number), rows=rows)


def publication(*changes: LedgerChange, moves: HighWaterMark | None = None) -> Publication:
    return Publication(
        iceberg_snapshot_id=2**62,
        changes=changes or (change(),),
        columns=COLUMNS,
        marks=() if moves is None else (moves,),
    )


def stage(state: State, lease: Lease, work: Intent, published: Publication) -> None:
    """Begin a unit of work, and stage its rows."""
    state.record_intent(work, lease=lease)
    state.record_staged(work.work_id, published, lease=lease)


def publish(
    state: State, lease: Lease, work: Intent, published: Publication
) -> tuple[LedgerEntry, ...]:
    """A unit of work from its intent to its entries."""
    stage(state, lease, work, published)
    return tuple(state.finalize(work.work_id, lease=lease))


def load(state: State, lease: Lease, work_id: str, *changes: LedgerChange) -> None:
    """Such a unit of work that loads days."""
    publish(state, lease, intent(work_id), publication(*changes))


def record(
    state: State, work_id: str, *changes: LedgerChange, key: VersionKey = KEY, **published: object
) -> None:
    """The same under a lease of its own, with more values of its publication."""
    lease = state.acquire_lease(version_resource(key), holder=work_id, ttl=MINUTE)
    staged = replace(publication(*changes), **published)  # type: ignore[arg-type]
    publish(state, lease, intent(work_id, key=key), staged)
    state.release_lease(lease)


def promote(
    state: State, name: str, *snapshots: ModelSnapshot, plan_id: str | None = None
) -> Environment:
    """Store snapshots, and show them in an environment, whatever it shows now."""
    state.store_snapshots(snapshots, environment=name)
    lease = state.acquire_lease(environment_resource(name), holder="me", ttl=MINUTE)
    revision = state.revision(name)
    plan = plan_id or f"plan {revision} of {name}"
    state.begin_promotion(
        name, expected_revision=revision, plan_id=plan, snapshots=snapshots, lease=lease
    )
    promoted = state.finish_promotion(name, plan_id=plan)
    state.release_lease(lease)
    return promoted


def remove(state: State, name: str) -> None:
    """Remove an environment."""
    lease = state.acquire_lease(environment_resource(name), holder="me", ttl=MINUTE)
    revision = state.revision(name)
    state.begin_removal(name, expected_revision=revision, plan_id="removal", lease=lease)
    state.finish_promotion(name, plan_id="removal")
    state.release_lease(lease)


def shown(state: State, name: str, *, revision: int | None = None) -> Environment:
    """What an environment shows, or showed at a revision."""
    found = state.environment(name, revision=revision)
    assert found is not None, name
    return found
