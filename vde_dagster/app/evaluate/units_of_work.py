"""One unit of work: intent, stage, publish, finalize (rules R3 to R5)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.compared_bounds import check_bounds
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.ledger_changes import changes_of, rows_lost, traced
from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.app.evaluate.reuse import (
    FIRST_BUILD,
    is_first_build,
    keeping,
)
from vde_dagster.app.evaluate.savings import saved_by
from vde_dagster.app.evaluate.statements import (
    audits_for,
    check_pins_stay,
    pinned_beside,
    read_beside,
    record_audits,
    statements_of,
)
from vde_dagster.app.publish.foreign_writes import damaged_input, head_of
from vde_dagster.app.publish.publishing import give_up, give_up_after, publish, record
from vde_dagster.app.services import Services
from vde_dagster.core.errors import AuditFailed, EvaluationFailed, VdeError
from vde_dagster.core.graph.checks import place_of_failure
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.entries import (
    LedgerChange,
    LedgerMismatch,
    touched,
)
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.ledger.unit_of_work import Intent, Publication, SqlRows, Staged, Staging
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.retries import pause_before
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.writes import (
    ReplaceTable,
    hidden_by,
)
from vde_dagster.core.time.intervals import Interval, format_duration
from vde_dagster.ports.catalog import TableMoved
from vde_dagster.ports.engine import Sought
from vde_dagster.ports.state import Lease

_LOG: Final = logging.getLogger(__name__)


def run_unit_of_work(
    services: Services, binding: Binding, node: Node, prepared: PreparedUnit, lease: Lease
) -> Evaluated:
    """Stage, publish and record one unit of work under a lease on its version.

    A query or function that failed runs again as often as the model's ``retries`` say, with the
    same Iceberg snapshots of what it reads. What an audit refused is not tried again: its rows
    would be the same.

    Raises:
        Refused: A bound would leave out rows of an interval.
        ForeignWrite: Another program wrote to the version's table.
        DamagedInput: Files of a table that it reads are missing.
        EvaluationFailed: The query failed; readers see what they saw before.
    """
    check_bounds(services, binding, node, prepared)
    retries = node.model.retries if services.retries else 0
    for retry in range(1, retries + 1):
        try:
            return _on_newest(services, binding, node, prepared, lease)
        except AuditFailed:
            raise
        except EvaluationFailed as error:
            pause = pause_before(retry)
            told = f"it is retried in {format_duration(pause)} (retry {retry} of {retries})"
            _LOG.warning("%s failed, and %s: %s", node.name, told, error)
            services.clock.wait(pause)
            prepared = replace(prepared, work_id=services.ids.new())
    return _on_newest(services, binding, node, prepared, lease)


def _on_newest(
    services: Services, binding: Binding, node: Node, prepared: PreparedUnit, lease: Lease
) -> Evaluated:
    """Done again on the new snapshot if the table's files were compacted meanwhile (rule R4)."""
    key = binding.key(node.name)
    for left in reversed(range(_TRIES)):
        base = head_of(services, key)
        try:
            return _tried(services, binding, node, prepared, base, lease=lease)
        except TableMoved as error:
            give_up(services, key, prepared.work_id, reason=str(error), lease=lease)
            head_of(services, key)  # raises if it was not a compaction
            if not left:
                raise
            prepared = replace(prepared, work_id=services.ids.new())
    raise AssertionError("the loop returns or raises")


_TRIES: Final = 3


