"""What an evaluation does to a table: one value for each way to write rows (seed 001)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from vde_dagster.core.model.hidden_rows import HiddenRows
from vde_dagster.core.model.history import History
from vde_dagster.core.time.intervals import Interval, IntervalUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxisSpec:
    """How rows belong to intervals: the time column, how it compares, and the unit.

    ``type`` is one of ``date, timestamp, timestamp_ntz, string, bigint``. ``format`` is how a text
    or a number writes an instant, in the codes of Python's ``strftime``; empty for other types,
    and for texts that are ISO dates.
    """

    column: str
    type: str
    unit: IntervalUnit
    format: str = ""

    @property
    def is_formatted(self) -> bool:
        """Whether it is a text or a number, which is not time but writes one."""
        return self.type in ("string", "bigint")


@dataclass(frozen=True, slots=True, kw_only=True)
class OverwriteIntervals:
    """Replace exactly the rows of these intervals, also where there are no new ones."""

    intervals: tuple[Interval, ...]
    axis: TimeAxisSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendToIntervals:
    """Add rows to intervals that are loaded already.

    ``source_rows`` is how many rows of the source they come from; None where that is not known.
    """

    intervals: tuple[Interval, ...]
    axis: TimeAxisSpec
    source_rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTable:
    """Replace all rows; ``interval`` is the time that the result was made for."""

    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOrder:
    """In which order the changes of a key count: by these columns, of which the first differs.

    The change of each key that counts is the last one. ``deletes`` are those that say that their
    key is deleted; None if none does.
    """

    by: tuple[str, ...]
    deletes: HiddenRows | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRows:
    """Insert rows whose key the table lacks, and update those whose key it has.

    ``key`` are columns or expressions. ``when_matched`` are WHEN MATCHED clauses in order (where it
    is empty all columns are updated) and ``merge_filter`` is a further condition of the match; both
    name their sides ``source`` and ``target`` and have no macros left. All are Spark's SQL. With an
    ``order`` rows are changes, and a row of the table is updated by a later change only.
    """

    interval: Interval
    key: tuple[str, ...]
    when_matched: str = ""
    merge_filter: str = ""
    order: ChangeOrder | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacePartitions:
    """Replace the partitions that the new rows belong to; the others stay as they are."""

    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRows:
    """Add rows, whatever is there."""

    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepHistory:
    """Compare rows with a history's open ones: close those that changed, and open new ones.

    ``is_first`` where the version was never loaded before, also where that gave no rows. With an
    ``order`` rows are changes, each of which is put in at its place, and nothing else counts.
    """

    interval: Interval
    history: History
    execution_time: datetime
    is_first: bool = False
    order: ChangeOrder | None = None


Write = (
    OverwriteIntervals
    | AppendToIntervals
    | ReplaceTable
    | MergeRows
    | ReplacePartitions
    | AppendRows
    | KeepHistory
)


def hidden_by(write: Write) -> HiddenRows | None:
    """The rows that a write leaves in a table, hidden from readers; None where there are none.

    Audits, statements, sums and counts are of the others: a D-SHA says what readers see.
    """
    match write:
        case MergeRows(order=ChangeOrder(deletes=deletes)):
            return deletes
        case KeepHistory(order=ChangeOrder(), history=history):
            return HiddenRows(column=history.valid_from.name, is_null=True)
        case _:
            return None
