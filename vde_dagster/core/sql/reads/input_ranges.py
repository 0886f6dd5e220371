"""Which time ranges of each parent a query reads, and which intervals read a changed range.

If every scan of a parent is bounded by constants on the parent's time column, the result is the
union of those bounds; in every other case it is the whole table. Too wide is safe, too narrow never
is, so only conditions whose meaning is certain are used: `vde_dagster.core.sql.reads.scans` says
which. See docs/inside/architecture.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from sqlglot import exp

from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import MICROSECOND
from vde_dagster.core.sql.reads.bounds import (
    ANYTHING,
    Axis,
    AxisType,
    Formula,
    InstantSet,
    around,
    instants_meeting,
    is_exact,
)
from vde_dagster.core.sql.reads.constants import Moments
from vde_dagster.core.sql.reads.scans import Kept, TimeColumn, scan_bounds
from vde_dagster.core.time.formats import ISO_DATE, TimeFormat, axis_type
from vde_dagster.core.time.grains import BEGINNING, FOREVER, Grain
from vde_dagster.core.time.intervals import EPOCH, Interval, IntervalUnit, common, merge, subtract
from vde_dagster.core.time.windows import Window


@dataclass(frozen=True, slots=True)
class WholeTable:
    """Every row of the parent may be read."""


WHOLE: Final = WholeTable()
InputRange = WholeTable | tuple[Interval, ...]
"""The whole table, or merged intervals in whole units of the parent."""
_MOST_RANGES: Final = 128
"""How many intervals' ranges are remembered of a query."""


def together(ranges: Iterable[InputRange]) -> InputRange:
    """The union of some ranges of one parent."""
    every = list(ranges)
    if any(isinstance(each, WholeTable) for each in every):
        return WHOLE
    return merge(time for each in every if not isinstance(each, WholeTable) for time in each)


def covers(known: InputRange, read: InputRange) -> bool:
    """Whether a known range includes another one."""
    if isinstance(known, WholeTable):
        return True
    return not isinstance(read, WholeTable) and not subtract(read, known)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """The column and the units by which a parent's rows belong to intervals.

    ``type`` is the column's, as Spark writes it. ``format`` is how a text or a number writes an
    instant, in Python's codes; empty for dates, timestamps, and texts that are ISO dates.
    """

    column: str
    unit: IntervalUnit
    type: str = "timestamp"
    format: str = ""


