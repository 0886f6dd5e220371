"""Names whose case is data: fields of structs, keys of maps, what UNPIVOT writes into rows.

The case of a column or table never counts in Spark. But a field of a struct becomes a key of JSON
or an element of XML as it is written, also if its name is that of a column: in ``struct(userId)``,
or in ``struct(*)`` over a sub-query. Such names stay as they are written while all others become
lower case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, TypeVar

from sqlglot import exp, tokenize
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.table_names import model_name_of
from vde_dagster.core.sql.types import with_types

ExprT = TypeVar("ExprT", bound=exp.Expr)

_WRITTEN: Final = "written"
_FIELDS: Final = "fields"
_COLUMNS: Final = "columns"
_SHOWN: Final = "shown"
_STRUCTS: Final = (exp.DataType.Type.STRUCT, exp.DataType.Type.OBJECT)
_GENERATED: Final = "_col_"
"""The start of the name that the optimizer gives a column without one."""
_LENDING: Final = (exp.Struct, exp.Tuple, exp.ArraysZip)
"""Functions that make structs whose fields have the names of the columns in them."""
_COMPARING: Final = (
    exp.Cube,
    exp.Group,
    exp.GroupingSets,
    exp.Ordered,
    exp.Pivot,
    exp.Predicate,
    exp.Rollup,
    exp.Tuple,
    exp.Values,
)
"""Parents in which a tuple is not a struct."""


def keep_data_names(query: exp.Expr) -> None:
    """Note how names are written, and keep those of fields from being normalized.

    The query is changed in place; pass a copy in which no node occurs twice.
    """
    for node in query.walk():
        match node:
            case exp.Identifier():
                node.meta[_WRITTEN] = node.this
            case exp.ColumnDef(this=exp.Identifier() as name) if isinstance(
                node.parent, exp.DataType
            ):
                name.meta["case_sensitive"] = True
            case exp.PropertyEQ(this=exp.Identifier() as name) if isinstance(
                node.parent, exp.Struct
            ):
                name.meta["case_sensitive"] = True
            case exp.Subquery() | exp.CTE() if names := _listed(node):
                _first_select(node.this).meta[_COLUMNS] = names
            case exp.Struct() | exp.Tuple() | exp.ArraysZip() if _lends(node):
                node.meta[_FIELDS] = [_last_name(each) for each in node.expressions]
            case _:
                pass


def normalized_names(node: ExprT) -> ExprT:
    """A copy of an expression or statement whose names are normalized, except those of fields."""
    copy = node.copy()
    keep_data_names(copy)
    return normalize_identifiers(copy, dialect="spark")


def lent_names(node: exp.Expr) -> Sequence[str]:
    """The names that the fields of a struct get from the columns in it.

    A column with a name of its own for calls that take all columns gives that name.
    """
    shown = node.meta_get(_SHOWN)
    if shown is not None:
        return (shown,)
    if not isinstance(node, _LENDING):
        return ()
    found: Sequence[str] = node.meta_get(_FIELDS) or ()
    return found


def shown_name(projection: exp.Expr) -> str:
    """The name of a column of a SELECT for calls that take all columns."""
    alias = projection.args.get("alias")
    shown = alias.meta_get(_SHOWN) if isinstance(alias, exp.Identifier) else None
    return projection.alias_or_name if shown is None else str(shown)


def restore_data_names(
    query: exp.Expr,
    *,
    schema: MappingSchema,
    dialect: str,
    text: str,
    tables: Mapping[ModelName, Sequence[Column]],
) -> None:
    """Restore the author's spelling of names in a qualified query if their case may be data.

    These are keys of anything that is not known to be a struct by the tables of ``schema``, the
    names in PIVOT and UNPIVOT and, if a call takes ``*``, the columns of sub-queries. Spark names a
    column without a name by the text of its expression: for these the ``text`` of the whole query
    counts. A column that ``*`` stands for has the name that it has in its table, see ``tables``.
    """
    dots = list(query.find_all(exp.Dot))
    if dots:
        typed = with_types(query.copy(), schema=schema, dialect=dialect)
        for node, known in zip(dots, typed.find_all(exp.Dot), strict=True):
            if isinstance(node.expression, exp.Identifier) and not known.this.is_type(*_STRUCTS):
                _restore(node.expression)
    for pivot in query.find_all(exp.Pivot):
        for each in _in_pivot(pivot):
            _restore(each)
    if takes_all_names(query):
        _restore_columns(query, words_of(text), tables)


def takes_all_names(query: exp.Expr) -> bool:
    """Whether a call takes all columns of something, so that it may see their names."""
    return any(map(_is_star_in_call, query.find_all(exp.Star)))


def has_nameless_columns(query: exp.Expr) -> bool:
    """Whether something selects an expression without a name."""
    return any(
        _is_nameless(each) for select in query.find_all(exp.Select) for each in select.expressions
    )


def _is_nameless(projection: exp.Expr) -> bool:
    named = (exp.Alias, exp.Aliases, exp.Column, exp.Star)
    return not isinstance(projection, named)


def words_of(text: str) -> str:
    """The words of a text in Spark's dialect, without blanks and comments."""
    return " ".join(each.text for each in tokenize(text, read="spark"))


