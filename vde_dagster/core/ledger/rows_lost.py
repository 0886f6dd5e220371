"""Which rows a unit of work would take out of a version's table without putting any there (R8)."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.dsha import total
from vde_dagster.core.ledger.entries import LedgerChange, LedgerEntry, LedgerOperation
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, common, merge, subtract

_COMMANDS: Final = 3
"""How many commands a refusal has at most."""
_Unit = TypeVar("_Unit")


class RowsWouldGo(Refused):
    """An evaluation would take all rows out of what has some, and waits for a person (rule R8).

    Args:
        model: The model.
        intervals: What waits, with the rows that it has.
        why: What the evaluation found.
        command: The command that lets the rows go, without times and flag.
        flag: The flag of that command.
        bounded: Whether there is such a command for each contiguous range, limited to its time, so
            that it takes no rows of what lies between.
        rest_goes_on: Whether all but these intervals can be evaluated without them, and nothing
            that reads the model has to wait: it has the rows that it had.
        work_id: The unit of work that was given up, which says what it read.
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
        work_id: str,
    ) -> None:
        self.model, self.intervals = model, merge(intervals)
        self.why, self.command, self.flag = why, command, flag
        self.bounded, self.rest_goes_on, self.work_id = bounded, rest_goes_on, work_id
        super().__init__(
            f"{model} was not loaded: {why} for {', '.join(map(str, self.intervals))}, where its "
            "table has rows",
            advice=f"If that is right, {self._commands()}.",
        )

    def _commands(self) -> str:
        """The commands that let the rows go, one after the other; of many ranges the first few."""
        times = [
            f" --start {each.start.isoformat()} --end {each.end.isoformat()}"
            for each in self.intervals
            if self.bounded
        ]
        said = [f"`{self.command}{each} {self.flag}`" for each in (times or [""])[:_COMMANDS]]
        left = len(times) - len(said)
        more = f", and so on for {left:,} more" if left > 0 else ""
        return f"run {', then '.join(said)}{more}"


class WaitingRows:
    """What of a model waits for a person while all else of it is evaluated (rule R8)."""

    def __init__(self) -> None:
        self._refused: list[RowsWouldGo] = []

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """What was refused."""
        return merge(interval for each in self._refused for interval in each.intervals)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Add what is refused meanwhile, if all else goes on."""
        try:
            yield
        except RowsWouldGo as refused:
            if not refused.rest_goes_on:
                raise
            self._refused.append(refused)

    def rest_of(
        self, interval: Interval, evaluate: Callable[[Interval], Iterable[_Unit]]
    ) -> Iterator[_Unit]:
        """Evaluate a contiguous range: what can be first, then what waits, alone.

        Raises:
            RowsWouldGo: It can only be evaluated as a whole.
        """
        left = deque([interval])
        while left:
            each = left.popleft()
            with self.noted():
                try:
                    yield from evaluate(each)
                except RowsWouldGo as refused:
                    waits = common([each], refused.intervals)
                    rest = subtract([each], waits)
                    if not (refused.rest_goes_on and waits and rest):
                        raise
                    left.extendleft(reversed(rest))
                    left += waits

    @property
    def refusal(self) -> RowsWouldGo | None:
        """One refusal of all that waits; None if nothing does."""
        if not self._refused:
            return None
        first = self._refused[0]
        return RowsWouldGo(
            first.model,
            self.intervals,
            why=first.why,
            command=first.command,
            flag=first.flag,
            bounded=first.bounded,
            rest_goes_on=True,
            work_id=first.work_id,
        )

    def check(self) -> None:
        """End an evaluation whose rest is done.

        Raises:
            RowsWouldGo: Something waits; it names all of it.
        """
        if (refusal := self.refusal) is not None:
            raise refusal


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
