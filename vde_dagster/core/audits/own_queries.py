"""What a query of a project's own audit asks: often only a condition on each row."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from vde_dagster.core.audits.arguments import over_rows
from vde_dagster.core.audits.values import THIS_MODEL, Check, EachRow, FailingRows
from vde_dagster.core.sql.select_clauses import clauses_of, given

_PLAIN: Final = (exp.Star, exp.Column, exp.Literal)
_PARTS: Final = frozenset({"expressions", "from_", "where"})
_OF_TABLE: Final = frozenset({"this", "alias"})


def check_of(query: exp.Query) -> Check:
    """The check that a query for failing rows makes.

    One that only picks rows of ``this_model`` by a condition is asked together with all others of
    its kind; any other one takes a pass of its own.
    """
    condition = _condition(query)
    return EachRow(fails=condition) if condition is not None else FailingRows(query=query)


def _condition(query: exp.Query) -> exp.Expr | None:
    """The condition by which a query picks rows; None where it does more than that."""
    if not isinstance(query, exp.Select):
        return None
    clauses = clauses_of(query)
    table = clauses.from_.first.node if clauses.from_.first is not None else None
    if not clauses.given <= _PARTS or not isinstance(table, exp.Table):
        return None
    if table.name.lower() != THIS_MODEL or not given(table) <= _OF_TABLE:
        return None
    if not all(isinstance(each.unalias(), _PLAIN) for each in clauses.projections):
        return None
    condition = clauses.where if clauses.where is not None else exp.true()
    return None if over_rows(condition) is not None else _bare(condition, table.alias_or_name)


def _bare(condition: exp.Expr, table: str) -> exp.Expr:
    """A condition whose columns do not name their table, which gets another name."""
    bare = condition.copy()
    for column in bare.find_all(exp.Column):
        if column.table.lower() == table.lower() and not column.db:
            column.set("table", None)
    return bare
