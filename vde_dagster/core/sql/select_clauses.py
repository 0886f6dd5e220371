"""The clauses of a query, read in one place, in the order in which SQL applies them.

These are WITH, FROM with its joins, WHERE, GROUP BY, HAVING, WINDOW, QUALIFY, SELECT, DISTINCT,
ORDER BY, SORT BY and so on, LIMIT and OFFSET. Whatever else a query has is among its ``others``, by
sqlglot's name for it: code that concludes something from a query checks them first, so that no
clause is passed over.

The nodes are those of the tree: once that has changed, its clauses are read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from sqlglot import exp


def given(node: exp.Expr) -> frozenset[str]:
    """Sqlglot's names of a node's parts and flags, without those that are not set."""
    return frozenset([key for key, value in node.args.items() if value])


@dataclass(frozen=True, slots=True, kw_only=True)
class FromItem:
    """One item of FROM: a table, a query, a function.

    Args:
        node: The item itself.
        inside: What its parentheses enclose if that is not a query, as in ``(a JOIN b)``.
        joins: Its joins inside of parentheses around both sides.
        laterals: Its LATERAL VIEWs there.
    """

    node: exp.Expr
    inside: FromItem | None
    joins: tuple[JoinClause, ...]
    laterals: tuple[exp.Lateral, ...]

    @property
    def alias(self) -> str:
        """The name by which columns refer to it, in lower case."""
        return self.node.alias_or_name.lower()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of columns that its alias lists, in lower case."""
        return listed_columns(self.node)

    @property
    def others(self) -> frozenset[str]:
        """What else it has: PIVOT, TABLESAMPLE, a version, or a LIMIT of the parentheses."""
        known = _OF_QUERIES if isinstance(self.node, exp.Subquery) else _OF_TABLES
        return given(self.node) - known

    @property
    def grouped(self) -> FromItem | None:
        """What its parentheses only group; None if they have an alias, or there are none."""
        return None if self.node.alias else self.inside

    def sources(self) -> Iterator[exp.Expr]:
        """The sources of columns in it, in the order in which they are written."""
        yield from [self.node] if self.grouped is None else self.grouped.sources()
        for join in self.joins:
            yield from join.item.sources()
        yield from self.laterals


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinClause:
    """A join, or an item after a comma, with its condition."""

    node: exp.Join
    item: FromItem
    on: exp.Expr | None

    @property
    def using(self) -> tuple[str, ...]:
        """The columns of both sides that USING names, as they are written."""
        return tuple(each.name for each in self.node.args.get("using") or ())

    @property
    def is_by_condition(self) -> bool:
        """Whether it has nothing but its keywords and its condition."""
        return given(self.node) <= _OF_PLAIN_JOINS


@dataclass(frozen=True, slots=True, kw_only=True)
class FromClause:
    """FROM: the first item, its joins, and its LATERAL VIEWs."""

    first: FromItem | None
    joins: tuple[JoinClause, ...]
    laterals: tuple[exp.Lateral, ...]

    @property
    def items(self) -> tuple[FromItem, ...]:
        """All items, without those inside of parentheses."""
        first = () if self.first is None else (self.first,)
        return (*first, *(join.item for join in self.joins))

    @property
    def is_single(self) -> bool:
        """Whether there is only the first item."""
        return not self.joins and not self.laterals

    def sources(self) -> Iterator[exp.Expr]:
        """The sources of columns, also inside of parentheses, in the order of the text."""
        for item in self.items:
            yield from item.sources()
        yield from self.laterals


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupClause:
    """GROUP BY. ``sets`` are ROLLUP, CUBE and GROUPING SETS, which are separate from the keys."""

    node: exp.Group
    keys: tuple[exp.Expr, ...]
    sets: tuple[exp.Expr, ...]
    is_all: bool
    others: frozenset[str]

    @property
    def is_plain(self) -> bool:
        """Whether each key has one value in all rows of a group."""
        several = any(isinstance(each.unnest(), _GROUPING_SETS) for each in self.keys)
        return not (self.sets or self.others or several)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectClauses:
    """A SELECT. ``where``, ``having`` and ``qualify`` are conditions, ``windows`` the named ones.

    ``given`` are sqlglot's names of all clauses that it has.
    """

    node: exp.Select
    given: frozenset[str]
    from_: FromClause
    where: exp.Expr | None
    group: GroupClause | None
    having: exp.Expr | None
    windows: tuple[exp.Window, ...]
    qualify: exp.Expr | None
    projections: tuple[exp.Expr, ...]
    distinct: exp.Distinct | None

    @property
    def others(self) -> frozenset[str]:
        """Its clauses besides those that are read here."""
        return self.given - _OF_SELECTS | _others_of_with(self.node)

    @property
    def distinct_on(self) -> exp.Expr | None:
        """The keys of DISTINCT ON, which keeps one row for each value of them."""
        return None if self.distinct is None else self.distinct.args.get("on")

    def besides(self, names: Iterable[str]) -> list[exp.Expr]:
        """The nodes of other clauses than those with these names in sqlglot, in its order."""
        apart = (key for key in self.node.args if key not in names)
        return [each for key in apart for each in parts_named(self.node, key)]