def _tried(
    services: Services,
    binding: Binding,
    node: Node,
    prepared: PreparedUnit,
    base: int | None,
    *,
    lease: Lease,
) -> Evaluated:
    started = services.clock.now()
    key = binding.key(node.name)
    reason = _why(services, key, prepared)
    algorithm = _algorithm(services, key, prepared)
    staging = _prepared(services, binding, node, prepared, base=base, algorithm=algorithm)
    intent = _intent(binding, prepared, staging, services.execution_time)
    services.state.record_intent(intent, lease=lease)
    check_pins_stay(services, staging, lease=lease)
    with failing_in_its_file(node.model, *_sql_of(staging)):
        staged = _staged(services, binding, staging, lease)
    written = changes_of(prepared, staged, _rebase(services, key, prepared, staged, base=base))
    kept = prepared.reuse.kept if prepared.reuse is not None else {}
    took = (services.clock.now() - started).total_seconds()
    publication = Publication(
        iceberg_snapshot_id=staged.iceberg_snapshot_id,
        changes=(*traced(written, prepared.traces, took), *keeping(kept)),
        columns=staged.columns,
        marks=prepared.session.marks if prepared.session is not None else (),
        pending=prepared.session.pending if prepared.session is not None else (),
        marks_stay=node.model.stateful is not None,
        algorithm=algorithm,
    )
    _check_recordable(services, key, prepared.work_id, publication, lease=lease)
    waits = rows_lost(services, binding, node, prepared, staged=staged, written=written)
    if waits is not None:
        give_up_after(services, key, prepared.work_id, waits, lease=lease)
        raise waits
    record_audits(services, intent, staged.audits, publication, lease=lease)
    services.state.record_staged(prepared.work_id, publication, lease=lease)
    services.state.renew_lease(lease, ttl=services.lease_ttl)
    publish(services, key, base, publication)
    recorded = record(
        services, binding.environment, key, prepared.work_id, publication, lease=lease
    )
    entries = {**kept, **{each.interval: each for each in recorded}}
    return Evaluated(
        work_id=prepared.work_id,
        key=key,
        interval=prepared.interval,
        rows=_rows_written(staged, written),
        entries=tuple(sorted(entries.values(), key=lambda each: each.interval)),
        iceberg_snapshot_id=publication.iceberg_snapshot_id,
        seconds=(services.clock.now() - started).total_seconds(),
        session=prepared.session,
        saved=saved_by(node, list(kept.values())) if kept else None,
        reason=reason,
        warnings=tuple(each.message for each in staged.audits if not each.passed),
        merged=staged.merged,
    )


def _rows_written(staged: Staged, written: Sequence[LedgerChange]) -> int:
    """How many rows were written that readers see; of changes, sums say only how many more."""
    if staged.merged is not None:
        return staged.merged.inserted + staged.merged.updated
    return sum(change.rows.rows for change in written)


def _staged(services: Services, binding: Binding, staging: Staging, lease: Lease) -> Staged:
    """What the engine staged; a unit of work that failed or was interrupted is given up."""
    key = staging.target
    try:
        return services.engine.stage(staging)
    except Exception as error:
        damaged = damaged_input(services, binding, staging, error)
        if damaged is not None:
            give_up_after(services, key, staging.work_id, damaged, lease=lease)
            raise damaged from error
        if isinstance(error, EvaluationFailed):
            give_up_after(services, key, staging.work_id, error, lease=lease)
        raise
    except BaseException as stop:  # Ctrl-C, or Dagster ends a run: nobody waits for rows
        reason = f"it was interrupted ({type(stop).__name__})"
        with suppress(VdeError):  # whoever evaluates the version next gives it up
            give_up(services, key, staging.work_id, reason=reason, lease=lease)
        raise


@contextmanager
def failing_in_its_file(model: Model, *ran: str) -> Iterator[None]:
    """Puts the file and line before the message of what fails within, while this SQL runs."""
    try:
        yield
    except EvaluationFailed as error:
        place = place_of_failure(model, error.fragment, ran)
        if str(place.path) in error.message:
            raise
        raise error.within(place) from error


def _sql_of(staging: Staging) -> Iterator[str]:
    """The statements of a unit of work, and its query: all parts have the same."""
    yield from staging.before
    if isinstance(rows := staging.parts[0].rows, SqlRows):
        yield rows.sql
    yield from staging.after


def _why(services: Services, key: VersionKey, prepared: PreparedUnit) -> str:
    """Why rows are computed, for people; empty if that is not known."""
    if prepared.reuse is not None:
        return prepared.reuse.reason
    holding = services.state.holdings([key]).get(key, NOTHING)
    return FIRST_BUILD if is_first_build(holding) else ""


