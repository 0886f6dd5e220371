"""Finds filters by ``@end_epoch`` and ``@end_millis`` that miss the end of an interval.

These macros are whole numbers: the last second and the last millisecond of the range. A value with
fractions, or in smaller units, such as an instant, is later than the macro for the rest of that
second.

Only conditions that filter rows are checked: WHERE, ON, HAVING, QUALIFY and FILTER. The purpose of
a comparison that is a value, as in ``f <= @end_epoch AS early`` or inside of CASE, is not known, so
it is left to the author.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Final, assert_never

from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Finding
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import schema_of
from vde_dagster.core.sql.macros import macros_in
from vde_dagster.core.sql.unresolved import line_of

WHOLE_UNITS: Final = {"end_epoch": "second", "end_millis": "millisecond"}
"""The macros that are whole numbers of a unit, with this unit."""
_FRACTIONS: Final = (exp.DataType.Type.FLOAT, exp.DataType.Type.DOUBLE)
_INSTANTS: Final = (
    exp.DataType.Type.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPTZ,
    exp.DataType.Type.TIMESTAMPLTZ,
    exp.DataType.Type.TIMESTAMPNTZ,
    exp.DataType.Type.DATETIME,
)
_TO_INSTANT: Final = frozenset(
    {
        "timestamp_seconds",
        "timestamp_millis",
        "timestamp_micros",
        "to_timestamp_ltz",
        "to_timestamp_ntz",
    }
)
_NUMBERS_AND_TEXTS: Final = frozenset({*exp.DataType.NUMERIC_TYPES, *exp.DataType.TEXT_TYPES})
_COARSE: Final = (exp.DataType.Type.DATE, *exp.DataType.TEXT_TYPES)
_FILTERS: Final = (exp.Where, exp.Having, exp.Qualify)


class _Form(Enum):
    """How a macro was converted before it is compared."""

    NUMBER = auto()
    SMALLER_UNITS = auto()
    INSTANT = auto()


def cut_off(query: exp.Query, schemas: Mapping[ModelName, Sequence[Column]]) -> Iterator[Finding]:
    """The filters of a query that miss rows at the end of each interval.

    Args:
        query: In its canonical form, with its time macros.
        schemas: The columns of what it reads.
    """
    if not any(name in WHOLE_UNITS for name, _ in macros_in(query)):
        return
    typed = annotate_types(query.copy(), schema=schema_of(schemas, "spark"), dialect="spark")
    for name, macro in macros_in(typed):
        if name not in WHOLE_UNITS:
            continue
        bound, form = _bound(macro)
        comparison = bound.parent
        if comparison is not None and any(
            _may_be_later(value, form) for value in _values_before(bound, comparison)
        ):
            yield _finding(name, comparison, form)


def _bound(macro: exp.Expr) -> tuple[exp.Expr, _Form]:
    """The side of a comparison that is a macro, and how the macro was converted."""
    node, form = macro, _Form.NUMBER
    while (whole := node.parent) is not None:
        match whole:
            case exp.Paren() | exp.Floor():
                pass
            case exp.Div(this=dividend) | exp.IntDiv(this=dividend) if dividend is node:
                pass
            case exp.Mul():
                form = _Form.SMALLER_UNITS
            case exp.Cast(to=exp.DataType(this=kind)) if kind in _NUMBERS_AND_TEXTS:
                pass
            case exp.Cast(to=exp.DataType(this=kind)) if kind in _INSTANTS:
                form = _Form.INSTANT
            case exp.UnixToTime() | exp.UnixToStr():
                form = _Form.INSTANT
            case exp.Anonymous() if whole.name.lower() in _TO_INSTANT:
                form = _Form.INSTANT
            case _:
                break
        node = whole
    return node, form


def _values_before(bound: exp.Expr, comparison: exp.Expr) -> Iterator[exp.Expr]:
    """The values whose rows are kept if they are not later than a bound."""
    kept = _kept_for(comparison)
    for smaller, larger in _ordered(comparison):
        if larger is bound and True in kept:
            yield smaller
        if smaller is bound and False in kept:
            yield larger


def _ordered(comparison: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """The pairs of operands that a comparison orders, the smaller first."""
    match comparison:
        case exp.LT(this=left, expression=right) | exp.LTE(this=left, expression=right):
            yield left, right
        case exp.GT(this=left, expression=right) | exp.GTE(this=left, expression=right):
            yield right, left
        case exp.Between(this=value):
            yield comparison.args["low"], value
            yield value, comparison.args["high"]
        case _:
            pass


def _kept_for(comparison: exp.Expr) -> frozenset[bool]:
    """The outcomes of a condition for which rows may be kept; none if it is in no filter."""
    outcomes = frozenset({True})
    node, whole = comparison, comparison.parent
    while whole is not None and not isinstance(whole, exp.Query):
        match whole:
            case exp.And() | exp.Or() | exp.Paren():
                pass
            case exp.Not():
                outcomes = frozenset(not each for each in outcomes)
            case exp.Join():
                return outcomes if node is whole.args.get("on") else frozenset()
            case _ if isinstance(whole, _FILTERS):
                return outcomes
            case _:
                outcomes = frozenset({True, False})
        node, whole = whole, whole.parent
    return frozenset()


def _may_be_later(value: exp.Expr, form: _Form) -> bool:
    """Whether a value may be inside of the unit that a bound begins, as far as that is known."""
    kind = value.type if isinstance(value.type, exp.DataType) else None
    if form is not _Form.NUMBER:
        return kind is None or form is _Form.SMALLER_UNITS or kind.this not in _COARSE
    if kind is not None and kind.this == exp.DataType.Type.DECIMAL:
        scale = kind.expressions[1:]
        return bool(scale) and scale[0].name != "0"
    return kind is not None and kind.this in _FRACTIONS


def _finding(name: str, comparison: exp.Expr, form: _Form) -> Finding:
    unit = WHOLE_UNITS[name]
    next_one = f"@{name} + 1"
    start = name.replace("end", "start")
    low = f"value >= @{start} AND " if isinstance(comparison, exp.Between) else ""
    match form:
        case _Form.NUMBER:
            what = "is compared with a value that has fractions"
            advice = f"Compare with the next {unit}: `{low}value < {next_one}`."
        case _Form.SMALLER_UNITS:
            what = "is multiplied here"
            end = f"CAST({next_one} AS BIGINT) * ..."
            advice = f"Compare with the next {unit}: `{low}value < {end}`."
        case _Form.INSTANT:
            what = "is made an instant here"
            advice = (
                "Compare with the last microsecond, `value <= @end_dt`, or make an instant of the "
                f"next {unit}: `value <` that of `{next_one}`."
            )
        case _:
            assert_never(form)
    return Finding(
        message=f"@{name} is the last whole {unit} of the interval; it {what}, so rows that are "
        f"later in that {unit} would be left out",
        advice=advice,
        line=line_of(comparison),
    )
