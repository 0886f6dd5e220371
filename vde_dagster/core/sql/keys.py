"""Keys of rows: columns, or expressions that run as they are written."""

from __future__ import annotations

from sqlglot import exp, parse_one

from vde_dagster.core.sql.text import closed


def key_expression(key: str) -> exp.Expr:
    """A key over one table's columns: a column's name in quotes, an expression as written."""
    column = _column(key)
    if column is None:
        return exp.Paren(this=exp.Var(this=closed(key)))
    for each in column.find_all(exp.Identifier):
        each.set("quoted", True)
    return column


def _column(key: str) -> exp.Expr | None:
    """A key that is a column, or a field of one; None for an expression."""
    parsed = parse_one(key, dialect="spark")
    return parsed if isinstance(parsed, exp.Column | exp.Dot) else None
