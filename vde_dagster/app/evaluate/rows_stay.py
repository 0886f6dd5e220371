"""Rows stay unless a person says otherwise, whatever evaluates a model and why (rule R8).

Every unit of work is asked once, before anything of it is published.
"""

from __future__ import annotations

from collections.abc import Sequence

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.entries import LedgerChange, LedgerOperation
from vde_dagster.core.ledger.rows_lost import RowsWouldGo, emptied, made_smaller
from vde_dagster.core.ledger.unit_of_work import Staged
from vde_dagster.core.names import PRODUCTION
from vde_dagster.core.planning.restatement import forbids_restatement
from vde_dagster.core.time.intervals import Interval, merge, subtract


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
    more. A table that builds on its own rows keeps their number, too, if nobody asked for it to be
    rebuilt: a session does that, or its version comes back.
    """
    name, key = node.name, binding.key(node.name)
    permitted = binding.may_empty.get(name, ())
    if prepared.may_empty or not subtract([prepared.interval], permitted):
        return None
    if staged.ends_history:
        why = "what it reads has no rows any more, so that all open rows of its history would end"
        return _waiting(binding, node, prepared, [prepared.interval], why=why)
    returns = name in binding.returning
    replaces = any(each.operation is LedgerOperation.REPLACE_ALL for each in written)
    times = None if replaces else merge(each.interval for each in written)
    entries = services.state.entries_within(key, times)
    if prepared.rebuilds and (returns or prepared.session is not None):
        lost, why = made_smaller(written, entries), "what it reads has fewer rows than before"
    else:
        lost, why = emptied(written, entries), "what it reads has no rows any more"
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

    What is due is never loaded by restating: a history would be rebuilt from a source without rows.
    """
    if forbids_restatement(node.model) or not binding.restates:
        return False
    if prepared.session is not None and node.model.stateful is None:
        return False
    return prepared.rebuilds or not prepared.batches
