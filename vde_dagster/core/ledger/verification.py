"""Comparing what a version's table holds with what the ledger says it holds: a pure decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.schema_changes import newest_columns
from vde_dagster.core.time.intervals import Interval, IntervalUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """Entries whose rows were hashed alike, so that one pass over the table gives their sums."""

    algorithm: str
    columns: tuple[Column, ...]
    entries: tuple[LedgerEntry, ...]

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """What its entries cover."""
        return tuple(each.interval for each in self.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A range of time whose rows are not those that were recorded.

    ``interval`` is None where the whole table, or rows outside every interval, are meant.
    """

    interval: Interval | None
    recorded: RowSum
    found: RowSum

    def __str__(self) -> str:
        where = "the table" if self.interval is None else str(self.interval)
        if self.recorded.rows != self.found.rows:
            return f"{where} has {self.found.rows} rows, {self.recorded.rows} were recorded"
        return f"{where} has {self.found.rows} rows as recorded, but not the same ones"


def portions(entries: Iterable[LedgerEntry]) -> tuple[Portion, ...]:
    """The entries by what their rows were hashed with."""
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[LedgerEntry]] = {}
    for each in entries:
        typed = tuple((column.name, column.type) for column in each.columns)
        groups.setdefault((each.algorithm, typed), []).append(each)
    return tuple(
        Portion(algorithm=algorithm, columns=group[-1].columns, entries=tuple(group))
        for (algorithm, _), group in groups.items()
    )


def as_one(portions: Sequence[Portion]) -> tuple[Portion, ...]:
    """The portions of a kind whose entries are changes of one table's sum, by algorithm.

    The last write recorded what makes their total that of the table under its newest columns.
    """
    merged: list[Portion] = []
    for algorithm in dict.fromkeys(each.algorithm for each in portions):
        own = [each for each in portions if each.algorithm == algorithm]
        merged.append(
            Portion(
                algorithm=algorithm,
                columns=newest_columns(each.columns for each in own),
                entries=tuple(entry for each in own for entry in each.entries),
            )
        )
    return tuple(merged)


def recorded_by(entries: Sequence[LedgerEntry], unit: IntervalUnit) -> IntervalUnit:
    """The unit that entries are recorded by.

    That is the unit of the model that fills the table, which a forward-only edit may have changed
    there.

    Args:
        entries: What was recorded.
        unit: The unit of the model as it is looked at.
    """

    def fits(each: IntervalUnit) -> bool:
        intervals = (entry.interval for entry in entries)
        return all(
            each.floor(e.start) == e.start and each.following(e.start) == e.end for e in intervals
        )

    return next((each for each in (unit, *IntervalUnit) if fits(each)), unit)


def compare_intervals(
    entries: Sequence[LedgerEntry], found: Mapping[Interval, RowSum]
) -> tuple[Mismatch, ...]:
    """Where the rows of intervals are others than recorded (kinds whose rows belong to intervals).

    Args:
        entries: What was recorded, of one `Portion`.
        found: The sums of the rows of each of their intervals; nothing for one without rows.
    """
    return tuple(
        Mismatch(interval=each.interval, recorded=each.rows, found=actual)
        for each in entries
        if (actual := found.get(each.interval, RowSum())) != each.rows
    )


def compare_whole(entries: Sequence[LedgerEntry], found: RowSum) -> tuple[Mismatch, ...]:
    """Whether all rows together are what was recorded: the entries' sums add up to the table's."""
    recorded = total(each.rows for each in entries)
    if recorded == found:
        return ()
    return (Mismatch(interval=None, recorded=recorded, found=found),)
