"""Whether a query makes each of its rows from one row of one table (rule R7).

Only then do appended source rows give exactly the rows to append to the model.
"""

from __future__ import annotations

from sqlglot import exp

from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.rendering import model_name_of
from vde_dagster.core.sql.spark.functions import AGGREGATES

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
