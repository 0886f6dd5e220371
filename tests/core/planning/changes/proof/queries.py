"""Queries as values that can be edited and are written in what Spark and DuckDB share.

A query says which column of which alias it reads, and of which type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto

INT, TEXT, DAY, LIST = "int", "string", "date", "array<int>"
Columns = Mapping[str, str]
"""Names of columns with their types, in order."""
Relations = Mapping[str, Columns]
"""What a query can read: models, sources and the common tables around it."""


class Role(Enum):
    """What a projection is to the rows of its SELECT."""

    PLAIN = auto()
    DERIVED = auto()  # a function of a column that is grouped by
    LITERAL = auto()  # and everything else that reads no column of the SELECT's tables
    AGGREGATE = auto()
    WINDOW = auto()
    EXPLODE = auto()
    STAR = auto()


@dataclass(frozen=True, slots=True)
class Ref:
    """A column of an alias; without one a column of the SELECT's own output, or a constant."""

    alias: str
    column: str
    type: str

    def __str__(self) -> str:
        return f"{self.alias}.{self.column}" if self.alias else self.column


EQUAL, USING = "{0} = {1}", "USING ({0.column})"
CONSTANTS = {
    INT: Ref("", "CAST(7 AS INT)", INT),
    TEXT: Ref("", "CAST('q' AS STRING)", TEXT),
    DAY: Ref("", "CAST('2024-01-01' AS DATE)", DAY),
}
"""What is read in place of a column where there is none of its type."""


@dataclass(frozen=True, slots=True)
class Term:
    """An expression: a text with ``{0}``, ``{1}`` for ``refs`` and ``{r}`` for ``reads``.

    ``reads`` is the relation that a sub-query in it reads, under the alias ``s``.
    """

    text: str
    refs: tuple[Ref, ...] = ()
    type: str = INT
    role: Role = Role.PLAIN
    reads: str = ""

    def sql(self, names: Mapping[str, str]) -> str:
        """Its text; ``names`` are relations that are called otherwise."""
        return self.text.format(*self.refs, r=names.get(self.reads, self.reads))


@dataclass(frozen=True, slots=True)
class Projection:
    """A term and the name of its column."""

    name: str
    term: Term


@dataclass(frozen=True, slots=True)
class Source:
    """What stands in FROM or JOIN under an alias."""

    alias: str
    relation: str | Query
    join: str = ""
    on: tuple[Term, ...] = ()


class Style(Enum):
    """How GROUP BY and ORDER BY name their keys."""

    NAMES = auto()
    ORDINALS = auto()
    ALL = auto()
    OUTPUTS = auto()  # GROUP BY the names of the result
    ROLLUP = auto()
    CUBE = auto()


@dataclass(frozen=True, slots=True)
class Group:
    """GROUP BY: ``keys`` are names of projections."""

    style: Style
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """ORDER BY the projections ``keys`` (all of them, so that LIMIT means one set of rows)."""

    style: Style
    keys: tuple[str, ...]
    descending: bool = False
    limit: int | None = None
    offset: int = 0

    def sql(self, positions: Mapping[str, int]) -> str:
        """Its clauses, for the positions of projections."""
        match self.style:
            case Style.ORDINALS:
                keys = [str(positions[key]) for key in self.keys]
            case Style.NAMES:
                keys = list(self.keys)
            case _:
                keys = ["ALL"]
        if self.descending:
            keys[0] += " DESC"
        limit = "" if self.limit is None else f" LIMIT {self.limit}"
        limit += f" OFFSET {self.offset}" if limit and self.offset else ""
        return f" ORDER BY {', '.join(keys)}{limit}"


