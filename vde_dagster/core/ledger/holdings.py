"""What a version holds as a whole, stored in addition to the entries of its ledger (ADR 12).

Plans read it for every model, however many intervals there are, and read single entries only where
something has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.entries import EntryStatus, LedgerEntry
from vde_dagster.core.ledger.schema_changes import newest_columns
from vde_dagster.core.time.intervals import Interval, merge, subtract


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """The ledger of a version as a whole. Intervals are merged.

    - ``number`` counts the changes of the ledger, from 1 on. An entry has the number of the change
      that wrote it last. 0 stands for what was written before changes were counted.
    - ``removed`` is the number of the last change that took entries away, 0 for none.
    - ``computed``, ``outdated`` and ``empty`` are the intervals of each status.
    - ``columns`` are those of the table, as rows were written to it last.
    """

    number: int = 0
    removed: int = 0
    computed: tuple[Interval, ...] = ()
    outdated: tuple[Interval, ...] = ()
    empty: tuple[Interval, ...] = ()
    columns: tuple[Column, ...] = ()

    @property
    def recorded(self) -> tuple[Interval, ...]:
        """Every interval that there is an entry of."""
        if not (self.outdated or self.empty):
            return self.computed
        return merge((*self.computed, *self.outdated, *self.empty))

    @property
    def written(self) -> tuple[Interval, ...]:
        """The intervals whose rows readers see: also those that are to be evaluated again."""
        return merge((*self.computed, *self.outdated)) if self.outdated else self.computed

    @property
    def evaluated(self) -> tuple[Interval, ...]:
        """What is computed, and what is recorded as empty on purpose."""
        return merge((*self.computed, *self.empty)) if self.empty else self.computed


NOTHING = Holding()
"""What a version without any entry holds."""


def holding_of(entries: Sequence[LedgerEntry]) -> Holding:
    """The entries of a version as a whole, with no change counted."""

    def of(status: EntryStatus) -> tuple[Interval, ...]:
        return merge(each.interval for each in entries if each.status is status)

    return Holding(
        computed=of(EntryStatus.COMPUTED),
        outdated=of(EntryStatus.OUTDATED),
        empty=of(EntryStatus.EMPTY),
        columns=newest_columns(each.columns for each in entries) if entries else (),
    )


def holding_changed(
    before: Holding,
    old: Sequence[LedgerEntry],
    new: Sequence[LedgerEntry],
    columns: tuple[Column, ...],
) -> Holding:
    """What a version holds after the next change, of which all other entries are left as they are.

    Args:
        before: What it held.
        old: The entries that are taken away or written again.
        new: The entries that replace them.
        columns: Those of the table afterwards.
    """
    gone, found = merge(each.interval for each in old), holding_of(new)
    after = Holding(
        computed=merge((*subtract(before.computed, gone), *found.computed)),
        outdated=merge((*subtract(before.outdated, gone), *found.outdated)),
        empty=merge((*subtract(before.empty, gone), *found.empty)),
        columns=columns,
    )
    return _counted(before, after)


def _counted(before: Holding, after: Holding) -> Holding:
    number, is_less = before.number + 1, bool(subtract(before.recorded, after.recorded))
    return replace(after, number=number, removed=number if is_less else before.removed)
