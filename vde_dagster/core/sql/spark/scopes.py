"""Resolves the names in a query as Spark does.

A name is looked up in its own SELECT, then in the outer ones. In each one it may be
``catalog.schema.table.column``, else ``schema.table.column``, else ``table.column``, and else a
column whose fields follow (``AttributeSeq.resolve`` in Spark). The case of names does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Protocol

from sqlglot import exp

from vde_dagster.core.sql.select_clauses import from_of, item_of, parts_named
from vde_dagster.core.sql.star_macro import is_star_macro
from vde_dagster.core.sql.table_names import common_table_of

Columns = Mapping[str, exp.DataType | None]
"""Columns by their names in lower case, with their types as far as they are known."""


@lru_cache(maxsize=1024)
def type_named(written: str) -> exp.DataType:
    """A column's type, which is written in Spark's SQL, whatever the dialect of its readers."""
    return exp.DataType.build(written, dialect="spark", udt=True)


class Tables(Protocol):
    """What is known about the tables that a query reads."""

    def columns(self, table: exp.Table) -> Columns | None:
        """Its columns; None if they are not known."""

    def name(self, table: exp.Table) -> Sequence[str]:
        """Its whole name in lower case: that of a catalog, if any, of a schema, and its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What a name is bound to.

    ``at`` is the position of the column's own name in the dotted one: 0 if nothing precedes it.
    ``level`` counts the SELECTs between the name and its source: 0 if it is in the same one.
    ``inside`` are all sources from those of the name's SELECT up to those of its source's.
    """

    source: exp.Expr
    at: int
    level: int
    inside: Sequence[exp.Expr]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A source as it is seen from some place of a query."""

    source: exp.Expr
    name: Sequence[str]
    columns: Columns | None

    def is_called(self, words: Sequence[str]) -> bool:
        """Whether these words, in lower case, are its name, or the last ones of it."""
        return len(words) <= len(self.name) and list(self.name[-len(words) :]) == list(words)

    def has(self, parts: Sequence[str], at: int, *, is_known: bool) -> bool:
        """Whether a name's part at a position is a column of it, and the parts before are its name.

        Without ``is_known`` the column need not be known.
        """
        if at and not self.is_called(parts[:at]):
            return False
        if not is_known or self.columns is None:
            return at > 0
        return parts[at] in self.columns