_SORTING: Final = ("order", "sort", "cluster", "distribute")
_LIMITS: Final = ("limit", "offset")
ENDINGS: Final = frozenset({*_SORTING, *_LIMITS})
_OF_SELECTS: Final = ENDINGS.union(
    ("with_", "from_", "joins", "laterals", "where", "group", "having"),
    ("windows", "qualify", "expressions", "distinct", "hint"),
)
_OF_OPERATIONS: Final = ENDINGS | {"this", "expression", "distinct", "with_"}
_OF_WITH: Final = frozenset({"expressions", "recursive"})
_OF_PARENTHESES: Final = frozenset({"this", "alias", "with_"})
_OF_TABLES: Final = frozenset({"this", "alias", "db", "catalog", "joins", "laterals", "hints"})
_OF_QUERIES: Final = _OF_PARENTHESES | {"joins", "laterals"}
_OF_PLAIN_JOINS: Final = frozenset({"this", "on", "side", "kind", "hint"})
_SETS: Final = ("rollup", "cube", "grouping_sets")
_OF_GROUPS: Final = frozenset({"expressions", "all", *_SETS})
_GROUPING_SETS: Final = (exp.Rollup, exp.Cube, exp.GroupingSets)


def clauses_of(select: exp.Select) -> SelectClauses:
    """The clauses of a SELECT."""
    args = select.args
    return SelectClauses(
        node=select,
        given=given(select),
        from_=from_of(select),
        where=_condition(args.get("where")),
        group=_group_of(args.get("group")),
        having=_condition(args.get("having")),
        windows=tuple(args.get("windows") or ()),
        qualify=_condition(args.get("qualify")),
        projections=tuple(select.expressions),
        distinct=args.get("distinct"),
    )


def others_of(operation: exp.SetOperation) -> frozenset[str]:
    """The clauses of a set operation that are not read here; BY NAME is among them."""
    return given(operation) - _OF_OPERATIONS | _others_of_with(operation)


def is_union_all(operation: exp.SetOperation) -> bool:
    """Whether all rows of both sides are taken."""
    return isinstance(operation, exp.Union) and not operation.args.get("distinct")


def with_of(query: exp.Expr) -> exp.With | None:
    """WITH of a query, or of parentheses around one."""
    return query.args.get("with_")


def sorting_of(query: exp.Expr) -> list[exp.Expr]:
    """The clauses of a query that sort, as a whole or in partitions."""
    return [each for key in _SORTING for each in parts_named(query, key)]


def limits_of(query: exp.Expr) -> list[exp.Expr]:
    """The clauses of a query that leave rows out after all others."""
    return [each for key in _LIMITS for each in parts_named(query, key)]


def from_of(node: exp.Expr) -> FromClause:
    """The FROM of a query or another statement, with its joins."""
    from_ = node.args.get("from_")
    return FromClause(
        first=None if from_ is None else item_of(from_.this),
        joins=_joins_of(node),
        laterals=tuple(node.args.get("laterals") or ()),
    )


def item_of(node: exp.Expr) -> FromItem:
    """An item of FROM, with what is in its parentheses."""
    inner = node.this if isinstance(node, exp.Subquery) else None
    return FromItem(
        node=node,
        inside=item_of(inner) if isinstance(inner, exp.Table | exp.Subquery) else None,
        joins=_joins_of(node),
        laterals=tuple(node.args.get("laterals") or ()),
    )


def is_only_around(parentheses: exp.Subquery) -> bool:
    """Whether parentheses around a query have no clause of their own but WITH."""
    return given(parentheses) <= _OF_PARENTHESES


def without_parentheses(query: exp.Expr) -> exp.Expr:
    """The query inside of parentheses, whatever clauses these have."""
    while isinstance(query, exp.Subquery):
        query = query.this
    return query


def listed_columns(node: exp.Expr) -> tuple[str, ...]:
    """The column names that an alias lists, in lower case."""
    alias = node.args.get("alias")
    columns = alias.columns if isinstance(alias, exp.TableAlias) else ()
    return tuple(each.name.lower() for each in columns)


def parts_named(node: exp.Expr, name: str) -> list[exp.Expr]:
    """The nodes of one clause, by sqlglot's name for it; none if it is missing."""
    value = node.args.get(name)
    parts = value if isinstance(value, list) else [value]
    return [each for each in parts if isinstance(each, exp.Expr)]


def _joins_of(node: exp.Expr) -> tuple[JoinClause, ...]:
    joins = node.args.get("joins") or ()
    return tuple(
        [JoinClause(node=each, item=item_of(each.this), on=each.args.get("on")) for each in joins]
    )


def _group_of(group: exp.Group | None) -> GroupClause | None:
    if group is None:
        return None
    sets = [each for key in _SETS for each in group.args.get(key) or ()]
    return GroupClause(
        node=group,
        keys=tuple(group.expressions),
        sets=tuple(sets),
        is_all=bool(group.args.get("all")),
        others=given(group) - _OF_GROUPS,
    )


def _condition(clause: exp.Expr | None) -> exp.Expr | None:
    return None if clause is None else clause.this


def _others_of_with(query: exp.Expr) -> frozenset[str]:
    with_ = with_of(query)
    return frozenset() if with_ is None else given(with_) - _OF_WITH