def _intent(
    binding: Binding, prepared: PreparedUnit, staging: Staging, execution_time: datetime
) -> Intent:
    """What is recorded before anything is staged (rule R5)."""
    key = staging.target
    shown = binding.snapshots[key.model]
    return Intent(
        work_id=prepared.work_id,
        key=key,
        environment=binding.environment,
        intervals=(prepared.interval,),
        inputs={
            name: snapshot
            for reading in prepared.readings
            for name, snapshot in reading.pinned.items()
        },
        base=staging.base,
        execution_time=execution_time,
        session=prepared.session,
        drifted=shown.holds_others,
        beside=pinned_beside(staging),
        definition=shown.fingerprint.definition,
        read_beside=read_beside(staging),
    )


def _prepared(
    services: Services,
    binding: Binding,
    node: Node,
    prepared: PreparedUnit,
    *,
    base: int | None,
    algorithm: str,
) -> Staging:
    """What the engine stages: the step, with its audits and its pre- and post-statements."""
    audits, audit_inputs = audits_for(
        services,
        binding,
        node,
        interval=prepared.interval,
        writes=prepared.writes,
        readings=prepared.readings,
        execution_time=services.execution_time,
    )
    statements = statements_of(
        services,
        binding,
        node,
        prepared.interval,
        readings=prepared.readings,
        execution_time=services.execution_time,
        work_id=prepared.work_id,
    )
    return Staging(
        work_id=prepared.work_id,
        target=binding.key(node.name),
        base=base,
        parts=tuple(prepared.planned_writes()),
        columns=node.model.columns,
        descriptions={
            column.name: column.description for column in node.columns if column.description
        },
        rebuilds=prepared.rebuilds,
        storage=node.storage,
        comment=node.model.description,
        audits=audits,
        audit_inputs=audit_inputs,
        algorithm=algorithm,
        returned={column.name.lower(): column.type for column in node.columns},
        column_rules=node.model.column_rules,
        before=statements.before,
        after=statements.after,
        statement_inputs=statements.inputs,
        own_name=statements.own_name,
        path=str(node.model.source.path),
        shallow_copy_of=prepared.shallow_copy_of,
    )


def _check_recordable(
    services: Services, key: VersionKey, work_id: str, publication: Publication, *, lease: Lease
) -> None:
    """Refuse, before publishing, what could not be recorded afterwards.

    The caller holds the lease, so the ledger is the same when it is recorded.
    """
    try:
        entries = services.state.entries_within(key, touched(publication.changes))
        publication.recorded(entries, work_id)
    except LedgerMismatch as error:
        give_up_after(services, key, work_id, error, lease=lease)
        raise


def _algorithm(services: Services, key: VersionKey, prepared: PreparedUnit) -> str:
    """The algorithm that rows are hashed with: that of the rows that stay, or the configured one.

    So the table has one sum, and a version changes its algorithm when all its rows are replaced.
    """
    if prepared.rebuilds or any(isinstance(write, ReplaceTable) for write in prepared.writes):
        return services.algorithm
    recorded = services.state.holdings([key]).get(key, NOTHING).recorded
    if not recorded:
        return services.algorithm
    last = Interval(recorded[-1].end - timedelta(microseconds=1), recorded[-1].end)
    return services.state.entries_within(key, (last,))[-1].algorithm


def _rebase(
    services: Services,
    key: VersionKey,
    prepared: PreparedUnit,
    staged: Staged,
    *,
    base: int | None,
) -> RowSum:
    """By how much the sum of the earlier rows differs under the table's new columns.

    A sequential kind records changes of the table's sum, so a table whose columns changed (rule
    R11) is summed once more as it was. It is zero in all other cases.
    """
    if base is None or not prepared.batches or prepared.rebuilds:
        return RowSum()
    recorded = services.state.holdings([key]).get(key, NOTHING).columns
    if [(e.name, e.type) for e in recorded] == [(e.name, e.type) for e in staged.columns]:
        return RowSum()
    entries = services.state.ledger([key]).get(key, ())
    if not entries:
        return RowSum()
    sought = Sought(
        table=key.table,
        iceberg_snapshot_id=base,
        columns=staged.columns,
        hidden_rows=hidden_by(prepared.writes[0]),
    )
    sums = services.engine.sums(sought, algorithm=_algorithm(services, key, prepared))
    return total(sums.values()) - total(each.rows for each in entries)