@dataclass(frozen=True, slots=True)
class Select:
    """One SELECT.

    ``bare`` writes no aliases before columns where none are needed, ``named`` writes windows in a
    clause of their own.
    """

    sources: tuple[Source, ...]
    projections: tuple[Projection, ...]
    where: tuple[Term, ...] = ()
    group: Group | None = None
    having: Term | None = None
    qualify: Term | None = None
    distinct: bool = False
    order: Order | None = None
    unnest: Ref | None = None
    bare: bool = False
    named: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its projections."""
        return tuple(each.name for each in self.projections)

    def has(self, *roles: Role) -> bool:
        """Whether any of its projections has one of these roles."""
        return any(each.term.role in roles for each in self.projections)

    def sql(self, names: Mapping[str, str]) -> str:
        """Its text; a bare one names no table where none is needed to distinguish columns."""
        if self.bare and self._is_clear:
            return map_refs(replace(self, bare=False), _without_alias).sql(names)
        windows = self._windows(names) if self.named else {}
        text = f"SELECT {'DISTINCT ' * self.distinct}"
        text += ", ".join(_projection(each, names, windows) for each in self.projections)
        text += f" FROM {''.join(_source(each, names) for each in self.sources)}"
        if self.unnest is not None:
            text += f" LATERAL VIEW EXPLODE({self.unnest}) v AS w"
        if self.where:
            text += f" WHERE {' AND '.join(each.sql(names) for each in self.where)}"
        if self.group is not None:
            text += self._group(self.group, names)
        text += f" HAVING {self.having.sql(names)}" if self.having is not None else ""
        if windows:
            text += f" WINDOW {', '.join(f'{name} AS {each}' for each, name in windows.items())}"
        text += f" QUALIFY {self.qualify.sql(names)}" if self.qualify is not None else ""
        return text if self.order is None else text + self.order.sql(self._positions())

    def _windows(self, names: Mapping[str, str]) -> dict[str, str]:
        """What stands behind OVER in the projections, with a name for each."""
        terms = (each.term for each in self.projections if each.term.role is Role.WINDOW)
        found = dict.fromkeys(each.sql(names).partition("OVER ")[2] for each in terms)
        return {each: f"w{index}" for index, each in enumerate(found, start=1)}

    @property
    def _is_clear(self) -> bool:
        """Whether no name stands both for what is read and for something else that is returned."""
        read = {each.column for term in terms_of(self) for each in term.refs if each.alias}
        other = {each.name for each in self.projections if not _is_kept(each)}
        nested = any(term.reads for term in terms_of(self))
        return len(self.sources) == 1 and self.unnest is None and not nested and not read & other

    def _group(self, group: Group, names: Mapping[str, str]) -> str:
        terms = {each.name: each.term for each in self.projections}
        keys = [terms[key].sql(names) for key in group.keys]
        match group.style:
            case Style.ALL:
                return " GROUP BY ALL"
            case Style.ORDINALS:
                return f" GROUP BY {', '.join(str(self._positions()[key]) for key in group.keys)}"
            case Style.OUTPUTS:
                return f" GROUP BY {', '.join(group.keys)}"
            case Style.ROLLUP | Style.CUBE:
                return f" GROUP BY {group.style.name} ({', '.join(keys)})"
            case _:
                return f" GROUP BY {', '.join(keys)}"

    def _positions(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names, start=1)}


def terms_of(select: Select) -> list[Term]:
    """All expressions of a SELECT, those of its sub-queries not."""
    own = [each for each in (select.having, select.qualify) if each is not None]
    on = [term for each in select.sources for term in each.on]
    return [*(each.term for each in select.projections), *select.where, *on, *own]


def map_terms(select: Select, change: Callable[[Term], Term]) -> Select:
    """A SELECT with each of its expressions changed."""
    return replace(
        select,
        projections=tuple(replace(each, term=change(each.term)) for each in select.projections),
        sources=tuple(replace(each, on=tuple(map(change, each.on))) for each in select.sources),
        where=tuple(map(change, select.where)),
        having=change(select.having) if select.having is not None else None,
        qualify=change(select.qualify) if select.qualify is not None else None,
    )


def map_refs(select: Select, change: Callable[[Ref], Ref]) -> Select:
    """A SELECT with each column that its expressions read changed."""
    return map_terms(
        select, lambda term: replace(term, refs=tuple(change(each) for each in term.refs))
    )


def _without_alias(ref: Ref) -> Ref:
    return replace(ref, alias="")


def _is_kept(each: Projection) -> bool:
    """Whether a projection is a column as it is, under its own name."""
    if each.term.role is Role.STAR:
        return True
    return each.term.text == "{0}" and each.term.refs[0].column == each.name


def _projection(each: Projection, names: Mapping[str, str], windows: Mapping[str, str]) -> str:
    text = each.term.sql(names)
    if windows and each.term.role is Role.WINDOW:
        function, _, window = text.partition("OVER ")
        text = f"{function}OVER {windows[window]}"
    return text if _is_kept(each) else f"{text} AS {each.name}"


def _source(each: Source, names: Mapping[str, str]) -> str:
    relation = each.relation
    text = (
        f"({relation.sql(names)})" if isinstance(relation, Query) else names.get(relation, relation)
    )
    text = text if text == each.alias else f"{text} AS {each.alias}"
    if not each.join:
        return text
    if not each.on:
        return f" {each.join} {text}"
    if each.on[0].text == USING and len(each.on) == 1:
        return f" {each.join} {text} {each.on[0].sql(names)}"
    on = " AND ".join(term.sql(names) for term in map(_in_on, each.on))
    return f" {each.join} {text} ON {on}"


def _in_on(term: Term) -> Term:
    return replace(term, text=EQUAL) if term.text == USING else term


@dataclass(frozen=True, slots=True)
class Compound:
    """SELECTs in set operations: ``kinds`` stand between ``sides``."""

    kinds: tuple[str, ...]
    sides: tuple[Select, ...]
    order: Order | None = None

    def sql(self, names: Mapping[str, str]) -> str:
        """Its text."""
        text = self.sides[0].sql(names)
        for kind, side in zip(self.kinds, self.sides[1:], strict=True):
            text += f" {kind} {side.sql(names)}"
        positions = {name: index for index, name in enumerate(self.sides[0].names, start=1)}
        return text if self.order is None else text + self.order.sql(positions)


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT or a set operation, with its common tables."""

    body: Select | Compound
    ctes: tuple[tuple[str, Query], ...] = ()

    def sql(self, names: Mapping[str, str]) -> str:
        """Its text."""
        ctes = ", ".join(f"{name} AS ({query.sql(names)})" for name, query in self.ctes)
        return f"WITH {ctes} {self.body.sql(names)}" if ctes else self.body.sql(names)
