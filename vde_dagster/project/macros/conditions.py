"""Conditions that are decided while a project is loaded: over literals and variables only.

The logic is SQL's, with NULL as the third value (ISO 9075-2, *boolean value expression*).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeVar

from sqlglot import exp

T = TypeVar("T")
Scalar = str | bool | Decimal | None
_Function = Callable[[Any, Any], Any]

_COMPARISONS: Final[dict[type[exp.Expr], _Function]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_OPERATORS: Final[dict[type[exp.Expr], tuple[type[Any], _Function]]] = {
    exp.Add: (Decimal, operator.add),
    exp.Sub: (Decimal, operator.sub),
    exp.Mul: (Decimal, operator.mul),
    exp.Div: (Decimal, operator.truediv),
    exp.Mod: (Decimal, operator.mod),
    exp.DPipe: (str, operator.add),
}
_TYPES: Final[dict[type, str]] = {
    bool: "is no condition",
    Decimal: "is no number",
    str: "joins what is no text",
}


class NotConstant(Exception):
    """A part of a condition has no value at load time: ``part``, and why."""

    def __init__(self, part: exp.Expr, why: str = "is known only when the query runs") -> None:
        self.part, self.why = part, why
        super().__init__(why)


def is_true(condition: exp.Expr) -> bool:
    """Whether a condition is true; NULL is not.

    Raises:
        NotConstant: It reads a column or uses what is not evaluated here, or is no condition.
    """
    return _typed(condition, bool) is True


def evaluate(node: exp.Expr) -> Scalar:  # noqa: PLR0911, PLR0912 - one case for each form
    """The value of a constant expression.

    Raises:
        NotConstant: As for `is_true`.
    """
    match node:
        case exp.Paren():
            return evaluate(node.this)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.Literal():
            return node.name if node.is_string else _number(node)
        case exp.Not():
            return _not(_typed(node.this, bool))
        case exp.Or():
            return _or([_typed(node.this, bool), _typed(node.expression, bool)])
        case exp.And():
            return _and([_typed(node.this, bool), _typed(node.expression, bool)])
        case exp.Between(args={"low": low, "high": high}):
            return _and([_compare(exp.GTE, node.this, low), _compare(exp.LTE, node.this, high)])
        case exp.In() if node.expressions:
            return _or([_compare(exp.EQ, node.this, each) for each in _members(node)])
        case exp.Neg():
            number = _typed(node.this, Decimal)
            return None if number is None else -number
        case exp.NullSafeEQ():
            left, right = evaluate(node.this), evaluate(node.expression)
            return type(left) is type(right) and left == right
        case exp.Is():
            return evaluate(node.this) is _typed(node.expression, bool)
        case exp.Binary() if type(node) in _COMPARISONS:
            return _compare(type(node), node.this, node.expression)
        case exp.Binary() if type(node) in _OPERATORS:
            return _calculate(node, *_OPERATORS[type(node)])
        case _:
            raise NotConstant(node)


def _number(node: exp.Expr) -> Decimal:
    try:
        return Decimal(node.name)
    except InvalidOperation:
        raise NotConstant(node, _TYPES[Decimal]) from None


def _typed(node: exp.Expr, kind: type[T]) -> T | None:
    value = evaluate(node)
    if value is not None and not isinstance(value, kind):
        raise NotConstant(node, _TYPES[kind])
    return value


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _or(values: Sequence[bool | None]) -> bool | None:
    return True if True in values else None if None in values else False


def _and(values: Sequence[bool | None]) -> bool | None:
    return _not(_or([_not(each) for each in values]))


def _members(node: exp.In) -> list[exp.Expr]:
    """The members of IN; those of a list are its items."""
    return [
        item
        for each in node.expressions
        for item in (each.expressions if isinstance(each, exp.Array | exp.Tuple) else [each])
    ]


def _compare(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> bool | None:
    first, second = evaluate(left), evaluate(right)
    if first is None or second is None:
        return None
    if type(first) is not type(second):
        compared = kind(this=left.copy(), expression=right.copy())
        raise NotConstant(compared, "compares values of different types")
    return bool(_COMPARISONS[kind](first, second))


def _calculate(node: exp.Expr, kind: type[Any], function: _Function) -> Scalar:
    left, right = _typed(node.this, kind), _typed(node.expression, kind)
    if left is None or right is None:
        return None
    try:
        found: Scalar = function(left, right)
    except ArithmeticError:
        raise NotConstant(node, "has no result") from None
    return found
