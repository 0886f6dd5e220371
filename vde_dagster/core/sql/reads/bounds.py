"""Conditions on a time column, and the instants whose rows can meet them.

A `Formula` is the condition of a query on the rows of one scan. It is derived once from the query,
and then evaluated for any interval, or at once for many (`vde_dagster.core.sql.reads.constants`).
The result covers at least every row that can meet the condition; a condition that is not
understood is met by every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, assert_never

from sqlglot import exp

from vde_dagster.core.sql.macros import MICROSECOND
from vde_dagster.core.sql.reads.constants import (
    Constant,
    Instants,
    Moments,
    Number,
    Texts,
    constant,
    floored,
    instants_of,
)
from vde_dagster.core.time.formats import TimeFormat
from vde_dagster.core.time.grains import BEGINNING, FOREVER, Grain
from vde_dagster.core.time.intervals import Interval, common, merge

InstantSet = tuple[Interval, ...] | None
"""Disjoint ranges of instants in order, or None: every row, also one without any time.

A range that begins at `BEGINNING` or ends at `FOREVER` is open on that side.
"""


class AxisType(Enum):
    """How the values of an axis compare.

    ``UNCERTAIN`` is for instants that may have been cast to texts before; compared with a date or
    timestamp they become instants again, but with a text they would be compared letter by letter.
    """

    INSTANT = "instant"
    UNCERTAIN = "uncertain"
    TEXT = "text"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Shift:
    """Adding a fixed length of time."""

    length: timedelta


TimeFunction = Grain | Shift
"""A monotonic function of an instant: rounding down, or adding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A value that is computed from a row's time column by ``steps``, the innermost first.

    It is NULL if the time column is. ``format`` is set for texts and numbers.
    """

    axis_type: AxisType = AxisType.INSTANT
    steps: tuple[TimeFunction, ...] = ()
    format: TimeFormat | None = None


class Operator(Enum):
    """A comparison of an axis, on the left, with a constant."""

    BELOW = "<"
    UP_TO = "<="
    FROM = ">="
    ABOVE = ">"
    AT = "="


OPPOSITE: Final[Mapping[Operator, Operator]] = {
    Operator.BELOW: Operator.FROM,
    Operator.UP_TO: Operator.ABOVE,
    Operator.FROM: Operator.BELOW,
    Operator.ABOVE: Operator.UP_TO,
}
"""The comparison that is true where another one is false."""


class Border(Enum):
    """A border of the interval itself, in place of an expression."""

    START = "start"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """The axis compares with a value that is the same for every row.

    ``offset`` is added to a `Border`.
    """

    axis: Axis
    operator: Operator
    value: exp.Expr | Border
    offset: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Every:
    """All parts are met. Without any, every row meets it."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one part is met. Without any, no row meets it."""

    parts: tuple[Formula, ...]


Formula = Compare | Every | Either
ANYTHING: Final = Every(())
NOTHING: Final = Either(())


def every(parts: Iterable[Formula]) -> Formula:
    """The formula that all parts are met."""
    left = [each for each in parts if each != ANYTHING]
    return left[0] if len(left) == 1 else Every(tuple(left))


def either(parts: Iterable[Formula]) -> Formula:
    """The formula that one of the parts is met."""
    left = tuple(parts)
    if ANYTHING in left:
        return ANYTHING
    return left[0] if len(left) == 1 else Either(left)


def opposite(formula: Formula) -> Formula:
    """The formula that is met where this one is not, for rows that have a time."""
    match formula:
        case Every(parts=parts):
            return either(opposite(part) for part in parts)
        case Either(parts=parts):
            return every(opposite(part) for part in parts)
        case Compare(operator=Operator.AT):
            sides = (Operator.BELOW, Operator.ABOVE)
            return either(replace(formula, operator=side) for side in sides)
        case Compare(operator=operator):
            return replace(formula, operator=OPPOSITE[operator])
        case unreachable:
            assert_never(unreachable)


def around(axis: Axis, *, before: timedelta, after: timedelta) -> Formula:
    """The formula that an axis is in [start - before, end + after)."""
    return Every(
        (
            Compare(axis=axis, operator=Operator.FROM, value=Border.START, offset=-before),
            Compare(axis=axis, operator=Operator.BELOW, value=Border.END, offset=after),
        )
    )


def instants_meeting(formula: Formula, moments: Moments | None) -> InstantSet:
    """The instants of all rows that can meet a formula in any interval that ``moments`` bound."""
    return _meeting(formula, moments, {})


def _meeting(formula: Formula, moments: Moments | None, known: dict[int, InstantSet]) -> InstantSet:
    if id(formula) not in known:  # a formula may be a part of several others
        match formula:
            case Every(parts=parts):
                found: InstantSet = None
                for part in parts:
                    more = _meeting(part, moments, known)
                    found = (
                        more if found is None else found if more is None else common(found, more)
                    )
            case Either(parts=parts):
                found = _united([_meeting(part, moments, known) for part in parts])
            case Compare():
                found = _compared(formula, moments)
            case unreachable:
                assert_never(unreachable)
        known[id(formula)] = found
    return known[id(formula)]


