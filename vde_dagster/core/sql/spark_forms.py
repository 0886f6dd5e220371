"""What only Spark's SQL has, in forms that the optimizer knows. It is for understanding alone.

Each change keeps what the query means: a function that makes several columns of a row is a LATERAL
VIEW, a table function has columns with known names, ``current_time`` is a call, and the columns
``window`` and ``session_window`` are the calls in GROUP BY that make them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import count
from typing import Final

from sqlglot import exp

_COLLATIONS: Final = (
    "catalog schema name language country accent_sensitivity case_sensitivity pad_attribute"
    " icu_version"
)
_COLUMNS: Final = {
    "collations": tuple(_COLLATIONS.split()),
    "explode": ("col",),
    "explode_outer": ("col",),
    "posexplode": ("pos", "col"),
    "posexplode_outer": ("pos", "col"),
    "range": ("id",),
    "sql_keywords": ("keyword", "reserved"),
    "variant_explode": ("pos", "key", "value"),
    "variant_explode_outer": ("pos", "key", "value"),
}
"""What Spark calls the columns of a table function (``SELECT * FROM range(3)`` shows them)."""
_CALLS: Final[dict[str, type[exp.Expr]]] = {"current_time": exp.CurrentTime}
"""Functions that Spark calls without parentheses and sqlglot takes for columns."""
GENERATED: Final = "_generated_"
"""Begins the names of tables that stand for functions which make several columns of a row."""
_WINDOWS: Final = frozenset({"session_window", "window"})


def with_known_forms(query: exp.Query, known: Collection[str]) -> exp.Query:
    """Change a query so that the optimizer can bind its columns.

    Args:
        query: As parsed, in Spark's dialect; it is changed.
        known: The names of all columns of what it reads, in lower case: a column goes before a
            function of its name.
    """
    numbers = count()
    for select in list(query.find_all(exp.Select)):
        _unfold(select, numbers)
        _window_columns(select, known)
    for table in list(query.find_all(exp.Table)):
        _name_columns(table)
    for column in list(query.find_all(exp.Column)):
        call = _CALLS.get(column.name.lower()) if not column.table else None
        if call is not None and column.name.lower() not in known:
            column.replace(call())
    return query


def _unfold(select: exp.Select, numbers: Iterator[int]) -> None:
    """Functions that make several columns of a row, as LATERAL VIEW has them."""
    projections: list[exp.Expr] = []
    for each in select.expressions:
        if not isinstance(each, exp.Aliases):
            projections.append(each)
            continue
        alias = exp.to_identifier(f"{GENERATED}{next(numbers)}")
        names = [name.copy() for name in each.expressions]
        table = exp.TableAlias(this=alias, columns=names)
        select.append("laterals", exp.Lateral(this=each.this, view=True, alias=table))
        if select.args.get("from_") is None:
            select.set("from_", exp.From(this=_one_row()))
        projections += [exp.column(name.copy(), table=alias.copy()) for name in names]
    select.set("expressions", projections)


def _one_row() -> exp.Subquery:
    one = exp.select(exp.alias_(exp.Literal.number(1), "_one"))
    return one.subquery("_one_row", copy=False)


def _name_columns(table: exp.Table) -> None:
    """Name the columns of a table function, where the author does not."""
    function = table.this
    if isinstance(function, exp.Identifier) or table.alias_column_names:
        return
    name = function.name if isinstance(function, exp.Anonymous) else function.sql_name()
    columns = _COLUMNS.get(name.lower())
    if columns is None:
        return
    alias = table.args.get("alias")
    called = alias.this if isinstance(alias, exp.TableAlias) else exp.to_identifier(name.lower())
    names = [exp.to_identifier(each) for each in columns]
    table.set("alias", exp.TableAlias(this=called, columns=names))


def _window_columns(select: exp.Select, known: Collection[str]) -> None:
    """Put the call that makes a time window in place of the column that it makes."""
    group = select.args.get("group")
    calls = {
        each.name.lower(): each
        for each in (group.expressions if group is not None else ())
        if isinstance(each, exp.Anonymous) and each.name.lower() in _WINDOWS
    }
    sources = {each.alias_or_name.lower() for each in select.find_all(exp.Table)}
    for column in list(select.find_all(exp.Column)) if calls else ():
        first = column.parts[0].name.lower()
        if first not in calls or first in known or first in sources:
            continue
        fields = [each.copy() for each in column.parts[1:]]
        found = exp.Dot.build([calls[first].copy(), *fields]) if fields else calls[first].copy()
        is_output = column.parent is select and column.arg_key == "expressions"
        column.replace(exp.alias_(found, column.name) if is_output else found)
