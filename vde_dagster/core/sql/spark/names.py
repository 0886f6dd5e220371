"""Rewrites names so that sqlglot's optimizer binds them as Spark does; for analysis alone.

The optimizer reads ``t.x`` as a column of a table ``t`` of an outer query where Spark reads it as
a field of a column ``t`` of the inner one. It does not distinguish tables of one name by their
schemas, and does not expand the stars of structs. Words such as ``current_date`` are a column if a
source has one of that name, and else a function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.select_clauses import from_of
from vde_dagster.core.sql.spark.scopes import Columns, Reference, Scopes, type_named
from vde_dagster.core.sql.table_names import model_name_of

Unclear = tuple[exp.Expr, Refused]
"""A part of a query, and why its meaning is not known."""


@dataclass(frozen=True, slots=True)
class KnownTables:
    """The tables of a query in which each has the project's name for it."""

    schemas: Mapping[ModelName, Sequence[Column]]

    def columns(self, table: exp.Table) -> Columns | None:
        """Its columns and their types."""
        name = model_name_of(table)
        found = self.schemas.get(name) if name is not None else None
        return {each.name.lower(): type_named(each.type) for each in found} if found else None

    def name(self, table: exp.Table) -> Sequence[str]:
        """Its whole name."""
        return [each.name.lower() for each in table.parts]


def with_spark_names(
    query: exp.Query, schemas: Mapping[ModelName, Sequence[Column]]
) -> tuple[Unclear, ...]:
    """Change a query so that each name with dots is bound as in Spark.

    Args:
        query: In Spark's dialect, with the tables' names as the project has them.
        schemas: The columns of the tables that it reads, as far as they are known.

    Returns:
        Each ``t.*`` that means the columns of several tables.
    """
    tables = KnownTables(schemas)
    _write_out_structs(query, Scopes(tables))
    scopes = Scopes(tables)
    named = [each for each in query.find_all(exp.Column) if len(each.parts) > 1]
    stars = [
        _Star(star=each, meant=scopes.called(each, [part.name for part in each.parts[:-1]]))
        for each in named
        if isinstance(each.this, exp.Star)
    ]
    columns = [
        (each, found)
        for each in named
        if not isinstance(each.this, exp.Star) and (found := scopes.find(each)) is not None
    ]
    called = {
        id(source): ".".join(scopes.name_of(source))
        for names in (*_namesakes(columns, scopes), *_namesakes_of_stars(stars, scopes))
        for source in names
        if isinstance(source, exp.Table) and source.db and not source.alias
    }
    for table in query.find_all(exp.Table):
        if id(table) in called:
            _rename(table, called[id(table)])
    for column, found in columns:
        _bind(column, found, called)
    for each in stars:
        if len(each.meant) == 1:
            _bind_star(each.star, called.get(id(each.meant[0])))
    return tuple(each.refusal(scopes) for each in stars if len(each.meant) > 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Star:
    """A ``t.*``, and the sources with this name."""

    star: exp.Column
    meant: Sequence[exp.Expr]

    def refusal(self, scopes: Scopes) -> Unclear:
        """Why it is not known whose columns it stands for."""
        name = ".".join(each.name for each in self.star.parts[:-1])
        several = " and of ".join(".".join(scopes.name_of(each)) for each in self.meant)
        return self.star, Refused(
            f"`{name}.*` means all columns of {several}",
            advice="Give each of them its own name with AS, and refer to that name.",
        )


def _write_out_structs(query: exp.Query, scopes: Scopes) -> None:
    """Replace the star of a struct by its fields, if they are known."""
    found: list[tuple[exp.Select, list[exp.Expr]]] = []
    for select in query.find_all(exp.Select):
        if any(_is_of_struct(each, scopes) for each in select.expressions):
            written = [new for each in select.expressions for new in _fields(each, scopes)]
            found.append((select, written))
    for select, written in found:
        select.set("expressions", written)


def _is_of_struct(star: exp.Expr, scopes: Scopes) -> bool:
    if not isinstance(star, exp.Column) or not isinstance(star.this, exp.Star):
        return isinstance(star, exp.Dot) and star.is_star
    return bool(star.table) and not scopes.called(star, [each.name for each in star.parts[:-1]])


def _fields(projection: exp.Expr, scopes: Scopes) -> Iterator[exp.Expr]:
    fields = scopes.starred(projection) if _is_of_struct(projection, scopes) else None
    if fields is None:
        yield projection
        return
    struct = projection.this if isinstance(projection, exp.Dot) else _before(projection)
    for name in fields:
        yield exp.alias_(exp.Dot.build([struct.copy(), exp.to_identifier(name)]), name)


def _before(star: exp.Expr) -> exp.Column:
    """The name before ``.*``, as a column."""
    assert isinstance(star, exp.Column), "something precedes the star"
    names = (each.copy() for each in reversed(star.parts[:-1]))
    return exp.Column(**dict(zip(("this", "table", "db"), names, strict=False)))


def _namesakes(
    columns: Sequence[tuple[exp.Column, Reference]], scopes: Scopes
) -> Iterator[Sequence[exp.Expr]]:
    """Sources of one name, of which a column means one."""
    for _, found in columns:
        name = scopes.name_of(found.source)[-1:]
        same = [each for each in found.inside if scopes.name_of(each)[-1:] == name]
        if found.at > 0 and len(same) > 1:
            yield same


def _namesakes_of_stars(stars: Sequence[_Star], scopes: Scopes) -> Iterator[Sequence[exp.Expr]]:
    for each in stars:
        same = scopes.called(each.star, [each.star.table])
        if len(same) > 1:
            yield same


def _rename(table: exp.Table, name: str) -> None:
    alias = table.args.get("alias") or exp.TableAlias()
    alias.set("this", exp.to_identifier(name, quoted=True))
    table.set("alias", alias)


def _bind(column: exp.Column, found: Reference, called: Mapping[int, str]) -> None:
    """Write a column with the one-part name of its table before it, and its fields after it."""
    before, (own, *fields) = column.parts[: found.at], column.parts[found.at :]
    name = called.get(id(found.source))
    in_pivot = found.level == 0 and column.find_ancestor(exp.Pivot, exp.Select)
    is_turned = isinstance(in_pivot, exp.Pivot)  # there the optimizer knows columns alone
    if len(before) == 1 and not fields and name is None and not is_turned:
        return
    bound = exp.Column(this=own.copy())
    if before and not is_turned:
        table = exp.to_identifier(name, quoted=True) if name is not None else before[-1].copy()
        bound.set("table", table)
    column.replace(exp.Dot.build([bound, *(each.copy() for each in fields)]) if fields else bound)


def _bind_star(star: exp.Column, name: str | None) -> None:
    for part in ("db", "catalog"):
        star.set(part, None)
    if name is not None:
        star.set("table", exp.to_identifier(name, quoted=True))


def unknown_stars(query: exp.Query) -> Iterator[Unclear]:
    """Each star that is left in a query whose columns are bound, since its columns are not known.

    Those of queries that only read such a query are not reported.
    """
    left = [
        (each, select)
        for select in query.find_all(exp.Select)
        for each in select.expressions
        if each.is_star and not isinstance(select.parent, exp.Exists)
    ]
    first = [(each, select) for each, select in left if _reads_function(select)]
    for each, _ in first or left:
        yield each, _unknown_columns(each)


def _reads_function(select: exp.Select) -> bool:
    from_ = from_of(select)
    if any(isinstance(each, exp.Dot) for each in select.expressions) or from_.laterals:
        return True
    return any(not isinstance(each.node.this, exp.Identifier | exp.Query) for each in from_.items)


def _unknown_columns(star: exp.Expr) -> Refused:
    if isinstance(star, exp.Dot):
        return Refused(
            f"the fields that `{star.sql('spark')}` stands for are not known",
            advice=f"name them, such as `{star.this.sql('spark')}.a AS a`.",
        )
    return Refused(
        f"the columns that `{star.sql('spark')}` stands for are not known",
        advice="name the columns of each function in FROM and LATERAL VIEW after AS, as in "
        "`explode(a) x AS item`, or write out the columns in place of the star.",
    )


_FUNCTIONS: Final[Mapping[str, type[exp.Expr]]] = {
    "current_date": exp.CurrentDate,
    "current_time": exp.CurrentTime,
    "current_timestamp": exp.CurrentTimestamp,
    "current_user": exp.CurrentUser,
    "session_user": exp.SessionUser,
    "user": exp.CurrentUser,
}
WORDS: Final[Mapping[type[exp.Expr], str]] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTime: "current_time",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
}
"""Functions that may be called without parentheses, by their classes in sqlglot."""
_BY_ALIAS: Final = frozenset({"having", "order", "sort"})
"""Clauses in which a name means an output column of the query first."""


