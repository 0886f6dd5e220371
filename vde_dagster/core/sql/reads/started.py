"""Which tables' rows a query compares with the start of its interval, in whatever way."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import borders_in
from vde_dagster.core.sql.table_names import model_name_of

_CONDITIONS = (exp.Where, exp.Join, exp.Having, exp.Qualify)


def compared_with_start(query: exp.Query) -> frozenset[ModelName]:
    """The tables of which a condition has a column and a macro for the start of the interval.

    Args:
        query: Every column is bound to its table; with time macros.
    """
    return frozenset(
        name
        for border, macro in borders_in(query)
        if border.startswith("start")
        for name in _tables_beside(macro)
    )


def _tables_beside(macro: exp.Expr) -> Iterator[ModelName]:
    """The tables whose columns are in the smallest condition with a macro; none elsewhere."""
    condition: exp.Expr = macro
    while condition.parent is not None and not isinstance(
        condition.parent, (exp.And, exp.Or, exp.Not, *_CONDITIONS, exp.Select)
    ):
        condition = condition.parent
    select = macro.find_ancestor(exp.Select)
    if select is None or macro.find_ancestor(*_CONDITIONS) is None:
        return
    beside = {column.table.lower() for column in condition.find_all(exp.Column)}
    joins = (each.this for each in select.args.get("joins") or ())
    first = select.args.get("from_")
    for table in (*([first.this] if first is not None else []), *joins):
        if isinstance(table, exp.Table) and table.alias_or_name.lower() in beside:
            name = model_name_of(table)
            if name is not None:
                yield name
