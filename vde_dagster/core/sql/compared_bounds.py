"""Comparisons of values with time macros: what the macro is by then, and which rows are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.reads.bounds import Operator
from vde_dagster.core.sql.reads.conditions import comparisons
from vde_dagster.core.time.formats import ISO_DATE, TimeFormat, python_format
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


SECONDS: Final = "%Y-%m-%d %H:%M:%S"
"""How ``@end_ts`` writes an instant, up to its second."""
FORMS: Final[Mapping[str, tuple[Grain, Form, str]]] = {
    "date": (Grain.DAY, Form.DATE, ""),
    "ds": (Grain.DAY, Form.TEXT, ISO_DATE),
    "dt": (Grain.MICROSECOND, Form.INSTANT, ""),
    "dtntz": (Grain.MICROSECOND, Form.INSTANT, ""),
    "ts": (Grain.MICROSECOND, Form.TEXT, SECONDS),
    "tstz": (Grain.MICROSECOND, Form.TEXT, f"{SECONDS} with an offset"),
    "epoch": (Grain.SECOND, Form.NUMBER, ""),
    "millis": (Grain.MILLISECOND, Form.NUMBER, ""),
    "hour": (Grain.HOUR, Form.NUMBER, ""),
}
"""The last unit of the interval that a macro of its end begins, what the macro is, and how it is
written if it is a text."""
_COUNTS: Final[Mapping[type[exp.Expr], Grain]] = {
    exp.UnixDate: Grain.DAY,
    exp.StrToUnix: Grain.SECOND,
    exp.UnixSeconds: Grain.SECOND,
    exp.UnixMillis: Grain.MILLISECOND,
    exp.UnixMicros: Grain.MICROSECOND,
}
"""What the numbers count into which functions make a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A macro with all that converts it: one side of a comparison.

    ``unit`` is the unit of the interval that it begins; ``scale`` is the smallest one that whole
    numbers or texts like it have, which ``pattern`` says how a text writes.
    """

    node: exp.Expr
    macro: str
    unit: Grain
    scale: Grain
    form: Form
    pattern: str

    @property
    def is_counted(self) -> bool:
        """Whether the macro is a number of seconds, milliseconds or hours."""
        return self.macro.endswith(("_epoch", "_millis", "_hour"))


@dataclass(frozen=True, slots=True)
class Compared:
    """A value whose rows are kept if it is before a bound; ``strict`` if not also at it."""

    value: exp.Expr
    strict: bool


def bound_of(name: str, macro: exp.Expr) -> Bound:
    """The side of a comparison that is a macro, with what it was converted to."""
    unit, form, pattern = FORMS[name.partition("_")[2]]
    bound = Bound(node=macro, macro=name, unit=unit, scale=unit, form=form, pattern=pattern)
    while (whole := bound.node.parent) is not None:
        converted = _converted(bound, whole)
        if converted is None:
            break
        bound = replace(converted, node=whole)
    return bound


def _converted(  # noqa: PLR0911, PLR0912 - one line for each form of a conversion
    bound: Bound, whole: exp.Expr
) -> Bound | None:
    """A bound after one conversion; None if this is something else."""
    is_number = _is_number(bound)
    match whole:
        case exp.Paren():
            return bound
        case exp.TimeStrToTime():
            return _cast(bound, Type.TIMESTAMP)
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
            return replace(bound, form=Form.TEXT, pattern=SECONDS)
        case exp.TimeToStr() | exp.ToChar() if (pattern := written_by(whole)) is not None:
            return _written(bound, pattern)
        case exp.Replace() if bound.form is Form.TEXT and whole.this is bound.node:
            changed = bound.pattern.replace(whole.text("expression"), whole.text("replacement"))
            return replace(bound, pattern=changed)
        case _ if (scale := _COUNTS.get(type(whole))) is not None and not is_number:
            return replace(bound, form=Form.NUMBER, scale=scale, unit=max(bound.unit, scale))
        case exp.UnixToTime():
            return replace(bound, form=Form.INSTANT)
        case exp.Anonymous() if whole.name.lower() in _TO_INSTANT:
            return replace(bound, form=Form.INSTANT)
        case _:
            return None


def _cast(bound: Bound, kind: exp.DType) -> Bound | None:
    if kind in INSTANTS:
        return replace(bound, form=Form.INSTANT)
    if kind in exp.DataType.NUMERIC_TYPES:
        return None if bound.form in (Form.DATE, Form.INSTANT) else _counted(bound)
    if kind == Type.DATE and not _is_number(bound):
        return replace(bound, form=Form.DATE, unit=max(bound.unit, Grain.DAY))
    if kind not in exp.DataType.TEXT_TYPES:
        return None
    if bound.form in (Form.DATE, Form.INSTANT):
        return replace(
            bound, form=Form.TEXT, pattern=ISO_DATE if bound.form is Form.DATE else SECONDS
        )
    return bound


def _counted(bound: Bound) -> Bound:
    return replace(bound, form=Form.NUMBER) if bound.form is Form.TEXT else bound


def _is_number(bound: Bound) -> bool:
    return bound.form in (Form.NUMBER, Form.SMALLER_UNITS)


def _written(bound: Bound, pattern: str) -> Bound:
    scale = TimeFormat(pattern).grain
    return replace(bound, form=Form.TEXT, pattern=pattern, scale=scale, unit=max(bound.unit, scale))


def written_by(value: exp.Expr) -> str | None:
    """How a function writes a time as a text; None if that is not ordered like time."""
    written = value.text("format")
    try:
        if isinstance(value, exp.ToChar):
            return python_format(written, "spark")
        written = written.replace("strict", "")
        return TimeFormat(written).pattern
    except ValueError:
        return None


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


_EQUAL: Final = (
    exp.EQ,
    exp.NullSafeEQ,
    exp.In,
    exp.Like,
    exp.ILike,
    exp.RegexpLike,
    exp.StartsWith,
)
"""Comparisons that are true for one unit of time."""


def equal_values(macro: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """The comparison that keeps rows whose value is equal to what is made of a macro, and these.

    Conditions that are a part of a side have an outcome of their own, and are not looked through.
    """
    side, comparison = macro, macro.parent
    while comparison is not None and not isinstance(
        comparison,
        exp.StartsWith | exp.Predicate | exp.Connector | exp.Not | exp.Case | exp.If | exp.Query,
    ):
        side, comparison = comparison, comparison.parent
    is_kept = (isinstance(comparison, _EQUAL) and True in kept_for(comparison)) or (
        isinstance(comparison, exp.NEQ) and False in kept_for(comparison)
    )
    if comparison is None or not is_kept or comparison.args.get("query") is not None:
        return
    for other in (comparison.this, comparison.expression, *comparison.expressions):
        if isinstance(other, exp.Expr) and other is not side and other.find(exp.Column):
            yield comparison, other


def _ordered(comparison: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr, bool]]:
    """The pairs of operands that a comparison orders, the smaller first; whether strictly."""
    for left, operator, right in comparisons(comparison):
        smaller, larger = (right, left) if operator in _DOWNWARDS else (left, right)
        if operator is not Operator.AT:
            yield smaller, larger, operator in (Operator.BELOW, Operator.ABOVE)


_DOWNWARDS: Final = (Operator.ABOVE, Operator.FROM)


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
    return bound.scale if is_whole else Grain.MICROSECOND
