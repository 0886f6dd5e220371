"""Derives the spans of columns in joined rows from conditions, once the span of one is known.

``b.hour = DATE_TRUNC('HOUR', a.ts)`` ties b to a: if `a.ts` is in an hour, `b.hour` is, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from sqlglot import exp

from vde_dagster.core.sql.macros import MICROSECOND
from vde_dagster.core.sql.reads.bounds import Axis, AxisType, Operator, TimeFunction
from vde_dagster.core.sql.reads.conditions import MIRRORED, axis_of, comparisons
from vde_dagster.core.sql.reads.spans import Span, image, origin
from vde_dagster.core.time.intervals import IntervalUnit

Column = tuple[str, str]
"""An alias and a column's name, in lower case."""
ColumnAxes = Callable[[Column], Axis | None]
"""A column as an axis by its type; None if its values are no times, or it is not known."""
Spans = Mapping[Column, Span]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """An expression that is computed from one column by steps that keep the order."""

    column: Column
    axis: Axis
    steps: tuple[TimeFunction, ...] = ()

    def compares_with(self, other: Timed) -> bool:
        """Whether equal values of both are the same instant."""
        if self.axis.axis_type is AxisType.INSTANT:
            return other.axis.axis_type is AxisType.INSTANT
        return self.axis.axis_type is not AxisType.UNCERTAIN and self.axis == other.axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """``left`` compares with ``right`` in every row for which a condition is true."""

    left: Timed
    operator: Operator
    right: Timed


def timed(expression: exp.Expr, axes: ColumnAxes) -> Timed | None:
    """An expression by the one column that it is computed from; None if that is not certain."""
    columns = list(expression.find_all(exp.Column))
    if len(columns) != 1:
        return None
    column = (columns[0].table.lower(), columns[0].name.lower())
    axis = axes(column)
    if axis is None:
        return None
    own = Axis() if axis.axis_type is AxisType.INSTANT else axis
    found = axis_of(expression, {column: own})
    if found is None:
        return None
    steps = found.steps if own.axis_type is AxisType.INSTANT else ()
    return Timed(column=column, axis=axis, steps=steps)


def ties_in(conditions: Iterable[exp.Expr], axes: ColumnAxes) -> Iterator[Tie]:
    """The comparisons of two columns, each once from either side."""
    for condition in conditions:
        for one, operator, other in comparisons(condition.unnest()):
            left, right = timed(one, axes), timed(other, axes)
            if left is None or right is None or not left.compares_with(right):
                continue
            if operator is Operator.AT or left.axis.axis_type is AxisType.INSTANT:
                yield Tie(left=left, operator=operator, right=right)
                yield Tie(left=right, operator=MIRRORED[operator], right=left)


def spans_of(known: Spans, ties: Iterable[Tie], unit: IntervalUnit) -> dict[Column, Span]:
    """The spans of columns that are tied, directly or through others, to known ones.

    A column is bound by an equality, or from below and from above by other comparisons.
    """
    found, ties = dict(known), tuple(ties)
    before: dict[Column, timedelta] = {}
    after: dict[Column, timedelta] = {}
    size = -1
    while size < len(found):
        size = len(found)
        for tie in ties:
            column = tie.left.column
            if column in found or tie.right.column not in found:
                continue
            span = image(found[tie.right.column], tie.right.steps, unit)
            if tie.operator is Operator.AT:
                found[column] = origin(span, tie.left.steps, unit)
            elif not tie.left.steps and tie.operator in (Operator.FROM, Operator.ABOVE):
                before.setdefault(column, span.before)
            elif not tie.left.steps:
                strict = tie.operator is Operator.BELOW
                after.setdefault(column, span.after - MICROSECOND if strict else span.after)
            if column not in found and column in before and column in after:
                found[column] = Span(before[column], after[column])
    return found
