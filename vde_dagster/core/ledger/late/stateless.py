"""What a stateless session loads: the rows of new files, each exactly once (seed 003).

A stateless version obeys one invariant: for every loaded interval its table has exactly the query's
rows over the source as of the high-water mark (HWM). A session moves the mark from one Iceberg
snapshot to a later one and keeps the invariant in one commit: intervals that are loaded already get
the rows of the data files added in between, intervals that become due are loaded whole as of the
new mark. A row with an event time after all loaded intervals therefore needs no bookkeeping: its
interval is not loaded yet and will read it when it is first loaded.

Without a mark nothing is known of the rows that are loaded, so that appending to them could lose or
double some: all of it is overwritten as of the new mark (rule R7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, assert_never

from vde_dagster.core.ledger.late.decision import (
    MISSING,
    RELOAD,
    Decision,
    Load,
    NothingToLoad,
    SourceFound,
    Stop,
)
from vde_dagster.core.ledger.late.history import SourceHistory, SourceStatus, added_by
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.model.late_data import OnSourceRewrite
from vde_dagster.core.time.intervals import Interval, IntervalUnit, due, merge, subtract


def decide_stateless(
    *,
    mark: HighWaterMark | None,
    history: SourceHistory,
    loaded: Sequence[Interval],
    start: datetime,
    now: datetime,
    unit: IntervalUnit,
    on_rewrite: OnSourceRewrite,
    held_back: Sequence[Interval] = (),
) -> Decision:
    """What the next stateless session of a version does.

    Args:
        mark: The version's high-water mark; None where none is true of what is loaded, as before
            the first load. Then everything that is loaded is overwritten, too.
        history: The source since ``mark``.
        loaded: Intervals that the version's table holds, merged.
        start: The model's start.
        now: The project's clock.
        unit: The model's interval unit.
        on_rewrite: What to do where rows that are loaded may have changed.
        held_back: What the model's signals hold back of what is not loaded.
    """
    another = _another_table(history)
    if another is not None:
        return another
    rewrite, head = history.rewrite if loaded else "", history.head
    if rewrite and (head is None or on_rewrite is OnSourceRewrite.STOP):
        return Stop(reason=rewrite, advice=RELOAD)
    if head is None:
        return NothingToLoad(reason="the source has no rows yet")
    complete = due(start, min(now, head.complete_to or now), unit)
    whole = subtract([complete] if complete else [], held_back)
    found = SourceFound(before=mark, after=head)
    if mark is None or rewrite:
        fill = merge([*whole, *loaded])
        return Load(sources=(found,), fill=fill, rewrite=rewrite) if fill else _NOT_DUE
    fill = subtract(whole, loaded)
    added = added_by(history.changes) if loaded else ()
    if not fill and not added:
        moved = head.sequence_number != mark.sequence_number
        return NothingToLoad(reason=_NOTHING_ADDED, sources=(found,)) if moved else _NOT_DUE
    found = replace(found, evidence=added)
    return Load(sources=(found,), fill=fill, loaded=tuple(loaded))


def overwriting(load: Load, intervals: Sequence[Interval]) -> Load:
    """A session that overwrites these of the intervals that it would add rows to (rule R7)."""
    fill = merge([*load.fill, *intervals])
    return replace(load, fill=fill, loaded=subtract(load.loaded, intervals))


_NOTHING_ADDED: Final = "the source's new snapshots add no rows to what is loaded"
_NOT_DUE: Final = NothingToLoad(
    reason="no new snapshot of the source, and no interval has become due"
)


def _another_table(history: SourceHistory) -> Stop | None:
    """The named cases in which the source is not the table that was loaded."""
    match history.status:
        case SourceStatus.MISSING:
            return MISSING
        case SourceStatus.RECREATED:
            return Stop(reason="the source was dropped and created again", advice=RELOAD)
        case (
            SourceStatus.INITIAL
            | SourceStatus.UNCHANGED
            | SourceStatus.CHANGED
            | SourceStatus.ROLLED_BACK
            | SourceStatus.EXPIRED
        ):
            return None
        case unreachable:
            assert_never(unreachable)
