"""Merging what the table of a model gained into a keyed table whose rows are changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.cumulative import SequentialBatch
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import recovering, writable
from vde_dagster.app.evaluate.parent_ledgers import read_ledgers
from vde_dagster.app.evaluate.pinned_reading import PinnedReading, read_parts
from vde_dagster.app.evaluate.prepared_unit import PreparedUnit
from vde_dagster.app.evaluate.reuse import sequential_traces
from vde_dagster.app.evaluate.units_of_work import run_unit_of_work
from vde_dagster.app.inputs.gained import gained
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import look_within
from vde_dagster.app.services import Services
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.entries import LedgerOperation
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.ledger.unit_of_work import SqlRows
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import WHOLE
from vde_dagster.core.time.intervals import Interval

_MOST: Final = 50
"""How many ranges one query reads apart; of more all that lies between is read, too."""


def merge_gained(
    services: Services, binding: Binding, name: ModelName, times: Sequence[Interval]
) -> tuple[Evaluated, ...] | str:
    """Evaluate again only what of some stale times reads new rows, and merge it in one write.

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
    key, now = binding.key(name), services.execution_time
    with recovering(services, binding, key) as (lease, _):
        if services.state.holdings([key]).get(key, NOTHING).outdated:
            return ""
        read = dict.fromkeys(reads_of(binding.graph, name).demands, WHOLE)
        ledgers = read_ledgers(services, binding, read)
        states = InputStates(services=services, graph=binding.graph, snapshots=binding.snapshots)
        found = gained(look_within(states, name, times))
        if isinstance(found, str) or not found.entries:
            return found if isinstance(found, str) else ()
        whole = Interval(found.intervals[0].start, found.intervals[-1].end)
        parts = found.intervals if len(found.intervals) <= _MOST else (whole,)
        work_id, batches = services.ids.new(), [_changed(each) for each in found.entries]
        reading = _all(read_parts(services, binding, node, parts, ledgers, work_id=work_id))
        traces = sequential_traces(services, binding, node, [(each, reading) for each in batches])
        prepared = PreparedUnit(
            work_id=work_id,
            interval=whole,
            readings=(reading,),
            writes=(node.write(whole, now),),
            batches=(replace(batches[-1], evaluated=whole),),
            touched=tuple(each.recorded for each in batches[:-1]),
            traces={  # no other table has the same rows for this reason
                interval: replace(trace, key=f"merged by {work_id}")
                for interval, trace in traces.items()
            },
        )
        return (run_unit_of_work(services, binding, node, prepared, lease),)


def _changed(entry: Interval) -> SequentialBatch:
    """An entry that is as fresh afterwards as if it had been evaluated now."""
    return SequentialBatch(evaluated=entry, recorded=entry, operation=LedgerOperation.CHANGE)


def _all(readings: Sequence[PinnedReading]) -> PinnedReading:
    """All rows of the queries of several ranges, which read the same Iceberg snapshots."""
    texts = [each.rows.sql for each in readings if isinstance(each.rows, SqlRows)]
    assert len(texts) == len(readings), "only queries are merged"
    return PinnedReading(
        rows=SqlRows(sql="\nUNION ALL\n".join(f"({each}\n)" for each in texts)),
        inputs={name: each for reading in readings for name, each in reading.inputs.items()},
        pinned=readings[0].pinned,
        tokens=readings[0].tokens,
    )
