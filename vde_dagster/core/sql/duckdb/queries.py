"""Queries of Spark's dialect for DuckDB, clause by clause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.duckdb.aggregates import not_a_double, ordered_by, sorting
from vde_dagster.core.sql.duckdb.expressions import Expressions
from vde_dagster.core.sql.duckdb.sources import (
    JOINED,
    Output,
    Source,
    Sources,
    Tables,
    ViewQuery,
    quoted,
)
from vde_dagster.core.sql.duckdb.types import DOUBLE, VOID, NotTheSame, SparkType, type_named
from vde_dagster.core.sql.duckdb.values import Value, condition, number
from vde_dagster.core.sql.rendering import model_name_of
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.table_names import project_names

_ENDS: Final = ("with_", "distinct", "order", "limit", "offset")
_CLAUSES: Final = frozenset({*_ENDS, "expressions", "from_", "joins", "where", "group", "having"})
_OF_SETS: Final = frozenset({*_ENDS, "this", "expression"})
_NO_NAME: Final = "a column without a name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """A query for DuckDB, and its columns under the names that they have in DuckDB."""

    node: exp.Query
    columns: tuple[Output, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """Translates one statement.

    Args:
        tables: What a name stands for.
        catalog: The project's own.
        views: The views that it reads, as common table expressions.
        reads: The names of the columns that it reads of each table.
        known: All columns of those tables.
        ctes: What stands in front of the statement.
    """

    tables: Tables
    catalog: str
    views: dict[ModelName, Translated] = field(default_factory=dict)
    reads: dict[ModelName, set[str]] = field(default_factory=dict)
    known: dict[ModelName, tuple[Column, ...]] = field(default_factory=dict)
    ctes: list[exp.CTE] = field(default_factory=list)
    _counted: list[int] = field(default_factory=lambda: [0])

    def statement(self, query: exp.Query) -> Translated:
        """The whole query; its common table expressions stand in front of it.

        Raises:
            NotTheSame: A part is not known to mean the same in both engines.
        """
        found = self._query(query, {})
        if self.ctes:
            found.node.set("with_", exp.With(expressions=self.ctes))
        return found

    def _query(self, query: exp.Expr, known: Mapping[str, Translated]) -> Translated:
        while isinstance(query, exp.Subquery):
            if any(value for key, value in query.args.items() if key not in ("this", "alias")):
                raise NotTheSame("clauses behind a query in parentheses")
            query = query.this
        known = self._with(query, known)
        match query:
            case exp.Select():
                return _Select(self, query, known).translated()
            case exp.Union() | exp.Except() | exp.Intersect():
                return self._set(query, known)
            case _:
                raise NotTheSame(type(query).__name__)

    def _with(self, query: exp.Expr, known: Mapping[str, Translated]) -> Mapping[str, Translated]:
        clause = query.args.get("with_")
        if clause is None:
            return known
        if clause.args.get("recursive"):
            raise NotTheSame("WITH RECURSIVE")
        inner = dict(known)
        for cte in clause.expressions:
            if cte.args["alias"].columns or cte.args.get("materialized") is not None:
                raise NotTheSame("columns or hints in WITH")
            found = self._query(cte.this, inner)
            inner[cte.alias.lower()] = self._before(found)
        return inner

    def fresh(self, letter: str) -> str:
        """A name that nothing else has."""
        self._counted[0] += 1
        return f"_{letter}{self._counted[0]}"

    def _set(self, query: exp.SetOperation, known: Mapping[str, Translated]) -> Translated:
        _refuse_clauses(query, _OF_SETS)
        one, other = (self._query(each, known) for each in (query.this, query.args["expression"]))
        kinds = [[each.type for each in side.columns] for side in (one, other)]
        if kinds[0] != kinds[1] or VOID in kinds[0]:
            raise NotTheSame("queries of different types are put together")
        distinct = bool(query.args.get("distinct"))
        if (distinct or not isinstance(query, exp.Union)) and DOUBLE in kinds[0]:
            raise NotTheSame("equal rows with doubles")
        sides = [exp.Subquery(this=each.node) for each in (one, other)]
        node = type(query)(this=sides[0], expression=sides[1], distinct=distinct)
        order = query.args.get("order")
        if order is not None:
            parts = [_by_output(each, one) for each in order.expressions]
            node.set("order", exp.Order(expressions=parts))
        _limit(query, node)
        return Translated(node=node, columns=one.columns)

    def table(self, table: exp.Table, known: Mapping[str, Translated]) -> tuple[exp.Expr, Source]:
        """A table, or the common table expression that it names, in a FROM.

        Raises:
            NotTheSame: It is read in a way of Spark's own, or its columns are not known.
        """
        if any(v for k, v in table.args.items() if k not in ("this", "db", "catalog", "alias")):
            raise NotTheSame("a table that is read in another way than by its name")
        if not isinstance(table.this, exp.Identifier):
            raise NotTheSame("a table function")
        parts = tuple(each.name.lower() for each in table.parts)
        path = _alias_of(table) or parts
        inside = known.get(parts[0]) if len(parts) == 1 else None
        if inside is not None:
            return self._named(inside, path)
        name = model_name_of(table)
        columns = self.tables(name) if name is not None else None
        if name is None or columns is None:
            raise NotTheSame(f"the table {table.sql('spark')}")
        if isinstance(columns, ViewQuery):
            return self._named(self._view(name, columns), path)
        alias = self.fresh("t")
        node = exp.Table(this=quoted(str(name)), alias=exp.TableAlias(this=quoted(alias)))
        outputs = tuple(_output(each) for each in columns)
        read = self.reads.setdefault(name, set())
        self.known[name] = tuple(columns)
        return node, Source(path=path, alias=alias, columns=outputs, read=read)

    def _named(self, cte: Translated, path: tuple[str, ...]) -> tuple[exp.Expr, Source]:
        """A common table expression in a FROM."""
        alias = self.fresh("t")
        named = cte.node.args["from_"].this.copy()
        named.set("alias", exp.TableAlias(this=quoted(alias)))
        return named, Source(path=path, alias=alias, columns=cte.columns)

    def _view(self, name: ModelName, view: ViewQuery) -> Translated:
        """A view's query in front of the statement; once, however often the view is read."""
        if name not in self.views:
            query = project_names(_query_of(view), self.catalog, copy=False)
            found = self._query(query, {})
            shown = [(each.name.lower(), str(each.type)) for each in found.columns]
            if shown != [(each.name.lower(), each.type) for each in view.columns]:
                raise NotTheSame(f"the view {name}, whose columns are not those of its query")
            self.views[name] = self._before(found)
        return self.views[name]

    def _before(self, found: Translated) -> Translated:
        """A query in front of the statement, and how it is read there."""
        _refuse_namesakes(found.columns)
        name = self.fresh("q")
        self.ctes.append(exp.CTE(this=found.node, alias=exp.TableAlias(this=quoted(name))))
        table = exp.select("*").from_(exp.table_(name, quoted=True))
        return Translated(node=table, columns=found.columns)

    def item(self, item: exp.Expr, known: Mapping[str, Translated]) -> tuple[exp.Expr, Source]:
        """A table or query in a FROM.

        Raises:
            NotTheSame: It is something else, or not known to mean the same.
        """
        if isinstance(item, exp.Table):
            return self.table(item, known)
        if not isinstance(item, exp.Subquery):
            raise NotTheSame(f"{type(item).__name__} in FROM")
        found = self._query(item, known)
        _refuse_namesakes(found.columns)
        alias = self.fresh("t")
        node = exp.Subquery(this=found.node, alias=exp.TableAlias(this=quoted(alias)))
        return node, Source(path=_alias_of(item) or (), alias=alias, columns=found.columns)

    def inside(
        self, query: exp.Expr, known: Mapping[str, Translated]
    ) -> tuple[exp.Query, tuple[SparkType, ...]]:
        """A query inside of an expression; a name of the query around it is not known to it."""
        found = self._query(query, known)
        kinds = [each.type for each in found.columns]
        if None in kinds or VOID in kinds:
            raise NotTheSame("a query of other types inside of an expression")
        return found.node, tuple(each for each in kinds if each is not None)