@dataclass(frozen=True, slots=True)
class Scopes:
    """The SELECTs of a statement and what they read. The statement must not change meanwhile."""

    tables: Tables
    _sources: dict[int, Sequence[exp.Expr]] = field(default_factory=dict)
    _visible: dict[int, Sequence[_Seen]] = field(default_factory=dict)
    _outputs: dict[int, Columns | None] = field(default_factory=dict)

    def find(self, column: exp.Column) -> Reference | None:
        """What a column belongs to; None if no source seems to have it."""
        parts = [each.name.lower() for each in column.parts]
        return self._bound(column, parts, is_known=True) or self._bound(
            column, parts, is_known=False
        )

    def _bound(self, column: exp.Expr, parts: Sequence[str], *, is_known: bool) -> Reference | None:
        inside: list[exp.Expr] = []
        for level, around in enumerate(_around(column)):
            seen = self._seen_in(around)
            inside += [each.source for each in seen]
            for at in range(min(len(parts) - 1, _MOST_BEFORE), -1, -1):
                for each in seen:
                    if each.has(parts, at, is_known=is_known):
                        return Reference(source=each.source, at=at, level=level, inside=inside)
        return None

    def _seen_in(self, around: exp.Expr) -> Sequence[_Seen]:
        found = self._visible.get(id(around))
        if found is None:
            found = [self._seen(each, around) for each in self.sources_in(around)]
            self._visible[id(around)] = found
        return found

    def _seen_from(self, node: exp.Expr) -> Sequence[_Seen]:
        """The sources in the SELECT that contains a node."""
        around = next(_around(node), None)
        return () if around is None else self._seen_in(around)

    def _seen(self, source: exp.Expr, around: exp.Expr) -> _Seen:
        is_turned = isinstance(around, exp.Pivot)  # which sees the columns that it replaces
        name = self._own_name(source) if is_turned else self.name_of(source)
        columns = self._own_columns(source) if is_turned else self.columns_of(source)
        return _Seen(source=source, name=name, columns=columns)

    def source_of(self, column: exp.Column) -> exp.Expr | None:
        """The source that a column of a canonical query names, here or in a query around it.

        None if its rows are those of a PIVOT, which has other columns.
        """
        alias = column.table.lower()
        sources = (each for around in _around(column) for each in self.sources_in(around))
        named = (each for each in sources if [*self.name_of(each)[-1:]] == [alias])
        return next((None if each.args.get("pivots") else each for each in named), None)

    def sources_in(self, around: exp.Expr) -> Sequence[exp.Expr]:
        """The sources of a SELECT; what a statement reads or writes; the source of a PIVOT."""
        found = self._sources.get(id(around))
        if found is None:
            found = self._sources[id(around)] = list(_read_by(around))
        return found

    def called(self, node: exp.Expr, words: Sequence[str]) -> list[exp.Expr]:
        """The sources of this name, perhaps with a schema, in the SELECT that contains a node."""
        lower = [each.lower() for each in words]
        return [each.source for each in self._seen_from(node) if each.is_called(lower)]

    def has(self, node: exp.Expr, name: str) -> bool | None:
        """Whether a source in the SELECT that contains a node has a column of this name.

        None if a source may have it whose columns are not known.
        """
        seen = self._seen_from(node)
        if any(name in (each.columns or ()) for each in seen):
            return True
        return None if any(each.columns is None for each in seen) else False

    def name_of(self, source: exp.Expr) -> Sequence[str]:
        """The name by which columns can name a source: an alias, or the table's whole name."""
        pivots = source.args.get("pivots") or ()
        alias = next((each.alias for each in reversed(pivots) if each.alias), "")
        return (alias.lower(),) if alias else self._own_name(source)

    def _own_name(self, source: exp.Expr) -> Sequence[str]:
        alias = source.alias
        if not alias and isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            return self.tables.name(source)
        return (alias.lower(),) if alias else ()

    # -- columns

    def columns_of(self, source: exp.Expr) -> Columns | None:
        """The columns of an item in FROM; None if they are not known."""
        return None if source.args.get("pivots") else self._own_columns(source)

    def _own_columns(self, source: exp.Expr) -> Columns | None:
        found = self._returned(source)
        alias = source.args.get("alias")
        listed = alias.columns if isinstance(alias, exp.TableAlias) else []
        if not listed:
            return found
        types = [*(found.values() if found is not None else ()), *[None] * len(listed)]
        return {each.name.lower(): kind for each, kind in zip(listed, types, strict=False)}

    def _returned(self, source: exp.Expr) -> Columns | None:
        match source:
            case exp.Table(this=exp.Identifier()):
                meant = common_table_of(source)
                return (
                    self._own_columns(meant) if meant is not None else self.tables.columns(source)
                )
            case exp.Subquery() | exp.CTE():
                return self.outputs(source.this)
            case exp.Lateral(this=exp.Subquery() as query):
                return self.outputs(query)
            case _:
                return None

    def outputs(self, query: exp.Expr | None) -> Columns | None:
        """The names of a query's columns; None if they are not known."""
        while isinstance(query, exp.SetOperation | exp.Subquery):
            query = query.this
        if not isinstance(query, exp.Select):
            return None
        if id(query) not in self._outputs:
            self._outputs[id(query)] = None  # nothing is known about a query that reads itself
            self._outputs[id(query)] = self._selected(query)
        return self._outputs[id(query)]

    def _selected(self, select: exp.Select) -> Columns | None:
        found: dict[str, exp.DataType | None] = {}
        for each in select.expressions:
            if each.is_star:
                more = self.starred(each)
                if more is None:
                    return None
                found |= more
            elif isinstance(each, exp.Aliases):
                found |= {name.name.lower(): None for name in each.expressions}
            elif is_star_macro(each):
                return None
            else:
                found[each.alias_or_name.lower()] = self.type_of(each.unalias())
        return found

    def starred(self, star: exp.Expr) -> Columns | None:
        """The columns, or fields of a struct, that ``*``, ``t.*`` or ``t.s.*`` stands for."""
        bare = star.find(exp.Star)
        assert bare is not None, "a star has one"
        if any(value for key, value in bare.args.items() if key != "except_"):
            return None
        sources = self._of_star(star)
        parts = [self.columns_of(each) for each in sources] if sources else [self.fields_of(star)]
        left_out = {each.name.lower() for each in bare.args.get("except_") or ()}
        found: dict[str, exp.DataType | None] = {}
        for part in parts:
            if part is None:
                return None
            found |= {name: kind for name, kind in part.items() if name not in left_out}
        return found

    def _of_star(self, star: exp.Expr) -> Sequence[exp.Expr]:
        if isinstance(star, exp.Column):
            return self.called(star, [each.name for each in star.parts[:-1]])
        seen = self._seen_from(star) if isinstance(star, exp.Star) else ()
        return [each.source for each in seen]

    def fields_of(self, star: exp.Expr) -> Columns | None:
        """The fields of the struct before ``.*``; None if it is not known to be one."""
        kind = self._type(star, [each.name for each in _path(star)])
        return fields_of_struct(kind)

    def type_of(self, value: exp.Expr) -> exp.DataType | None:
        """The type of a column, of a field of one, or of a cast; None if it is not known."""
        match value:
            case exp.Cast():
                return value.to
            case exp.Paren():
                return self.type_of(value.this)
            case exp.Column() | exp.Dot():
                return self._type(value, [each.name for each in _parts(value)])
            case _:
                return None

    def _type(self, node: exp.Expr, words: Sequence[str]) -> exp.DataType | None:
        parts = [each.lower() for each in words]
        column = node.find(exp.Column)
        found = self._bound(column, parts, is_known=True) if column and parts else None
        if found is None:
            return None
        kind = (self.columns_of(found.source) or {}).get(parts[found.at])
        for word in parts[found.at + 1 :]:
            kind = (fields_of_struct(kind) or {}).get(word)
        return kind


