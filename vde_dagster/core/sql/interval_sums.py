"""Intervals of several parts, such as ``INTERVAL 3 DAYS 2 HOURS``, that stay one operand."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

ExprT = TypeVar("ExprT", bound=exp.Expr)


def with_closed_sums(tree: ExprT) -> ExprT:
    """Put parentheses around the sums that stand where only one operand can; the tree is changed.

    sqlglot reads an interval of several parts as a sum of intervals and writes it without
    parentheses: ``t - INTERVAL 3 DAYS 2 HOURS`` would become ``t - INTERVAL 3 DAYS + INTERVAL 2
    HOURS``. Nothing that a person wrote as a sum stands there without parentheses of its own.
    """
    for node in list(tree.find_all(exp.Add)):
        parent = node.parent
        binds_tighter = isinstance(parent, exp.Mul | exp.Div | exp.IntDiv | exp.Mod | exp.Neg)
        if binds_tighter or (isinstance(parent, exp.Add | exp.Sub) and parent.expression is node):
            node.replace(exp.paren(node.copy(), copy=False))
    return tree
