"""Intervals of several parts, such as ``INTERVAL 3 DAYS 2 HOURS``."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

ExprT = TypeVar("ExprT", bound=exp.Expr)


def with_closed_sums(tree: ExprT) -> ExprT:
    """Make each part of an interval of several parts its own operand; the tree is changed.

    sqlglot reads an interval of several parts as a sum of intervals and writes it without
    parentheses: ``t - INTERVAL 3 DAYS 2 HOURS`` would become ``t - INTERVAL 3 DAYS + INTERVAL 2
    HOURS``. Each part is subtracted by itself, since Spark does not add months and days. A sum that
    a person wrote has parentheses of its own there.
    """
    for node in list(tree.find_all(exp.Add)):
        parent = node.parent
        if isinstance(parent, exp.Mul | exp.Div | exp.IntDiv | exp.Mod | exp.Neg):
            node.replace(exp.paren(node.copy(), copy=False))
        elif isinstance(parent, exp.Add | exp.Sub) and parent.expression is node:
            first = type(parent)(this=parent.this, expression=node.this)
            parent.set("this", first)
            parent.set("expression", node.expression)
    return tree