@dataclass(frozen=True, slots=True)
class Reads:
    """A query's conditions on each parent's rows, for any interval that it is evaluated for.

    ``known_windows`` are those that `windows` found out already.
    """

    demands: Mapping[ModelName, tuple[TimeAxis | None, Formula]]
    known_windows: dict[tuple[ModelName, IntervalUnit], Windows | None] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    _ranges: dict[Moments | None, Mapping[ModelName, InputRange]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def ranges(self, moments: Moments | None = None) -> Mapping[ModelName, InputRange]:
        """The range that is read of each parent; looks ask again and again for the same intervals.

        Args:
            moments: The interval that the time macros stand for; None if there are none.
        """
        known = self._ranges.get(moments)
        if known is None:
            if len(self._ranges) == _MOST_RANGES:
                self._ranges.clear()
            known = self._ranges[moments] = {
                name: _widened(axis, instants_meeting(demand, moments))
                for name, (axis, demand) in self.demands.items()
            }
        return known

    def at(self, interval: Interval) -> Mapping[ModelName, InputRange]:
        """The range that evaluating one interval by itself reads of each parent."""
        return self.ranges(Moments.between(interval, interval))

    def with_whole(self, names: Iterable[ModelName]) -> Reads:
        """The same, and the whole of other parents."""
        return Reads({**self.demands, **dict.fromkeys(names, (None, ANYTHING))})


def reads(
    query: exp.Query,
    *,
    axes: Mapping[ModelName, TimeAxis | None],
    kept: TimeAxis | None = None,
) -> Reads:
    """What a query reads of each table in ``axes`` that it names.

    Args:
        query: As Spark's dialect reads it, every column bound to its table; with time macros, or
            with literals in their place.
        axes: Each parent with its time axis; None for a parent without intervals.
        kept: The axis of the result, if only the interval's rows of it are kept.
    """
    columns = {name: time_column_of(axis) for name, axis in axes.items()}
    bounds = scan_bounds(query, columns, kept=kept_of(kept))
    return Reads({name: (axes[name], demand) for name, demand in bounds.items()})


def kept_of(axis: TimeAxis | None) -> Kept | None:
    """What is kept of a result with a time axis; all of it without one."""
    output = time_column_of(axis)
    return None if output is None else Kept(name=output.name, format=output.axis.format)


def time_column_of(axis: TimeAxis | None) -> TimeColumn | None:
    """A column as conditions see it; None if its type cannot bound a time."""
    if axis is None:
        return None
    match axis_type(axis.type):
        case "timestamp" | "timestamp_ntz":
            value = Axis()
        case "date":
            value = Axis(steps=(Grain.DAY,))
        case "unknown":
            value = Axis(axis_type=AxisType.UNCERTAIN)
        case "string":
            value = _formatted(AxisType.TEXT, axis.format or ISO_DATE)
        case "bigint" if axis.format:
            value = _formatted(AxisType.NUMBER, axis.format)
        case _:
            return None
    return TimeColumn(name=axis.column.lower(), axis=value)


def _formatted(axis_type: AxisType, pattern: str) -> Axis:
    written = TimeFormat(pattern)
    return Axis(axis_type=axis_type, steps=(written.grain,), format=written)


def _widened(axis: TimeAxis | None, found: InstantSet) -> InputRange:
    if axis is None or found is None:
        return WHOLE
    try:
        if _is_open(found):
            return WHOLE
        return merge(axis.unit.widen(each) for each in found)
    except (OverflowError, ValueError):
        return WHOLE  # the last unit of the calendar has no border after it


def _is_open(found: Sequence[Interval]) -> bool:
    return any(each.start == BEGINNING or each.end == FOREVER for each in found)


def declared_reads(
    axes: Mapping[ModelName, TimeAxis | None], windows: Mapping[ModelName, Window]
) -> Reads:
    """What a Python model reads: the windows that it declares, and the whole of other parents.

    Args:
        axes: Each parent with its time axis.
        windows: What an interval reads of each parent.
    """
    return Reads(
        {
            name: (axis, around(Axis(), before=windows[name].before, after=windows[name].after))
            if name in windows
            else (axis, ANYTHING)
            for name, axis in axes.items()
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """What every interval of a unit reads of a parent: at most the union of these windows.

    ``exact`` means that every interval reads all of it.
    """

    parts: tuple[Window, ...]
    exact: bool


def windows(reads: Reads, parent: ModelName, unit: IntervalUnit) -> Windows | None:
    """What any interval [start, end) of a unit reads of a parent, relative to it.

    Windows are not widened to the parent's units. None if there are none, such as if a query reads
    the whole parent, or from a fixed date on; without parts if it reads nothing.
    """
    if parent not in reads.demands:
        return Windows(parts=(), exact=True)
    if (parent, unit) not in reads.known_windows:
        reads.known_windows[parent, unit] = _windows(reads.demands[parent][1], unit)
    return reads.known_windows[parent, unit]


def _windows(demand: Formula, unit: IntervalUnit) -> Windows | None:
    found: set[tuple[Window, ...]] = set()
    exact = True
    for start in ONE_OF_EACH_LENGTH.get(unit, (EPOCH,)):
        cell = Interval(start, unit.following(start))
        moments = Moments.anywhere(cell, MOVES_BY[unit])
        read = instants_meeting(demand, moments)
        if read is None or _is_open(read):
            return None
        exact &= is_exact(demand, moments)
        found.add(
            tuple(Window(before=start - each.start, after=each.end - cell.end) for each in read)
        )
    if len(found) == 1:
        return Windows(parts=found.pop(), exact=exact)
    parts = [part for each in found for part in each]
    return Windows(parts=(_around_all(parts),), exact=False)


def window(reads: Reads, parent: ModelName, unit: IntervalUnit) -> Window | None:
    """One window that includes all that an interval of a unit reads of a parent.

    None if there is none (see `windows`), or if nothing is ever read.
    """
    found = windows(reads, parent, unit)
    return _around_all(found.parts) if found is not None and found.parts else None


def _around_all(parts: Sequence[Window]) -> Window:
    return Window(
        before=max(each.before for each in parts), after=max(each.after for each in parts)
    )


ONE_OF_EACH_LENGTH: Final[Mapping[IntervalUnit, tuple[datetime, ...]]] = {
    IntervalUnit.MONTH: tuple(
        datetime(year, month, 1, tzinfo=UTC)
        for year, month in ((2024, 1), (2024, 2), (2024, 4), (2023, 2))
    ),
    IntervalUnit.YEAR: (datetime(2023, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)),
}
MOVES_BY: Final[Mapping[IntervalUnit, Grain]] = {
    unit: min(unit.grain, Grain.DAY) for unit in IntervalUnit
}
"""The distance between any two intervals of a unit is a multiple of this grain."""


def affected(
    reads: Reads,
    parent: ModelName,
    changed: Iterable[Interval],
    *,
    unit: IntervalUnit,
    within: Interval,
    at_once: bool = False,
) -> tuple[Interval, ...]:
    """The intervals of a model that may read a changed range of a parent.

    The number of steps is linear in the number of affected units, and does not depend on it where
    the model has fixed windows.

    Args:
        reads: What the model reads.
        parent: The parent.
        changed: What changed of it; widened to the parent's units.
        unit: The model's interval unit.
        within: Where to look; only its whole units count.
        at_once: Whether the model is evaluated for all of that as one interval, by units or not.
    """
    first, last = within.start, within.end
    if not at_once:
        first, last = unit.ceil(first), unit.floor(last)
    where = merge(changed)
    if parent not in reads.demands or not where or first >= last:
        return ()
    axis, demand = reads.demands[parent]
    every = Interval(first, last)
    if axis is None:
        return (every,)
    where = merge(axis.unit.widen(each) for each in where)
    if at_once:
        read = instants_meeting(demand, Moments.between(every, every))
        return (every,) if read is None or common(read, where) else ()
    found = windows(reads, parent, unit)
    if found is None:
        return merge(_reading(demand, where, unit, [every]))
    readers = (_readers(each, part, unit) for each in where for part in found.parts)
    inside = (each.intersection(every) for each in readers if each is not None)
    candidates = merge(each for each in inside if each is not None)
    return candidates if found.exact else merge(_reading(demand, where, unit, candidates))


def _readers(changed: Interval, window: Window, unit: IntervalUnit) -> Interval | None:
    """All intervals [s, e) with s - before < changed.end and e + after > changed.start."""
    try:
        first = unit.floor(changed.start - window.after)
        last = unit.ceil(changed.end + window.before)
    except (OverflowError, ValueError):
        return Interval(BEGINNING, FOREVER)
    return Interval(first, last) if first < last else None


def _reading(
    demand: Formula,
    changed: Sequence[Interval],
    unit: IntervalUnit,
    candidates: Sequence[Interval],
) -> Iterator[Interval]:
    """Ranges of units, each halved until it certainly reads nothing, or cannot be halved."""
    waiting = [*candidates]
    while waiting:
        block = waiting.pop()
        first = Interval(block.start, unit.following(block.start))
        last = Interval(unit.floor(block.end - MICROSECOND), block.end)
        read = instants_meeting(demand, Moments.between(first, last))
        if read is None or (first == last and common(read, changed)):
            yield block
        elif first != last and common(read, changed):
            middle = max(unit.floor(block.start + (block.end - block.start) / 2), first.end)
            waiting += [Interval(block.start, middle), Interval(middle, block.end)]
