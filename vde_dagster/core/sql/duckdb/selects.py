"""One SELECT of Spark's dialect for DuckDB, clause by clause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from sqlglot import exp

from vde_dagster.core.sql.duckdb.aggregates import not_a_double, sorting
from vde_dagster.core.sql.duckdb.clauses import (
    ENDS,
    Translated,
    by_output,
    copy_limits,
    is_output,
    refuse_clauses,
)
from vde_dagster.core.sql.duckdb.expressions import Expressions
from vde_dagster.core.sql.duckdb.sources import JOINED, Output, Source, Sources, quoted
from vde_dagster.core.sql.duckdb.types import NotTheSame, SparkType
from vde_dagster.core.sql.duckdb.values import Value, condition

_CLAUSES: Final = frozenset({*ENDS, "expressions", "from_", "joins", "where", "group", "having"})
_NO_NAME: Final = "a column without a name"


class Inner(Protocol):
    """Translates the queries that stand in a SELECT, and the tables that it reads."""

    def item(self, item: exp.Expr, known: Mapping[str, Translated]) -> tuple[exp.Expr, Source]:
        """A table or query in a FROM."""
        ...

    def inside(
        self, query: exp.Expr, known: Mapping[str, Translated]
    ) -> tuple[exp.Query, tuple[SparkType, ...]]:
        """A query inside of an expression, and the types of its columns."""
        ...


def translated_select(
    inner: Inner, select: exp.Select, known: Mapping[str, Translated]
) -> Translated:
    """A SELECT for DuckDB.

    Args:
        inner: Translates what stands in it.
        select: The SELECT.
        known: The common table expressions that it may name.

    Raises:
        NotTheSame: A part is not known to mean the same in both engines.
    """
    return _Select(inner, select, known).translated()


class _Select:
    """One SELECT."""

    def __init__(self, inner: Inner, select: exp.Select, known: Mapping[str, Translated]) -> None:
        refuse_clauses(select, _CLAUSES)
        self._inner, self._select, self._known = inner, select, known
        self._node = exp.Select()
        self._sources = self._from()
        self._plain = Expressions(columns=self._sources.column, queries=self._rows)
        self._names: dict[str, tuple[exp.Expr, int]] = {}

    def translated(self) -> Translated:
        select, node = self._select, self._node
        if (where := select.args.get("where")) is not None:
            node.set("where", exp.Where(this=condition(where.this, self._plain)))
        values = list(self._projections())
        outputs = tuple(Output(name=name, type=value.type, spelled=name) for name, value in values)
        node.set("expressions", [exp.alias_(v.node, quoted(name)) for name, v in values])
        self._group()
        above = Expressions(columns=self._above, queries=self._rows, aggregates=True, windows=False)
        if (having := select.args.get("having")) is not None:
            node.set("having", exp.Having(this=condition(having.this, above)))
        found = Translated(node=node, columns=outputs)
        if (distinct := select.args.get("distinct")) is not None:
            if distinct.args.get("on") is not None:
                raise NotTheSame("DISTINCT ON")
            for _, value in values:
                not_a_double(value)
            node.set("distinct", exp.Distinct())
        self._order(found, above)
        copy_limits(select, node)
        return found

    def _rows(self, query: exp.Expr) -> tuple[exp.Query, tuple[SparkType, ...]]:
        return self._inner.inside(query, self._known)

    # -- FROM

    def _from(self) -> Sources:
        clause = self._select.args.get("from_")
        if clause is None:
            return Sources(items=())
        first, source = self._inner.item(clause.this, self._known)
        self._node.set("from_", exp.From(this=first))
        sources = [source]
        for join in self._select.args.get("joins") or []:
            sources.append(self._join(join, sources))
        return Sources(items=tuple(sources))

    def _join(self, join: exp.Join, before: Sequence[Source]) -> Source:
        if any(v for k, v in join.args.items() if k not in ("this", "side", "kind", "on")):
            raise NotTheSame("a join with other clauses than ON")
        written = JOINED.get((join.side.upper(), join.kind.upper()))
        on = join.args.get("on")
        if written is None:
            raise NotTheSame(f"a join of the sort {join.side} {join.kind}")
        item, source = self._inner.item(join.this, self._known)
        side, kind = written
        made = exp.Join(this=item, side=side or None, kind=kind or None)
        if on is None:
            if side or kind == "INNER":
                raise NotTheSame("a join without a condition")
            made.set("kind", "CROSS")
        else:
            inside = Sources(items=(*before, source))
            scope = Expressions(columns=inside.column, queries=self._rows)
            made.set("on", condition(on, scope))
        self._node.append("joins", made)
        return source

    # -- columns

    def _projections(self) -> list[tuple[str, Value]]:
        above = Expressions(
            columns=self._sources.column, queries=self._rows, aggregates=True, windows=True
        )
        found: list[tuple[str, Value]] = []
        for written in self._select.expressions:
            if isinstance(written, exp.Star) or (
                isinstance(written, exp.Column) and isinstance(written.this, exp.Star)
            ):
                starred = self._sources.starred(written)
                found += [(each.name, source.column(each)) for source, each in starred]
                continue
            body = written.this if isinstance(written, exp.Alias) else written
            name = written.alias if isinstance(written, exp.Alias) else _name_of(body)
            if isinstance(written, exp.Alias):
                self._names[name.lower()] = (body, len(found) + 1)
            found.append((name, above.value(body)))
        return found

    def _above(self, node: exp.Column) -> Value:
        """A name in HAVING or ORDER BY, where those that the query gives count, too."""
        alias = self._names.get(node.name.lower()) if len(node.parts) == 1 else None
        if alias is None:
            return self._sources.column(node)
        body, _ = alias
        if self._sources.found(node) and not _is_named(body, node):
            raise NotTheSame(f"the name {node.name}, which means a column and a result")
        return Expressions(
            columns=self._sources.column, queries=self._rows, aggregates=True, windows=True
        ).value(body)

    # -- GROUP BY, ORDER BY

    def _group(self) -> None:
        group = self._select.args.get("group")
        if group is None:
            return
        if any(value for key, value in group.args.items() if key != "expressions"):
            raise NotTheSame("GROUP BY with ALL, CUBE, ROLLUP or GROUPING SETS")
        keys = [not_a_double(self._key(each)).node for each in group.expressions]
        self._node.set("group", exp.Group(expressions=keys))

    def _key(self, node: exp.Expr) -> Value:
        if isinstance(node, exp.Literal):
            node = self._numbered(node)
        elif isinstance(node, exp.Column) and len(node.parts) == 1:
            named = self._names.get(node.name.lower())
            if named is not None and not self._sources.found(node):
                node = named[0]
        if not any(isinstance(each, exp.Column) for each in node.walk()):
            raise NotTheSame("GROUP BY a constant")
        return self._plain.value(node)

    def _numbered(self, node: exp.Literal) -> exp.Expr:
        written = self._select.expressions
        if not node.name.isdigit() or any(each.is_star for each in written):
            raise NotTheSame("GROUP BY a constant")
        at = int(node.name)
        if not 1 <= at <= len(written):
            raise NotTheSame("GROUP BY a number that no column has")
        found: exp.Expr = written[at - 1]
        return found.this if isinstance(found, exp.Alias) else found

    def _order(self, found: Translated, above: Expressions) -> None:
        order = self._select.args.get("order")
        if order is None:
            return
        made = []
        for each in order.expressions:
            if is_output(each.this, found):
                made.append(by_output(each, found))
            else:
                made.append(sorting(each, above))
        self._node.set("order", exp.Order(expressions=made))


def _is_named(body: exp.Expr, node: exp.Column) -> bool:
    return isinstance(body, exp.Column) and body.name.lower() == node.name.lower()


def _name_of(node: exp.Expr) -> str:
    """The name that Spark gives a column without an alias, where that is plain."""
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
        return node.name
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return "count(1)"
    plain = isinstance(node, exp.Count | exp.Sum | exp.Min | exp.Max | exp.Avg)
    if plain and isinstance(node.this, exp.Column) and len(node.this.parts) == 1:
        return f"{node.key}({node.this.name})"
    raise NotTheSame(_NO_NAME)
