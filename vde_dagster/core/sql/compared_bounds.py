"""Comparisons of values with time macros: what the macro is by then, and which rows are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.macros import TIME_MACROS
from vde_dagster.core.time.grains import Grain

Type = exp.DataType.Type
INSTANTS: Final = (
    Type.TIMESTAMP,
    Type.TIMESTAMPTZ,
    Type.TIMESTAMPLTZ,
    Type.TIMESTAMPNTZ,
    Type.DATETIME,
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
_FILTERS: Final = (exp.Where, exp.Having, exp.Qualify)


class Form(Enum):
    """What a macro is, after it was converted, where it is compared."""

    DATE = auto()
    INSTANT = auto()
    TEXT = auto()
    NUMBER = auto()
    SMALLER_UNITS = auto()


FORMS: Final[Mapping[str, tuple[Grain, Form]]] = {
    "date": (Grain.DAY, Form.DATE),
    "ds": (Grain.DAY, Form.TEXT),
    "dt": (Grain.MICROSECOND, Form.INSTANT),
    "dtntz": (Grain.MICROSECOND, Form.INSTANT),
    "ts": (Grain.MICROSECOND, Form.TEXT),
    "tstz": (Grain.MICROSECOND, Form.TEXT),
    "epoch": (Grain.SECOND, Form.NUMBER),
    "millis": (Grain.MILLISECOND, Form.NUMBER),
    "hour": (Grain.HOUR, Form.NUMBER),
}
"""The last unit of the interval that a macro of its end begins, and what the macro is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A macro with all that converts it: one side of a comparison."""

    node: exp.Expr
    macro: str
    unit: Grain
    form: Form

    @property
    def is_counted(self) -> bool:
        """Whether the macro is a number of seconds, milliseconds or hours."""
        return self.macro.endswith(("_epoch", "_millis", "_hour"))


@dataclass(frozen=True, slots=True)
class Compared:
    """A value whose rows are kept if it is before a bound; ``strict`` if not also at it."""

    value: exp.Expr
    strict: bool


def is_border(name: str) -> bool:
    """Whether a macro, by its name in lower case, is the start or the end of an interval."""
    moment, _, form = name.partition("_")
    return name in TIME_MACROS and moment in ("start", "end") and form in FORMS


def bound_of(name: str, macro: exp.Expr) -> Bound:
    """The side of a comparison that is a macro, with what it was converted to."""
    unit, form = FORMS[name.partition("_")[2]]
    bound = Bound(node=macro, macro=name, unit=unit, form=form)
    while (whole := bound.node.parent) is not None:
        converted = _converted(bound, whole)
        if converted is None:
            break
        bound = replace(converted, node=whole)
    return bound


def _converted(  # noqa: PLR0911 - one line for each form of a conversion
    bound: Bound, whole: exp.Expr
) -> Bound | None:
    """A bound after one conversion; None if this is something else."""
    is_number = bound.form in (Form.NUMBER, Form.SMALLER_UNITS)
    match whole:
        case exp.Paren() | exp.TimeStrToTime():
            return bound
        case exp.Floor() if is_number:
            return bound
        case exp.Div(this=dividend) | exp.IntDiv(this=dividend) if dividend is bound.node:
            return bound if is_number else None
        case exp.Mul() if is_number:
            return replace(bound, form=Form.SMALLER_UNITS)
        case exp.Cast(to=exp.DataType(this=kind)):
            return _cast(bound, kind)
        case exp.TsOrDsToDate() if whole.args.get("format") is None:
            return _cast(bound, Type.DATE)
        case exp.UnixToStr():
            return replace(bound, form=Form.TEXT)
        case exp.UnixToTime():
            return replace(bound, form=Form.INSTANT)
        case exp.Anonymous() if whole.name.lower() in _TO_INSTANT:
            return replace(bound, form=Form.INSTANT)
        case _:
            return None


def _cast(bound: Bound, kind: exp.DType) -> Bound | None:
    is_number = bound.form in (Form.NUMBER, Form.SMALLER_UNITS)
    if kind in INSTANTS:
        return replace(bound, form=Form.INSTANT)
    if is_number:
        counts = kind in exp.DataType.NUMERIC_TYPES or kind in exp.DataType.TEXT_TYPES
        return bound if counts else None
    if kind == Type.DATE:
        return replace(bound, form=Form.DATE, unit=Grain.DAY)
    return replace(bound, form=Form.TEXT) if kind in exp.DataType.TEXT_TYPES else None


def values_before(bound: exp.Expr, comparison: exp.Expr) -> Iterator[Compared]:
    """The values whose rows are kept if they are not later than a bound."""
    kept = kept_for(comparison)
    for smaller, larger, strict in _ordered(comparison):
        if larger is bound and True in kept:
            yield Compared(smaller, strict)
        if smaller is bound and False in kept:
            yield Compared(larger, not strict)


def values_after(bound: exp.Expr, comparison: exp.Expr) -> Iterator[Compared]:
    """The values whose rows are kept if they are not before a bound."""
    kept = kept_for(comparison)
    for smaller, larger, strict in _ordered(comparison):
        if smaller is bound and True in kept:
            yield Compared(larger, strict)
        if larger is bound and False in kept:
            yield Compared(smaller, not strict)


def _ordered(comparison: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr, bool]]:
    """The pairs of operands that a comparison orders, the smaller first; whether strictly."""
    match comparison:
        case exp.LT(this=left, expression=right):
            yield left, right, True
        case exp.LTE(this=left, expression=right):
            yield left, right, False
        case exp.GT(this=left, expression=right):
            yield right, left, True
        case exp.GTE(this=left, expression=right):
            yield right, left, False
        case exp.Between(this=value):
            yield comparison.args["low"], value, False
            yield value, comparison.args["high"], False
        case _:
            pass


def kept_for(comparison: exp.Expr) -> frozenset[bool]:
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


def kind_of(value: exp.Expr) -> Form | None:
    """What a value is by its type; None if that is not known, or is something else."""
    kind = value.type.this if isinstance(value.type, exp.DataType) else None
    if kind == Type.DATE:
        return Form.DATE
    if kind in INSTANTS or isinstance(value.unnest(), exp.TimestampTrunc):
        return Form.INSTANT
    if kind in exp.DataType.TEXT_TYPES:
        return Form.TEXT
    return Form.NUMBER if kind in exp.DataType.NUMERIC_TYPES else None


def number_grain(value: exp.Expr, bound: Bound) -> Grain | None:
    """The unit of a number that is compared with seconds or milliseconds: fractions or whole."""
    kind = value.type if isinstance(value.type, exp.DataType) else None
    if kind is None or kind.this not in exp.DataType.NUMERIC_TYPES:
        return None
    scale = [each.name for each in kind.expressions[1:]]
    is_whole = kind.this in exp.DataType.INTEGER_TYPES or (
        kind.this == Type.DECIMAL and scale in ([], ["0"])
    )
    return bound.unit if is_whole else Grain.MICROSECOND
