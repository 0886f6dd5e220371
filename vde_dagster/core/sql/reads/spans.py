"""Ranges around an interval unit, and conditions that are true for all rows in them.

A `Span` bounds a value relative to the unit [start, end), whichever unit is evaluated. The span
of a function of the value, or of the value by that of a function of it, is never too narrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.macros import MICROSECOND
from vde_dagster.core.sql.reads.bounds import Axis, TimeFunction, around, instants_meeting
from vde_dagster.core.sql.reads.conditions import Axes, can_be_false
from vde_dagster.core.sql.reads.constants import Moments
from vde_dagster.core.sql.reads.input_ranges import MOVES_BY, ONE_OF_EACH_LENGTH
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.intervals import EPOCH, Interval, IntervalUnit, common

_NONE: Final = timedelta(0)


@dataclass(frozen=True, slots=True)
class Span:
    """The instants from ``before`` the start of a unit up to ``after`` its end, half-open."""

    before: timedelta = _NONE
    after: timedelta = _NONE


UNIT_ITSELF: Final = Span()


def image(span: Span, steps: Sequence[TimeFunction], unit: IntervalUnit) -> Span:
    """The span of a function of a value, by its steps, the innermost first."""
    for step in steps:
        if not isinstance(step, Grain):
            span = Span(span.before - step.length, span.after + step.length)
        elif not _divides(step, unit):
            span = Span(span.before + step.longest - MICROSECOND, span.after)
        elif _has_one_length(step):
            last = _ceil(span.after, step) - step.longest + MICROSECOND
            span = Span(_ceil(span.before, step), last)
        else:
            span = _in_whole_units(span, step)
    return span


def origin(span: Span, steps: Sequence[TimeFunction], unit: IntervalUnit) -> Span:
    """The span of a value, given that of a function of it."""
    for step in reversed(steps):
        if not isinstance(step, Grain):
            span = Span(span.before + step.length, span.after - step.length)
        elif not _divides(step, unit):
            span = Span(span.before, span.after + step.longest)
        elif _has_one_length(step):
            span = Span(_floor(span.before, step), _ceil(span.after, step))
        else:
            span = _in_whole_units(span, step)
    return span


def _in_whole_units(span: Span, grain: Grain) -> Span:
    """A span that is widened to whole units, so that rounding to months or years stays in it."""
    return Span(
        _NONE if span.before <= _NONE else span.before + grain.longest,
        _NONE if span.after <= _NONE else span.after + grain.longest,
    )


def _has_one_length(grain: Grain) -> bool:
    return grain <= Grain.DAY


def _divides(grain: Grain, unit: IntervalUnit) -> bool:
    """Whether every border of a unit is one of the grain."""
    if grain.months and unit.months:
        return unit.months % grain.months == 0
    return grain <= MOVES_BY[unit]


def _ceil(length: timedelta, grain: Grain) -> timedelta:
    return -(-length // grain.longest) * grain.longest


def _floor(length: timedelta, grain: Grain) -> timedelta:
    return length // grain.longest * grain.longest


def holds(condition: exp.Expr, axes: Axes, axis: Axis, span: Span, unit: IntervalUnit) -> bool:
    """Whether a condition is true for all rows of a span, alone and together with other units.

    Args:
        condition: With time macros, which stand for the range that is evaluated: the unit itself,
            or any other that it is part of.
        axes: Columns that are computed from one time.
        axis: One of them, which is in the span.
        span: Its span.
        unit: The interval unit of the rows.
    """
    inside = around(axis, before=span.before, after=span.after)
    untrue = can_be_false(condition, axes)

    def is_empty(cell: Interval, free: Grain) -> bool:
        alone, beside = _moments(cell, _NONE, free), _moments(cell, _FAR, free)
        where, dropped = instants_meeting(inside, alone), instants_meeting(untrue, beside)
        return where is not None and (
            not where or (dropped is not None and not common(where, dropped))
        )

    return any(all(is_empty(*each) for each in cells) for cells in _cells(unit))


_FAR: Final = timedelta(days=150_000)
"""Four hundred years: how far before and after a unit the range of an evaluation may reach."""


def _moments(cell: Interval, beside: timedelta, free: Grain) -> Moments:
    last = cell.end - MICROSECOND
    return Moments(start=(cell.start - beside, cell.start), last=(last, last + beside), free=free)


def _cells(unit: IntervalUnit) -> Iterator[list[tuple[Interval, Grain]]]:
    """Sets of units that represent all others, the cheapest set first."""
    free = MOVES_BY[unit]
    starts = ONE_OF_EACH_LENGTH.get(unit, (EPOCH,))
    yield [(Interval(start, unit.following(start)), free) for start in starts]
    if free < Grain.DAY:
        day = Interval(EPOCH, EPOCH + timedelta(days=1))
        yield [(each, Grain.DAY) for each in unit.cells(day)]
