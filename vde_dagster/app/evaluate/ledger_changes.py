"""How the writes of one unit of work change the ledger of its version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.entries import (
    LedgerChange,
    LedgerOperation,
    Trace,
)
from vde_dagster.core.ledger.rows_lost import RowsWouldGo, emptied, made_smaller
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
from vde_dagster.core.names import PRODUCTION
from vde_dagster.core.time.intervals import Interval, merge, subtract


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
    changed = (
        LedgerChange(
            operation=batch.operation,
            interval=batch.recorded,
            rows=total(sums.values()) if number else total(sums.values()) + rebase,
            reason=prepared.reason,
        )
        for number, (batch, sums) in enumerate(zip(prepared.batches, staged.sums, strict=True))
    )
    same = (
        LedgerChange(operation=LedgerOperation.CHANGE, interval=each, rows=RowSum())
        for each in prepared.touched
    )
    return (*changed, *same)


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


def rows_lost(
    services: Services,
    binding: Binding,
    node: Node,
    prepared: PreparedUnit,
    *,
    staged: Staged,
    written: Sequence[LedgerChange],
) -> RowsWouldGo | None:
    """Why what was staged is not published, unless a person said that the rows may go.

    An interval that has rows would have none, or a table, or a history would have no open row any
    more. A table that builds on its own rows keeps their number, too, if no user asked for it to be
    rebuilt: a session does that, or its version comes back.
    """
    name, key = node.name, binding.key(node.name)
    permitted = binding.may_empty.get(name, ())
    if prepared.may_empty or not subtract([prepared.interval], permitted):
        return None
    if node.model.kind.order is not None and not prepared.rebuilds:
        return None  # rows go only where a change says so
    if staged.ends_history:
        why = "its input has no rows left, so all open rows of its history would be closed"
        return _waiting(binding, node, prepared, [prepared.interval], why=why)
    returns = name in binding.returning
    replaces = any(each.operation is LedgerOperation.REPLACE_ALL for each in written)
    times = None if replaces else merge(each.interval for each in written)
    entries = services.state.entries_within(key, times)
    if prepared.rebuilds and (returns or prepared.session is not None):
        lost, why = made_smaller(written, entries), "its inputs have fewer rows than before"
    else:
        lost, why = emptied(written, entries), "its inputs have no rows left"
    if not lost and prepared.batches and not replaces:
        sums = services.state.sums([key]).get(key)
        if sums is not None and sums.rows and not sums.rows + sum(e.rows.rows for e in written):
            lost = (prepared.interval,)
    lost = subtract(lost, permitted)
    return _waiting(binding, node, prepared, lost, why=why) if lost else None


def _waiting(
    binding: Binding,
    node: Node,
    prepared: PreparedUnit,
    lost: Sequence[Interval],
    *,
    why: str,
) -> RowsWouldGo:
    """The refusal, with the command that lets these rows go."""
    returns = node.name in binding.returning
    by_interval = node.time_axis is not None and not prepared.batches
    restates = _restates(binding, node, prepared)
    return RowsWouldGo(
        node.name,
        lost,
        why=why,
        command=f"{binding.command} --restate-model {node.name}" if restates else binding.command,
        flag="--accept-loss" if returns else "--allow-empty",
        bounded=restates and by_interval and binding.environment == PRODUCTION,
        rest_goes_on=by_interval
        and not (returns or node.model.reads_itself or node.model.stateless is not None),
        work_id=prepared.work_id,
    )


def _restates(binding: Binding, node: Node, prepared: PreparedUnit) -> bool:
    """Whether the command computes again what the model holds: a plan does all else by itself.

    Due intervals are never loaded by restating: a history would be rebuilt from a source without
    rows.
    """
    if node.model.kind.disable_restatement or not binding.restates:
        return False
    if prepared.session is not None and node.model.stateful is None:
        return False
    return prepared.rebuilds or not prepared.batches
