"""What SQL conditions and functions say about the time column of one scan, as formulas.

Rows that do not meet a formula can never make its condition true: neither by their own values nor,
if an outer join finds no partner, as rows of NULLs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.reads.bounds import (
    ANYTHING,
    NOTHING,
    OPPOSITE,
    Axis,
    AxisType,
    Compare,
    Formula,
    Operator,
    Shift,
    TimeFunction,
    either,
    every,
)
from vde_dagster.core.sql.reads.constants import TIMESTAMPS, moved_by
from vde_dagster.core.time.formats import ISO_DATE, TimeFormat, format_of
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.sql_units import (
    DATE_TRUNC_NAMES,
    TRUNC_NAMES,
    grain_of,
)

Axes = Mapping[tuple[str, str], Axis]
"""Columns computed from the time column of one scan, by alias and name in lower case."""


def can_be_true(condition: exp.Expr, axes: Axes) -> Formula:
    """What a row's time meets whenever a condition is true for the row."""
    return _formula(condition, axes, truth=True)


def can_be_false(condition: exp.Expr, axes: Axes) -> Formula:
    """What a row's time meets whenever a condition is false, and not unknown, for the row."""
    return _formula(condition, axes, truth=False)


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that are all true if this one is."""
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        for part in inner.flatten():
            yield from conjuncts(part)
    else:
        yield inner


def axis_of(expression: exp.Expr, axes: Axes) -> Axis | None:
    """An expression as a function of the time column that keeps its order; None for all others."""
    node = expression.unalias().unnest()
    if isinstance(node, exp.Column):
        return axes.get((node.table.lower(), node.name.lower()))
    if isinstance(node, exp.TimeToStr) or (isinstance(node, exp.Cast) and _is_written(node)):
        return _written(node, axes)
    if isinstance(node, exp.Add) and isinstance(node.left, exp.Interval):
        inner = axis_of(node.right, axes)
    else:
        inner = axis_of(node.this, axes) if isinstance(node, _MONOTONE) else None
    steps = _steps(node) if inner is not None else None
    if inner is None or steps is None or inner.axis_type is not AxisType.INSTANT:
        return None
    return replace(inner, steps=(*inner.steps, *steps))


_MONOTONE: Final = (
    exp.Cast,
    exp.TsOrDsToDate,
    exp.TimestampTrunc,
    exp.DateTrunc,
    exp.TsOrDsAdd,
    exp.TimestampAdd,
    exp.Add,
    exp.Sub,
)


def _steps(node: exp.Expr) -> tuple[TimeFunction, ...] | None:
    """What a function does to a date or timestamp; None if that may not keep the order."""
    if node.args.get("format") is not None or node.args.get("zone") is not None:
        return None
    match node:
        case exp.Cast():
            return _cast_steps(node.to)
        case exp.TsOrDsToDate():
            return (Grain.DAY,)
        case exp.TimestampTrunc():
            grain = grain_of(node.args.get("unit"), names=DATE_TRUNC_NAMES)
            return None if grain is None else (grain,)
        case exp.DateTrunc():
            grain = grain_of(node.args.get("unit"), names=TRUNC_NAMES)
            return None if grain is None else (Grain.DAY, grain)
        case _:
            return _added_steps(node)


def _cast_steps(to: exp.DataType) -> tuple[TimeFunction, ...] | None:
    if to.is_type("date"):
        return (Grain.DAY,)
    return () if to.is_type(*TIMESTAMPS) else None


def _is_written(node: exp.Cast) -> bool:
    """Whether a cast gives a text or a number."""
    return node.to.is_type("text", "int", "bigint")


def _written(node: exp.TimeToStr | exp.Cast, axes: Axes) -> Axis | None:
    """The text or number of a time, if that is ordered like time."""
    inner = node.this.unnest()
    if isinstance(node, exp.TimeToStr) and isinstance(inner, exp.TimeStrToTime):
        inner = inner.this
    axis = axis_of(inner, axes)
    if axis is None or axis.axis_type is AxisType.UNCERTAIN:
        return None
    is_text = isinstance(node, exp.TimeToStr) or node.to.is_type("text")
    if axis.format is not None:
        number = replace(axis, axis_type=AxisType.NUMBER)
        return axis if is_text else number if axis.format.is_digits else None
    if isinstance(node, exp.TimeToStr):
        form = node.args.get("format")
        written = format_of(form.name) if isinstance(form, exp.Literal) else None
    else:
        is_day = isinstance(inner, exp.Cast) and inner.to.is_type("date")
        written = TimeFormat(ISO_DATE) if is_text and is_day else None
    if written is None:
        return None
    return Axis(axis_type=AxisType.TEXT, steps=(*axis.steps, written.grain), format=written)


def _added_steps(node: exp.Expr) -> tuple[TimeFunction, ...] | None:
    try:
        by = moved_by(node)
    except OverflowError:
        return None
    if by is None or by[0]:
        return None  # adding months maps several days to one, and has no inverse
    return (*((Grain.DAY,) if isinstance(node, exp.TsOrDsAdd) else ()), Shift(by[1]))


def _formula(  # noqa: PLR0911 - one line for each form of a condition
    condition: exp.Expr, axes: Axes, *, truth: bool
) -> Formula:
    """What a row meets if the condition is true, or if it is false (and not unknown)."""
    node = condition.unnest()
    match node:
        case exp.And() | exp.Or():
            parts = [_formula(each, axes, truth=truth) for each in node.flatten()]
            return every(parts) if isinstance(node, exp.And) is truth else either(parts)
        case exp.Not():
            return _formula(node.this, axes, truth=not truth)
        case exp.Boolean():
            return ANYTHING if bool(node.this) is truth else NOTHING
        case exp.Null():
            return NOTHING
        case exp.In():
            return _among(node, axes) if truth else ANYTHING
        case exp.NullSafeEQ():
            # Two NULLs are equal, but a constant that is understood is none.
            found = _comparison(node.left, Operator.AT, node.right, axes, truth=truth)
            return found if truth else ANYTHING
        case _:
            parts = [_comparison(*each, axes, truth=truth) for each in comparisons(node)]
            return (every(parts) if truth else either(parts)) if parts else ANYTHING


def comparisons(condition: exp.Expr) -> Iterator[tuple[exp.Expr, Operator, exp.Expr]]:
    """The comparisons of two values that are all true if a condition is; else none."""
    if isinstance(condition, exp.Between) and not condition.args.get("symmetric"):
        yield condition.this, Operator.FROM, condition.args["low"]
        yield condition.this, Operator.UP_TO, condition.args["high"]
    elif (operator := _OPERATORS.get(type(condition))) is not None:
        yield condition.this, operator, condition.args["expression"]


_OPERATORS: Final[Mapping[type[exp.Expr], Operator]] = {
    exp.LT: Operator.BELOW,
    exp.LTE: Operator.UP_TO,
    exp.GT: Operator.ABOVE,
    exp.GTE: Operator.FROM,
    exp.EQ: Operator.AT,
}
MIRRORED: Final[Mapping[Operator, Operator]] = {
    Operator.BELOW: Operator.ABOVE,
    Operator.UP_TO: Operator.FROM,
    Operator.FROM: Operator.UP_TO,
    Operator.ABOVE: Operator.BELOW,
    Operator.AT: Operator.AT,
}
"""What an operator is, seen from the other side."""


def _comparison(
    left: exp.Expr, operator: Operator, right: exp.Expr, axes: Axes, *, truth: bool
) -> Formula:
    axis, value = axis_of(left, axes), right
    if axis is None:
        axis, value, operator = axis_of(right, axes), left, MIRRORED[operator]
    if axis is None or (not truth and operator not in OPPOSITE):
        return ANYTHING
    chosen = operator if truth else OPPOSITE[operator]
    return Compare(axis=axis, operator=chosen, value=value)


def _among(node: exp.In, axes: Axes) -> Formula:
    """IN with a list; sub-queries and arrays are not analysed."""
    if any(node.args.get(key) for key in ("query", "unnest", "field")) or not node.expressions:
        return ANYTHING
    if axis_of(node.this, axes) is None:
        return ANYTHING
    listed = [each for each in node.expressions if not isinstance(each, exp.Null)]
    return either(_comparison(node.this, Operator.AT, each, axes, truth=True) for each in listed)
