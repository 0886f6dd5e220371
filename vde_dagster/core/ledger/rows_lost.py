"""Which loaded intervals a unit of work would leave without their rows (rule R8)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from vde_dagster.core.ledger.dsha import total
from vde_dagster.core.ledger.entries import LedgerChange, LedgerEntry, LedgerOperation
from vde_dagster.core.time.intervals import Interval, merge, subtract


def emptied(
    written: Sequence[LedgerChange], entries: Sequence[LedgerEntry]
) -> tuple[Interval, ...]:
    """The intervals of entries with rows that were written again without any, merged."""
    replaced = (each for each in written if each.operation in _WRITE_AGAIN)
    empty = merge(each.interval for each in replaced if not each.rows.rows)
    starts = [each.start for each in empty]

    def is_empty(interval: Interval) -> bool:
        at = bisect_right(starts, interval.start)
        return at > 0 and interval.end <= empty[at - 1].end

    return merge(each.interval for each in entries if each.rows.rows and is_empty(each.interval))


def made_smaller(
    written: Sequence[LedgerChange], entries: Sequence[LedgerEntry]
) -> tuple[Interval, ...]:
    """The loaded intervals of a version, if all of them were written again with fewer rows."""
    loaded = merge(each.interval for each in entries)
    if subtract(loaded, [each.interval for each in written]):
        return ()  # the rest of it is written next
    before = total(each.rows for each in entries).rows
    return loaded if total(each.rows for each in written).rows < before else ()


_WRITE_AGAIN = (LedgerOperation.REPLACE, LedgerOperation.REPLACE_ALL)