def _listed(node: exp.Expr) -> list[str]:
    """The names that an alias gives the columns of a sub-query."""
    alias = node.args.get("alias")
    return [each.name for each in alias.columns] if isinstance(alias, exp.TableAlias) else []


def _first_select(query: exp.Expr) -> exp.Expr:
    """The SELECT that names the columns of a query."""
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    return query


def _lends(node: exp.Expr) -> bool:
    if isinstance(node, exp.Tuple) and isinstance(node.parent, _COMPARING):
        return False
    return any(_last_name(each) for each in node.expressions)


def _last_name(node: exp.Expr) -> str:
    """The name of the struct field made of a column or field; empty for other expressions."""
    inner = node.unnest()
    match inner:
        case exp.Column(this=exp.Identifier() as name):
            return str(name.this)
        case exp.Dot(expression=exp.Identifier() as name):
            return str(name.this)
        case exp.Identifier() | exp.Alias():
            return inner.alias_or_name
        case exp.PropertyEQ(expression=exp.Paren() as value):  # the parser does not parse its parts
            return _last_name(value)
        case _:
            return ""


def _in_pivot(pivot: exp.Pivot) -> Iterator[exp.Identifier]:
    """The names that become columns, or values of a column."""
    for field in pivot.args.get("fields") or []:
        for each in field.expressions if isinstance(field, exp.In) else []:
            yield from each.find_all(exp.Identifier)
    for each in pivot.expressions:
        if isinstance(alias := each.args.get("alias"), exp.Identifier):
            yield alias


def _is_star_in_call(star: exp.Star) -> bool:
    node = star.parent if isinstance(star.parent, exp.Column) else star
    return not isinstance(node.parent, exp.Select | exp.Count)


def _restore(name: exp.Identifier) -> None:
    written = name.meta_get(_WRITTEN)
    if written is not None:
        name.set("this", written)


def _restore_columns(
    query: exp.Expr, text: str, tables: Mapping[ModelName, Sequence[Column]]
) -> None:
    """Give the columns of all sub-queries the names that they have in Spark."""
    names: dict[int, Mapping[str, str]] = {
        id(table): {each.name.lower(): each.name for each in tables.get(name, ())}
        for table in query.find_all(exp.Table)
        if (name := model_name_of(table)) is not None
    }
    for scope in traverse_scope(query):  # inner queries before outer ones
        if isinstance(scope.expression, exp.Select):
            names[id(scope.expression)] = _restored(scope.expression, scope, names, text)
            _note_names_of_tables(scope, names)
    for alias in query.find_all(exp.TableAlias):
        for column in alias.columns:
            _restore(column)


def _note_names_of_tables(scope: Scope, names: Mapping[int, Mapping[str, str]]) -> None:
    """Note which names a call with ``*`` gets from tables, as far as they are not in lower case."""
    tables = [names.get(id(each), {}) for each in scope.sources.values()]
    cased = [name for each in tables for lower, name in each.items() if name != lower]
    for star in filter(_is_star_in_call, scope.find_all(exp.Star) if cased else ()):
        call = star.parent.parent if isinstance(star.parent, exp.Column) else star.parent
        if call is not None:
            call.meta[_SHOWN] = " ".join([*lent_names(call), *cased])


def _restored(
    select: exp.Select, scope: Scope, names: Mapping[int, Mapping[str, str]], text: str
) -> Mapping[str, str]:
    """The author's names of a SELECT's columns, by their names in lower case."""
    found: dict[str, str] = {}
    listed = select.meta_get(_COLUMNS) or ()
    for each, name in zip_longest(select.selects, listed):
        alias = each.args.get("alias") if each is not None else None
        if not isinstance(alias, exp.Identifier):
            if each is not None and _is_nameless(each):
                select.meta[_SHOWN] = text
            continue
        written = name or alias.meta_get(_WRITTEN)
        column = each.this
        if written is None and isinstance(column, exp.Column):
            written = column.this.meta_get(_WRITTEN) or _inherited(column, scope, names)
        if written is None and alias.name.startswith(_GENERATED):
            written = text
        if written is not None and written.lower() == alias.name.lower():
            alias.set("this", written)
        elif written is not None:
            alias.meta[_SHOWN] = written
        found[alias.name.lower()] = written or alias.name
    return found


def _inherited(
    column: exp.Column, scope: Scope, names: Mapping[int, Mapping[str, str]]
) -> str | None:
    """The name of a column that ``*`` stood for: the one that it has in the sub-query."""
    source = scope.sources.get(column.table)
    of = _first_select(source.expression) if isinstance(source, Scope) else source
    return names.get(id(of), {}).get(column.name.lower())
