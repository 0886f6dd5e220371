"""Where parentheses decide what an expression means, whatever a dialect's table of precedence says.

A syntax tree reflects the precedence that its parser assumes. Parsers differ from Spark when bit
operators, shifts, ``||``, comparisons or casts by ``::`` meet other operators: there, an expression
without parentheses is never the same as one with some.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

_ARITHMETIC: Final = (exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Add, exp.Sub)
"""Operators on whose precedence all dialects agree."""
_SIGNS: Final = (exp.Neg, exp.BitwiseNot)
_NO_OPERATORS: Final = (exp.Connector, exp.Dot, exp.PropertyEQ, exp.SubqueryPredicate, exp.Alias)


def lacks_parentheses(node: exp.Expr) -> bool:
    """Whether an operator is among others in the parser's order, which may not be Spark's.

    An expression in parentheses, or from a sub-query, is certainly one operand.
    """
    return node.parent is not None and _is_contested(node.parent, node)


def is_comparison(node: exp.Expr) -> bool:
    """Whether a node is an operator that compares, such as ``=``, IN, LIKE or IS."""
    return isinstance(node, exp.Predicate | exp.RegexpLike | exp.RegexpILike) and not isinstance(
        node, _NO_OPERATORS
    )


def _is_contested(outer: exp.Expr, inner: exp.Expr) -> bool:
    if is_comparison(outer):
        return is_comparison(inner)
    if isinstance(outer, _SIGNS):
        return isinstance(inner, exp.Cast)
    if isinstance(outer, exp.Cast):
        return isinstance(inner, _SIGNS)
    if not (_is_operator(outer) and _is_operator(inner)) or type(outer) is type(inner):
        return False
    return not (isinstance(outer, _ARITHMETIC) and isinstance(inner, _ARITHMETIC))


def _is_operator(node: exp.Expr) -> bool:
    return isinstance(node, exp.Binary) and not isinstance(node, _NO_OPERATORS)
