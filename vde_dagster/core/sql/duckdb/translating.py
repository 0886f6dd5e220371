"""Whether DuckDB answers a query with the rows that Spark would, and its text for DuckDB.

DuckDB answers little: plain SELECTs, joins, groups and unions of `constructs`, each of which
`tests/lakehouse/test_duckdb_answers.py` compares with Spark. Everything else is left to Spark, and
so is what DuckDB fails for: its error says nothing about the query.

DuckDB must be given instants as local times in UTC (its TIMESTAMP, not TIMESTAMPTZ), and each table
under the model's name, such as ``"mart.revenue"``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import TokenType

from vde_dagster.core.columns import Column
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.core.sql.duckdb.constructs import (
    CALLED,
    GROUPED,
    Names,
    NotTheSame,
    Value,
    is_among,
    type_named,
    value_of,
)
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.spark.unreadable import unreadable
from vde_dagster.core.sql.table_names import model_name_of, project_names


@dataclass(frozen=True, slots=True, kw_only=True)
class DuckQuery:
    """A query that DuckDB answers as Spark would.

    ``sql`` is in DuckDB's dialect. ``columns`` are what it returns, with the names and types that
    they have in Spark. ``reads`` are the tables that it reads, with the columns that are read of
    each, as the table has them; a query that only counts rows reads none.
    """

    sql: str
    columns: tuple[Column, ...]
    reads: Mapping[ModelName, tuple[Column, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftToSpark:
    """Why a query is left to Spark: what of it is not known to mean the same in DuckDB."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewQuery:
    """A view: its query in Spark's dialect, and the columns that it has in the catalog."""

    sql: str
    columns: tuple[Column, ...]


Tables = Callable[[ModelName], Sequence[Column] | ViewQuery | None]
"""What a name stands for: the columns of a table with Spark's types, or a view's query.

None where that is not known; it may raise NotTheSame to say why.
"""


def in_duckdb(text: str, *, catalog: str, tables: Tables) -> DuckQuery | LeftToSpark:
    """A query over models for DuckDB, or why Spark has to answer it.

    Args:
        text: One SELECT in Spark's dialect.
        catalog: The project's own; it is not part of a model's name.
        tables: What each name of a model or source stands for.
    """
    queries = _Queries(tables=tables, catalog=catalog)
    try:
        query = _read(text, catalog)
        columns = queries.query(query, {})
    except NotTheSame as error:
        return LeftToSpark(reason=f"not known to be the same in DuckDB: {error}")
    except (*SQL_ERRORS, InvalidName) as error:
        return LeftToSpark(reason=f"it is not understood: {first_line(error)}")
    except RecursionError:
        return LeftToSpark(reason="it is nested too deeply")
    reads = {
        name: tuple(each for each in known if any(each.name in one for one in queries.reads[name]))
        for name, known in queries.known.items()
    }
    return DuckQuery(sql=query.sql("duckdb"), columns=columns, reads=reads)


_WORDS: Final = re.compile(
    f"{CALLED}|all|and|as|between|by|case|else|except|from|having|in|intersect|join|not|on|or|"
    "select|then|union|when|where|with|.*[^a-z0-9_]|"
)
_LOGICAL: Final = (TokenType.AND, TokenType.OR)
_BEFORE_A_CALL: Final = (TokenType.SELECT, TokenType.COMMA, TokenType.L_PAREN)


