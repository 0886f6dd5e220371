"""Which rows a unit of work would take out of a version's table without putting any there (R8)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.dsha import total
from vde_dagster.core.ledger.entries import LedgerChange, LedgerEntry, LedgerOperation
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, merge, subtract


class RowsWouldGo(Refused):
    """An evaluation would take all rows out of what has some, and waits for a person (rule R8).

    Args:
        model: The model.
        intervals: What waits, with the rows that it has.
        why: What the evaluation found.
        command: The command that lets the rows go, without ``bounds`` and flag.
        flag: The flag of that command.
        bounded: Whether the command is limited to the time of the intervals.
        rest_goes_on: Whether all but these intervals can be evaluated without them, and nothing
            that reads the model has to wait: it has the rows that it had.
    """

    def __init__(
        self,
        model: ModelName,
        intervals: Iterable[Interval],
        *,
        why: str,
        command: str,
        flag: str = "--allow-empty",
        bounded: bool = False,
        rest_goes_on: bool = False,
    ) -> None:
        self.model, self.intervals = model, merge(intervals)
        self.why, self.command, self.flag = why, command, flag
        self.bounded, self.rest_goes_on = bounded, rest_goes_on
        start, end = self.intervals[0].start, self.intervals[-1].end
        times = f" --start {start.isoformat()} --end {end.isoformat()}" if bounded else ""
        super().__init__(
            f"{model} was not loaded: {why} for {', '.join(map(str, self.intervals))}, where its "
            "table has some",
            advice=f"If that is right, plan with `{command}{times} {flag}`.",
        )

    def with_those_of(self, others: Iterable[RowsWouldGo]) -> RowsWouldGo:
        """One error for all that waits of the model."""
        every = (self, *others)
        return RowsWouldGo(
            self.model,
            (interval for each in every for interval in each.intervals),
            why=self.why,
            command=self.command,
            flag=self.flag,
            bounded=self.bounded,
            rest_goes_on=all(each.rest_goes_on for each in every),
        )


def rest_goes_on(error: BaseException | None) -> bool:
    """Whether an evaluation has done all but what waits for a person, so that others go on."""
    return isinstance(error, RowsWouldGo) and error.rest_goes_on


def emptied(
    written: Sequence[LedgerChange], entries: Sequence[LedgerEntry]
) -> tuple[Interval, ...]:
    """The intervals of entries with rows that were written again without any, merged.

    A table of which all is written again is one interval, however many it is recorded in.
    """
    if any(each.operation is LedgerOperation.REPLACE_ALL for each in written):
        rows = any(each.rows.rows for each in written)
        return () if rows else merge(each.interval for each in entries if each.rows.rows)
    replaced = (each for each in written if each.operation is LedgerOperation.REPLACE)
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
