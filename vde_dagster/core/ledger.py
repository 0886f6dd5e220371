"""What a version's table holds: the ledger of intervals, and how one evaluation changes it.

Kinds without intervals have one entry, over the time that it was made for; every evaluation
replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from vde_dagster.core.dsha import Column, RowSum, dsha
from vde_dagster.core.errors import Refused
from vde_dagster.core.intervals import Interval, merge


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One held interval: its rows' sum, the schema it was computed under, and who wrote it last.

    ``iceberg_snapshot_id`` is the table state at which ``rows`` is true; None for a VIEW, whose
    ``digest`` follows from what it reads and not from rows of its own.
    """

    interval: Interval
    rows: RowSum
    columns: tuple[Column, ...]
    digest: str
    work_id: str
    iceberg_snapshot_id: int | None


class LedgerOperation(Enum):
    """How a change meets the entry that is there already."""

    REPLACE = "replace"
    ADD = "add"
    REPLACE_ALL = "replace_all"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerChange:
    """What one written interval does to the ledger.

    ``ADD`` adds rows to an interval that is held; ``REPLACE`` and ``REPLACE_ALL`` set it, the
    latter after removing every other entry of the version. ``digest`` is None where it follows
    from the rows.
    """

    operation: LedgerOperation
    interval: Interval
    rows: RowSum
    digest: str | None = None


class LedgerMismatch(Refused, ValueError):
    """A change does not fit what the ledger holds; applying it would lose or double rows."""


def apply_changes(
    entries: Iterable[LedgerEntry],
    changes: Iterable[LedgerChange],
    *,
    columns: tuple[Column, ...],
    work_id: str,
    iceberg_snapshot_id: int | None,
) -> tuple[LedgerEntry, ...]:
    """The ledger after a published write, sorted by interval.

    Raises:
        LedgerMismatch: Rows are added to an interval that is not held or was computed under
            another schema, or an interval overlaps a held one without being equal to it.
    """
    held: dict[Interval, LedgerEntry] = {entry.interval: entry for entry in entries}
    for change in changes:
        if change.operation is LedgerOperation.REPLACE_ALL:
            held = {}
        rows = change.rows
        if change.operation is LedgerOperation.ADD:
            before = held.get(change.interval)
            if before is None:
                raise LedgerMismatch(f"rows are added to {change.interval}, which is not held")
            if _types(before.columns) != _types(columns):
                raise LedgerMismatch(f"rows of another schema are added to {change.interval}")
            rows = before.rows + change.rows
        held[change.interval] = LedgerEntry(
            interval=change.interval,
            rows=rows,
            columns=columns,
            digest=change.digest or dsha(rows, columns),
            work_id=work_id,
            iceberg_snapshot_id=iceberg_snapshot_id,
        )
    ordered = tuple(sorted(held.values(), key=lambda entry: entry.interval))
    for left, right in pairwise(ordered):
        if right.interval.start < left.interval.end:
            raise LedgerMismatch(f"{left.interval} and {right.interval} overlap")
    return ordered


def _types(columns: Iterable[Column]) -> list[tuple[str, str]]:
    return [(column.name.lower(), column.type.lower()) for column in columns]


def held_intervals(entries: Iterable[LedgerEntry]) -> tuple[Interval, ...]:
    """What a version holds, merged."""
    return merge(entry.interval for entry in entries)