def _united(sets: Sequence[InstantSet]) -> InstantSet:
    ranges = [each for each in sets if each is not None]
    if len(ranges) < len(sets):
        return None
    return merge(interval for each in ranges for interval in each)


def is_exact(formula: Formula, moments: Moments) -> bool:
    """Whether the result for an interval that represents many is exact for each of them."""
    if not isinstance(formula, Compare):
        return all(is_exact(part, moments) for part in formula.parts)
    if _is_coarse(formula.axis, moments):
        return False
    if isinstance(formula.value, Border):
        return True
    value = _value(formula.value, moments)
    if not isinstance(value, Instants | Texts):
        return False
    return value.free is not None and value.low == value.high


def _is_coarse(axis: Axis, moments: Moments) -> bool:
    """Whether an axis rounds differently among the intervals that one represents."""
    grains = [each for each in axis.steps if isinstance(each, Grain)]
    return moments.free is not None and max(grains, default=moments.free) > moments.free


def _value(node: exp.Expr, moments: Moments | None) -> Constant | None:
    try:
        return constant(node, moments)
    except OverflowError:
        return None


def _compared(compare: Compare, moments: Moments | None) -> InstantSet:
    free = moments.free if moments is not None else None
    if isinstance(compare.value, Border):
        found = _border(compare.value, compare.offset, moments)
    else:
        found = _on_axis(compare.axis, _value(compare.value, moments), free)
    if found is None:
        return None
    operator = compare.operator
    if compare.axis.format is not None and operator is Operator.ABOVE:
        operator = Operator.FROM  # after one text of a day, another one of that day may follow
    start, end = BEGINNING, FOREVER
    try:
        if operator in (Operator.FROM, Operator.ABOVE, Operator.AT):
            start = _first(compare, found[0], free, after=operator is Operator.ABOVE)[0]
        if operator in (Operator.BELOW, Operator.UP_TO, Operator.AT):
            end = _first(compare, found[1], free, after=operator is not Operator.BELOW)[1]
    except OverflowError:
        return None
    return (Interval(start, end),) if start < end else ()


def _first(
    compare: Compare, value: datetime, free: Grain | None, *, after: bool
) -> tuple[datetime, datetime]:
    """Bounds of the first instant whose axis is not before a value; if ``after``, is after it.

    Raises:
        OverflowError: It is outside the years 1 to 9999.
    """
    low = high = value
    for step in reversed(compare.axis.steps):
        if isinstance(step, Shift):
            low, high = low - step.length, high - step.length
        elif free is not None and step > free:
            # The border at or after `low` is not before it, that after `high` at most one unit on.
            high, after = high + step.longest, False
        elif after:
            low, high = (step.following(step.floor(each)) for each in (low, high))
            after = False
        else:
            low, high = step.ceil(low), step.ceil(high)
    return (low + MICROSECOND, high + MICROSECOND) if after else (low, high)


def _border(
    border: Border, offset: timedelta, moments: Moments | None
) -> tuple[datetime, datetime] | None:
    if moments is None:
        return None
    bounds = moments.start
    if border is Border.END:
        bounds, offset = moments.last, offset + MICROSECOND
    try:
        return bounds[0] + offset, bounds[1] + offset
    except OverflowError:
        return None


def _on_axis(
    axis: Axis, value: Constant | None, free: Grain | None
) -> tuple[datetime, datetime] | None:
    """Bounds of a constant as an instant on an axis; None if it cannot be compared."""
    fixed = isinstance(value, Instants | Texts) and value.free is None
    if free is not None and (fixed or isinstance(value, Number)):
        return None  # it bounds each interval in a different way
    match axis.axis_type:
        case AxisType.INSTANT:
            found = instants_of(value)
            if found is None:
                return None
            # Compared with a date, an engine may drop a text's time of day.
            drops = isinstance(value, Texts) and axis.steps
            return (floored(found, Grain.DAY).low if drops else found.low), found.high
        case AxisType.UNCERTAIN:
            return (value.low, value.high) if isinstance(value, Instants) else None
        case AxisType.TEXT | AxisType.NUMBER:
            return _positions(axis, value, free)
        case unreachable:
            assert_never(unreachable)


def _positions(
    axis: Axis, value: Constant | None, free: Grain | None
) -> tuple[datetime, datetime] | None:
    """Where texts or numbers are in the order of those that the axis' format writes."""
    assert axis.format is not None, "an axis of texts or numbers has a format"
    if free is not None and axis.format.grain > free:
        return None
    numbers = axis.axis_type is AxisType.NUMBER
    if numbers and isinstance(value, Number):
        value = Texts(low=str(value.value), high=str(value.value))
    elif numbers or not isinstance(value, Texts):
        return None  # one side is cast to the other's type, and the order is that of the result
    low, high = axis.format.position(value.low), axis.format.position(value.high)
    if low is None or high is None or (numbers and not (low[1] and high[1])):
        return None
    return low[0], high[0] if high[1] else high[0] + MICROSECOND
