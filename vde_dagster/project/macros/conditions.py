"""Conditions that are decided while a project is loaded: over literals and variables only.

The logic is SQL's, with NULL as the third value (ISO 9075-2, *boolean value expression*).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Final

from sqlglot import exp

Scalar = str | bool | Decimal | None

_COMPARISONS: Final[dict[type[exp.Expr], Callable[[int, int], bool]]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_ARITHMETIC: Final[dict[type[exp.Expr], Callable[[Decimal, Decimal], Decimal]]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
    exp.Mod: operator.mod,
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
    value = evaluate(condition)
    if not isinstance(value, bool | None):
        raise NotConstant(condition, "is no condition")
    return value is True


def evaluate(node: exp.Expr) -> Scalar:
    """The value of a constant expression.

    Raises:
        NotConstant: As for `is_true`.
    """
    kind = type(node)
    if kind in _COMPARISONS:
        return _compare(kind, node.this, node.expression)
    if kind in _ARITHMETIC:
        return _calculate(node)
    if kind not in _OTHERS:
        raise NotConstant(node)
    return _OTHERS[kind](node)


def _literal(node: exp.Expr) -> Scalar:
    if node.is_string:
        return node.name
    try:
        return Decimal(node.name)
    except InvalidOperation:
        raise NotConstant(node, "is no number") from None


def _decimal(node: exp.Expr) -> Decimal | None:
    value = evaluate(node)
    if isinstance(value, bool) or not isinstance(value, Decimal | None):
        raise NotConstant(node, "is no number")
    return value


def _text(value: Scalar, node: exp.Expr) -> str:
    if not isinstance(value, str):
        raise NotConstant(node, "joins what is no text")
    return value


def _truth(node: exp.Expr) -> bool | None:
    value = evaluate(node)
    if not isinstance(value, bool | None):
        raise NotConstant(node, "is no condition")
    return value


def _logic(node: exp.Expr) -> bool | None:
    if isinstance(node, exp.Not):
        value = _truth(node.this)
        return None if value is None else not value
    left, right = _truth(node.this), _truth(node.expression)
    if isinstance(node, exp.And):
        return _and(left, right)
    return _not(_and(_not(left), _not(right)))


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _is(node: exp.Expr) -> bool:
    left, right = evaluate(node.this), evaluate(node.expression)
    if not isinstance(right, bool | None):
        raise NotConstant(node, "asks for something else than NULL, TRUE or FALSE")
    return left is right


def _in(node: exp.Expr) -> bool | None:
    if not node.expressions:
        raise NotConstant(node)
    found: bool | None = False
    for each in node.expressions:
        items = each.expressions if isinstance(each, exp.Array | exp.Tuple) else [each]
        for item in items:
            found = _not(_and(_not(found), _not(_compare(exp.EQ, node.this, item))))
    return found


def _compare(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> bool | None:
    first, second = evaluate(left), evaluate(right)
    if first is None or second is None:
        return None
    order = _order(first, second)
    if order is None:
        compared = kind(this=left.copy(), expression=right.copy())
        raise NotConstant(compared, "compares values of different types")
    return _COMPARISONS[kind](order, 0)


def _order(first: Scalar, second: Scalar) -> int | None:
    """Below, at or above 0 as the first value is; None for values of different types."""
    if isinstance(first, str) and isinstance(second, str):
        return (first > second) - (first < second)
    if isinstance(first, bool) and isinstance(second, bool):
        return first - second
    if isinstance(first, Decimal) and isinstance(second, Decimal):
        return (first > second) - (first < second)
    return None


def _negative(node: exp.Expr) -> Decimal | None:
    value = _decimal(node.this)
    return None if value is None else -value


def _between(node: exp.Expr) -> bool | None:
    low = _compare(exp.GTE, node.this, node.args["low"])
    return _and(low, _compare(exp.LTE, node.this, node.args["high"]))


def _same(node: exp.Expr) -> bool:
    left, right = evaluate(node.this), evaluate(node.expression)
    return type(left) is type(right) and left == right


def _joined(node: exp.Expr) -> str | None:
    texts = [evaluate(node.this), evaluate(node.expression)]
    return None if None in texts else "".join(_text(each, node) for each in texts)


def _calculate(node: exp.Expr) -> Decimal | None:
    left, right = _decimal(node.this), _decimal(node.expression)
    if left is None or right is None:
        return None
    try:
        return _ARITHMETIC[type(node)](left, right)
    except ArithmeticError:
        raise NotConstant(node, "has no result") from None


_OTHERS: Final[dict[type[exp.Expr], Callable[[exp.Expr], Scalar]]] = {
    exp.And: _logic,
    exp.Between: _between,
    exp.Boolean: lambda node: bool(node.this),
    exp.DPipe: _joined,
    exp.In: _in,
    exp.Is: _is,
    exp.Literal: _literal,
    exp.Neg: _negative,
    exp.Not: _logic,
    exp.Null: lambda node: None,
    exp.NullSafeEQ: _same,
    exp.Or: _logic,
    exp.Paren: lambda node: evaluate(node.this),
}
