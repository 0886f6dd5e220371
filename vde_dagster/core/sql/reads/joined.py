"""The sources of a SELECT, what each join does to their rows, and what ties these to each other.

Columns are axes: the time column that each is computed from, and the steps. Conditions give the
spans of columns in joined rows once that of one is known: ``b.hour = DATE_TRUNC('HOUR', a.ts)``
ties b to a, so if `a.ts` is in an hour, `b.hour` is, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from typing import Final

from sqlglot import exp

from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import MICROSECOND, macros_in
from vde_dagster.core.sql.reads.blocks import is_understood_join, own_parts
from vde_dagster.core.sql.reads.bounds import Axis, AxisType, Operator, TimeFunction
from vde_dagster.core.sql.reads.conditions import MIRRORED, axis_of, comparisons, conjuncts
from vde_dagster.core.sql.reads.spans import Span, image, origin
from vde_dagster.core.sql.select_clauses import (
    FromClause,
    FromItem,
    JoinClause,
    SelectClauses,
    clauses_of,
    from_of,
    given,
    item_of,
)
from vde_dagster.core.sql.table_names import common_table_of, model_name_of, query_of
from vde_dagster.core.time.intervals import IntervalUnit

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
        if join.node.side in ("RIGHT", "FULL"):
            return _two(found[0], source, join.node.side, seen) if len(joins) == 1 else None
        found.append(replace(source, role=_role(join, source.alias, seen)))
    return found


def is_plain(source: Source) -> bool:
    """Whether a source is one table or sub-query by the names of its own columns."""
    item = item_of(source.node)
    plain = isinstance(item.node, exp.Table | exp.Subquery) and not item.joins
    return plain and not item.columns and not chooses(item.node)


def _role(join: JoinClause, alias: str, seen: str) -> Role:
    if join.node.kind in ("SEMI", "ANTI"):
        return Role.TESTED
    return Role.OPTIONAL if join.node.side == "LEFT" and alias != seen else Role.KEPT


def _two(first: Source, second: Source, side: str, seen: str) -> list[Source] | None:
    """The two sides of a RIGHT or FULL JOIN."""
    if seen == first.alias:
        return [first, second if side == "RIGHT" else replace(second, role=Role.OPTIONAL)]
    if side == "RIGHT" or seen == second.alias:
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


AxisOf = Callable[[ModelName, str], Axis | None]
"""A column of a table as an axis by its type; None if its values are not times."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of queries over tables whose types are known."""

    axis: AxisOf

    def of(self, sources: Sequence[Source], outer: Mapping[Column, Axis]) -> ColumnAxes:
        """Those of a SELECT by alias and name; ``outer`` are those of the queries around it."""
        by_alias = {each.alias: each for each in sources}

        def axis(column: Column) -> Axis | None:
            alias, name = column
            if alias not in by_alias:
                return outer.get(column)
            return self._axis_of(by_alias[alias], name)

        return axis

    def _axis_of(self, source: Source, name: str) -> Axis | None:
        """A column of a source."""
        if not is_plain(source):
            return None
        query = query_of(source.node)
        if query is not None:
            return self.in_query(query, name)
        model = model_name_of(source.node) if isinstance(source.node, exp.Table) else None
        return None if model is None else self.axis(model, name)

    def in_query(self, node: exp.Expr, name: str) -> Axis | None:
        """A column of a query's rows."""
        match node:
            case exp.Subquery():
                return self.in_query(node.this, name)
            case exp.SetOperation():
                return self._in_operation(node, name)
            case exp.Select():
                output = output_of(node, name)
                return None if output is None else self._axis_made(clauses_of(node), output)
            case _:
                return None

    def _in_operation(self, operation: exp.SetOperation, name: str) -> Axis | None:
        left, right = operation.this, operation.expression
        names, others = names_of(left), names_of(right)
        at = names.index(name) if names.count(name) == 1 else len(others)
        if operation.args.get("by_name") or at >= len(others) or others.count(others[at]) != 1:
            return None
        first = self.in_query(left, name)
        return first if first == self.in_query(right, others[at]) else None

    def _axis_made(self, select: SelectClauses, output: exp.Expr) -> Axis | None:
        axes: set[Axis | None] = set()
        for part in parts_of(output, is_grouped=select.group is not None):
            found = self.timed_in(select, part)
            axes.add(None if found is None else axis_of(part, {found.column: found.axis}))
        return axes.pop() if len(axes) == 1 else None

    def timed_in(self, select: SelectClauses, part: exp.Expr) -> Timed | None:
        """An expression of a SELECT by the one column of a source that it is computed from."""
        columns = list(part.find_all(exp.Column))
        seen = columns[0].table.lower() if columns else ""
        sources = sources_of(select.from_, seen=seen) if columns else None
        return None if sources is None else timed(part, self.of(sources, {}))


