"""The meaning of WITH and FROM: the rows of a SELECT, and the sources of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.canonical_form import canonical_form
from vde_dagster.core.sql.meaning.expressions import ExpressionReader, QueryReader
from vde_dagster.core.sql.meaning.parts import (
    ONE_ROW,
    Meaning,
    MeaningPart,
    RowSet,
    combined,
    in_order,
)
from vde_dagster.core.sql.meaning.sources import (
    Scope,
    Source,
    blurred,
    named_by,
    opaque_source,
    query_source,
    table_named,
    without_alias,
)
from vde_dagster.core.sql.select_clauses import (
    FromClause,
    FromItem,
    JoinClause,
    SelectClauses,
    given,
    listed_columns,
    with_of,
    without_parentheses,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReader:
    """Reads the sources of queries. ``starred`` are the sources of queries that return just ``*``.

    It is keyed by the identity of their SELECT.
    """

    read_query: QueryReader
    expressions: ExpressionReader
    starred: dict[int, Source] = field(default_factory=dict)

    def common_tables(self, with_: exp.With | None, outer: Scope) -> Mapping[str, Source]:
        """The common table expressions that a query sees: those around it, and its own."""
        if with_ is None:
            return outer.ctes
        known: dict[str, Source] = dict(outer.ctes)
        for cte in with_.expressions:
            inside, name = replace(outer, ctes=dict(known)), cte.alias.lower()
            recursive = with_.recursive and _names(cte.this, name)
            if recursive or listed_columns(cte) or not isinstance(cte.this, exp.Query):
                known[name] = blurred(cte, inside)
            else:
                known[name] = self._query_source(cte.this, inside)
        return known

    def rows(self, from_: FromClause, scope: Scope) -> RowSet:
        """The rows before WHERE: those of one source, or of several that are joined.

        The sources are added to the scope.
        """
        first = from_.first
        nested = first is not None and bool(first.joins or first.laterals or first.grouped)
        scope.single = from_.is_single and not nested
        rows = RowSet(ONE_ROW) if first is None else self._item(first, scope)
        return self._joined(rows, from_, scope)

    def note_star(self, select: SelectClauses, scope: Scope) -> None:
        """Note a SELECT that returns just ``*`` of the one source of its scope."""
        if scope.single and len(scope.sources) == 1 and _is_bare_star(select.projections):
            self.starred[id(select.node)] = next(iter(scope.sources.values()))

    def _item(self, item: FromItem, scope: Scope) -> RowSet:
        """One item of FROM, with its joins inside of parentheses."""
        if item.grouped is not None:
            rows = self._item(item.grouped, scope)
        else:
            rows = self._source(item, scope)
        return self._joined(rows, item, scope)

    def _source(self, item: FromItem, scope: Scope) -> RowSet:
        """Bind the alias of one source, and give its rows."""
        source = self._bound(item, scope)
        alias = item.alias or f" {len(scope.sources)}"
        if alias in scope.sources:  # two of one name: which is meant is not known
            source = opaque_source(combined("twice", [scope.sources[alias].every, source.every]))
        scope.sources[alias] = source
        return source.rows

    def _bound(self, item: FromItem, scope: Scope) -> Source:
        is_plain = not item.columns and not item.others
        match item.node:
            case exp.Table() as node if is_plain:
                named = table_named(node, scope)
                return named if named is not None else blurred(node, scope)  # a function
            case exp.Subquery() as node if is_plain:
                around = scope.around()
                ctes = self.common_tables(with_of(node), around)
                return self._query_source(node.this, replace(around, ctes=ctes))
            case exp.Subquery() as node if with_of(node) is None:
                return self._turned(node, scope)
            case exp.Lateral(this=exp.Subquery() as query) if not item.columns:
                return query_source(self.read_query(query, scope))
            case _:
                return blurred(item.node, scope)

    def _query_source(self, query: exp.Expr, outer: Scope) -> Source:
        found = self.read_query(query, outer)
        return query_source(found, self.starred.get(id(without_parentheses(query))))

    def _turned(self, node: exp.Subquery, scope: Scope) -> Source:
        """A sub-query whose result is changed: by a PIVOT, a sample, or other names."""
        inner = self.read_query(node.this, scope.around())
        rest = without_alias(node).copy()
        rest.set("this", None)
        names = [name for name, _ in inner.columns]
        words = [canonical_form(rest), *names]
        whole = combined("turned", [inner.rows.part, *inner.values], *words)
        return opaque_source(whole, rest)

    def _joined(self, rows: RowSet, around: FromClause | FromItem, scope: Scope) -> RowSet:
        """Rows with everything that FROM, or parentheses in it, joins to them."""
        if not (around.joins or around.laterals):
            return rows
        rows = RowSet(rows.part)  # its conditions name columns as another SELECT sees them
        for join in around.joins:
            rows = self._with(rows, join, scope)
        for lateral in around.laterals:
            rows = rows.then("lateral", [self._lateral(lateral, scope)])
        return rows

    def _with(self, rows: RowSet, join: JoinClause, scope: Scope) -> RowSet:
        item = self._item(join.item, scope).part
        if not join.is_by_condition:
            named = named_by(join.node, scope)
            return rows.then(f"join {canonical_form(join.node)}", [item, *named])
        kind = join.node.kind if join.node.kind not in ("INNER", "OUTER") else ""
        words = f"{join.node.side} {kind}".strip()
        conditions = self.expressions.conditions(join.on, scope)
        if words in ("", "CROSS"):
            return rows.joined(item).filtered(conditions)
        return rows.then(f"join {words}", [item, *in_order(conditions)])

    def _lateral(self, node: exp.Lateral, scope: Scope) -> MeaningPart:
        """LATERAL VIEW: what it unfolds from each row so far."""
        is_plain = given(node) <= _OF_LATERALS
        parts = [self.expressions.part(node.this, scope)] if is_plain else []
        rest = named_by(node, scope) if not parts else []
        words = f"{bool(node.args.get('outer'))}" if parts else canonical_form(node)
        whole = combined("unfold", [*parts, *rest], words)
        written = tuple(each.name for each in node.args["alias"].columns)
        inner = tuple(
            (name.lower(), combined("unfolded", [whole], str(at)))
            for at, name in enumerate(written)
        )
        unfolded = Meaning(RowSet(whole), inner, written=written)
        source: Source = query_source(unfolded) if inner else opaque_source(whole)
        scope.sources[node.alias.lower() or f" {len(scope.sources)}"] = source
        return whole


_OF_LATERALS: Final = frozenset({"this", "alias", "view", "outer", "ordinality"})


def _is_bare_star(projections: Iterable[exp.Expr]) -> bool:
    found = [*projections]
    if len(found) != 1 or not found[0].is_star:
        return False
    star = found[0].this if isinstance(found[0], exp.Column) else found[0]
    return not given(star)


def _names(node: exp.Expr, name: str) -> bool:
    return any(not each.db and each.name.lower() == name for each in node.find_all(exp.Table))
