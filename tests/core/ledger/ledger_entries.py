"""Entries of a ledger, with only what a test is about spelled out."""

from __future__ import annotations

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import DEFAULT_ALGORITHM, RowSum
from vde_dagster.core.ledger.entries import EntryStatus, LedgerEntry
from vde_dagster.core.time.intervals import Interval


def entry_of(
    interval: Interval,
    rows: RowSum | None = None,
    *,
    columns: tuple[Column, ...] = (),
    digest: str = "",
    status: EntryStatus = EntryStatus.COMPUTED,
    algorithm: str = DEFAULT_ALGORITHM,
) -> LedgerEntry:
    """An entry, by default of no rows."""
    return LedgerEntry(
        interval=interval,
        rows=rows or RowSum(),
        columns=columns,
        digest=digest,
        work_id="w",
        iceberg_snapshot_id=1,
        status=status,
        algorithm=algorithm,
    )
