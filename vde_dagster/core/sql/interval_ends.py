"""Finds filters that compare with the end of an interval and miss rows before that end.

Every macro of the end is inclusive: ``@end_dt`` is the last microsecond of the interval, but
``@end_date`` begins its last day, and ``@end_epoch`` its last second. So it takes all rows of the
interval if it is compared by ``<=`` with values that are no finer than it is. One rule says so for
all macros, types and operators: see `_is_short`.

Only conditions that filter rows are checked: WHERE, ON, HAVING, QUALIFY and FILTER. The purpose of
a comparison that is a value, as in ``f <= @end_epoch AS early`` or inside of CASE, is not known, so
it is left to the author. So is a macro that something is added to or taken from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Finding
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import schema_of
from vde_dagster.core.sql.compared_bounds import (
    Bound,
    Compared,
    Form,
    bound_of,
    is_border,
    kept_for,
    kind_of,
    number_grain,
    values_after,
    values_before,
)
from vde_dagster.core.sql.interval_end_texts import finding_of
from vde_dagster.core.sql.macros import macros_in
from vde_dagster.core.sql.types import with_types
from vde_dagster.core.sql.unresolved import line_of
from vde_dagster.core.time.formats import ISO_DATE, TimeFormat
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.intervals import IntervalUnit
from vde_dagster.core.time.sql_units import DATE_TRUNC_NAMES, duration, grain_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """What matters of the model whose query it is.

    ``unit`` is that of its intervals; None if there is only one. ``time_column`` is the column by
    which only an interval's rows are kept; None if all are. ``in_batches`` says that several
    intervals may be evaluated at once. ``formats`` say how columns of text by these names write a
    time, where that is declared.
    """

    unit: IntervalUnit | None = None
    in_batches: bool = False
    time_column: str | None = None
    formats: Mapping[str, str] = field(default_factory=dict)


def cut_off(
    query: exp.Query, schemas: Mapping[ModelName, Sequence[Column]], reader: Reader
) -> Iterator[Finding]:
    """The filters of a query that miss rows of each interval.

    Args:
        query: In its canonical form, with its time macros.
        schemas: The columns of what it reads.
        reader: The model.
    """
    if not any(is_border(name) for name, _ in macros_in(query)):
        return
    typed = with_types(query.copy(), schema=schema_of(schemas, "spark"), dialect="spark")
    told: set[int] = set()
    for name, macro in macros_in(typed):
        bound = bound_of(name, macro) if is_border(name) else None
        comparison = None if bound is None else bound.node.parent
        if bound is None or comparison is None or id(comparison) in told:
            continue
        for compared in _missed(bound, comparison, typed, reader):
            told.add(id(comparison))
            yield finding_of(bound, comparison, compared)
            break


def _missed(
    bound: Bound, comparison: exp.Expr, query: exp.Query, reader: Reader
) -> Iterator[Compared]:
    """The values whose rows a comparison with a bound leaves out, although it is to keep them."""
    if isinstance(comparison, exp.EQ | exp.NullSafeEQ | exp.In):
        is_kept = reader.in_batches and True in kept_for(comparison)
        is_left = comparison.this is bound.node
        value = comparison.expression if is_left else comparison.this
        if (
            is_kept
            and value is not None
            and value.find(exp.Column)
            and not bound.macro.endswith("_hour")
        ):
            yield Compared(value, strict=True)
    elif bound.macro.startswith("end_"):
        for compared in values_before(bound.node, comparison):
            if _is_short(compared, bound, reader.formats):
                yield compared
    else:
        for compared in values_after(bound.node, comparison):
            if _is_late(compared, bound, query, reader):
                yield compared


def by_hours(query: exp.Query) -> Iterator[Finding]:
    """The filters by hours of the day: of several days at once these are no range.

    Args:
        query: In its canonical form, of a model whose intervals are shorter than a day.
    """
    for name, macro in macros_in(query):
        comparison = bound_of(name, macro).node.parent if name in _HOURS else None
        if comparison is not None and kept_for(comparison):
            yield Finding(
                message=f"@{name} is an hour of the day, and intervals of several days that are "
                "evaluated at once are no range of such hours, so rows would be left out",
                advice="Compare the time itself: `value BETWEEN @start_dt AND @end_dt`. Or set "
                "`batch_size 1`, so that each interval is evaluated alone.",
                line=line_of(comparison),
            )


_HOURS: Final = ("start_hour", "end_hour")


def _is_short(compared: Compared, bound: Bound, formats: Mapping[str, str]) -> bool:
    """Whether values before the end of an interval may be behind a bound.

    A bound begins the last ``unit`` of the interval. Values that are finer than this unit may be
    later in it; a value that is as fine may be equal to the bound, which ``<`` leaves out. Coarser
    values are before it.
    """
    if _is_of_other_text(compared.value, bound, formats):
        return True
    grain = _grain_beside(compared.value, bound, formats)
    unit = max(bound.unit, Grain.DAY) if _is_date(compared.value, bound) else bound.unit
    return grain is not None and (grain < unit or (compared.strict and grain == unit))


def _is_late(compared: Compared, bound: Bound, query: exp.Query, reader: Reader) -> bool:
    """Whether values from the start of an interval on may be before a bound.

    A coarse value is the first instant of its unit, in which the interval may start. ``>`` leaves
    out the first instant itself. That is right where the end of a validity is compared, so it
    counts for a value that is compared with the end, too, or that makes the model's time column.
    """
    value = compared.value
    if _is_of_other_text(value, bound, reader.formats):
        return True
    grain = _grain_beside(value, bound, reader.formats)
    if grain is None or bound.macro == "start_hour":
        return False
    if reader.unit is not None:
        first = max(reader.unit.grain, Grain.DAY if _is_date(value, bound) else bound.unit)
        if first < grain < Grain.YEAR:  # which constants have
            return True
    return compared.strict and (_has_an_end(value, query) or _makes_time(value, query, reader))


def _has_an_end(value: exp.Expr, query: exp.Query) -> bool:
    """Whether a value is compared with the end of the interval, too."""
    for name, macro in macros_in(query):
        if is_border(name) and name.startswith("end_"):
            bound = bound_of(name, macro).node
            if bound.parent is not None and any(
                compared.value == value for compared in values_before(bound, bound.parent)
            ):
                return True
    return False


def _makes_time(value: exp.Expr, query: exp.Query, reader: Reader) -> bool:
    """Whether the model's time column is made of a value's column, in one query."""
    columns = set(value.find_all(exp.Column))
    return any(
        not columns.isdisjoint(output.find_all(exp.Column))
        for output in query.selects
        if output.alias_or_name.lower() == reader.time_column
    )


def _is_date(value: exp.Expr, bound: Bound) -> bool:
    """Whether both sides are compared as dates: of a date and a text, Spark casts the text."""
    kinds = {kind_of(value), bound.form}
    return (bound.form is Form.DATE and Form.TEXT in kinds) or kinds == {Form.DATE, Form.TEXT}


def _grain_beside(value: exp.Expr, bound: Bound, formats: Mapping[str, str]) -> Grain | None:
    """The smallest unit that a value has, as it is compared with a bound; None if not known."""
    match kind_of(value):
        case _ if bound.form is Form.NUMBER:
            return number_grain(value, bound)
        case _ if bound.form is Form.SMALLER_UNITS:
            return Grain.MICROSECOND
        case None | Form.NUMBER | Form.SMALLER_UNITS:
            return Grain.MICROSECOND if bound.is_counted else None
        case Form.TEXT if bound.form is Form.TEXT:
            return None if bound.is_counted else _text_grain(value, formats)
        case Form.TEXT:
            return Grain.DAY if bound.form is Form.DATE else Grain.MICROSECOND
        case Form.DATE | Form.INSTANT:
            return _instant_grain(value)


def _instant_grain(  # noqa: PLR0911 - one line for each form of a value
    value: exp.Expr,
) -> Grain:
    """The smallest unit that a date or a timestamp has."""
    if kind_of(value) is Form.DATE:
        return Grain.DAY
    match value:
        case exp.Literal() | exp.Null():
            return Grain.YEAR  # it is no row's time
        case exp.Paren() | exp.Cast():
            return _instant_grain(value.this)
        case exp.TimestampTrunc():
            return grain_of(value.args.get("unit"), names=DATE_TRUNC_NAMES) or Grain.MICROSECOND
        case exp.Coalesce() | exp.Greatest() | exp.Least():
            return min(map(_instant_grain, (value.this, *value.expressions)))
        case exp.Add() | exp.Sub() if (by := duration(value.expression)) is not None:
            moved = by[1] % Grain.DAY.longest
            return _instant_grain(value.this) if not moved else Grain.MICROSECOND
        case _:
            return Grain.MICROSECOND


def _text_grain(value: exp.Expr, formats: Mapping[str, str]) -> Grain | None:
    """The smallest unit that a text of a time has, if its letters are ordered like the macros'."""
    pattern = _pattern(value, formats)
    return None if pattern is None else TimeFormat(pattern).grain