class _Select:
    """One SELECT."""

    def __init__(
        self, queries: Queries, select: exp.Select, known: Mapping[str, Translated]
    ) -> None:
        _refuse_clauses(select, _CLAUSES)
        self._queries, self._select, self._known = queries, select, known
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
        _limit(select, node)
        return found

    def _rows(self, query: exp.Expr) -> tuple[exp.Query, tuple[SparkType, ...]]:
        return self._queries.inside(query, self._known)

    # -- FROM

    def _from(self) -> Sources:
        clause = self._select.args.get("from_")
        if clause is None:
            return Sources(items=())
        first, source = self._queries.item(clause.this, self._known)
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
        item, source = self._queries.item(join.this, self._known)
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
            if _is_output(each.this, found):
                made.append(_by_output(each, found))
            else:
                made.append(sorting(each, above))
        self._node.set("order", exp.Order(expressions=made))


def _query_of(view: ViewQuery) -> exp.Query:
    query = read_spark(view.sql)
    if not isinstance(query, exp.Query):
        raise NotTheSame("a view that is no query")
    return query


def _is_output(node: exp.Expr, found: Translated) -> bool:
    if isinstance(node, exp.Literal):
        return True
    alone = isinstance(node, exp.Column) and len(node.parts) == 1
    return alone and any(each.name.lower() == node.name.lower() for each in found.columns)


