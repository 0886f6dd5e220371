"""Finds filters that compare with the end of an interval and miss rows before that end.

Every macro of the end is inclusive: ``@end_dt`` is the last microsecond of the interval, but
``@end_date`` begins its last day, and ``@end_epoch`` its last second. So it takes all rows of the
interval if it is compared by ``<=`` with values that are not finer than it is. One rule says so for
all macros, types and operators: see `_is_short`.

Only conditions that filter rows are checked: WHERE, ON, HAVING, QUALIFY and FILTER. The purpose of
a comparison that is a value, as in ``f <= @end_epoch AS early`` or inside of CASE, is not known, so
it is left to the author. So is a macro that something is added to or taken from.

This is about one interval, and the smallest units of both sides; it holds for a FULL table, too,
and for an audit. That rows are lost between intervals, whose bounds may well be other ones, is
about instants that several evaluations read: see `vde_dagster.core.sql.reads.tiling`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Finding
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import schema_of
from vde_dagster.core.sql.compared_bounds import (
    SECONDS,
    Bound,
    Compared,
    Form,
    bound_of,
    equal_values,
    kept_for,
    kind_of,
    number_grain,
    values_after,
    values_before,
    written_by,
)
from vde_dagster.core.sql.interval_end_texts import finding_of, of_hours, of_repeated
from vde_dagster.core.sql.macros import borders_in
from vde_dagster.core.sql.types import with_types
from vde_dagster.core.time.formats import ISO_DATE, TimeFormat
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.intervals import IntervalUnit
from vde_dagster.core.time.sql_units import DATE_TRUNC_NAMES, duration, grain_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """What matters of the model whose query it is.

    ``unit`` is that of its intervals, ``start`` where they start if all are evaluated at once, each
    time; else None. ``time_column`` is the column by which only an interval's rows are kept; None
    if all are. ``in_batches`` says that several intervals may be evaluated at once,
    ``may_be_alone`` that its kind has an option that each is evaluated alone. Of a model that is
    ``is_appended`` both ends have to be bounded; if it ``repeats``, a row that several intervals
    read is there several times. ``formats`` say how columns of text by these names write a time,
    where that is declared.
    """

    unit: IntervalUnit = IntervalUnit.DAY
    start: datetime | None = None
    in_batches: bool = False
    may_be_alone: bool = False
    is_appended: bool = False
    repeats: bool = False
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
    if not any(borders_in(query)):
        return
    typed = with_types(query.copy(), schema=schema_of(schemas, "spark"), dialect="spark")
    told: dict[int, Finding] = {}
    bounds = [(macro, bound_of(name, macro)) for name, macro in borders_in(typed)]
    ends = [
        each.value
        for _, bound in bounds
        if bound.macro.startswith("end_") and bound.node.parent is not None
        for each in values_before(bound.node, bound.node.parent)
    ]
    for macro, bound in bounds:
        for comparison, compared in _missed(bound, macro, ends, typed, reader):
            finding = finding_of(
                bound,
                comparison,
                compared,
                pattern=_pattern(compared.value, reader.formats),
                is_appended=reader.is_appended,
                may_be_alone=reader.may_be_alone
                and reader.in_batches
                and not _takes_part(compared.value, bound, reader),
            )
            told.setdefault(id(comparison), finding)
        whole = bound.node.parent
        if whole is not None and id(whole) not in told and _is_by_hours(bound, whole, reader):
            told.setdefault(id(macro), of_hours(bound, whole, may_be_alone=reader.may_be_alone))
    for bound, comparison, value in _repeated([bound for _, bound in bounds], reader):
        told.setdefault(id(comparison), of_repeated(bound, comparison, value))
    yield from told.values()


def _missed(
    bound: Bound, macro: exp.Expr, ends: Sequence[exp.Expr], query: exp.Query, reader: Reader
) -> Iterator[tuple[exp.Expr, Compared]]:
    """The values whose rows a comparison with a bound leaves out, although it is to keep them."""
    for equality, value in () if bound.macro.endswith("_hour") else equal_values(macro):
        alone = reader.may_be_alone and equality is bound.node.parent
        if reader.in_batches or (alone and _takes_part(value, bound, reader)):
            yield equality, Compared(value, strict=True)
    is_end = bound.macro.startswith("end_")
    bound, back = (bound, _NO_TIME) if is_end else _moved_back(bound)
    comparison = bound.node.parent
    if comparison is None:
        return
    for compared in (values_before if is_end else values_after)(bound.node, comparison):
        if compared.value.find(exp.Column) is None:
            continue  # it is of no row
        if _is_of_other_text(compared.value, bound, reader.formats) or (
            _is_short(compared, bound, reader)
            if is_end
            else _is_late(compared, bound, back, reader)
            or (
                compared.strict
                and not back
                and _skips_first(compared.value, bound, ends, query, reader)
            )
        ):
            yield comparison, compared


_NO_TIME: Final = timedelta()


def _moved_back(bound: Bound) -> tuple[Bound, timedelta]:
    """A start with what is subtracted from it, and how much that is; a month is its longest."""
    whole = bound.node.parent
    if isinstance(whole, exp.Sub) and whole.this is bound.node:
        months, fixed = duration(whole.expression) or (0, _NO_TIME)
        by = months * Grain.MONTH.longest + fixed
        if by > _NO_TIME:
            return replace(bound, node=whole), by
    return bound, _NO_TIME


def _is_by_hours(bound: Bound, comparison: exp.Expr, reader: Reader) -> bool:
    """Whether rows are kept by hours of the day: of several days at once these are not range."""
    hours = reader.in_batches and bound.macro.endswith("_hour")
    return hours and reader.unit.grain < Grain.DAY and bool(kept_for(comparison))


def _repeated(
    bounds: Sequence[Bound], reader: Reader
) -> Sequence[tuple[Bound, exp.Expr, exp.Expr]]:
    """The values of rows that are compared with starts, if all of these begin longer units."""
    if not reader.repeats:
        return ()
    moved = (_moved_back(each)[0] for each in bounds if each.macro.startswith("start_"))
    starts = [
        (bound, bound.node.parent, compared.value)
        for bound in moved
        if bound.node.parent is not None and bound.macro != "start_hour"
        for compared in values_after(bound.node, bound.node.parent)
        if compared.value.find(exp.Column) is not None
    ]
    are_longer = all(_unit_of(value, bound) > reader.unit.grain for bound, _, value in starts)
    return starts if are_longer else ()


def _is_short(compared: Compared, bound: Bound, reader: Reader) -> bool:
    """Whether values before the end of an interval may be behind a bound.

    A bound begins the last ``unit`` of the interval. Values that are finer than this unit may be
    later in it; a value that is as fine may be equal to the bound, which ``<`` leaves out. So may a
    coarser value where that unit may begin its own: the last day of an interval may be the first
    of a month, unless the interval is one of months.
    """
    grains = _grains_beside(compared.value, bound, reader.formats)
    unit = _unit_of(compared.value, bound)
    last = (each for each in grains if each is unit or (each is Grain.WEEK and unit is Grain.DAY))
    is_equal = any(last) or (reader.unit.grain <= unit and any(each > unit for each in grains))
    return any(each < unit for each in grains) or (compared.strict and is_equal)


def _is_late(compared: Compared, bound: Bound, back: timedelta, reader: Reader) -> bool:
    """Whether values from the start of an interval on may be before a bound, moved ``back``.

    A coarse value is the first instant of its unit, in which the interval may start. Weeks begin
    at the start of no other unit but days.
    """
    if bound.macro == "start_hour":
        return False
    unit = _unit_of(compared.value, bound)
    grains = _grains_beside(compared.value, bound, reader.formats)
    if reader.start is not None:
        return any(each.floor(reader.start) < unit.floor(reader.start) - back for each in grains)
    first = max(reader.unit.grain, unit)
    return any(
        (each > first or (each is Grain.WEEK and first is not Grain.WEEK)) and back < each.longest
        for each in grains
    )


def _takes_part(value: exp.Expr, bound: Bound, reader: Reader) -> bool:
    """Whether values that are equal to a bound are those of a part of one interval, or of none."""
    unit = _unit_of(value, bound)
    first = max(reader.unit.grain, unit)
    is_last = bound.macro.startswith("end_") and unit < first
    grains = _grains_beside(value, bound, reader.formats)
    other = _is_of_other_text(value, bound, reader.formats)
    return other or any(is_last or each is not first for each in grains)


def _unit_of(value: exp.Expr, bound: Bound) -> Grain:
    """The unit that a bound begins: of a date and a text, Spark casts the text to a date."""
    kinds = {kind_of(value), bound.form}
    dated = (bound.form is Form.DATE and Form.TEXT in kinds) or kinds == {Form.DATE, Form.TEXT}
    return max(bound.unit, Grain.DAY) if dated else bound.unit


def _skips_first(
    value: exp.Expr, bound: Bound, ends: Sequence[exp.Expr], query: exp.Query, reader: Reader
) -> bool:
    """Whether ``>`` leaves out the first instant itself.

    It is right for the end of a validity, which another value begins that is compared with the end
    of the interval, unless the model's time column is made of it.
    """
    if bound.macro == "start_hour" or not _grains_beside(value, bound, reader.formats):
        return False
    return not ends or value in ends or _makes_time(value, query, reader)


def _makes_time(value: exp.Expr, query: exp.Query, reader: Reader) -> bool:
    """Whether the model's time column is made of a value's column, in one query."""
    columns = set(value.find_all(exp.Column))
    return any(
        not columns.isdisjoint(output.find_all(exp.Column))
        for output in query.selects
        if output.alias_or_name.lower() == reader.time_column
    )


def _grains_beside(value: exp.Expr, bound: Bound, formats: Mapping[str, str]) -> Sequence[Grain]:
    """The smallest unit that a value may have, as it is compared with a bound; none if not known.

    There are several if it is one of several values.
    """
    match kind_of(value):
        case _ if bound.form is Form.NUMBER:
            number = number_grain(value, bound)
            return () if number is None else (number,)
        case _ if bound.form is Form.SMALLER_UNITS:
            return (Grain.MICROSECOND,)
        case None | Form.NUMBER | Form.SMALLER_UNITS:
            return (Grain.MICROSECOND,) if bound.is_counted else ()
        case Form.TEXT if bound.form is Form.TEXT:
            text = _pattern(value, formats) or bound.pattern
            return () if bound.is_counted else (TimeFormat(text).grain,)
        case Form.TEXT:
            pattern = _pattern(value, formats)
            written = Grain.DAY if bound.form is Form.DATE else Grain.MICROSECOND
            return (written if pattern is None else max(written, TimeFormat(pattern).grain),)
        case Form.DATE | Form.INSTANT:
            return _instant_grains(value, formats)


def _instant_grains(value: exp.Expr, formats: Mapping[str, str]) -> Sequence[Grain]:
    """The smallest unit that a date or a timestamp has, or each that it may have."""
    least = Grain.DAY if kind_of(value) is Form.DATE else Grain.MICROSECOND
    match value:
        case exp.Literal() | exp.Null():
            return ()  # it is not a row's time
        case exp.Paren() | exp.Cast() | exp.TimeStrToTime() | exp.TsOrDsToDate() | exp.StrToTime():
            inner: Sequence[Grain] = (least,)
            if kind_of(value.this) in (Form.DATE, Form.INSTANT):
                inner = _instant_grains(value.this, formats)
            elif (written := written_by(value) or _pattern(value.this, formats)) is not None:
                inner = (TimeFormat(written).grain,)
            return tuple(max(least, each) for each in inner)
        case exp.TimestampTrunc() | exp.DateTrunc():
            return (grain_of(value.args.get("unit"), names=DATE_TRUNC_NAMES) or least,)
        case exp.Coalesce() | exp.Greatest() | exp.Least():
            parts = (_instant_grains(each, formats) for each in (value.this, *value.expressions))
            return tuple(each for part in parts for each in part)
        case exp.Add() | exp.Sub() if (by := duration(value.expression)) is not None:
            moved = by[1] % Grain.DAY.longest
            return (least,) if moved else _instant_grains(value.this, formats)
        case _:
            return (least,)


def _pattern(value: exp.Expr, formats: Mapping[str, str]) -> str | None:
    """How a text writes a time; None if that is not known."""
    match value:
        case exp.Cast() if kind_of(value.this) is Form.INSTANT:
            return f"{SECONDS}.%f"
        case exp.Cast() if kind_of(value.this) is Form.DATE:
            return ISO_DATE
        case exp.Paren() | exp.Cast():
            return _pattern(value.this, formats)
        case exp.TimeToStr() | exp.ToChar() | exp.UnixToStr():
            return written_by(value)
        case exp.Column():
            return formats.get(value.name.lower())
        case _:
            return None


def _is_of_other_text(value: exp.Expr, bound: Bound, formats: Mapping[str, str]) -> bool:
    """Whether a text is compared with a time that is written in another way, letter by letter.

    ``2024-01-31`` is before ``2024-01-31 00:00:00``, and ``2024-01-31T15`` is behind
    ``2024-01-31 23:59:59``.
    """
    if bound.form is not Form.TEXT or kind_of(value) is not Form.TEXT or bound.is_counted:
        return False
    pattern = _pattern(value, formats)
    if pattern is None:
        return bound.pattern not in (ISO_DATE, "") and bound.scale is Grain.MICROSECOND
    return not pattern.startswith(bound.pattern)
