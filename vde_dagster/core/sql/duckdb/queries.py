"""Queries of Spark's dialect for DuckDB: statements, sets of rows, and what they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.duckdb.clauses import (
    ENDS,
    Translated,
    by_output,
    copy_limits,
    refuse_clauses,
)
from vde_dagster.core.sql.duckdb.selects import translated_select
from vde_dagster.core.sql.duckdb.sources import Output, Source, Tables, ViewQuery, quoted
from vde_dagster.core.sql.duckdb.types import DOUBLE, VOID, NotTheSame, SparkType, type_named
from vde_dagster.core.sql.rendering import model_name_of
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.table_names import project_names

_OF_SETS: Final = frozenset({*ENDS, "this", "expression"})


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
                return translated_select(self, query, known)
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
        refuse_clauses(query, _OF_SETS)
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
            parts = [by_output(each, one) for each in order.expressions]
            node.set("order", exp.Order(expressions=parts))
        copy_limits(query, node)
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


def _query_of(view: ViewQuery) -> exp.Query:
    query = read_spark(view.sql)
    if not isinstance(query, exp.Query):
        raise NotTheSame("a view that is no query")
    return query


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
