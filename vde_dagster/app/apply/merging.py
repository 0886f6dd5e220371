"""Merging what the table of a model gained into a keyed table whose rows are changes."""

from __future__ import annotations

from collections.abc import Sequence

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.cumulative import SequentialBatch
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import (
    in_sequence,
    read_ledgers_of,
    recovering,
    writable,
)
from vde_dagster.app.evaluate.units_of_work import run_unit_of_work
from vde_dagster.app.inputs.gained import gained
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import look_within
from vde_dagster.app.services import Services
from vde_dagster.core.ledger.entries import LedgerOperation
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval


def merge_gained(
    services: Services, binding: Binding, name: ModelName, times: Sequence[Interval]
) -> tuple[Evaluated, ...] | str:
    """Evaluate again only what of some stale times reads new rows, and merge it.

    What is read is fixed first, and what has changed is looked at then: so nothing that is not
    looked at counts as read.

    Args:
        services: The ports.
        binding: The versions.
        name: A model whose rows are changes with an order.
        times: The times of its version that are stale, merged.

    Returns:
        What was done, which is nothing if nothing is stale any more; or why the table has to be
        rebuilt, of which nothing is said if it is outdated already.

    Raises:
        Refused: A parent lacks rows that are read, or the model may not be evaluated here.
        Conflict: Another process writes the version right now.
        EvaluationFailed: The query failed; readers see what they saw before.
    """
    node = writable(services, binding, name)
    key = binding.key(name)
    with recovering(services, binding, key) as (lease, _):
        if services.state.holdings([key]).get(key, NOTHING).outdated:
            return ""
        ledgers = read_ledgers_of(services, binding, node)
        states = InputStates(services=services, graph=binding.graph, snapshots=binding.snapshots)
        found = gained(look_within(states, name, times))
        if isinstance(found, str) or not found.parts:
            return found if isinstance(found, str) else ()
        batches = [
            SequentialBatch(
                evaluated=part, recorded=entry.interval, operation=LedgerOperation.CHANGE
            )
            for entry, part in found.parts
        ]
        prepared = in_sequence(services, binding, node, batches, ledgers)
        return (run_unit_of_work(services, binding, node, prepared, lease),)
