"""Evaluating kinds whose result depends on the table's earlier rows: intervals in order, once each.

INCREMENTAL_BY_UNIQUE_KEY, INCREMENTAL_BY_PARTITION, INCREMENTAL_UNMANAGED and SCD Type 2 are such
kinds (seed 001). Their table can be rebuilt only as a whole, in one unit of work, so that readers
see the old table until the new one is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.entries import LedgerOperation
from vde_dagster.core.ledger.holdings import Holding
from vde_dagster.core.model.model import Model
from vde_dagster.core.time.intervals import Interval, subtract
from vde_dagster.core.time.schedule import batches


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialBatch:
    """One write of a unit of work: what it evaluates, and the interval that is recorded with it."""

    evaluated: Interval
    recorded: Interval
    operation: LedgerOperation


def sequential_batches(
    model: Model,
    holding: Holding,
    interval: Interval,
    *,
    environment: str,
    recorded: Sequence[Interval] = (),
) -> tuple[SequentialBatch, ...]:
    """The writes that load an interval of a version, in order.

    If any loaded interval is to be rebuilt, all are, from an empty table on; the first batch's
    operation says so (`LedgerOperation.REPLACE_ALL`).

    Args:
        model: A model of a sequential kind.
        holding: What the version holds.
        interval: What is to be evaluated.
        environment: For the advice of a refusal.
        recorded: The intervals of the version's entries that overlap ``interval``, sorted.

    Raises:
        Refused: The interval is loaded already, or precedes what is loaded.
    """
    if _is_rebuilt(holding):
        every = [interval, *holding.recorded]
        whole = Interval(min(each.start for each in every), max(each.end for each in every))
        first, *rest = batches(model, [whole])
        return (
            SequentialBatch(evaluated=first, recorded=first, operation=LedgerOperation.REPLACE_ALL),
            *(
                SequentialBatch(evaluated=e, recorded=e, operation=LedgerOperation.REPLACE)
                for e in rest
            ),
        )
    return (_next_batch(model, holding, interval, environment, recorded),)


def sequential_ranges(
    model: Model,
    holding: Holding,
    missing: Sequence[Interval],
    *,
    environment: str,
) -> tuple[Interval, ...]:
    """The ranges to evaluate, one after the other, so that nothing is missing any more.

    Args:
        model: A model of a sequential kind.
        holding: What the version holds.
        missing: The due intervals that are not loaded.
        environment: For the advice of a refusal.

    Raises:
        Refused: Nothing is missing, and something is loaded.
    """
    recorded = holding.recorded
    if not missing and recorded:
        _refuse_again(model, Interval(recorded[0].start, recorded[-1].end), environment)
    if missing and _is_rebuilt(holding):
        return (Interval(missing[0].start, missing[-1].end),)
    return batches(model, missing)


def _is_rebuilt(holding: Holding) -> bool:
    """Whether loaded rows have to be replaced, and with them the whole table."""
    return bool(holding.outdated or holding.empty)


def _next_batch(
    model: Model,
    holding: Holding,
    interval: Interval,
    environment: str,
    recorded: Sequence[Interval],
) -> SequentialBatch:
    loaded = holding.computed
    new = subtract([interval], loaded)
    if not new:
        _refuse_beyond_lookback(model, interval.start, loaded[-1].end, environment)
        return _looked_at_again(interval, recorded)
    last = loaded[-1].end if loaded else None
    is_sequential = (
        len(new) == 1 and new[0].end == interval.end and (last is None or new[0].start >= last)
    )
    if not is_sequential and not (not model.kind.range_shapes_rows and new == (interval,)):
        there = ", ".join(map(str, loaded))
        raise Refused(
            f"{model.name} has loaded {there}, so {interval} is not its next interval: "
            f"{model.kind.keyword} builds each interval on the ones before it. Nothing was "
            "written",
            advice=_advice(model, environment),
        )
    if new[0].start > interval.start:
        _refuse_beyond_lookback(model, interval.start, new[0].start, environment)
    return SequentialBatch(evaluated=interval, recorded=new[0], operation=LedgerOperation.REPLACE)


def _looked_at_again(interval: Interval, recorded: Sequence[Interval]) -> SequentialBatch:
    """A loaded interval of the lookback: its rows are merged again, and the sum changes by that."""
    first = next(each for each in recorded if each.end > interval.start)
    return SequentialBatch(evaluated=interval, recorded=first, operation=LedgerOperation.CHANGE)


def _refuse_beyond_lookback(
    model: Model, start: datetime, until: datetime, environment: str
) -> None:
    if not model.lookback or start < model.unit.shifted(until, -model.lookback):
        _refuse_again(model, Interval(start, until), environment)


def _refuse_again(model: Model, interval: Interval, environment: str) -> NoReturn:
    raise Refused(
        f"{model.name} has already loaded {interval}, and {model.kind.keyword} loads each "
        "interval once: its rows depend on the table's earlier rows. Nothing was written",
        advice=_advice(model, environment),
    )


def _advice(model: Model, environment: str) -> str:
    return (
        "To rebuild the whole table from its sources, run "
        f"`vde plan {environment} --restate-model {model.name}` and apply it."
    )