def names_of(node: exp.Expr) -> list[str]:
    """The columns of a query in lower case, with or without parentheses around it."""
    inner = node.unnest()
    return [each.lower() for each in inner.named_selects] if isinstance(inner, exp.Query) else []


def output_of(select: exp.Select, name: str) -> exp.Expr | None:
    """The expression of the column of this name; None if there is not exactly one."""
    names = names_of(select)
    if names.count(name) != 1 or len(names) != len(select.selects):
        return None
    return select.selects[names.index(name)].unalias().unnest()


def parts_of(output: exp.Expr, *, is_grouped: bool) -> list[exp.Expr]:
    """Expressions of one row; the column has the value of one of them."""
    match output:
        case exp.Coalesce():
            parts = [output.this, *output.expressions]
            return [inner for each in parts for inner in parts_of(each.unnest(), is_grouped=False)]
        case exp.Min() | exp.Max() if is_grouped and not output.expressions:
            return [output.this.unnest()]
        case _:
            return [output]


Column = tuple[str, str]
"""An alias and a column's name, in lower case."""
ColumnAxes = Callable[[Column], Axis | None]
"""A column as an axis by its type; None if its values are not times, or it is not known."""
Spans = Mapping[Column, Span]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """An expression that is computed from one column by steps that keep the order."""

    column: Column
    axis: Axis
    steps: tuple[TimeFunction, ...] = ()

    def compares_with(self, other: Timed) -> bool:
        """Whether equal values of both are the same instant."""
        if self.axis.axis_type is AxisType.INSTANT:
            return other.axis.axis_type is AxisType.INSTANT
        return self.axis.axis_type is not AxisType.UNCERTAIN and self.axis == other.axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """``left`` compares with ``right`` in every row for which a condition is true."""

    left: Timed
    operator: Operator
    right: Timed


def timed(expression: exp.Expr, axes: ColumnAxes) -> Timed | None:
    """An expression by the one column that it is computed from; None if that is not certain."""
    columns = list(expression.find_all(exp.Column))
    if len(columns) != 1:
        return None
    column = (columns[0].table.lower(), columns[0].name.lower())
    axis = axes(column)
    if axis is None:
        return None
    own = Axis() if axis.axis_type is AxisType.INSTANT else axis
    found = axis_of(expression, {column: own})
    if found is None:
        return None
    steps = found.steps if own.axis_type is AxisType.INSTANT else ()
    return Timed(column=column, axis=axis, steps=steps)


def ties_in(conditions: Iterable[exp.Expr], axes: ColumnAxes) -> Iterator[Tie]:
    """The comparisons of two columns, each once from either side."""
    for condition in conditions:
        for one, operator, other in comparisons(condition.unnest()):
            left, right = timed(one, axes), timed(other, axes)
            if left is None or right is None or not left.compares_with(right):
                continue
            if operator is Operator.AT or left.axis.axis_type is AxisType.INSTANT:
                yield Tie(left=left, operator=operator, right=right)
                yield Tie(left=right, operator=MIRRORED[operator], right=left)


def spans_of(known: Spans, ties: Iterable[Tie], unit: IntervalUnit) -> dict[Column, Span]:
    """The spans of columns that are tied, directly or through others, to known ones.

    A column is bound by an equality, or from below and from above by other comparisons.
    """
    found, ties = dict(known), tuple(ties)
    before: dict[Column, timedelta] = {}
    after: dict[Column, timedelta] = {}
    size = -1
    while size < len(found):
        size = len(found)
        for tie in ties:
            column = tie.left.column
            if column in found or tie.right.column not in found:
                continue
            span = image(found[tie.right.column], tie.right.steps, unit)
            if tie.operator is Operator.AT:
                found[column] = origin(span, tie.left.steps, unit)
            elif not tie.left.steps and tie.operator in (Operator.FROM, Operator.ABOVE):
                before.setdefault(column, span.before)
            elif not tie.left.steps:
                strict = tie.operator is Operator.BELOW
                after.setdefault(column, span.after - MICROSECOND if strict else span.after)
            if column not in found and column in before and column in after:
                found[column] = Span(before[column], after[column])
    return found
