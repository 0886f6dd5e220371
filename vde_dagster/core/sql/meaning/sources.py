"""The sources in FROM: rows with named columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from vde_dagster.core.names import ModelName
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
