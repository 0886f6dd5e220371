"""The values of expressions of literals, intervals and time macros, by Spark's rules.

A value is given by bounds: it is between ``low`` and ``high``. They are equal if the value is
certain. They differ if engines round differently, or if an interval is only known to be in a
range, which is how many intervals are analysed in one step. Every operation here keeps the order of
its operands, so bounds of operands give bounds of the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.macros import MICROSECOND
from vde_dagster.core.time.formats import TimeFormat
from vde_dagster.core.time.grains import Grain, add_months, lengths_of_months
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.time.sql_units import (
    DATE_TRUNC_NAMES,
    TRUNC_NAMES,
    Duration,
    duration,
    grain_of,
    times,
    whole_number,
)

Bounds = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Bounds of the first instant and of the last microsecond of an interval.

    With ``free``, the interval represents all those to which it can be moved by multiples of this
    grain; a result for it must be true for each of them when it is moved, too.
    """

    start: Bounds
    last: Bounds
    free: Grain | None = None

    @classmethod
    def between(cls, first: Interval, last: Interval) -> Moments:
        """Those of all intervals from ``first`` to ``last``, which are in order."""
        return cls(
            start=(first.start, last.start),
            last=(first.end - MICROSECOND, last.end - MICROSECOND),
        )

    @classmethod
    def anywhere(cls, interval: Interval, grain: Grain) -> Moments:
        """Those of an interval that can be moved by any multiple of a grain."""
        return replace(cls.between(interval, interval), free=grain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instants:
    """A date or timestamp; ``is_date`` says which. A date is its first midnight in UTC.

    ``free`` is set if the value moves with an interval that represents many.
    """

    low: datetime
    high: datetime
    is_date: bool = False
    free: Grain | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """A text; bounds are in the order of texts. ``free`` is as for `Instants`."""

    low: str
    high: str
    free: Grain | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number."""

    value: int


Constant = Instants | Texts | Number


def constant(node: exp.Expr, moments: Moments | None = None) -> Constant | None:
    """The value of an expression; None if that is not certain for every row and every engine.

    Args:
        node: As sqlglot reads it in Spark's dialect.
        moments: What time macros stand for; None if it has none.

    Raises:
        OverflowError: A value is outside the years 1 to 9999.
    """
    evaluate = _EVALUATORS.get(type(node))
    return None if evaluate is None else evaluate(node, moments)


def instants_of(value: Constant | None) -> Instants | None:
    """A value as it is compared with a timestamp; None if it cannot be."""
    if not isinstance(value, Texts):
        return value if isinstance(value, Instants) else None
    low, high = _parsed(value.low, zoned=False), _parsed(value.high, zoned=False)
    if low is None or high is None:
        return None
    return Instants(low=low, high=high, free=value.free)


TIMESTAMPS: Final = ("timestamp", "timestamptz", "timestampntz", "timestampltz")

_DIGITS: Final = re.compile("[0-9]{1,18}")
_INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)


def _parsed(text: str, *, zoned: bool) -> datetime | None:
    """The instant that a text is cast to. What an offset means without a zone differs by engine."""
    if _INSTANT.fullmatch(text) is None:
        return None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    if instant.tzinfo is None:
        return instant.replace(tzinfo=UTC)
    return instant.astimezone(UTC) if zoned or not instant.utcoffset() else None


def floored(value: Instants, grain: Grain) -> Instants:
    """A value truncated to a grain."""
    if value.free is not None and grain > value.free:  # by how much depends on its position
        return replace(value, low=value.low - grain.longest + MICROSECOND)
    return replace(value, low=grain.floor(value.low), high=grain.floor(value.high))


def _dated(value: Instants | None) -> Instants | None:
    return None if value is None else replace(floored(value, Grain.DAY), is_date=True)


def _shifted(value: Instants, by: Duration) -> Instants:
    """Add months first, then fixed lengths of time, as SQL does."""
    months, length = by
    if value.free is not None:
        shortest, longest = lengths_of_months(months)
        low, high = value.low + shortest, value.high + longest
    else:
        low, high = add_months(value.low, months), add_months(value.high, months)
    whole_days = length % timedelta(days=1) == timedelta(0)
    return replace(
        value, low=low + length, high=high + length, is_date=value.is_date and whole_days
    )


def _maybe_dated(value: Instants) -> Instants:
    """A value that one engine rounds down to its day, and another one does not."""
    return replace(value, low=floored(value, Grain.DAY).low)


def _literal(node: exp.Expr, moments: Moments | None) -> Constant | None:
    del moments
    if isinstance(node, exp.Literal) and node.is_string:
        return Texts(low=node.name, high=node.name)
    number = whole_number(node)
    return None if number is None else Number(number)


def _inner(node: exp.Expr, moments: Moments | None) -> Constant | None:
    return None if node.args.get("zone") is not None else constant(node.this, moments)


def _macro(node: exp.Expr, moments: Moments | None) -> Constant | None:
    moment, _, form = node.name.lower().rpartition("_")
    known = {"start": moments.start, "end": moments.last} if moments is not None else {}
    if moments is None or moment not in known:
        return None
    exact = Instants(low=known[moment][0], high=known[moment][1], free=moments.free)
    match form:
        case "dt" | "dtntz":
            return exact
        case "date":
            return _dated(exact)
        case "ds":
            return _as_text(_dated(exact), certain=True)
        case "ts" | "tstz":
            texts = (each.isoformat(sep=" ") for each in known[moment])
            low, high = (each if form == "tstz" else each.removesuffix("+00:00") for each in texts)
            return Texts(low=low, high=high, free=moments.free)
        case _:
            return None


def _cast(node: exp.Expr, moments: Moments | None) -> Constant | None:
    value, to = constant(node.this, moments), node.args["to"]
    if node.args.get("format") is not None or not isinstance(to, exp.DataType):
        return None
    if to.is_type(*TIMESTAMPS):
        return _as_timestamp(value, zoned=to.is_type("timestamptz", "timestampltz"))
    if to.is_type("date"):
        return _dated(instants_of(value))
    if to.is_type("text", "varchar") and not to.expressions:
        return _as_text(value, certain=isinstance(node.this.unnest(), _DATES))
    return _as_number(value) if to.is_type("int", "bigint") else None


def _as_timestamp(value: Constant | None, *, zoned: bool) -> Instants | None:
    if isinstance(value, Texts) and value.low == value.high:
        instant = _parsed(value.low, zoned=zoned)
        if instant is not None:
            return Instants(low=instant, high=instant, free=value.free)
    found = instants_of(value)
    return None if found is None else replace(found, is_date=False)


def _as_text(value: Constant | None, *, certain: bool) -> Texts | None:
    """The result of a CAST to a text; engines write timestamps differently.

    ``certain`` says that every engine has a date here. A date plus something is still a date in
    Spark; in others it is a timestamp, whose text begins with the date's.
    """
    if not isinstance(value, Instants):
        return value if isinstance(value, Texts) else None
    bounds = (value.low, value.high)
    if value.is_date and all(Grain.DAY.floor(each) == each for each in bounds):
        low, high = (each.date().isoformat() for each in bounds)
        high = high if certain else f"{high} 00:00:00"
    elif value.is_date and value.free is not None:
        low, high = (each.isoformat(sep=" ") for each in bounds)
    else:
        return None
    return Texts(low=low, high=high, free=value.free)


_DATES: Final = (exp.Cast, exp.TsOrDsToDate, exp.Parameter)


def _as_number(value: Constant | None) -> Number | None:
    if isinstance(value, Texts) and value.low == value.high and _DIGITS.fullmatch(value.low):
        return Number(int(value.low))
    return value if isinstance(value, Number) else None


def _written(node: exp.Expr, moments: Moments | None) -> Constant | None:
    """DATE_FORMAT, if its texts are ordered like time."""
    value = instants_of(constant(node.this, moments))
    pattern = node.args.get("format")
    if value is None or not isinstance(pattern, exp.Literal):
        return None
    try:
        form = TimeFormat(re.sub("(%.)strict", r"\1", pattern.name))
    except ValueError:
        return None
    found = floored(value, form.grain)
    return Texts(low=form.write(found.low), high=form.write(found.high), free=found.free)


def _date(node: exp.Expr, moments: Moments | None) -> Constant | None:
    if node.args.get("format") is not None:
        return None
    return _dated(instants_of(constant(node.this, moments)))


def _truncated(node: exp.Expr, moments: Moments | None) -> Constant | None:
    value = instants_of(constant(node.this, moments))
    dates = isinstance(node, exp.DateTrunc)
    names = TRUNC_NAMES if dates else DATE_TRUNC_NAMES
    grain = grain_of(node.args.get("unit"), names=names)
    if value is None or grain is None or node.args.get("zone") is not None:
        return None
    return replace(floored(value, grain), is_date=dates)


def moved_by(node: exp.Expr) -> Duration | None:
    """By how much a function or a sum moves a time; None if that is not the same for each."""
    by: Duration | None = None
    match node:
        case exp.TsOrDsAdd():
            unit, days = node.args.get("unit"), whole_number(node.expression)
            by_days = unit is None or unit.name.upper() == "DAY"
            by = (0, timedelta(days=days)) if by_days and days is not None else None
        case exp.TimestampAdd():
            unit, count = node.args.get("unit"), whole_number(node.expression)
            by = times(count, unit.name) if unit is not None and count is not None else None
        case exp.Add():
            by = duration(node.left) or duration(node.right)
        case exp.Sub() if (taken := duration(node.expression)) is not None:
            by = (-taken[0], -taken[1])
    return by


def _moved(node: exp.Expr, moments: Moments | None) -> Constant | None:
    is_sum = isinstance(node, exp.Add | exp.Sub)
    is_behind = isinstance(node, exp.Add) and isinstance(node.left, exp.Interval)
    value, by = constant(node.expression if is_behind else node.this, moments), moved_by(node)
    days = whole_number(node.expression) if is_sum else None
    if by is None and days is not None and isinstance(value, Instants) and value.is_date:
        by = (0, timedelta(days=days if isinstance(node, exp.Add) else -days))
    found = instants_of(value)
    if found is None or by is None:
        return None
    if isinstance(node, exp.TsOrDsAdd):
        return _shifted(replace(floored(found, Grain.DAY), is_date=True), by)
    if isinstance(node, exp.TimestampAdd):
        return replace(_shifted(found, by), is_date=False)
    # A text stays one; the other side of the comparison decides whether its time of day counts.
    return _maybe_dated(_shifted(found, by)) if isinstance(value, Texts) else _shifted(found, by)


def _months_added(node: exp.Expr, moments: Moments | None) -> Constant | None:
    value = instants_of(constant(node.this, moments))
    months = whole_number(node.args.get("expression"))
    if value is None or months is None:
        return None
    return replace(_maybe_dated(_shifted(value, (months, timedelta(0)))), is_date=True)


_EVALUATORS: Final[
    Mapping[type[exp.Expr], Callable[[exp.Expr, Moments | None], Constant | None]]
] = {
    exp.Paren: _inner,
    exp.TimeStrToTime: _inner,
    exp.Literal: _literal,
    exp.Neg: _literal,
    exp.Parameter: _macro,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.TimeToStr: _written,
    exp.TsOrDsToDate: _date,
    exp.TimestampTrunc: _truncated,
    exp.DateTrunc: _truncated,
    exp.Add: _moved,
    exp.Sub: _moved,
    exp.TsOrDsAdd: _moved,
    exp.TimestampAdd: _moved,
    exp.AddMonths: _months_added,
}
