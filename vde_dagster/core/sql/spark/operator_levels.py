"""Precedence of operators: each dialect has its own, and so has Spark.

The tree is as sqlglot read it; Spark gets it with parentheses wherever operators differ. If
sqlglot's precedence is not known to be the dialect's, the mixture is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from vde_dagster.core.errors import Refused
from vde_dagster.core.sql.written_parts import text_in

_BITS: Final = (
    exp.BitwiseAnd,
    exp.BitwiseOr,
    exp.BitwiseXor,
    exp.BitwiseLeftShift,
    exp.BitwiseRightShift,
)
_SUMS: Final = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow)
_OPERATORS: Final = (*_BITS, *_SUMS, exp.DPipe)
_COMPARISONS: Final = (
    exp.EQ,
    exp.NEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Is,
    exp.In,
    exp.Between,
    exp.Like,
    exp.ILike,
    exp.RegexpLike,
    exp.RegexpILike,
)
_JOINS_LAST: Final = frozenset({"postgres", "redshift", "duckdb", "trino", "presto"})
"""Dialects in which ``||`` binds less tightly than arithmetic, as sqlglot reads it."""


def mixtures(query: exp.Expr, source: str) -> Iterator[tuple[exp.Expr, Refused]]:
    """Operators that are nested without parentheses and whose precedence is not certain.

    Args:
        query: As parsed, with the parentheses that its author wrote.
        source: The dialect's name.
    """
    for node in query.find_all(*_OPERATORS, *_COMPARISONS):
        for inner in node.iter_expressions():
            if _is_unsure(node, inner, source):
                yield (
                    node,
                    Refused(
                        f"the order of the operators in `{text_in(node, source)}` is not the same "
                        "in every dialect",
                        advice="Write parentheses around the part that comes first.",
                    ),
                )
                break


def _is_unsure(node: exp.Expr, inner: exp.Expr, source: str) -> bool:
    if isinstance(node, _COMPARISONS):
        return isinstance(inner, (*_COMPARISONS, exp.Not))
    if not isinstance(inner, _OPERATORS) or type(inner) is type(node):
        return False
    if isinstance(node, _BITS) or isinstance(inner, _BITS):
        return True
    if isinstance(node, exp.DPipe) or isinstance(inner, exp.DPipe):
        return source not in _JOINS_LAST
    return False


def with_parentheses(query: exp.Expr) -> None:
    """Write each operator inside of another one in parentheses, to keep the tree's order."""
    for node in list(query.find_all(*_OPERATORS)):
        for side in ("this", "expression"):
            inner = node.args[side]
            if _needs_parentheses(node, inner):
                node.set(side, exp.paren(inner, copy=False))


def _needs_parentheses(node: exp.Expr, inner: exp.Expr) -> bool:
    same = type(inner) is type(node) and inner is node.this
    return isinstance(inner, _OPERATORS) and not isinstance(inner, exp.Pow) and not same
