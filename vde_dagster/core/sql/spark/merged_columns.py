"""The column that USING and NATURAL JOIN make of two columns of one name, as in Spark.

It is that of the left side in an inner, left, semi or anti join, that of the right side in a right
join, and the first that is not NULL in a full join (Spark's rule `ResolveNaturalAndUsingJoin`).
A later join compares that column. The optimizer takes the first that is not NULL of all tables, and
compares that of the first table; its result is replaced here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.resolver import Resolver
from sqlglot.optimizer.scope import traverse_scope
from sqlglot.schema import MappingSchema

from vde_dagster.core.sql.open_columns import ColumnsUnclear
from vde_dagster.core.sql.select_clauses import FromItem, JoinClause, from_of

_MERGES: Final = "merges"
_AUTHORS: Final = "authors"


def note_merging_joins(query: exp.Query) -> exp.Query:
    """Note, before a query is qualified, which joins merge columns, and its author's COALESCEs."""
    for join in query.find_all(exp.Join):
        using = join.args.get("using")
        if using or join.method == "NATURAL":
            join.meta[_MERGES] = [each.name.lower() for each in using or ()]
    for node in query.find_all(exp.Coalesce):
        node.meta[_AUTHORS] = True
    return query


def with_merged_columns(query: exp.Query, *, schema: MappingSchema) -> exp.Query:
    """Change a qualified query so that each merged column is the one that Spark takes."""
    if not any(join.meta_get(_MERGES) is not None for join in query.find_all(exp.Join)):
        return query
    for scope in traverse_scope(query):
        select = scope.expression
        if isinstance(select, exp.Select):
            _Joins(Resolver(scope, schema), select).merge()
    return query


def merging_joins_around(star: exp.Expr) -> list[str]:
    """The joins around a call, if some merge columns: ``*`` takes each of these once, and first."""
    select = star.find_ancestor(exp.Select)
    joins = list(select.find_all(exp.Join)) if select is not None else []
    if all(join.meta_get(_MERGES) is None for join in joins):
        return []
    return [
        f"{join.side} {join.kind} {join.alias_or_name} {join.meta_get(_MERGES)}" for join in joins
    ]


@dataclass(slots=True)
class _Side:
    """One side of a join: its tables by their aliases, and its merged columns."""

    tables: list[str]
    merged: dict[str, exp.Expr] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Joins:
    """The joins of one SELECT."""

    resolver: Resolver
    select: exp.Select

    def merge(self) -> None:
        """Compare the merged columns in joins, and use them where they are named."""
        if not any(join.meta_get(_MERGES) is not None for join in self.select.find_all(exp.Join)):
            return
        from_ = from_of(self.select)
        if from_.first is None:
            return
        side = self._item(from_.first)
        for join in from_.joins:
            side = self._joined(side, join)
        _put(side, self.select)

    def _item(self, item: FromItem) -> _Side:
        """An item of FROM, perhaps with joins in parentheses."""
        inside = item.grouped
        side = _Side([item.node.alias_or_name]) if inside is None else self._item(inside)
        for join in item.joins:
            side = self._joined(side, join)
        return side

    def _joined(self, left: _Side, join: JoinClause) -> _Side:
        right = self._item(join.item)
        both = _Side([*left.tables, *right.tables], right.merged | left.merged)
        names = join.node.meta_get(_MERGES)
        if names is None or join.on is None:
            if join.on is not None:
                _put(both, join.on)
            return left if join.node.is_semi_or_anti_join else both
        pairs = {
            name: (self._column(left, name), self._column(right, name))
            for name in names or self._common(left, right)
        }
        compared = [one.copy().eq(other.copy()) for one, other in pairs.values()]
        join.node.set("on", exp.and_(*compared, copy=False))
        if join.node.is_semi_or_anti_join:
            return left
        both.merged |= {name: _taken(join.node.side, *pair) for name, pair in pairs.items()}
        return both

    def _column(self, side: _Side, name: str) -> exp.Expr:
        if name in side.merged:
            return side.merged[name]
        known = [each for each in side.tables if name in self._names(each)] or side.tables
        if len(known) > 1 and name not in self._names(known[0]):
            raise ColumnsUnclear(f"{name!r} may be a column of several tables")
        return exp.column(name, table=known[0])

    def _common(self, left: _Side, right: _Side) -> Sequence[str]:
        """The columns of both sides, in the order of the left one."""
        others = {name for table in right.tables for name in self._names(table)}
        names = (name for table in left.tables for name in self._names(table))
        return [name for name in dict.fromkeys(names) if name in others]

    def _names(self, table: str) -> Sequence[str]:
        return self.resolver.get_source_columns(table)


def _taken(side: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    match side:
        case "RIGHT":
            return right
        case "FULL":
            both = exp.func("coalesce", left.copy(), right.copy())
            both.meta[_AUTHORS] = True
            return both
        case _:
            return left


def _put(side: _Side, around: exp.Expr) -> None:
    """Replace what the optimizer made of merged columns."""
    for made in list(_made(around)):
        found = side.merged.get(made.this.name)
        if found is not None and made.this.table in side.tables:
            made.replace(found.copy())


def _made(around: exp.Expr) -> Iterator[exp.Coalesce]:
    """The merged columns of the optimizer, which names one column of several tables."""
    for node in around.find_all(exp.Coalesce):
        columns = [node.this, *node.expressions]
        plain = all(isinstance(each, exp.Column) for each in columns)
        if plain and not node.meta_get(_AUTHORS) and len({each.name for each in columns}) == 1:
            yield node
