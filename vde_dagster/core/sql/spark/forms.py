"""Rewrites what only Spark's SQL has into forms that the optimizer knows; for analysis alone.

Each change keeps the query's meaning: a function that makes several columns of a row is a LATERAL
VIEW, a table function has columns with known names, ``current_time`` is a call, and the columns
``window`` and ``session_window`` are the calls in GROUP BY that make them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.spark.names import KnownTables
from vde_dagster.core.sql.spark.reading import bind_lambdas
from vde_dagster.core.sql.spark.scopes import Scopes, fields_of_struct

_COLLATIONS: Final = (
    "catalog schema name language country accent_sensitivity case_sensitivity pad_attribute"
    " icu_version"
)
_COLUMNS: Final = {
    "collations": tuple(_COLLATIONS.split()),
    "range": ("id",),
    "sql_keywords": ("keyword", "reserved"),
    "variant_explode": ("pos", "key", "value"),
    "variant_explode_outer": ("pos", "key", "value"),
}
"""Spark's names of the columns of a table function (``SELECT * FROM range(3)`` shows them)."""
_OF_ENTRIES: Final = {
    "explode": (),
    "explode_outer": (),
    "posexplode": ("pos",),
    "posexplode_outer": ("pos",),
}
"""Functions of an array or a map, and the columns that precede those of its entries."""
_OF_STRUCTS: Final = frozenset({"inline", "inline_outer"})
_GENERATED: Final = "_generated_"
"""The start of the names of tables that stand for functions with several output columns."""
_WINDOWS: Final = frozenset({"session_window", "window"})


def with_known_forms(query: exp.Query, schemas: Mapping[ModelName, Sequence[Column]]) -> exp.Query:
    """Change a query so that the optimizer can bind its columns.

    Args:
        query: As parsed, in Spark's dialect; it is changed.
        schemas: The columns of what it reads. A column goes before a function of its name.
    """
    known = {each.name.lower() for columns in schemas.values() for each in columns}
    bind_lambdas(query)
    numbers = count()
    for select in list(query.find_all(exp.Select)):
        _unfold(select, numbers)
        _window_columns(select, known)
    scopes = Scopes(KnownTables(schemas))
    for table in list(query.find_all(exp.Table)):
        _name_columns(table, scopes)
    for lateral in list(query.find_all(exp.Lateral)):
        _name_columns(lateral, scopes)
    for values in query.find_all(exp.Values):
        _name_values(values)
    return query


def _unfold(select: exp.Select, numbers: Iterator[int]) -> None:
    """Rewrite functions that make several columns of a row as LATERAL VIEW."""
    projections: list[exp.Expr] = []
    for each in select.expressions:
        if not isinstance(each, exp.Aliases):
            projections.append(each)
            continue
        alias = exp.to_identifier(f"{_GENERATED}{next(numbers)}")
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


def _name_columns(table: exp.Table | exp.Lateral, scopes: Scopes) -> None:
    """Name the columns of a table function, if the author does not."""
    function = table.this
    alias = table.args.get("alias")
    if not isinstance(function, exp.Func) or (alias is not None and alias.columns):
        return
    columns = _made_by(function, scopes)
    if columns is None:
        return
    if isinstance(alias, exp.TableAlias):
        called = alias.this
    else:
        called = exp.to_identifier(_name(function)) if isinstance(table, exp.Table) else None
    names = [exp.to_identifier(each) for each in columns]
    table.set("alias", exp.TableAlias(this=called, columns=names))


def _name(function: exp.Func) -> str:
    called = function.name if isinstance(function, exp.Anonymous) else function.sql_name()
    return called.lower()


def _made_by(function: exp.Func, scopes: Scopes) -> Sequence[str] | None:
    """Spark's names of the columns that a function makes; None if they are not known."""
    name = _name(function)
    arguments = _arguments(function)
    if name in _OF_ENTRIES:
        kind = _type(arguments[0], scopes) if arguments else None
        if kind is None and _has_star(function):
            return None
        is_map = kind is not None and kind.is_type(exp.DataType.Type.MAP)
        return (*_OF_ENTRIES[name], *(("key", "value") if is_map else ("col",)))
    if name in _OF_STRUCTS and arguments:
        return _fields_of_entries(_type(arguments[0], scopes))
    if name == "stack" and arguments and arguments[0].is_int:
        rows = int(arguments[0].name)
        return [f"col{at}" for at in range(-(-(len(arguments) - 1) // rows))] if rows > 0 else None
    if name == "json_tuple":
        return [f"c{at}" for at in range(len(arguments) - 1)]
    return _COLUMNS.get(name)


def _arguments(function: exp.Expr) -> list[exp.Expr]:
    first = function.args.get("this")
    return [*([first] if isinstance(first, exp.Expr) else []), *function.expressions]


def _has_star(function: exp.Expr) -> bool:
    """Whether a star takes all columns of a function, so that none of them needs a name."""
    select = function.find_ancestor(exp.Select)
    return select is not None and any(each.is_star for each in select.expressions)


def _fields_of_entries(kind: exp.DataType | None) -> Sequence[str] | None:
    """The fields of the structs in an array."""
    if kind is None or not kind.is_type(exp.DataType.Type.ARRAY):
        return None
    entry = next(iter(kind.expressions), None)
    return list(found) if (found := fields_of_struct(entry)) else None


def _type(value: exp.Expr, scopes: Scopes) -> exp.DataType | None:
    """The type of an argument; None if it is not known."""
    if isinstance(value, exp.Array) and value.expressions:
        entry = _type(value.expressions[0], scopes)
        return exp.DataType(this=exp.DataType.Type.ARRAY, expressions=[entry] if entry else [])
    known = scopes.type_of(value)
    if known is not None:
        return known
    found = annotate_types(value.copy(), dialect="spark").type
    return None if found is None or found.is_type(exp.DataType.Type.UNKNOWN) else found


def _name_values(values: exp.Values) -> None:
    """Name the columns of VALUES in FROM, if the author does not."""
    alias = values.args.get("alias") or exp.TableAlias()
    row = next(iter(values.expressions), None)
    if not isinstance(values.parent, exp.From | exp.Join) or alias.columns or row is None:
        return
    width = len(row.expressions) if isinstance(row, exp.Tuple) else 1
    alias.set("columns", [exp.to_identifier(f"col{at}") for at in range(1, width + 1)])
    values.set("alias", alias)


def _window_columns(select: exp.Select, known: Collection[str]) -> None:
    """Replace the column of a time window by the call that makes it."""
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
