"""Binding the columns of a query that reads tables whose columns are not known.

sqlglot looks a column up in the tables that are read. If a table's columns are not known ("open"),
a name may still be unambiguous, given that the query is valid: if no table with known columns has
it, the only open table must. An ambiguous name is left alone, and reported as unclear.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.resolver import Resolver
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from vde_dagster.core.errors import Refused
from vde_dagster.core.sql.select_clauses import SelectClauses, clauses_of, from_of
from vde_dagster.core.sql.unresolved import columns_called


class ColumnsUnclear(Refused):
    """Some column of a query may come from several tables, since not all columns are known."""


def name_tables(query: exp.Query, *, schema: MappingSchema, dialect: str) -> exp.Query:
    """A copy of a query with normalized identifiers and an alias for each table."""
    named = qualify(
        query.copy(),
        dialect=dialect,
        schema=schema,
        qualify_columns=False,
        validate_qualify_columns=False,
        quote_identifiers=False,
    )
    assert isinstance(named, exp.Query), "a query stays one"
    return named


def bind_to_open_tables(query: exp.Query, *, schema: MappingSchema, dialect: str) -> exp.Query:
    """A copy of a query in which each column of an open table is bound to it.

    Columns of tables whose columns are known are left to `qualify`. An alias that GROUP BY or
    HAVING names is written out if it cannot be a column of the open table.

    Args:
        query: Without macros that stand for columns.
        schema: The columns of the tables that it reads; open ones have none.
        dialect: How its identifiers are normalized, as in `canonicalize`.

    Raises:
        ColumnsUnclear: A column may come from several tables, or a number in GROUP BY or ORDER BY
            counts columns that are not known.
        sqlglot.errors.SqlglotError: The query cannot be understood.
    """
    named = name_tables(query, schema=schema, dialect=dialect)
    settled: set[int] = set()
    for scope in traverse_scope(named):  # inner queries before outer ones
        if isinstance(scope.expression, exp.Select | exp.UDTF):
            _Binding(scope=scope, reads=_Reads.of(scope, schema), settled=settled).bind()
    return named


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reads:
    """What a SELECT or a table function can see: columns by alias, none for open tables.

    ``outer`` are the queries around it that it may refer to, innermost first.
    """

    columns: Mapping[str, Sequence[str]]
    outer: tuple[_Reads, ...] = ()

    @classmethod
    def of(cls, scope: Scope, schema: MappingSchema) -> _Reads:
        """What a scope can see."""
        around = Resolver(scope, schema).outer_resolvers()
        if scope.is_udtf:
            around = around[1:]  # the other items of FROM are a table function's own sources
        outer = tuple(cls(columns=_columns(each.scope, schema)) for each in around)
        return cls(columns=_columns(scope, schema), outer=outer)

    @property
    def open_tables(self) -> list[str]:
        """The aliases of sources whose columns are not known."""
        return [alias for alias, known in self.columns.items() if not known or "*" in known]

    def knows(self, name: str) -> bool:
        """Whether a source is known to have a column."""
        return any(name in known for known in self.columns.values())

    def sees(self, alias: str) -> bool:
        """Whether a source here or in an outer query has this name."""
        return any(alias in each.columns for each in (self, *self.outer))


def _columns(scope: Scope, schema: MappingSchema) -> dict[str, Sequence[str]]:
    resolver = Resolver(scope, schema)
    aliases = (*scope.selected_sources, *scope.lateral_sources)
    return {alias: columns_called(alias, resolver) for alias in aliases}


@dataclass(slots=True, kw_only=True)
class _Binding:
    """The columns of one SELECT or table function.

    ``settled`` are the columns, by identity, that an inner query has bound already: outer ones
    leave them alone. ``merged`` are those that USING makes one of two.
    """

    scope: Scope
    reads: _Reads
    settled: set[int]
    aliased: dict[str, tuple[int, exp.Expr]] = field(default_factory=dict)
    proven: set[str] = field(default_factory=set)
    merged: set[str] = field(default_factory=set)

    def bind(self) -> None:
        """Bind the columns that belong to an open table."""
        query = self.scope.expression
        own = list(self.scope.find_all(exp.Column))
        from_ = from_of(query)
        self.merged |= {name for join in from_.joins for name in join.using}
        is_natural = any(join.node.method == "NATURAL" for join in from_.joins)
        if self.reads.open_tables and (self.scope.pivots or is_natural):
            raise ColumnsUnclear("PIVOT and NATURAL JOIN depend on unknown columns")
        if isinstance(query, exp.Select):
            self._note_aliases(query, own)
            if self.reads.open_tables and _counts_columns(clauses_of(query)):
                raise ColumnsUnclear("a number refers to an unknown column")
        mine = {id(each) for each in own}
        outside = [each for each in self.scope.columns if id(each) not in mine]
        shadowed = [column for column in own if not self._bind(column, _place(column, query))]
        for column in outside:
            self._bind(column, "")
        if isinstance(query, exp.Select):
            self._write_out(query, shadowed)

    def _note_aliases(self, query: exp.Select, own: Sequence[exp.Column]) -> None:
        """Note which names are aliases, and which of them must be columns of a source, too."""
        for index, each in enumerate(query.selects):
            if isinstance(each, exp.Alias):
                self.aliased.setdefault(each.alias, (index, each.this))
        self.proven |= {
            column.name
            for column in own
            if not column.table
            and column.name in self.aliased
            and not self._may_be_alias(column, _place(column, query))
        }

    def _may_be_alias(self, column: exp.Column, place: str) -> bool:
        """Whether an unqualified column is where an alias of its SELECT could be."""
        if place == "expressions":
            position = _within(column, self.scope.expression).index or 0
            return self.aliased[column.name][0] < position
        return place not in _BEFORE_ALIASES

    def _bind(self, column: exp.Column, place: str) -> bool:
        """Bind a column if it is clear; False if it may be an alias of the SELECT instead."""
        if id(column) in self.settled or self._is_no_reference(column, place):
            return True
        root = column.parts[0].name
        if self.reads.knows(root) or root in self.merged:
            self.settled.add(id(column))
            return True
        if not self.reads.open_tables:
            return True
        shadowed = place and not column.table and root in self.aliased and root not in self.proven
        if shadowed and self._may_be_alias(column, place):
            return False
        self._set_table(column, self._owner(root, place))
        return True

    def _is_no_reference(self, column: exp.Column, place: str) -> bool:
        """Whether a column is bound already, is not a column, or names one of the SELECT's own."""
        around = column.find_ancestor(exp.Star, exp.Select)  # none where it was replaced already
        if isinstance(column.this, exp.Star) or not isinstance(around, exp.Select):
            return True
        if column.table and (
            self.reads.sees(column.table)
            or self.reads.sees(column.parts[0].name)
            or column.table in self.scope.semi_or_anti_join_tables
        ):
            return True
        return place in _ORDERING and column.name in _names(self.scope.expression)

    def _owner(self, name: str, place: str) -> str:
        outside = any(each.open_tables or each.knows(name) for each in self.reads.outer)
        several = len(self.reads.open_tables) > 1 or outside
        half_seen = place == "joins" and self.scope.semi_or_anti_join_tables
        if several or half_seen:
            raise ColumnsUnclear(f"{name!r} may be a column of several tables")
        return self.reads.open_tables[0]

    def _set_table(self, column: exp.Column, owner: str) -> None:
        self.settled.add(id(column))
        if not column.table:
            column.set("table", exp.to_identifier(owner))
            return
        root, *fields = column.parts  # a field of a struct
        bound = exp.column(root.copy(), table=owner)
        column.replace(exp.Dot.build([bound, *(each.copy() for each in fields)]))
        self.settled.add(id(bound))

    def _write_out(self, query: exp.Select, shadowed: Sequence[exp.Column]) -> None:
        """Replace an alias by its expression, if nothing else can be meant.

        What GROUP BY does not name cannot be outside of an aggregate, so an alias that GROUP BY
        names is not a column of the same name unless something else groups its expression.
        """
        grouping = [each for each in shadowed if isinstance(each.parent, exp.Group)]
        values = {id(each): self.aliased[each.name][1] for each in grouping}
        for column in grouping:
            others = _grouped(clauses_of(query), values, besides=column)
            if not _must_be_grouped(values[id(column)], others):
                raise ColumnsUnclear(f"{column.name!r} may be an alias or a column")
        for column in shadowed:
            value = self.aliased[column.name][1]
            if id(column) not in values and not _is_of_group(column, query):
                raise ColumnsUnclear(f"{column.name!r} may be an alias or a column")
            column.replace(value.copy() if id(column) in values else exp.paren(value))


