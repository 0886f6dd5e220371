"""The types of a query's columns where Spark's rules decide them for certain, and nothing else.

`vde_dagster.core.sql.types` guesses by sqlglot's rules, which suffices to compare two queries. Here
each sort of node is listed with the type that Spark gives it, which a test compares with Spark's
own analysis; whatever is not listed has no known type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from vde_dagster.core.columns import Column
from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.select_clauses import without_parentheses
from vde_dagster.core.sql.spark.expression_types import RULES, exploded
from vde_dagster.core.sql.spark.function_types import FIXED
from vde_dagster.core.sql.spark.number_types import VOID, wider
from vde_dagster.core.sql.spark.scopes import type_named
from vde_dagster.core.sql.spark.type_spelling import spelled

Tables = Callable[[exp.Table], Sequence[Column]]
"""The columns of a table that a query names; none where they are not known."""
_Outputs = Sequence[tuple[str, str | None]]
"""Names in lower case and types of the columns that a query returns."""


def exact_types(query: exp.Query, tables: Tables) -> Mapping[str, str]:
    """The types of a query's columns that are known for certain, by their names in lower case.

    Args:
        query: In Spark's dialect, qualified, without time macros.
        tables: The columns of what it reads; types that cannot be parsed count as not known.
    """
    reading = _Reading(tables=tables)
    try:
        for scope in traverse_scope(query):
            reading.add(scope)
    except (*SQL_ERRORS, RecursionError):
        return {}
    found = reading.returned.get(id(query), ())
    names = [name for name, _ in found]
    return {
        name: kind
        for name, kind in found
        if kind is not None and kind != VOID and names.count(name) == 1
    }


@dataclass(slots=True)
class _Reading:
    """What is known so far of the parts of one query; ``kept`` holds the nodes behind the ids."""

    tables: Tables
    returned: dict[int, _Outputs] = field(default_factory=dict)
    kept: list[Scope] = field(default_factory=list)

    def add(self, scope: Scope) -> None:
        """Note what a part returns, whose own parts are noted already."""
        self.kept.append(scope)
        self.returned[id(scope.expression)] = self._outputs(scope)

    def _outputs(self, scope: Scope) -> _Outputs:
        match scope.expression:
            case exp.Expr() as query if _is_recursive(query):
                return ()
            case exp.SetOperation() as operation:
                return self._of_sides(operation)
            case exp.Select() as select if not scope.pivots:
                return [(_name(each), self.kind(each, scope)) for each in select.selects]
            case exp.Lateral(this=exp.Explode() as function) as lateral:
                kinds = exploded(function, self.kind(function.this, scope))
                names = [name.lower() for name in lateral.alias_column_names]
                return list(zip(names, kinds, strict=False)) if len(names) == len(kinds) else ()
            case exp.Values() as values:
                return self._of_values(values, scope)
            case _:
                return ()

    def _of_sides(self, operation: exp.SetOperation) -> _Outputs:
        left, right = (
            self.returned.get(id(without_parentheses(each)), ())
            for each in (operation.this, operation.expression)
        )
        by_name = operation.args.get("by_name") or operation.args.get("on")
        if by_name or len(left) != len(right):
            return [(name, None) for name, _ in left]
        pairs = zip(left, right, strict=True)
        return [(name, wider((one, other))) for (name, one), (_, other) in pairs]

    def _of_values(self, values: exp.Values, scope: Scope) -> _Outputs:
        """The columns of VALUES whose rows all have one type."""
        names = [name.lower() for name in values.alias_column_names]
        rows = [
            [self.kind(each, scope) for each in row.expressions]
            for row in values.expressions
            if isinstance(row, exp.Tuple)
        ]
        if len(rows) != len(values.expressions) or any(len(row) != len(names) for row in rows):
            return ()
        columns = [{row[at] for row in rows} for at in range(len(names))]
        kinds = [each.pop() if len(each) == 1 else None for each in columns]
        return list(zip(names, kinds, strict=True))

    def kind(self, node: object, scope: Scope) -> str | None:
        """The type of an expression; None where it is not known."""
        if not isinstance(node, exp.Expr):
            return None
        if (fixed := FIXED.get(type(node))) is not None:
            return fixed
        rule = RULES.get(type(node))
        return rule(self, node, scope) if rule is not None else None

    def all(self, nodes: Sequence[object], scope: Scope) -> list[str | None]:
        """The types of several expressions."""
        return [self.kind(each, scope) for each in nodes]

    def single(self, query: exp.Expr) -> str | None:
        """The type of a query that stands for a value."""
        found = self.returned.get(id(query), ())
        return found[0][1] if len(found) == 1 else None

    def column(self, column: exp.Column, scope: Scope) -> str | None:
        """The type of a column of what this part reads, or one around it."""
        table, seen = column.table, scope
        while table not in seen.sources:
            if seen.parent is None:
                return None
            seen = seen.parent
        source = seen.sources[table]
        found = (
            self._of_table(source) if isinstance(source, exp.Table) else self._of_part(table, seen)
        )
        kinds = {kind for name, kind in found if name == column.name.lower()}
        return kinds.pop() if len(kinds) == 1 else None

    def _of_table(self, table: exp.Table) -> _Outputs:
        if table.alias_column_names or table.args.get("pivots"):
            return ()
        if id(table) not in self.returned:
            columns = self.tables(table)
            self.returned[id(table)] = [(each.name.lower(), _parsed(each.type)) for each in columns]
        return self.returned[id(table)]

    def _of_part(self, name: str, scope: Scope) -> _Outputs:
        """The columns of a query or table function that stands in a FROM, or of a WITH."""
        source = scope.sources[name]
        assert isinstance(source, Scope), "a source is a table or a part of the query"
        node, _ = scope.selected_sources.get(name, (None, None))
        found = self.returned.get(id(source.expression), ())
        around = source.expression.parent
        for each in (node, around):
            if isinstance(each, exp.Table | exp.Subquery) and each.args.get("pivots"):
                return ()
            named = each.alias_column_names if isinstance(each, _NAMING) else ()
            if named:
                kinds = [kind for _, kind in found]
                found = list(zip((n.lower() for n in named), kinds, strict=False))
        return found


_NAMING: Final = (exp.Table, exp.Subquery, exp.CTE)


def _parsed(kind: str) -> str | None:
    try:
        return spelled(type_named(kind))
    except SQL_ERRORS:
        return None


def _name(projection: exp.Expr) -> str:
    return projection.alias_or_name.lower()


def _is_recursive(query: exp.Expr) -> bool:
    """Whether a query of a WITH may read itself."""
    around = query.parent
    clause = around.parent if isinstance(around, exp.CTE) else None
    return isinstance(clause, exp.With) and bool(clause.args.get("recursive"))
