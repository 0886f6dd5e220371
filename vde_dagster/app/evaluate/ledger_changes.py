"""How the writes of one unit of work change the ledger of its version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.entries import (
    LedgerChange,
    LedgerOperation,
    Trace,
)
from vde_dagster.core.ledger.unit_of_work import Staged
from vde_dagster.core.model.writes import (
    AppendRows,
    AppendToIntervals,
    KeepHistory,
    MergeRows,
    OverwriteIntervals,
    ReplacePartitions,
    ReplaceTable,
    Write,
)
from vde_dagster.core.time.intervals import Interval


def changes_of(prepared: PreparedUnit, staged: Staged, rebase: RowSum) -> tuple[LedgerChange, ...]:
    """The ledger changes of the staged parts. Two parts may add to one interval; both count."""
    if prepared.batches:
        return _batch_changes(prepared, staged, rebase)
    changes: list[LedgerChange] = []
    for write, sums in zip(prepared.writes, staged.sums, strict=True):
        operation = _operation(write)
        changes += [
            LedgerChange(
                operation=operation,
                interval=interval,
                rows=rows,
                status=prepared.status,
                reason=prepared.reason,
            )
            for interval, rows in sorted(sums.items())
            if operation is not LedgerOperation.ADD or rows.rows
        ]
    return tuple(changes)


def traced(
    changes: Sequence[LedgerChange], traces: Mapping[Interval, Trace], seconds: float
) -> list[LedgerChange]:
    """Changes with what their rows were computed from, each with its share of the time."""
    share = seconds / max(len(changes), 1)
    return [
        replace(each, trace=replace(traces[each.interval], seconds=share))
        if each.interval in traces
        else each
        for each in changes
    ]


def _batch_changes(
    prepared: PreparedUnit, staged: Staged, rebase: RowSum
) -> tuple[LedgerChange, ...]:
    """By how much each batch changed the table's sum, recorded for the batch's interval."""
    return tuple(
        LedgerChange(
            operation=batch.operation,
            interval=batch.recorded,
            rows=total(sums.values()) if number else total(sums.values()) + rebase,
        )
        for number, (batch, sums) in enumerate(zip(prepared.batches, staged.sums, strict=True))
    )


def _operation(write: Write) -> LedgerOperation:
    """The ledger operation of a write that does not build on others."""
    match write:
        case ReplaceTable():
            return LedgerOperation.REPLACE_ALL
        case AppendToIntervals():
            return LedgerOperation.ADD
        case (
            OverwriteIntervals() | MergeRows() | ReplacePartitions() | AppendRows() | KeepHistory()
        ):
            return LedgerOperation.REPLACE
        case unreachable:
            assert_never(unreachable)
