"""The types of Spark's results of arithmetic, by Spark's own rules.

A type is Spark's simple name. None stands for one that is not known, and is returned for whatever
these rules do not decide. They are those of ``spark.sql.ansi.enabled`` and of
``spark.sql.decimalOperations.allowPrecisionLoss``, which are Spark's defaults; the source of each
is Spark's class that is named beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

MOST_DIGITS: Final = 38
"""The precision of Spark's largest decimal."""
VOID: Final = "void"
"""The type of NULL."""
_INTEGERS: Final = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
"""From the narrowest, with the precision of each as a decimal (``DecimalType.forType``)."""
_FRACTIONS: Final = ("float", "double")
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_LEAST_SCALE: Final = 6
"""So many digits behind the point are kept when a decimal would be too long."""
_MOST_INT: Final = 2**31
_MOST_BIGINT: Final = 2**63
_SUM_DIGITS: Final = 10
_MEAN_DIGITS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """One side of an arithmetic operator.

    ``digits`` are those of a whole number that is written there, of which a decimal beside it takes
    no more than these. ``is_clear`` is False where it may be such a number or not.
    """

    kind: str | None
    digits: int | None = None
    is_clear: bool = True


def decimal_parts(kind: str | None) -> tuple[int, int] | None:
    """The precision and scale of a decimal; None of any other type."""
    found = _DECIMAL.fullmatch(kind) if kind is not None else None
    return (int(found[1]), int(found[2])) if found else None


def is_integer(kind: str | None) -> bool:
    """Whether a type is one of whole numbers of fixed width."""
    return kind in _INTEGERS


def is_number(kind: str | None) -> bool:
    """Whether a type is one of numbers."""
    return is_integer(kind) or kind in _FRACTIONS or decimal_parts(kind) is not None


def written_number(text: str) -> str | None:
    """The type of a number that is written in a query (``AstBuilder.visitNumericLiteral``)."""
    if text.lstrip("-").isdigit():
        return _of_whole(int(text))
    found = re.fullmatch(r"-?(\d*)\.(\d*)", text)
    if found is None:
        return "double" if re.fullmatch(r"-?[\d.]+[eE][+-]?\d+", text) else None
    whole, fraction = found[1].lstrip("0"), found[2]
    digits = len(f"{whole}{fraction}".lstrip("0")) or 1
    return _named(max(digits, len(fraction)), len(fraction))


def _of_whole(value: int) -> str | None:
    if -_MOST_INT <= value < _MOST_INT:
        return "int"
    if -_MOST_BIGINT <= value < _MOST_BIGINT:
        return "bigint"
    return _named(len(str(abs(value))), 0)


def wider(kinds: Iterable[str | None]) -> str | None:
    """The type of values that meet, as in COALESCE or UNION (``AnsiTypeCoercion``).

    None also where a decimal would need more digits than there are.
    """
    found: str | None = VOID
    for kind in kinds:
        found = _wider(found, kind)
    return found


def _wider(one: str | None, other: str | None) -> str | None:
    if one is None or other is None:
        return None
    if VOID in (one, other) or one == other:
        return other if one == VOID else one
    if is_integer(one) and is_integer(other):
        return max(one, other, key=[*_INTEGERS].index)
    if (one in _FRACTIONS or other in _FRACTIONS) and is_number(one) and is_number(other):
        return "double"
    left, right = _as_decimal(one), _as_decimal(other)
    if left is None or right is None:
        return None
    scale = max(left[1], right[1])
    return _named(max(left[0] - left[1], right[0] - right[1]) + scale, scale)


def arithmetic(operator: type[exp.Expr], left: Operand, right: Operand) -> str | None:
    """The type of ``+ - * / %`` of two numbers (``DecimalPrecisionTypeCoercion``)."""
    kinds = (left.kind, right.kind)
    if not all(map(is_number, kinds)):
        return None
    if not any(map(decimal_parts, kinds)):
        return "double" if operator is exp.Div else wider(kinds)
    if any(each in _FRACTIONS for each in kinds):
        return "double"
    if not (left.is_clear and right.is_clear):
        return None
    sides = [(each.digits, 0) if each.digits else _as_decimal(each.kind) for each in (left, right)]
    if sides[0] is None or sides[1] is None:
        return None
    return _of_decimals(operator, *sides[0], *sides[1])


def _of_decimals(operator: type[exp.Expr], p1: int, s1: int, p2: int, s2: int) -> str | None:
    """``resultDecimalType`` of Spark's arithmetic operators."""
    if operator in (exp.Add, exp.Sub):
        scale = max(s1, s2)
        return _adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)
    if operator is exp.Mul:
        return _adjusted(p1 + p2 + 1, s1 + s2)
    if operator is exp.Div:
        scale = max(_LEAST_SCALE, s1 + p2 + 1)
        return _adjusted(p1 - s1 + s2 + scale, scale)
    if operator is exp.Mod:
        scale = max(s1, s2)
        return _adjusted(min(p1 - s1, p2 - s2) + scale, scale)
    return None


def _adjusted(precision: int, scale: int) -> str | None:
    """``DecimalType.adjustPrecisionScale``: the whole part is kept, digits behind it are not."""
    if precision <= MOST_DIGITS:
        return _named(precision, scale)
    kept = max(MOST_DIGITS - (precision - scale), min(scale, _LEAST_SCALE))
    return _named(MOST_DIGITS, kept)


def sum_of(kind: str | None) -> str | None:
    """The type of SUM."""
    if is_integer(kind):
        return "bigint"
    if (found := decimal_parts(kind)) is not None:
        return _bounded(found[0] + _SUM_DIGITS, found[1])
    return "double" if kind in _FRACTIONS else None


def mean_of(kind: str | None) -> str | None:
    """The type of AVG."""
    if (found := decimal_parts(kind)) is not None:
        return _bounded(found[0] + _MEAN_DIGITS, found[1] + _MEAN_DIGITS)
    return "double" if is_number(kind) else None


def rounded(kind: str | None, digits: int) -> str | None:
    """The type of ROUND to so many digits behind the point (``RoundBase.dataType``)."""
    found = decimal_parts(kind)
    if found is None:
        return kind if is_number(kind) else None
    whole = found[0] - found[1] + 1
    if digits < 0:
        return _bounded(max(whole, 1 - digits), 0)
    scale = min(found[1], digits)
    return _bounded(whole + scale, scale)


def whole_of(kind: str | None) -> str | None:
    """The type of CEIL and FLOOR."""
    found = decimal_parts(kind)
    if found is None:
        return "bigint" if is_integer(kind) or kind == "double" else None
    return kind if found[1] == 0 else _bounded(found[0] - found[1] + 1, 0)


def _bounded(precision: int, scale: int) -> str | None:
    return _named(min(precision, MOST_DIGITS), min(scale, MOST_DIGITS))


def _as_decimal(kind: str | None) -> tuple[int, int] | None:
    return (_INTEGERS[kind], 0) if kind in _INTEGERS else decimal_parts(kind)


def _named(precision: int, scale: int) -> str | None:
    is_one = 0 < precision <= MOST_DIGITS and 0 <= scale <= precision
    return f"decimal({precision},{scale})" if is_one else None