def _read(text: str, catalog: str) -> exp.Query:
    """A query whose functions are Spark's; sqlglot reads AND as one where it is not an operator."""
    parsed = read_spark(text)
    if not isinstance(parsed, exp.Query) or any(unreadable(text)):
        raise NotTheSame("a statement that is not a SELECT of Spark")
    for one, other in pairwise(Dialect.get_or_raise("spark").tokenize(text)):
        called = one.text.lower() if other.token_type is TokenType.L_PAREN else ""
        is_call = other.token_type in _LOGICAL and one.token_type in _BEFORE_A_CALL
        if is_call or not _WORDS.fullmatch(called):
            raise NotTheSame(f"{called or other.text}()")
    return project_names(parsed, catalog, copy=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What is read in a FROM: its ``path`` of names, its alias, and of a table what is read."""

    path: tuple[str, ...]
    alias: str
    columns: Sequence[Column]
    reads: set[str]

    def value(self, column: Column) -> Value:
        """A column of it, which is noted as read."""
        try:
            kind = type_named(column.type)
        except NotTheSame as error:
            raise NotTheSame(f"the column {column.name}: {error}") from error
        self.reads.add(column.name)
        text = exp.column(column.name, table=self.alias, quoted=True).sql("duckdb")
        return Value(text=text, type=kind)


_Known = Mapping[str, Sequence[Column]]
_Found = tuple[Column, ...]
_ENDS: Final = ("with_", "distinct", "order", "limit", "offset")
_SIDES: Final = ("LEFT", "RIGHT", "FULL")
_JOINS: Final = ("", "INNER", *_SIDES, *(f"{each} OUTER" for each in _SIDES))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Queries:
    """Rewrites one statement for DuckDB, in place; ``reads`` are names of columns that it reads."""

    tables: Tables
    catalog: str
    reads: dict[ModelName, list[set[str]]] = field(default_factory=dict)
    known: dict[ModelName, tuple[Column, ...]] = field(default_factory=dict)
    views: list[ModelName] = field(default_factory=list)

    def query(self, query: exp.Expr, known: _Known) -> _Found:
        """The columns of a query, with all of its parts."""
        while isinstance(query, exp.Subquery):
            _only(query, ("this", "alias"))
            query = query.this
        clause, inner = query.args.get("with_"), dict(known)
        if clause is not None and clause.args.get("recursive"):
            raise NotTheSame("WITH RECURSIVE")
        for cte in clause.expressions if clause is not None else ():
            _only(cte, ("this", "alias"))
            inner[_alias(cte)[0]] = _apart(self.query(cte.this, inner))
        match query:
            case exp.Select():
                columns = self._select(query, inner)
            case exp.Union() | exp.Except() | exp.Intersect():
                columns = self._set(query, inner)
            case _:
                raise NotTheSame(type(query).__name__)
        for key in ("limit", "offset"):
            if (limit := query.args.get(key)) is not None:
                _only(limit, ("expression",))
                if not (isinstance(limit.expression, exp.Literal) and limit.expression.is_int):
                    raise NotTheSame(f"{key.upper()} of something else than a number")
        return columns

    def _set(self, query: exp.SetOperation, known: _Known) -> _Found:
        _only(query, (*_ENDS, "this", "expression"))
        one, other = (self.query(each, known) for each in (query.this, query.expression))
        is_all = isinstance(query, exp.Union) and not query.args.get("distinct")
        if [each.type for each in one] != [each.type for each in other]:
            raise NotTheSame("queries of different types that are put together")
        _told_apart([each.type for each in one], ("double",) if is_all else ())
        for key in ("this", "expression"):
            query.set(key, exp.Subquery(this=query.args[key].unnest()))
        _order(query, one)
        return one

    def _select(self, select: exp.Select, known: _Known) -> _Found:
        _only(select, (*_ENDS, "expressions", "from_", "joins", "where", "group", "having"))
        sources: list[_Source] = []
        if (clause := select.args.get("from_")) is not None:
            clause.set("this", self._item(clause.this, sources, known))
        for join in select.args.get("joins") or []:
            self._join(join, sources, known)
        names: Names = partial(_named, sources)
        if (where := select.args.get("where")) is not None:
            _condition(where, "this", names)
        bodies = {
            each.alias.lower(): each.this.copy()
            for each in select.expressions
            if isinstance(each, exp.Alias)
        }
        written = [each.unalias().copy() for each in select.expressions]
        shown = list(_projections(select, sources, names))
        columns = tuple(Column(name=name, type=value.type) for name, value in shown)
        if (group := select.args.get("group")) is not None:
            _only(group, ("expressions",))
            keys = [value_of(_key(e, written, bodies, sources), names) for e in group.expressions]
            _told_apart([each.type for each in keys])
            group.set("expressions", [exp.var(each.text) for each in keys])
        if (having := select.args.get("having")) is not None:
            _condition(having, "this", names)
        if (distinct := select.args.get("distinct")) is not None:
            _only(distinct, ())
            _told_apart([each.type for each in columns])
        _order(select, columns, names)
        texts = [exp.alias_(exp.var(value.text), name, quoted=True) for name, value in shown]
        select.set("expressions", texts)
        return columns

    def _join(self, join: exp.Join, sources: list[_Source], known: _Known) -> None:
        _only(join, ("this", "side", "kind", "on"))
        word, on = f"{join.side} {join.kind}".strip().upper(), join.args.get("on")
        if word not in (("", "CROSS") if on is None else _JOINS):
            raise NotTheSame(f"a join of the sort {word}")
        join.set("this", self._item(join.this, sources, known))
        if on is None:
            join.set("kind", "CROSS")
        else:
            _condition(join, "on", partial(_named, sources))

    def _item(self, item: exp.Expr, sources: list[_Source], known: _Known) -> exp.Expr:
        """A table or a query in a FROM, which is added to the sources."""
        path, reads, read = _alias(item), set[str](), item
        columns: Sequence[Column]
        if isinstance(item, exp.Subquery):
            columns = _apart(self.query(item, known))
        elif isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier):
            _only(item, ("this", "db", "catalog", "alias"))
            path = path or tuple(each.name.lower() for each in item.parts)
            read, columns = self._table(item, known, reads)
        else:
            raise NotTheSame(f"{type(item).__name__} in FROM")
        alias = f"_t{len(sources)}"
        sources.append(_Source(path=path, alias=alias, columns=columns, reads=reads))
        read.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
        return read

    def _table(
        self, table: exp.Table, known: _Known, reads: set[str]
    ) -> tuple[exp.Expr, Sequence[Column]]:
        name = model_name_of(table)
        if name is None and (columns := known.get(table.name.lower())) is not None:
            return table, columns
        found = self.tables(name) if name is not None else None
        if name is None or found is None:
            raise NotTheSame(f"the table {table.sql('spark')}")
        if isinstance(found, ViewQuery):
            return exp.Subquery(this=self._view(name, found)), found.columns
        self.known[name] = tuple(found)
        self.reads.setdefault(name, []).append(reads)
        return exp.table_(str(name), quoted=True), found

    def _view(self, name: ModelName, view: ViewQuery) -> exp.Query:
        query = _read(view.sql, self.catalog)
        self.views.append(name)
        if len(self.views) > 100:
            raise NotTheSame("so many views")
        found = [(each.name.lower(), each.type) for each in _apart(self.query(query, {}))]
        if found != [(each.name.lower(), each.type) for each in view.columns]:
            raise NotTheSame(f"the view {name}, whose columns are not those of its query")
        return query


def _only(node: exp.Expr, known: Sequence[str]) -> None:
    for key, value in node.args.items():
        if value and key not in known:
            raise NotTheSame(f"{type(node).__name__.upper()} with {key.rstrip('_').upper()}")


def _alias(item: exp.Expr) -> tuple[str, ...]:
    alias = item.args.get("alias")
    if alias is not None and (alias.columns or "." in alias.name):
        raise NotTheSame("columns that are renamed")
    return (alias.name.lower(),) if alias is not None else ()


def _apart(columns: _Found) -> _Found:
    """The columns of a query inside of another one, which have names of their own."""
    if len({each.name.lower() for each in columns}) < len(columns):
        raise NotTheSame("a query inside with two columns of one name")
    return columns


def _told_apart(kinds: Sequence[str], others: Sequence[str] = ()) -> None:
    for kind in kinds:
        if not is_among(kind, (*GROUPED, *others)):
            raise NotTheSame(f"rows that are told apart by a {kind}")


def _condition(clause: exp.Expr, key: str, names: Names) -> None:
    found = value_of(clause.args[key], names)
    if found.type != "boolean":
        raise NotTheSame(f"a {found.type} as a condition")
    clause.set(key, exp.var(found.text))


def _found(node: exp.Expr, sources: Sequence[_Source]) -> list[tuple[_Source, Column]]:
    """Every column that a name or a star may stand for."""
    parts = [each.name.lower() for each in node.parts] if isinstance(node, exp.Column) else ["*"]
    before = tuple(parts[:-1])
    return [
        (source, column)
        for source in sources
        if not before or source.path[-len(before) :] == before
        for column in source.columns
        if parts[-1] in ("*", column.name.lower())
    ]


def _named(sources: Sequence[_Source], node: exp.Column) -> Value:
    found = _found(node, sources)
    if len(found) != 1:
        raise NotTheSame(f"the name {node.sql('spark')}")
    return found[0][0].value(found[0][1])


_Bodies = Mapping[str, exp.Expr]
"""What stands behind the names that a SELECT gives."""


def _projections(
    select: exp.Select, sources: Sequence[_Source], names: Names
) -> Iterator[tuple[str, Value]]:
    for written in select.expressions:
        if not written.is_star or isinstance(written.unalias(), exp.Count):
            body = written.unalias()
            name = written.alias if isinstance(written, exp.Alias) else _own_name(body)
            yield name, value_of(body, names)
            continue
        _only(written.this if isinstance(written, exp.Column) else written, ())
        found = _found(written, sources)
        if not found or (written.text("table") and len({id(each) for each, _ in found}) > 1):
            raise NotTheSame(f"the star {written.sql('spark')}")
        yield from ((column.name, source.value(column)) for source, column in found)


def _own_name(node: exp.Expr) -> str:
    """The name that Spark gives a column without an alias, where that is plain."""
    if isinstance(node, exp.Column):
        return node.name
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return "count(1)"
    plain = isinstance(node, exp.Count | exp.Sum | exp.Min | exp.Max | exp.Avg)
    if plain and isinstance(node.this, exp.Column) and len(node.this.parts) == 1:
        return f"{node.key}({node.this.name})"
    raise NotTheSame("a column without a name")


def _key(
    node: exp.Expr, written: Sequence[exp.Expr], bodies: _Bodies, sources: Sequence[_Source]
) -> exp.Expr:
    """A part of GROUP BY: a column of what is read, else a result; or the number of a result."""
    if isinstance(node, exp.Literal) and node.is_int:
        at = int(node.name)
        node = written[at - 1] if 1 <= at <= len(written) else node
        if any(each.is_star for each in written):
            raise NotTheSame("GROUP BY a number next to a star")
    elif isinstance(node, exp.Column) and len(node.parts) == 1 and not _found(node, sources):
        node = bodies.get(node.name.lower(), node)
    if node.find(exp.Column) is None:
        raise NotTheSame("GROUP BY a constant")
    return node


def _order(query: exp.Expr, columns: Sequence[Column], names: Names | None = None) -> None:
    """ORDER BY: columns of the result, or their numbers, before columns of what is read."""
    order, shown = query.args.get("order"), [each.name.lower() for each in columns]
    for part in order.expressions if order is not None else ():
        _only(part, ("this", "desc", "nulls_first"))
        what, name = part.this, part.this.name.lower()
        is_name = isinstance(what, exp.Column)
        is_shown = is_name and len(what.parts) == 1 and name in shown
        if is_shown and shown.count(name) == 1:
            part.set("this", exp.Literal.number(shown.index(name) + 1))
        elif is_name and not is_shown and names is not None:
            part.set("this", exp.var(names(what).text))
        elif not (isinstance(what, exp.Literal) and what.is_int):
            raise NotTheSame(f"ORDER BY {what.sql('spark')}")
