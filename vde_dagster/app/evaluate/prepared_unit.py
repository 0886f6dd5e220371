"""What one unit of work does: its readings, writes and traces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vde_dagster.app.evaluate.cumulative import SequentialBatch
from vde_dagster.app.evaluate.pinned_reading import PinnedReading
from vde_dagster.app.evaluate.reuse import (
    ReuseDecision,
)
from vde_dagster.core.ledger.entries import (
    EntryStatus,
    LedgerOperation,
    Trace,
)
from vde_dagster.core.ledger.late_data import HighWaterMark, Load
from vde_dagster.core.model.writes import (
    Write,
)
from vde_dagster.core.time.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedUnit:
    """One unit of work, ready to be staged. ``mark`` is the high-water mark after it.

    ``status`` is what its rows are worth, and ``reason`` why they are not the computed ones.
    ``batches`` say of a sequential kind where each write is recorded. ``traces`` are what the rows
    of the intervals are computed from, ``reuse`` tells which intervals beside them are kept.
    ``where_emptied`` says what to do where an interval would lose all of its rows, which is refused
    then; it may where the text is empty.
    """

    work_id: str
    interval: Interval
    readings: tuple[PinnedReading, ...]
    writes: tuple[Write, ...]
    mark: HighWaterMark | None = None
    session: Load | None = None
    status: EntryStatus = EntryStatus.COMPUTED
    reason: str = ""
    batches: tuple[SequentialBatch, ...] = ()
    traces: Mapping[Interval, Trace] = field(default_factory=dict)
    reuse: ReuseDecision | None = None
    where_emptied: str = ""

    @property
    def rebuilds(self) -> bool:
        """Whether the table is made from nothing, by several writes."""
        return bool(self.batches) and self.batches[0].operation is LedgerOperation.REPLACE_ALL
