"""What one unit of work does: its readings, writes and traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from vde_dagster.app.evaluate.cumulative import SequentialBatch
from vde_dagster.app.evaluate.pinned_reading import PinnedReading
from vde_dagster.app.evaluate.reuse import (
    ReuseDecision,
)
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import (
    EntryStatus,
    LedgerOperation,
    Trace,
)
from vde_dagster.core.ledger.late.decision import Load
from vde_dagster.core.ledger.unit_of_work import AsOf, PlannedWrite
from vde_dagster.core.model.writes import (
    Write,
)
from vde_dagster.core.time.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedUnit:
    """One unit of work, ready to be staged. ``session`` is what a session does.

    ``status`` is that of its entries, and ``reason`` says why they are not computed. ``batches``
    say for which interval each write of a sequential kind is recorded. ``traces`` are what the rows
    of the intervals are computed from, ``reuse`` has the other intervals, which are kept. With
    ``may_empty`` a person said that all rows may go (rule R8). The parts that ``follows`` numbers
    are written only if the one before has other rows than the table, which are those in ``held``.
    ``touched`` are further entries of a sequential kind that are as fresh as what was read. With
    ``shallow_copy_of`` the rows are those of that table's files, which are not copied.
    """

    work_id: str
    interval: Interval
    readings: tuple[PinnedReading, ...]
    writes: tuple[Write, ...]
    session: Load | None = None
    status: EntryStatus = EntryStatus.COMPUTED
    reason: str = ""
    batches: tuple[SequentialBatch, ...] = ()
    touched: tuple[Interval, ...] = ()
    traces: Mapping[Interval, Trace] = field(default_factory=dict)
    reuse: ReuseDecision | None = None
    may_empty: bool = False
    follows: frozenset[int] = frozenset()
    held: tuple[RowSum | None, ...] = ()
    shallow_copy_of: AsOf | None = None

    def planned_writes(self) -> Iterator[PlannedWrite]:
        """The parts as the engine stages them, in order."""
        for number, (reading, write) in enumerate(zip(self.readings, self.writes, strict=True)):
            yield PlannedWrite(
                rows=reading.rows,
                inputs=reading.inputs,
                write=write,
                follows=number in self.follows,
                held=self.held[number] if self.held else None,
            )

    @property
    def rebuilds(self) -> bool:
        """Whether the whole table is rebuilt, by several writes."""
        return bool(self.batches) and self.batches[0].operation is LedgerOperation.REPLACE_ALL
