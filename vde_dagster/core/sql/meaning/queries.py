"""What a query means, clause by clause, in the order in which SQL applies them.

Whatever is not understood is opaque: it follows from all that it names, and so does each of its
columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.canonical_form import canonical_form
from vde_dagster.core.sql.data_names import shown_name
from vde_dagster.core.sql.meaning.constants import is_constant
from vde_dagster.core.sql.meaning.expressions import ExpressionReader, whole_window
from vde_dagster.core.sql.meaning.functions import calls_in, is_aggregate, is_unknown, unfolds
from vde_dagster.core.sql.meaning.opaque import (
    blurred,
    is_chance,
    listed_columns,
    named_by,
    table_named,
    without_alias,
)
from vde_dagster.core.sql.meaning.parts import EVERY, ONE_ROW, Meaning, Part, Rows, combined
from vde_dagster.core.sql.meaning.same_writing import is_unordered_column
from vde_dagster.core.sql.meaning.sources import OpaqueSource, QuerySource, Scope, Source


def meaning_of(query: exp.Query, *, is_bound: bool = True) -> Meaning:
    """What a query returns.

    Args:
        query: Canonical: names normalized, columns bound to the alias of their table.
        is_bound: Whether they are; otherwise the query is not looked into.
    """
    reader = _QueryReader(whole=_unwrapped(query))
    return reader.read(query, Scope()) if is_bound else reader.opaque(query, Scope())


_CLAUSES: Final = frozenset(
    {
        "cluster",
        "distinct",
        "distribute",
        "expressions",
        "from_",
        "group",
        "having",
        "hint",
        "joins",
        "laterals",
        "limit",
        "offset",
        "order",
        "qualify",
        "sort",
        "where",
        "windows",
        "with_",
    }
)
_OPERATION: Final = frozenset({"this", "expression", "distinct", "with_", "limit", "offset"})
_ORDER: Final = ("order", "sort", "cluster", "distribute")
_LIMITS: Final = ("limit", "offset")
_OF_TABLES: Final = frozenset({"this", "alias", "db", "catalog", "joins", "laterals", "hints"})
_OF_SUBQUERIES: Final = frozenset({"this", "alias", "with_", "joins", "laterals"})
_OF_JOINS: Final = frozenset({"this", "on", "side", "kind", "hint"})
_OF_LATERALS: Final = frozenset({"this", "alias", "view", "outer", "ordinality"})


def _given(node: exp.Expr) -> set[str]:
    return {key for key, value in node.args.items() if value not in (None, False, [], "")}


@dataclass(slots=True)
class _QueryReader:
    """Reads the queries of one query. ``whole`` is that one, without parentheses around it.

    ``starred`` are the sources of the queries that return just ``*`` of one, by their identity.
    """

    whole: exp.Expr
    starred: dict[int, Source] = field(default_factory=dict)
    expressions: ExpressionReader = field(init=False)

    def __post_init__(self) -> None:
        self.expressions = ExpressionReader(self.read)

    def read(self, query: exp.Expr, outer: Scope) -> Meaning:
        """What a query means that stands inside of a scope."""
        if isinstance(query, exp.Subquery):
            ctes = self._common_tables(query, outer)
            if _given(query) <= {"this", "alias", "with_"}:
                return self.read(query.this, replace(outer, ctes=ctes))
            return self.opaque(query, outer)
        if isinstance(query, exp.SetOperation):
            return self._operation(query, outer)
        if isinstance(query, exp.Select) and _given(query) <= _CLAUSES:
            return self._select(query, outer)
        return self.opaque(query, outer)

    # -- SELECT

    def _select(self, select: exp.Select, outer: Scope) -> Meaning:
        scope = Scope(outer=outer, ctes=self._common_tables(select, outer))
        rows = self._from(select, scope)
        rows = rows.filtered(self._conditions(select.args.get("where"), scope))
        if scope.single and len(scope.sources) == 1 and _is_bare_star(select.expressions):
            self.starred[id(select)] = next(iter(scope.sources.values()))
        scope.grouped = rows.part
        rows = self._grouped(select, rows, scope)
        scope.stage = rows.part
        scope.windows = _windows(select)
        columns = self._projections(select, scope)
        rows = self._unfolded(select, rows, columns)
        rows = rows.filtered(self._conditions(select.args.get("qualify"), scope))
        distinct = select.args.get("distinct")
        if distinct is not None:
            keys = _in_order({part.digest: part for _, part in columns}.values())
            plain = not _given(distinct)  # the same as GROUP BY of all columns
            on = [] if plain else [self.expressions.part(distinct, scope)]
            rows = rows.then("group" if plain else "distinct", [*keys, *on])
        written = tuple(map(shown_name, select.expressions))
        return self._ordered(select, Meaning(rows, columns, written=written), scope)

    def _from(self, select: exp.Select, scope: Scope) -> Rows:
        """The rows before WHERE: those of one source, or of several that are joined."""
        from_ = select.args.get("from_")
        items = [from_.this] if from_ is not None else []
        others = [*(select.args.get("joins") or []), *(select.args.get("laterals") or [])]
        nested = bool(items) and bool(items[0].args.get("joins") or items[0].args.get("laterals"))
        scope.single = not others and not nested and not _is_parenthesized(items)
        if not items:
            rows = Rows(ONE_ROW)
            return self._joined(rows, others, scope) if others else rows
        rows = self._item(items[0], scope)
        return self._joined(rows, others, scope) if others else rows

    def _item(self, node: exp.Expr, scope: Scope) -> Rows:
        """One item of FROM, with what is joined to it inside of parentheses."""
        inner = node.this if isinstance(node, exp.Subquery) else None
        if isinstance(inner, exp.Table | exp.Subquery) and not node.alias:
            rows = self._item(inner, scope)
        else:
            rows = self._source(node, scope)
        joins = [*(node.args.get("joins") or []), *(node.args.get("laterals") or [])]
        return self._joined(rows, joins, scope) if joins else rows

    def _source(self, node: exp.Expr, scope: Scope) -> Rows:
        """Bind the alias of one source, and give its rows."""
        source = self._bound(node, scope)
        alias = node.alias_or_name.lower() or f" {len(scope.sources)}"
        if alias in scope.sources:  # two of one name: which is meant cannot be told
            source = OpaqueSource(combined("twice", [scope.sources[alias].every, source.every]))
        scope.sources[alias] = source
        return source.rows

    def _bound(self, node: exp.Expr, scope: Scope) -> Source:
        columns = listed_columns(node)
        match node:
            case exp.Table() if not columns and _given(node) <= _OF_TABLES:
                return self._table(node, scope)
            case exp.Subquery() if not columns and _given(node) <= _OF_SUBQUERIES:
                around = scope.around()
                ctes = self._common_tables(node, around)
                return self._query_source(node.this, replace(around, ctes=ctes))
            case exp.Subquery() if not node.args.get("with_"):
                return self._turned(node, scope)
            case exp.Lateral() if isinstance(node.this, exp.Subquery):
                return (
                    QuerySource(self.read(node.this, scope))
                    if not columns
                    else blurred(node, scope)
                )
            case _:
                return blurred(node, scope)

    def _query_source(self, query: exp.Expr, outer: Scope) -> Source:
        found = self.read(query, outer)
        return QuerySource(found, self.starred.get(id(_unwrapped(query))))

    def _turned(self, node: exp.Subquery, scope: Scope) -> Source:
        """A sub-query whose result is not taken as it is: a PIVOT, a sample, other names."""
        inner = self.read(node.this, scope.around())
        rest = without_alias(node).copy()
        rest.set("this", None)
        names = [name for name, _ in inner.columns]
        words = [canonical_form(rest), *names]
        whole = combined("turned", [inner.rows.part, *inner.values], *words)
        return OpaqueSource(replace(whole, volatile=whole.volatile or is_chance(rest)))

    def _table(self, node: exp.Table, scope: Scope) -> Source:
        named = table_named(node, scope)
        return named if named is not None else blurred(node, scope)  # a function

    def _joined(self, rows: Rows, joins: Iterable[exp.Expr], scope: Scope) -> Rows:
        rows = Rows(rows.part)  # its conditions name columns by the places of another SELECT
        for join in joins:
            if isinstance(join, exp.Lateral):
                rows = rows.then("lateral", [self._lateral(join, scope)])
                continue
            item = self._item(join.this, scope).part
            understood = isinstance(join, exp.Join) and _given(join) <= _OF_JOINS
            words = _words(join) if understood else canonical_form(join)
            conditions = (
                [] if not understood else self.expressions.conditions(join.args.get("on"), scope)
            )
            rest = [] if understood else named_by(join, scope)
            if understood and words in ("", "CROSS"):
                rows = rows.beside(item).filtered(conditions)
            else:
                rows = rows.then(f"join {words}", [item, *_in_order(conditions), *rest])
        return rows

    def _lateral(self, node: exp.Lateral, scope: Scope) -> Part:
        """LATERAL VIEW: what it unfolds from each row so far."""
        parts = [self.expressions.part(node.this, scope)] if _given(node) <= _OF_LATERALS else []
        rest = named_by(node, scope) if not parts else []
        words = f"{bool(node.args.get('outer'))}" if parts else canonical_form(node)
        whole = combined("unfold", [*parts, *rest], words)
        names = [each.name.lower() for each in node.args["alias"].columns]
        inner = tuple(
            (name, combined("unfolded", [whole], str(at))) for at, name in enumerate(names)
        )
        written = tuple(each.name for each in node.args["alias"].columns)
        unfolded = Meaning(Rows(whole), inner, written=written)
        source: Source = QuerySource(unfolded) if names else OpaqueSource(whole)
        scope.sources[node.alias.lower() or f" {len(scope.sources)}"] = source
        return whole

    def _grouped(self, select: exp.Select, rows: Rows, scope: Scope) -> Rows:
        """The groups that rows are brought together to; one group of all where only aggregates say.

        The row of an aggregate without GROUP BY is there whatever it is made of.
        """
        group = select.args.get("group")
        having = select.args.get("having")
        if group is not None:
            rows = rows.then("group", self._keys(group, select, scope))
        elif having is not None or any(map(_aggregates, _after_grouping(select))):
            rows = Rows(ONE_ROW)
        else:
            return rows
        return rows.filtered(self._conditions(having, scope))

    def _keys(self, group: exp.Group, select: exp.Select, scope: Scope) -> list[Part]:
        if group.args.get("all"):
            plain = [each for each in select.expressions if not _aggregates(each)]
            return _in_order([self.expressions.part(each.unalias(), scope) for each in plain])
        keys = [self.expressions.part(each, scope) for each in group.expressions]
        if _given(group) == {"expressions"} and not any(
            isinstance(each, exp.Cube | exp.Rollup | exp.GroupingSets) for each in group.expressions
        ):
            return _in_order({key.digest: key for key in keys}.values())
        return [self.expressions.part(group, scope)]

    def _projections(self, select: exp.Select, scope: Scope) -> tuple[tuple[str, Part], ...]:
        found: list[tuple[str, Part]] = []
        for each in select.expressions:
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

    def _unfolded(
        self, select: exp.Select, rows: Rows, columns: tuple[tuple[str, Part], ...]
    ) -> Rows:
        scalar = _has_other_values(select)
        making = [_makes_rows(each, scalar=scalar) for each in select.expressions]
        if not any(making):
            return rows
        if len(columns) != len(select.expressions):
            return rows.then("unfold", [part for _, part in columns])
        unfolding = [part for makes, (_, part) in zip(making, columns, strict=True) if makes]
        return rows.then("unfold", unfolding)

    # -- what follows any query

    def _ordered(self, query: exp.Query, found: Meaning, scope: Scope) -> Meaning:
        """ORDER BY and LIMIT. Without a limit the order of a whole query changes no row."""
        scope.outputs = dict(found.columns)
        clauses = [query.args[key] for key in _ORDER if query.args.get(key) is not None]
        order = [self._order(each, found, scope) for each in clauses]
        limits = [query.args[key] for key in _LIMITS if query.args.get(key) is not None]
        distinct = query.args.get("distinct")
        if limits or (isinstance(distinct, exp.Distinct) and distinct.args.get("on")):
            parts = [self.expressions.part(each, scope) for each in limits]
            # SORT BY and CLUSTER BY order each partition for itself.
            ordered = self._is_ordered(query.args.get("order"), found, scope)
            chance = not ordered and found.rows.base != ONE_ROW
            rows = found.rows.then("limit", [*order, *parts], volatile=chance)
            return replace(found, rows=rows)
        if order and query is not self.whole:
            return replace(found, rows=found.rows.then("ordered", order))
        return replace(found, order=combined("order", order)) if order else found

    def _is_ordered(self, clause: exp.Expr | None, found: Meaning, scope: Scope) -> bool:
        """Whether ORDER BY tells rows apart: not by what is the same in all of them."""
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

    def _order(self, clause: exp.Expr, found: Meaning, scope: Scope) -> Part:
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
        ctes = self._common_tables(query, outer)
        inside = replace(outer, ctes=ctes)
        chain = [query]
        while isinstance(first := chain[-1].this, exp.SetOperation) and not first.args.get("with_"):
            chain.append(first)
        sides: list[exp.Expr] = [chain[-1].this]
        branches = [self.read(sides[0], inside)]
        operations = chain[::-1]
        for each, following in zip_longest(operations, operations[1:]):
            right = self.read(each.expression, inside)
            plain = _given(each) <= _OPERATION | set(_ORDER)
            found = branches[0]
            if not plain or found.is_open or len(found.columns) != len(right.columns):
                return self.opaque(query, outer)
            branches.append(right)
            sides.append(each.expression)
            if _is_united(each) and following is not None and _is_union_all(following):
                continue
            both = (
                _united(branches, sides) if _is_union_all(each) else _operated(each, found, right)
            )
            scope = Scope(outer=outer, ctes=ctes)
            branches, sides = [self._ordered(each, both, scope)], [each]
        return branches[0]

    def _conditions(self, clause: exp.Expr | None, scope: Scope) -> list[Part]:
        return self.expressions.conditions(clause.this if clause is not None else None, scope)

    # -- common table expressions, and what is not looked into

    def _common_tables(self, node: exp.Expr, outer: Scope) -> Mapping[str, Source]:
        """The common table expressions that a query sees: those around it, and its own."""
        with_ = node.args.get("with_")
        if with_ is None:
            return outer.ctes
        known: dict[str, Source] = dict(outer.ctes)
        for cte in with_.expressions:
            inside = replace(outer, ctes=dict(known))
            name = cte.alias.lower()
            recursive = with_.args.get("recursive") and _names(cte.this, name)
            if recursive or listed_columns(cte) or not isinstance(cte.this, exp.Query):
                known[name] = blurred(cte, inside)
            else:
                known[name] = self._query_source(cte.this, inside)
        return known

    def opaque(self, query: exp.Expr, scope: Scope) -> Meaning:
        """A query that is not looked into: each of its columns follows from all that it names."""
        whole = blurred(query, scope)
        names = query.named_selects if isinstance(query, exp.Query) else []
        known = bool(names) and EVERY not in names
        columns = [(name.lower(), whole.column(name.lower())) for name in names] if known else []
        return Meaning(whole.rows, tuple(columns or [(EVERY, whole.every)]))


def _is_bare_star(projections: list[exp.Expr]) -> bool:
    if len(projections) != 1 or not projections[0].is_star:
        return False
    star = projections[0].this if isinstance(projections[0], exp.Column) else projections[0]
    return not _given(star)


def _windows(select: exp.Select) -> Mapping[str, exp.Window]:
    """The named windows of a SELECT, each whole: one may build on those before it."""
    found: dict[str, exp.Window] = {}
    for each in select.args.get("windows") or []:
        found[each.name.lower()] = whole_window(each, found)
    return found


def _unwrapped(query: exp.Expr) -> exp.Expr:
    while isinstance(query, exp.Subquery):
        query = query.this
    return query


def _is_union_all(query: exp.Expr) -> bool:
    return isinstance(query, exp.Union) and not query.args.get("distinct")


def _is_united(query: exp.Expr) -> bool:
    """Whether all rows of both sides are taken as they are."""
    given = any(query.args.get(key) is not None for key in (*_ORDER, *_LIMITS))
    return _is_union_all(query) and not given


def _united(branches: list[Meaning], sides: list[exp.Expr]) -> Meaning:
    """All rows of several results, in no order; the first of them names the columns.

    Each column is what it is in each branch, so it does not follow from other columns. Branches
    with the same rows keep the order in which they are written; so does, of all of them, a column
    whose type may follow from that order.
    """
    places = sorted(range(len(branches)), key=lambda at: branches[at].rows.part.digest)
    first = branches[0]
    columns = []
    for at, (name, _) in enumerate(first.columns):
        values = [branches[place].values[at] for place in places]
        order = [] if is_unordered_column(sides, at) else map(str, places)
        columns.append((name, combined("either", values, *order)))
    rows = Rows(combined("union", [branches[place].rows.part for place in places]))
    return Meaning(rows, tuple(columns), written=first.written)


def _operated(query: exp.SetOperation, left: Meaning, right: Meaning) -> Meaning:
    """What a set operation makes of two results: some rows of both, by all their values."""
    columns = tuple(
        (name, combined("either", [one, other]))
        for (name, one), other in zip(left.columns, right.values, strict=True)
    )
    step = f"{type(query).__name__} {bool(query.args.get('distinct'))}"
    rows = left.rows.then(step, [right.rows.part, *(part for _, part in columns)])
    return Meaning(rows, columns, written=left.written)


def _is_parenthesized(items: list[exp.Expr]) -> bool:
    """Whether FROM has joins in parentheses."""
    return any(
        isinstance(each, exp.Subquery)
        and isinstance(each.this, exp.Table | exp.Subquery)
        and not each.alias
        for each in items
    )


def _words(join: exp.Expr) -> str:
    kind = str(join.args.get("kind") or "").upper()
    side = str(join.args.get("side") or "").upper()
    return f"{side} {kind if kind not in ('INNER', 'OUTER') else ''}".strip()


def _after_grouping(select: exp.Select) -> Iterator[exp.Expr]:
    """The clauses in which an aggregate makes one group of all rows."""
    yield from select.expressions
    for key in ("order", "qualify", "sort"):
        if (clause := select.args.get(key)) is not None:
            yield clause


def _has_other_values(select: exp.Select) -> bool:
    """Whether a function of the users' own cannot make one row of all: a column has its own value.

    That function is no table function either: Spark takes those in FROM only.
    """
    if select.args.get("group") is not None:
        return True
    others = (each for each in select.expressions if not any(map(is_unknown, calls_in(each))))
    return any(
        isinstance(call, exp.Column) and call.find_ancestor(exp.AggFunc, exp.Select) is select
        for each in others
        for call in calls_in(each)
    )


def _makes_rows(projection: exp.Expr, *, scalar: bool) -> bool:
    """Whether an expression in a SELECT decides on which rows there are."""
    return any(unfolds(call) and not (scalar and is_unknown(call)) for call in calls_in(projection))


def _aggregates(node: exp.Expr) -> bool:
    return any(map(is_aggregate, calls_in(node)))


def _names(node: exp.Expr, name: str) -> bool:
    return any(not each.db and each.name.lower() == name for each in node.find_all(exp.Table))


def _in_order(parts: Iterable[Part]) -> list[Part]:
    return sorted(parts, key=lambda each: each.digest)