_WHOLE_TEXT: Final = "%Y-%m-%d %H:%M:%S.%f"
"""How Spark writes a timestamp as a text, and how ``@end_ts`` does."""


def _pattern(value: exp.Expr, formats: Mapping[str, str]) -> str | None:
    """How a text writes a time; None if that is not known, or is not how the macros do it."""
    match value:
        case exp.Cast() if kind_of(value.this) is Form.INSTANT:
            return _WHOLE_TEXT
        case exp.Paren() | exp.Cast():
            return _pattern(value.this, formats)
        case exp.TimeToStr():
            written = value.args["format"].name.replace("strict", "")
            return written if _WHOLE_TEXT.startswith(written) and "%d" in written else None
        case exp.Column():
            return formats.get(value.name.lower(), ISO_DATE)
        case _:
            return ISO_DATE


def _is_of_other_text(value: exp.Expr, bound: Bound, formats: Mapping[str, str]) -> bool:
    """Whether a text is compared letter by letter with a time that is written in another way.

    ``2024-01-31`` is before ``2024-01-31 00:00:00``, and ``2024-01-31T15`` is behind
    ``2024-01-31 23:59:59``.
    """
    if bound.form is not Form.TEXT or bound.unit is not Grain.MICROSECOND:
        return False
    if kind_of(value) is not Form.TEXT or isinstance(value, exp.Literal):
        return False
    pattern = _pattern(value, formats)
    seconds = pattern is not None and pattern.startswith("%Y-%m-%d %H:%M:%S")
    return not seconds or bound.macro.endswith("tstz")