def with_columns_for_words(
    query: exp.Query, schemas: Mapping[ModelName, Sequence[Column]]
) -> exp.Query:
    """Change a query so that each such word is what Spark reads it as.

    If the columns of its sources are not known it is neither: an unknown function.

    Args:
        query: In Spark's dialect, with names for the columns of table functions; it is changed.
        schemas: The columns of what it reads.
    """
    scopes = Scopes(KnownTables(schemas))
    named = [(node, word, _is_column(node, word, scopes)) for node, word in words_in(query)]
    for node, word, is_column in named:
        if is_column is None:
            node.replace(exp.Anonymous(this=f"column_or_{word}"))
        elif is_column != isinstance(node, exp.Column):
            node.replace(exp.column(word) if is_column else _FUNCTIONS[word]())
    return query


def words_in(query: exp.Expr) -> Iterator[tuple[exp.Expr, str]]:
    """Each such word of a query with its node, which is a function or a column."""
    for node in query.find_all(exp.Column, *WORDS):
        if isinstance(node, exp.Column):
            word = "" if node.table else node.name.lower()
        else:  # a call with parentheses has a position in the text
            is_word = not node.args.get("this") and node.meta_get("start") is None
            word = WORDS[type(node)] if is_word else ""
        if word in _FUNCTIONS:
            yield node, word


def _is_column(node: exp.Expr, word: str, scopes: Scopes) -> bool | None:
    """Whether a word is a column; None if that is not known."""
    query, place = _query_around(node)
    if place in _BY_ALIAS:
        outputs = scopes.outputs(query)
        if outputs is None or word in outputs:
            return None if outputs is None else True
    return scopes.has(node, word) if isinstance(query, exp.Select) else False


def _query_around(node: exp.Expr) -> tuple[exp.Expr | None, str]:
    """The query that contains a node, and the clause of it."""
    inside, around = node, node.parent
    while around is not None and not isinstance(around, exp.Select | exp.SetOperation):
        inside, around = around, around.parent
    return around, inside.arg_key or ""
