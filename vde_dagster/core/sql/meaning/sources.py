"""The sources in FROM: rows with named columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

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


class Source(Protocol):
    """Rows that a SELECT reads under an alias."""

    @property
    def rows(self) -> RowSet:
        """Which rows there are."""

    @property
    def every(self) -> MeaningPart:
        """All columns at once."""

    def column(self, name: str) -> MeaningPart:
        """One column, by its name in lower case."""


@dataclass(frozen=True, slots=True)
class TableSource:
    """A model or a source of the project."""

    model: ModelName

    @property
    def rows(self) -> RowSet:
        """Which rows there are."""
        return RowSet(leaf("table", str(self.model), reads=[Read(self.model, ROWS)]))

    @property
    def every(self) -> MeaningPart:
        """All columns at once."""
        return leaf("columns of table", str(self.model), reads=[Read(self.model, EVERY)])

    def column(self, name: str) -> MeaningPart:
        """One column."""
        return leaf("column", str(self.model), name, reads=[Read(self.model, name)])


@dataclass(frozen=True, slots=True)
class QuerySource:
    """A sub-query or common table expression; ``star`` is the one source whose ``*`` it returns."""

    meaning: Meaning
    star: Source | None = None

    @property
    def rows(self) -> RowSet:
        """Which rows there are."""
        return self.meaning.rows

    @property
    def every(self) -> MeaningPart:
        """All columns at once."""
        names = self.meaning.written or [name for name, _ in self.meaning.columns]
        return combined("columns", self.meaning.values, *names)

    def column(self, name: str) -> MeaningPart:
        """One column; one that is not known by its name may be any."""
        known = self.meaning.column(name)
        if known is None and self.star is not None:
            return self.star.column(name)
        return known if known is not None else combined("column of", [self.every], name)


@dataclass(frozen=True, slots=True)
class OpaqueSource:
    """A source that is not analysed: each of its columns depends on all of it."""

    whole: MeaningPart

    @property
    def rows(self) -> RowSet:
        """Which rows there are."""
        return RowSet(combined("rows of", [self.whole]))

    @property
    def every(self) -> MeaningPart:
        """All columns at once."""
        return self.whole

    def column(self, name: str) -> MeaningPart:
        """One column."""
        return combined("column of", [self.whole], name)


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
        scope: Scope | None = self
        level = 0
        while scope is not None:
            source = scope.sources.get(alias)
            if source is not None:
                return scope.placed(alias, source.column(name), level)
            scope, level = scope.outer, level + 1
        return None

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


def blurred(node: exp.Expr, scope: Scope) -> OpaqueSource:
    """A node as a whole: its form, and all that the names in it may stand for."""
    whole = combined("whole", named_by(node, scope), canonical_form(without_alias(node)))
    return OpaqueSource(
        replace(whole, nondeterministic=whole.nondeterministic or has_nondeterministic_call(node))
    )


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
    return TableSource(name) if name and isinstance(table.this, exp.Identifier) else None


def has_nondeterministic_call(node: exp.Expr) -> bool:
    """Whether anything in a node is nondeterministic."""
    return any(map(is_nondeterministic, node.walk()))


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
