"""Which change of a table was the latest at each time, to find what changed since a state."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import heappop, heappush

from vde_dagster.core.sql.reads.input_ranges import InputRange, WholeTable
from vde_dagster.core.time.intervals import Interval

Times = tuple[Interval, ...] | None
"""The times of the rows that a change touched; None where they may be any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestChanges:
    """The latest change at each time. Changes are numbered, and the newest one is 0.

    A question costs as many steps as a search, and not as many as there are changes.

    - ``count`` is the number of changes, and stands for none of them.
    - ``anywhere`` is the latest change that may have touched any time.
    - ``borders`` cut time into parts; ``least`` has for 1, 2, 4, ... parts from each border on the
      latest change in them.
    """

    count: int
    anywhere: int
    borders: Sequence[datetime]
    least: Sequence[Sequence[int]]

    @classmethod
    def of(cls, changes: Sequence[Times]) -> LatestChanges:
        """Those of a table, by the times that each of its changes touched, newest first."""
        count = len(changes)
        anywhere = next((at for at, times in enumerate(changes) if times is None), count)
        spans = [
            (each.start, number, each.end)
            for number, times in enumerate(changes[:anywhere])
            for each in times or ()
        ]
        borders = sorted({border for start, _, end in spans for border in (start, end)})
        latest = _latest(spans, borders, none=count)
        return cls(count=count, anywhere=anywhere, borders=borders, least=_least(latest))

    def within(self, read: InputRange) -> int:
        """The latest change of a range of the table."""
        if isinstance(read, WholeTable):
            return min(self.anywhere, self._among(0, len(self.borders)))
        return min([self.anywhere, *(self._among(*self._parts(each)) for each in read)])

    def _parts(self, interval: Interval) -> tuple[int, int]:
        first = bisect_right(self.borders, interval.start) - 1
        return max(first, 0), bisect_left(self.borders, interval.end)

    def _among(self, first: int, after: int) -> int:
        """The latest change of some parts: that of two rows of them which cover all."""
        if first >= after:
            return self.count
        level = (after - first).bit_length() - 1
        return min(self.least[level][first], self.least[level][after - (1 << level)])


def _latest(
    spans: Sequence[tuple[datetime, int, datetime]], borders: Sequence[datetime], *, none: int
) -> list[int]:
    """The latest of the changes (start, number, end) from each border to the next one."""
    waiting = sorted(spans, reverse=True)
    lasting: list[tuple[int, datetime]] = []
    latest: list[int] = []
    for border in borders:
        while waiting and waiting[-1][0] == border:
            _, number, end = waiting.pop()
            heappush(lasting, (number, end))
        while lasting and lasting[0][1] <= border:
            heappop(lasting)
        latest.append(lasting[0][0] if lasting else none)
    return latest


def _least(numbers: Sequence[int]) -> list[Sequence[int]]:
    """The least of each 1, 2, 4, ... numbers that follow each other."""
    found, width = [numbers], 1
    while 2 * width <= len(numbers):
        last = found[-1]
        found.append([min(pair) for pair in zip(last, last[width:], strict=False)])
        width *= 2
    return found