_MOST_BEFORE: Final = 3
"""A column has at most a catalog, a schema and a table before it."""


def _parts(value: exp.Expr) -> list[exp.Expr]:
    """The parts of a name with dots; none if the expression is more than a name."""
    fields: list[exp.Expr] = []
    while isinstance(value, exp.Dot):
        fields.insert(0, value.expression)
        value = value.this
    return [*value.parts, *fields] if isinstance(value, exp.Column) else []


def _path(star: exp.Expr) -> list[exp.Expr]:
    """The name before ``.*``."""
    return _parts(star)[:-1]


def fields_of_struct(kind: exp.Expr | None) -> Columns | None:
    """The fields of a struct; None for another type."""
    if not isinstance(kind, exp.DataType) or not kind.is_type(exp.DataType.Type.STRUCT):
        return None
    return {
        each.name.lower(): each.kind for each in kind.expressions if isinstance(each, exp.ColumnDef)
    }


def _around(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes whose sources a name may mean, innermost first.

    A sub-query in FROM does not see the other items of FROM, unless it is LATERAL; nor does a
    common table expression see the SELECT that it belongs to.
    """
    inside, around = node, node.parent
    is_query = is_apart = False
    while around is not None:
        if isinstance(inside, exp.Lateral):
            is_query = False
        if isinstance(inside, exp.CTE):
            is_apart = True
        in_join = isinstance(around, exp.Join) and around.this is inside
        is_apart = is_apart or (is_query and (in_join or isinstance(around, exp.From)))
        if isinstance(around, _READING) and not isinstance(around.parent, exp.When):
            if not is_apart:
                yield around
            is_apart = False
        is_query = is_query or isinstance(around, exp.SetOperation)
        if isinstance(around, exp.Select):
            is_query, is_apart = True, False
        inside, around = around, around.parent


_READING: Final = (exp.Select, exp.Pivot, exp.Delete, exp.Merge, exp.Update)


def _read_by(around: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(around, exp.Pivot):
        turned = around.parent
        assert turned is not None, "a PIVOT has a source"
        yield turned
        return
    if not isinstance(around, exp.Select):
        yield from _of_statement(around)
        return
    yield from from_of(around).sources()


def _of_statement(statement: exp.Expr) -> Iterator[exp.Expr]:
    """What a DELETE, MERGE or UPDATE reads or writes: its table comes after the items of FROM."""
    from_ = from_of(statement)
    first = [] if from_.first is None else [from_.first]
    own = [*parts_named(statement, "this"), *parts_named(statement, "using")]
    items = [*first, *map(item_of, own), *(join.item for join in from_.joins)]
    for each in items:
        yield from each.sources()
    yield from from_.laterals
