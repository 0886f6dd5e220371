"""Whether a query makes each of its rows from one row of one table (rule R7), and takes it once.

Only then do appended source rows give exactly the rows to append to the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sqlglot import exp

from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import TIME_MACROS, borders_in
from vde_dagster.core.sql.reads.bounds import Operator
from vde_dagster.core.sql.reads.conditions import MIRRORED, comparisons, conjuncts
from vde_dagster.core.sql.spark.functions import AGGREGATES
from vde_dagster.core.sql.table_names import model_name_of

_FORBIDDEN: dict[type[exp.Expr], str] = {
    exp.AggFunc: "an aggregate",
    exp.Any: "an aggregate",
    exp.Window: "a window function",
    exp.Join: "a join",
    exp.Subquery: "a sub-query",
    exp.CTE: "a common table expression",
    exp.Limit: "LIMIT",
    exp.Offset: "OFFSET",
    exp.Fetch: "FETCH",
    exp.TableSample: "TABLESAMPLE",
    exp.Pivot: "PIVOT",
    exp.Distinct: "DISTINCT",
    exp.Group: "GROUP BY",
    exp.SetOperation: "a set operation",
    exp.Exists: "EXISTS",
}


_OF_OTHER_QUERIES = (exp.Join, exp.Subquery, exp.CTE, exp.Exists)


def merges_rows(query: exp.Query) -> bool:
    """Whether a query, or one inside of it, makes rows of several, or counts or chooses them."""
    kinds = [kind for kind in _FORBIDDEN if kind not in _OF_OTHER_QUERIES]
    return query.find(*kinds) is not None or _calls_aggregate(query)


def _calls_aggregate(query: exp.Query) -> bool:
    return any(call.name.lower() in AGGREGATES for call in query.find_all(exp.Anonymous))


def why_not_row_local(query: exp.Query, source: ModelName) -> str | None:
    """What keeps a query from being row-local over ``source``; None if nothing does."""
    if not isinstance(query, exp.Select):
        return "a set operation"
    for kind, name in _FORBIDDEN.items():
        if query.find(kind) is not None:
            return name
    if _calls_aggregate(query):
        return "an aggregate"
    tables = [model_name_of(table) for table in query.find_all(exp.Table)]
    if tables != [source]:
        return f"a read of something else than {source}"
    return None


def why_not_once(query: exp.Query) -> str:
    """What else follows from the interval than the rows that belong to it; empty if nothing does.

    Rows belong to an interval by one plain column, compared as ``>= @start_*`` and ``<= @end_*`` or
    by BETWEEN both.

    Args:
        query: A SELECT from one table, with its time macros.
    """
    bounds = _all_bounds(query)
    if len({column.name.lower() for column, _ in bounds}) > 1:
        return "several columns say which interval a row belongs to"
    known = {id(macro) for _, macro in bounds}
    for name, macro in borders_in(query):
        if id(macro) not in known:
            return f"@{name} does more than to bound one of its columns"
    borders = {macro.name.lower().partition("_")[0] for _, macro in bounds}
    return f"only @{borders.pop()}_* bounds a column" if len(borders) == 1 else ""


def is_by_time(query: exp.Query) -> bool:
    """Whether an interval has only rows of its own time, where `why_not_once` says nothing."""
    return bool(_all_bounds(query))


def _all_bounds(query: exp.Query) -> list[tuple[exp.Column, exp.Expr]]:
    where = query.args.get("where")
    return [each for part in conjuncts(where.this) for each in _bounds(part)] if where else []


def _bounds(condition: exp.Expr) -> Sequence[tuple[exp.Column, exp.Expr]]:
    """A column and the border of the interval that a condition keeps it within, if it does that."""
    parts = list(comparisons(condition))
    found = [
        (value, macro)
        for left, operator, right in parts
        for value, seen, macro in ((left, operator, right), (right, MIRRORED[operator], left))
        if isinstance(value, exp.Column) and _is(macro, _BORDERS.get(seen))
    ]
    return found if len(found) == len(parts) else ()  # BETWEEN says two things of its value


_BORDERS: Final[Mapping[Operator, str]] = {Operator.FROM: "start", Operator.UP_TO: "end"}


def _is(node: exp.Expr, border: str | None) -> bool:
    """Whether a node is a macro of one border; ``hour`` is not a place in time."""
    name = node.name.lower() if isinstance(node, exp.Parameter) else ""
    return name in TIME_MACROS and name.startswith(f"{border}_") and not name.endswith("_hour")
