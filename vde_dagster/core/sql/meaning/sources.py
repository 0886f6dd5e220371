"""The sources in FROM: rows with named columns, and parts that are not analysed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical_form import canonical_form
from vde_dagster.core.sql.meaning.functions import is_nondeterministic
from vde_dagster.core.sql.meaning.parts import (
    EVERY,
    ROWS,
    Meaning,
    MeaningPart,
    Read,
    RowSet,
    combined,
    leaf,
)
from vde_dagster.core.sql.select_clauses import listed_columns
from vde_dagster.core.sql.table_names import model_name_of


@dataclass(frozen=True, slots=True)
class Source:
    """Which rows a SELECT reads under an alias, all their columns at once, and each by its name."""

    rows: RowSet
    every: MeaningPart
    column: Callable[[str], MeaningPart]


def table_source(model: ModelName) -> Source:
    """A model or a source of the project."""
    return Source(
        RowSet(leaf("table", str(model), reads=[Read(model, ROWS)])),
        leaf("columns of table", str(model), reads=[Read(model, EVERY)]),
        lambda name: leaf("column", str(model), name, reads=[Read(model, name)]),
    )


def query_source(meaning: Meaning, star: Source | None = None) -> Source:
    """A sub-query or common table expression; ``star`` is the one source whose ``*`` it returns.

    A column that is not known by its name may be any.
    """
    names = meaning.written or [name for name, _ in meaning.columns]
    every = combined("columns", meaning.values, *names)

    def column(name: str) -> MeaningPart:
        known = meaning.column(name)
        if known is not None:
            return known
        return star.column(name) if star is not None else combined("column of", [every], name)

    return Source(meaning.rows, every, column)


def opaque_source(whole: MeaningPart, node: exp.Expr | None = None) -> Source:
    """A source that is not analysed, as whatever is in a node: each column depends on all of it."""
    if node is not None and any(map(is_nondeterministic, node.walk())):
        whole = replace(whole, nondeterministic=True)
    return Source(
        RowSet(combined("rows of", [whole])),
        whole,
        lambda name: combined("column of", [whole], name),
    )


@dataclass(slots=True, kw_only=True)
class Scope:
    """What the columns of one SELECT are bound to.

    ``single`` if FROM has just one source: then its columns mean the same here as there. ``outer``
    is the SELECT around it, ``grouped`` the rows that an aggregate sees, ``stage`` those that a
    window sees. ``outputs`` are the columns that the SELECT returns, by which it may sort.
    """

    sources: dict[str, Source] = field(default_factory=dict)
    single: bool = True
    outer: Scope | None = None
    ctes: Mapping[str, Source] = field(default_factory=dict)
    grouped: MeaningPart | None = None
    stage: MeaningPart | None = None
    windows: Mapping[str, exp.Window] = field(default_factory=dict)
    outputs: Mapping[str, MeaningPart] = field(default_factory=dict)

    def column(self, alias: str, name: str) -> MeaningPart | None:
        """The column of an alias, here or in an outer query; None if nothing has this alias.

        A column of one source among several, or of an outer query, is marked with that source.
        """
        for level, scope in enumerate(self.outward()):
            source = scope.sources.get(alias)
            if source is not None:
                return scope.placed(alias, source.column(name), level)
        return None

    def outward(self) -> Iterator[Scope]:
        """This scope, and those of the queries around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def placed(self, alias: str, part: MeaningPart, level: int = 0) -> MeaningPart:
        """A part of a source, as seen from ``level`` queries further inside."""
        if level == 0 and self.single:
            return part
        place = list(self.sources).index(alias)
        return combined("at", [part], str(level), str(0 if self.single else place))

    def around(self) -> Scope:
        """The scope that a sub-query in FROM sees: without its siblings, with common tables."""
        return replace(self.outer or Scope(), ctes=self.ctes)

    def every(self) -> list[MeaningPart]:
        """All columns of all sources."""
        return [self.placed(alias, source.every) for alias, source in self.sources.items()]


def blurred(node: exp.Expr, scope: Scope) -> Source:
    """A node as a whole: its form, and all that the names in it may stand for."""
    form = canonical_form(without_alias(node))
    return opaque_source(combined("whole", named_by(node, scope), form), node)


def named_by(node: exp.Expr, scope: Scope) -> list[MeaningPart]:
    """The rows of all tables in a node, and those of their columns that it may name."""
    named = _columns_by_alias(node)
    found: list[MeaningPart] = []
    for table in node.find_all(exp.Table):
        source = table_named(table, scope)
        if source is not None:
            columns = None if named is None else named.get(table.alias_or_name.lower(), set())
            found.append(source.rows.part)
            found += [source.every] if columns is None else map(source.column, sorted(columns))
    for column in node.find_all(exp.Column):
        bound = scope.column(column.table.lower(), column.name.lower()) if column.table else None
        if bound is not None:
            found.append(bound)
    return found


def table_named(table: exp.Table, scope: Scope) -> Source | None:
    """The source that the name of a table stands for, if it is one."""
    if not table.db and (common := scope.ctes.get(table.name.lower())) is not None:
        return common
    name = model_name_of(table)
    return table_source(name) if name and isinstance(table.this, exp.Identifier) else None


def _names_more(node: exp.Expr) -> bool:
    """Whether a node may mean columns that it does not name, or names them otherwise."""
    if isinstance(node, exp.Join):
        return bool(node.args.get("using") or node.args.get("method"))
    if isinstance(node, exp.Table):
        return bool(listed_columns(node))
    return isinstance(node, exp.Pivot | exp.Star)


def _columns_by_alias(node: exp.Expr) -> dict[str, set[str]] | None:
    """The columns that a node names, by the alias before them; None where it may mean others."""
    if not isinstance(node, exp.Query | exp.CTE) or any(map(_names_more, node.walk())):
        return None
    found: dict[str, set[str]] = {}
    for column in node.find_all(exp.Column):
        if not column.table:
            return None
        found.setdefault(column.table.lower(), set()).add(column.name.lower())
    return found


def without_alias(node: exp.Expr) -> exp.Expr:
    """A table, function or sub-query without the name that it is given here."""
    alias = node.args.get("alias")
    if not isinstance(alias, exp.TableAlias) or alias.columns:
        return node
    bare = node.copy()
    bare.set("alias", None)
    return bare