def _by_output(node: exp.Expr, found: Translated) -> exp.Expr:
    """A part of ORDER BY that names a column of the result, or has its number."""
    if node.args.get("with_fill"):
        raise NotTheSame("WITH FILL")
    names = [each.name.lower() for each in found.columns]
    what = node.this
    if isinstance(what, exp.Literal) and what.name.isdigit() and not what.is_string:
        at = int(what.name)
    elif isinstance(what, exp.Column) and names.count(what.name.lower()) == 1:
        at = names.index(what.name.lower()) + 1 if len(what.parts) == 1 else 0
    else:
        at = 0
    if not 1 <= at <= len(names):
        raise NotTheSame(f"ORDER BY {what.sql('spark')}")
    return ordered_by(node, number(at))


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


def _output(column: Column) -> Output:
    try:
        kind: SparkType | None = type_named(column.type)
    except NotTheSame:
        kind = None
    return Output(name=column.name, type=kind, spelled=column.name)


def _alias_of(item: exp.Expr) -> tuple[str, ...]:
    alias = item.args.get("alias")
    if alias is None:
        return ()
    if alias.columns:
        raise NotTheSame("columns that are renamed in FROM")
    return (alias.name.lower(),)


def _refuse_namesakes(columns: Sequence[Output]) -> None:
    names = [each.name.lower() for each in columns]
    if len({*names}) < len(names):
        raise NotTheSame("a query inside with two columns of one name")


def _refuse_clauses(query: exp.Expr, known: frozenset[str]) -> None:
    for key, value in query.args.items():
        if value and key not in known:
            raise NotTheSame(f"the clause {key.rstrip('_').upper()}")


def _limit(query: exp.Expr, node: exp.Expr) -> None:
    for key, kind in (("limit", exp.Limit), ("offset", exp.Offset)):
        clause = query.args.get(key)
        if clause is None:
            continue
        count = clause.args.get("expression")
        others = any(value for name, value in clause.args.items() if name != "expression")
        if others or not isinstance(count, exp.Literal) or not count.name.isdigit():
            raise NotTheSame(f"{key.upper()} of something else than a number")
        node.set(key, kind(expression=count.copy()))
