"""A syntax tree as a text that does not depend on how it was written.

A tree reflects the precedence that its parser assumes. Parsers differ from Spark when bit
operators, shifts, ``||``, comparisons or casts by ``::`` meet other operators: there, an expression
without parentheses is never the same as one with some.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.data_names import lent_names


def canonical_form(expression: exp.Expr) -> str:
    """A text that is equal for syntax trees of one meaning. It is for hashing, not for reading.

    Parentheses that every dialect implies anyway, quotes around identifiers (their names are
    normalized before), and the case of keywords, macros and functions without a class of their own
    do not count.
    """
    parts: list[str] = []
    _serialize(expression, parts)
    return "".join(parts)


def _serialize(value: object, parts: list[str]) -> None:
    """Append a prefix-free form of a node, skipping what is absent, comments and positions."""
    match value:
        case exp.Paren():
            _serialize(value.this, parts)
        case exp.Expr():
            parts.append(f"({type(value).__name__}")
            parts.append(" bare" if lacks_parentheses(value) else "")
            parts.extend(f" field={len(each)}:{each}" for each in lent_names(value))
            for key, argument in sorted(value.args.items()):
                if argument is None or argument is False or argument == []:
                    continue
                if is_spelling(value, key, argument):
                    continue
                parts.append(f" {key}=")
                uncased = isinstance(argument, str) and is_uncased(value)
                _serialize(str(argument).upper() if uncased else argument, parts)
            parts.append(")")
        case list():
            parts.append("[")
            for item in value:
                _serialize(item, parts)
            parts.append("]")
        case _:
            text = str(value)
            parts.append(f"{type(value).__name__}:{len(text)}:{text};")


_UNCASED = (exp.Anonymous, exp.WindowSpec, exp.Join, exp.Var)


def is_uncased(node: exp.Expr) -> bool:
    """Whether the case of a node's own words does not count; that of a setting's value does."""
    if isinstance(node, exp.Var) and node.find_ancestor(exp.Set) is not None:
        return False
    return isinstance(node, _UNCASED)


def is_spelling(node: exp.Expr, key: str, argument: object) -> bool:
    """Whether an argument says how something was written, and nothing about its meaning."""
    match node:
        case exp.Identifier():
            return key == "quoted"
        case exp.Join() if key == "kind":
            return str(argument).upper() == ("OUTER" if node.side else "INNER")
        case _:
            return False


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