_BEFORE_ALIASES: Final = frozenset({"from_", "joins", "laterals"})
_ORDERING: Final = frozenset({"order", "sort", "cluster", "distribute"})


def _within(node: exp.Expr, query: exp.Expr) -> exp.Expr:
    """The direct part of a query that contains a node."""
    while node.parent is not None and node.parent is not query:
        node = node.parent
    return node


def _place(column: exp.Column, query: exp.Expr) -> str:
    return _within(column, query).arg_key or ""


def _names(query: exp.Expr) -> Collection[str]:
    return query.named_selects if isinstance(query, exp.Select) else ()


def _counts_columns(select: SelectClauses) -> bool:
    """Whether a number stands for a column of a SELECT after unknown ones."""
    if not any(each.is_star for each in select.projections):
        return False
    group, order = select.group, select.node.args.get("order")
    counted = [*(group.keys if group else ()), *(order.expressions if order else ())]
    return any((each.this if isinstance(each, exp.Ordered) else each).is_int for each in counted)


def _grouped(
    select: SelectClauses, values: Mapping[int, exp.Expr], *, besides: exp.Expr
) -> Iterator[exp.Expr]:
    """What a SELECT groups by, with aliases and numbers written out."""
    group = select.group
    for each in group.keys if group is not None else ():
        if each.is_int and 0 < int(each.name) <= len(select.projections):
            yield select.projections[int(each.name) - 1].unalias()
        elif each is not besides:
            yield values.get(id(each), each)
    yield from group.sets if group is not None else ()


def _must_be_grouped(value: exp.Expr, others: Iterator[exp.Expr]) -> bool:
    """Whether an expression in SELECT has columns that nothing else groups."""
    if value.find(exp.Column) is None or value.find(exp.AggFunc, exp.Window, exp.Query):
        return False
    parts = set(value.walk())
    return not any(part in parts for other in others for part in (other, *other.expressions))


def _is_of_group(column: exp.Column, query: exp.Select) -> bool:
    """Whether a column of HAVING can only be an alias of the SELECT: no aggregate is around it."""
    if _place(column, query) != "having":
        return False
    return not isinstance(column.find_ancestor(exp.AggFunc, exp.Having), exp.AggFunc)
