"""The meaning of a query, clause by clause, in the order in which SQL applies them.

Whatever is not understood is opaque: it depends on everything that it names, and so does each of
its columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from sqlglot import exp

from vde_dagster.core.sql.data_names import shown_name
from vde_dagster.core.sql.meaning.constants import is_constant
from vde_dagster.core.sql.meaning.expressions import ExpressionReader, whole_window
from vde_dagster.core.sql.meaning.functions import calls_in, is_aggregate, unfolds
from vde_dagster.core.sql.meaning.parts import (
    EVERY,
    ONE_ROW,
    Meaning,
    MeaningPart,
    RowSet,
    combined,
    in_order,
)
from vde_dagster.core.sql.meaning.same_writing import is_unordered_column
from vde_dagster.core.sql.meaning.source_reader import SourceReader
from vde_dagster.core.sql.meaning.sources import Scope, blurred
from vde_dagster.core.sql.select_clauses import (
    GroupClause,
    SelectClauses,
    clauses_of,
    given,
    is_only_around,
    is_union_all,
    limits_of,
    others_of,
    parts_named,
    sorting_of,
    with_of,
    without_parentheses,
)

NamedParts = tuple[tuple[str, MeaningPart], ...]
"""The parts of columns, by their names in lower case."""


def meaning_of(query: exp.Query, *, is_bound: bool = True) -> Meaning:
    """The meaning of a query's result.

    Args:
        query: Canonical: names normalized, columns bound to the alias of their table.
        is_bound: Whether they are; otherwise the query is not analysed.
    """
    reader = _QueryReader(whole=without_parentheses(query))
    return reader.read(query, Scope()) if is_bound else reader.opaque(query, Scope())


@dataclass(slots=True)
class _QueryReader:
    """Reads the queries of one query. ``whole`` is that one, without parentheses around it."""

    whole: exp.Expr
    expressions: ExpressionReader = field(init=False)
    sources: SourceReader = field(init=False)

    def __post_init__(self) -> None:
        self.expressions = ExpressionReader(self.read)
        self.sources = SourceReader(read_query=self.read, expressions=self.expressions)

    def read(self, query: exp.Expr, outer: Scope) -> Meaning:
        """The meaning of a query in a scope."""
        if isinstance(query, exp.Subquery):
            ctes = self.sources.common_tables(with_of(query), outer)
            if is_only_around(query):
                return self.read(query.this, replace(outer, ctes=ctes))
            return self.opaque(query, outer)
        if isinstance(query, exp.SetOperation):
            return self._operation(query, outer)
        if isinstance(query, exp.Select) and not (clauses := clauses_of(query)).others:
            return self._select(clauses, outer)
        return self.opaque(query, outer)

    # -- SELECT

    def _select(self, select: SelectClauses, outer: Scope) -> Meaning:
        scope = Scope(outer=outer, ctes=self.sources.common_tables(with_of(select.node), outer))
        rows = self.sources.rows(select.from_, scope)
        rows = rows.filtered(self.expressions.conditions(select.where, scope))
        self.sources.note_star(select, scope)
        scope.grouped = rows.part
        rows = self._grouped(select, rows, scope)
        scope.stage = rows.part
        scope.windows = _windows(select)
        columns = self._projections(select, scope)
        rows = _unfolded(select, rows, columns)
        rows = rows.filtered(self.expressions.conditions(select.qualify, scope))
        rows = self._distinct(select, rows, columns, scope)
        written = tuple(map(shown_name, select.projections))
        found = Meaning(rows, columns, written=written)
        is_chosen = select.distinct_on is not None
        return self._ordered(select.node, found, scope, is_chosen=is_chosen)

    def _grouped(self, select: SelectClauses, rows: RowSet, scope: Scope) -> RowSet:
        """The groups of rows; one group of all rows if there are aggregates without GROUP BY.

        The row of an aggregate without GROUP BY exists whatever its input is.
        """
        if select.group is not None:
            rows = rows.then("group", self._keys(select.group, select, scope))
        elif select.having is not None or any(map(_aggregates, _after_grouping(select))):
            rows = RowSet(ONE_ROW)
        else:
            return rows
        return rows.filtered(self.expressions.conditions(select.having, scope))

    def _keys(self, group: GroupClause, select: SelectClauses, scope: Scope) -> list[MeaningPart]:
        if group.is_all:
            plain = [each for each in select.projections if not _aggregates(each)]
            return in_order([self.expressions.part(each.unalias(), scope) for each in plain])
        keys = [self.expressions.part(each, scope) for each in group.keys]
        if group.keys and group.is_plain:
            return in_order({key.digest: key for key in keys}.values())
        return [self.expressions.part(group.node, scope)]

    def _projections(self, select: SelectClauses, scope: Scope) -> NamedParts:
        found: list[tuple[str, MeaningPart]] = []
        for each in select.projections:
            named = isinstance(each, exp.Alias | exp.Aliases)
            value = each.this if named else each
            part = self.expressions.part(value, scope)
            if is_constant(value):
                self.expressions.fixed.add(part.digest)
            if isinstance(each, exp.Aliases):
                names = [name.name.lower() for name in each.expressions]
                found += [(name, combined("of", [part], str(at))) for at, name in enumerate(names)]
            else:
                found.append((EVERY if each.is_star else each.alias_or_name.lower(), part))
        return tuple(found)

    def _distinct(
        self, select: SelectClauses, rows: RowSet, columns: NamedParts, scope: Scope
    ) -> RowSet:
        if select.distinct is None:
            return rows
        keys = in_order({part.digest: part for _, part in columns}.values())
        if not given(select.distinct):  # the same as GROUP BY of all columns
            return rows.then("group", keys)
        return rows.then("distinct", [*keys, self.expressions.part(select.distinct, scope)])

    # -- what follows any query

    def _ordered(
        self,
        query: exp.Query,
        found: Meaning,
        scope: Scope,
        *,
        is_chosen: bool = False,
    ) -> Meaning:
        """ORDER BY and LIMIT. Without a limit the order of a whole query changes no row.

        ``is_chosen`` if the order decides which rows there are even without a limit.
        """
        scope.outputs = dict(found.columns)
        order = [self._order(each, found, scope) for each in sorting_of(query)]
        limits = limits_of(query)
        if limits or is_chosen:
            parts = [self.expressions.part(each, scope) for each in limits]
            # SORT BY and CLUSTER BY order each partition for itself.
            ordered = self._is_ordered(query.args.get("order"), found, scope)
            nondeterministic = not ordered and found.rows.base != ONE_ROW
            rows = found.rows.then("limit", [*order, *parts], nondeterministic=nondeterministic)
            return replace(found, rows=rows)
        if order and query is not self.whole:
            return replace(found, rows=found.rows.then("ordered", order))
        return replace(found, order=combined("order", order)) if order else found

    def _is_ordered(self, clause: exp.Expr | None, found: Meaning, scope: Scope) -> bool:
        """Whether ORDER BY distinguishes rows: not by what is the same in all of them."""
        for each in clause.expressions if clause is not None else []:
            key = each.this if isinstance(each, exp.Ordered) else each
            place = int(key.this) if isinstance(key, exp.Literal) and key.is_int else 0
            if isinstance(key, exp.Var):
                return True
            if 0 < place <= len(found.columns):
                fixed = found.values[place - 1].digest in self.expressions.fixed
            else:
                fixed = self.expressions.is_fixed(key, self.expressions.part(key, scope))
            if not fixed:
                return True
        return False

    def _order(self, clause: exp.Expr, found: Meaning, scope: Scope) -> MeaningPart:
        """A clause that sorts. Numbers in it stand for columns of the result, ALL for all."""
        part = self.expressions.part(clause, scope)
        keys = [each.this for each in clause.find_all(exp.Ordered)]
        if any(isinstance(key, exp.Var) for key in keys):
            return combined("by all", [part, *found.values])
        places = [int(key.this) for key in keys if isinstance(key, exp.Literal) and key.is_int]
        named = [found.values[at - 1] for at in places if 0 < at <= len(found.columns)]
        return combined("by place", [part, *named]) if named else part

    def _operation(self, query: exp.SetOperation, outer: Scope) -> Meaning:
        """UNION and its like. A chain of them is read without recursion: it may be long."""
        operations = chain_of(query)
        ctes = self.sources.common_tables(with_of(operations[-1]), outer)
        inside = replace(outer, ctes=ctes)
        sides: list[exp.Expr] = [operations[0].this]
        branches = [self.read(sides[0], inside)]
        for each, following in zip_longest(operations, operations[1:]):
            right = self.read(each.expression, inside)
            found = branches[0]
            uneven = found.is_open or len(found.columns) != len(right.columns)
            if others_of(each) or uneven:
                return self.opaque(query, outer)
            branches.append(right)
            sides.append(each.expression)
            if takes_all(each) and following is not None and is_union_all(following):
                continue
            both = united(branches, sides) if is_union_all(each) else operated(each, found, right)
            scope = Scope(outer=outer, ctes=ctes)
            branches, sides = [self._ordered(each, both, scope)], [each]
        return branches[0]

    # -- what is not analysed

    def opaque(self, query: exp.Expr, scope: Scope) -> Meaning:
        """A query that is not analysed: each of its columns depends on everything that it names."""
        whole = blurred(query, scope)
        names = query.named_selects if isinstance(query, exp.Query) else []
        known = bool(names) and EVERY not in names
        columns = [(name.lower(), whole.column(name.lower())) for name in names] if known else []
        return Meaning(whole.rows, tuple(columns or [(EVERY, whole.every)]))


def _windows(select: SelectClauses) -> Mapping[str, exp.Window]:
    """The named windows of a SELECT, each whole: one may build on those before it."""
    found: dict[str, exp.Window] = {}
    for each in select.windows:
        found[each.name.lower()] = whole_window(each, found)
    return found


def _after_grouping(select: SelectClauses) -> Iterator[exp.Expr]:
    """The clauses in which an aggregate makes one group of all rows."""
    yield from select.projections
    if select.qualify is not None:
        yield select.qualify
    for key in ("order", "sort"):
        yield from parts_named(select.node, key)


def _unfolded(select: SelectClauses, rows: RowSet, columns: NamedParts) -> RowSet:
    """The rows after functions in a SELECT that make several rows of one."""
    making = [any(map(unfolds, calls_in(each))) for each in select.projections]
    if not any(making):
        return rows
    if len(columns) != len(select.projections):
        return rows.then("unfold", [part for _, part in columns])
    unfolding = [part for makes, (_, part) in zip(making, columns, strict=True) if makes]
    return rows.then("unfold", unfolding)


def _aggregates(node: exp.Expr) -> bool:
    return any(map(is_aggregate, calls_in(node)))


def chain_of(query: exp.SetOperation) -> list[exp.SetOperation]:
    """A set operation after those on its left side, the innermost first.

    One with a WITH of its own ends the chain: it is a side like any query.
    """
    chain = [query]
    while isinstance(first := chain[-1].this, exp.SetOperation) and with_of(first) is None:
        chain.append(first)
    return chain[::-1]


def takes_all(operation: exp.SetOperation) -> bool:
    """Whether all rows of both sides are taken unchanged."""
    return is_union_all(operation) and not (sorting_of(operation) or limits_of(operation))


def united(branches: Sequence[Meaning], sides: Sequence[exp.Expr]) -> Meaning:
    """All rows of several results, in no order; the first of them names the columns.

    Each column depends on the same column of each branch, and on no other column. Branches with the
    same rows keep the order in which they are written; so do all branches for a column whose type
    may depend on that order.
    """
    places = sorted(range(len(branches)), key=lambda at: branches[at].rows.part.digest)
    first = branches[0]
    columns = []
    for at, (name, _) in enumerate(first.columns):
        values = [branches[place].values[at] for place in places]
        order = [] if is_unordered_column(sides, at) else map(str, places)
        columns.append((name, combined("either", values, *order)))
    rows = RowSet(combined("union", [branches[place].rows.part for place in places]))
    return Meaning(rows, tuple(columns), written=first.written)


def operated(operation: exp.SetOperation, left: Meaning, right: Meaning) -> Meaning:
    """The result of a set operation: some rows of both sides, chosen by all their values."""
    columns = tuple(
        (name, combined("either", [one, other]))
        for (name, one), other in zip(left.columns, right.values, strict=True)
    )
    step = f"{type(operation).__name__} {bool(operation.args.get('distinct'))}"
    rows = left.rows.then(step, [right.rows.part, *(part for _, part in columns)])
    return Meaning(rows, columns, written=left.written)
