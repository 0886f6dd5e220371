"""The sources of a SELECT, what each join does to their rows, and its conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.macros import macros_in
from vde_dagster.core.sql.reads.blocks import is_understood_join, own_parts
from vde_dagster.core.sql.reads.conditions import conjuncts
from vde_dagster.core.sql.select_clauses import (
    FromClause,
    FromItem,
    JoinClause,
    SelectClauses,
    from_of,
    given,
    item_of,
)
from vde_dagster.core.sql.table_names import common_table_of

_CHOOSING: Final = ("limit", "offset", "fetch", "pivots", "sample", "match", "connect")


class Role(Enum):
    """How a join treats the rows of a source.

    ``KEPT`` rows are in the result if the conditions of their joins are true. ``OPTIONAL`` ones are
    joined to those, or NULLs if there are none. ``TESTED`` rows are only tested for existence.
    """

    KEPT = "kept"
    OPTIONAL = "optional"
    TESTED = "tested"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An item of FROM. ``on`` are the conditions of its join, ``alias`` is in lower case."""

    alias: str
    node: exp.Expr
    role: Role = Role.KEPT
    on: tuple[exp.Expr, ...] = ()

    @property
    def described(self) -> str:
        """Its name in messages."""
        if isinstance(self.node, exp.Table):
            return ".".join(part for part in (self.node.db, self.node.name) if part)
        return self.alias


def with_bound_columns(query: exp.Query) -> exp.Query:
    """The same query with columns that name their source even if there is only one."""
    if all(column.table for column in query.find_all(exp.Column)):
        return query
    copy = query.copy()
    for select in copy.find_all(exp.Select):
        from_ = from_of(select)
        inner = None if from_.first is None else from_.first.node
        if not isinstance(inner, exp.Subquery) or from_.joins:
            continue
        body = inner.unnest()
        names = {each.lower() for each in body.named_selects} if isinstance(body, exp.Query) else ()
        for column in own_parts(select, exp.Column):
            if not column.table and column.name.lower() in names:
                column.set("table", exp.to_identifier(inner.alias))
    return copy


def is_timed(node: exp.Expr) -> bool:
    """Whether a node, or a common table that it names, has time macros."""
    parts = {id(node): node}
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if any(True for _ in macros_in(part)):
            return True
        named = filter(None, map(common_table_of, part.find_all(exp.Table)))
        added = {id(cte): cte for cte in named if id(cte) not in parts}
        parts |= added
        waiting += added.values()
    return False


def chooses(node: exp.Expr) -> str:
    """The clause that keeps or drops rows depending on other rows, in lower case; or none."""
    found = given(node)
    return next((each for each in _CHOOSING if each in found), "")


def sources_of(from_: FromClause, *, seen: str) -> list[Source] | None:
    """The sources in FROM, in order; None if a join is not understood.

    A source without macros gives the same rows in any evaluation, however it is joined.

    Args:
        from_: That of the query.
        seen: The alias of a source with a value in all the rows that matter, so that these have a
            partner in an outer join; empty if there is none.
    """
    if from_.first is None:
        return []
    found = _joined(from_.first, from_.joins, seen)
    parts = (from_.first.node, *(each.node for each in from_.joins))
    if found is None and not any(map(is_timed, parts)):
        found = [Source(alias=each.alias, node=each.node) for each in from_.items]
    aliases = [each.alias for each in found or () if each.alias]
    return found if len(set(aliases)) == len(aliases) else None


def _joined(first: FromItem, joins: Sequence[JoinClause], seen: str) -> list[Source] | None:
    found = [Source(alias=first.alias, node=first.node)]
    for join in joins:
        if not is_understood_join(join):
            return None
        on = tuple(conjuncts(join.on)) if join.on is not None else ()
        source = Source(alias=join.item.alias, node=join.item.node, on=on)
        if join.side in ("RIGHT", "FULL"):
            return _two(found[0], source, join.side, seen) if len(joins) == 1 else None
        found.append(replace(source, role=_role(join, source.alias, seen)))
    return found


def is_plain(source: Source) -> bool:
    """Whether a source is one table or sub-query by the names of its own columns."""
    item = item_of(source.node)
    plain = isinstance(item.node, exp.Table | exp.Subquery) and not item.joins
    return plain and not item.columns and not chooses(item.node)


def _role(join: JoinClause, alias: str, seen: str) -> Role:
    if join.kind in ("SEMI", "ANTI"):
        return Role.TESTED
    return Role.OPTIONAL if join.side == "LEFT" and alias != seen else Role.KEPT


def _two(first: Source, second: Source, side: str, seen: str) -> list[Source] | None:
    """The two sides of a RIGHT or FULL JOIN."""
    if side == "RIGHT" and seen != first.alias:
        return [replace(first, role=Role.OPTIONAL, on=second.on), replace(second, on=())]
    if side == "RIGHT":
        return [first, second]
    if seen == first.alias:
        return [first, replace(second, role=Role.OPTIONAL)]
    if seen == second.alias:
        return [replace(first, role=Role.OPTIONAL, on=second.on), replace(second, on=())]
    return None


def where_of(select: SelectClauses) -> list[exp.Expr]:
    """The conditions of WHERE that all have to be true."""
    return [] if select.where is None else list(conjuncts(select.where))


def queries_in(node: exp.Expr) -> list[exp.Expr]:
    """The outermost queries in an expression."""
    walked = node.walk(prune=lambda each: isinstance(each, exp.Query))
    return [each for each in walked if isinstance(each, exp.Query)]


def group_keys(select: SelectClauses) -> list[exp.Expr]:
    """The keys of GROUP BY that have one value in all rows of a group, if there are any."""
    group = select.group
    if group is None or group.sets or group.others:
        return []  # ROLLUP and similar clauses have rows that are of no group
    return [each.unalias() for each in (select.projections if group.is_all else group.keys)]


def plain_keys(keys: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The keys that are functions of one row."""
    return [each.unnest() for each in keys if each.find(*_OF_MANY_ROWS) is None]


_OF_MANY_ROWS: Final = (exp.AggFunc, exp.Window, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Query)
