"""What one unit of work did."""

from __future__ import annotations

from dataclasses import dataclass

from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.late.decision import Load
from vde_dagster.core.ledger.savings import Saved
from vde_dagster.core.ledger.unit_of_work import MergedChanges
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.time.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """What one unit of work did. ``rows`` counts the rows written; a VIEW writes none.

    ``entries`` are the ledger's entries of the intervals that were written or kept. ``saved`` sums
    up what was kept, since computing it again would give the same rows. ``reason`` says why it was
    kept or computed. ``warnings`` are the messages of audits that only warn. ``session`` is set for
    a catch-up session. ``work_id`` is that of an earlier unit of work if nothing had to be
    recorded.
    """

    work_id: str
    key: VersionKey
    interval: Interval
    rows: int = 0
    entries: tuple[LedgerEntry, ...]
    iceberg_snapshot_id: int | None = None
    seconds: float = 0.0
    session: Load | None = None
    saved: Saved | None = None
    reason: str = ""
    warnings: tuple[str, ...] = ()
    merged: MergedChanges | None = None
    """What became of changes that have an order, where there are such."""
    reused: bool = False
    """Whether nothing was computed at all, so that the engine was not used."""

    @classmethod
    def kept(
        cls,
        key: VersionKey,
        entries: tuple[LedgerEntry, ...],
        saved: Saved,
        *,
        head: int | None,
        reason: str,
    ) -> Evaluated:
        """What is said of entries that stay as they are, at least one of them."""
        return cls(
            work_id=entries[-1].work_id,
            key=key,
            interval=Interval(entries[0].interval.start, entries[-1].interval.end),
            entries=entries,
            iceberg_snapshot_id=head,
            saved=saved,
            reason=reason,
            reused=True,
        )
