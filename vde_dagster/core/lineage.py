"""Column lineage: which columns of its parents each column of a query is made of.

Only what a column's value is computed from counts; filters, join conditions and grouping decide
which rows there are, not what a column says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from vde_dagster.core.names import ModelName
from vde_dagster.core.rendering import model_name_of

ColumnOf = tuple[ModelName, str]
"""A parent, and one of its columns in lower case."""


def column_lineage(query: exp.Query) -> dict[str, tuple[ColumnOf, ...]]:
    """The parents' columns behind each output column, sorted; none for a constant.

    Linear in the size of the query for each output column at most once per scope.

    Args:
        query: Canonical: every column is bound to its table or sub-query, no star is left.
    """
    scopes = traverse_scope(query)
    if not scopes:
        return {}
    tracer = _Tracer({id(scope.expression): scope for scope in scopes})
    top = scopes[-1]
    return {
        name: tuple(sorted(tracer.output(top, position)))
        for position, name in enumerate(_outputs(top))
    }


@dataclass(slots=True)
class _Tracer:
    """Follows columns through scopes; each column of each scope is followed once."""

    scopes: dict[int, Scope]
    known: dict[tuple[int, int], frozenset[ColumnOf]] = field(default_factory=dict)

    def output(self, scope: Scope, position: int) -> frozenset[ColumnOf]:
        """What one output column of a scope is made of."""
        key = (id(scope), position)
        if key not in self.known:
            self.known[key] = frozenset()  # a recursive query meets itself: it adds nothing new
            self.known[key] = frozenset(self._output(scope, position))
        return self.known[key]

    def _output(self, scope: Scope, position: int) -> Iterator[ColumnOf]:
        if scope.set_operation_scopes:
            for branch in scope.set_operation_scopes:
                yield from self.output(branch, position)
            return
        expression = scope.expression
        if isinstance(expression, exp.Query):
            selects = expression.selects
            if position < len(selects):
                yield from self._expression(scope, selects[position])
            return
        yield from self._expression(scope, expression)  # EXPLODE and its like: all that it unfolds

    def _expression(self, scope: Scope, expression: exp.Expr) -> Iterator[ColumnOf]:
        for node in expression.walk(prune=lambda each: isinstance(each, exp.Query)):
            if isinstance(node, exp.Query):
                inner = self.scopes.get(id(node.unnest()))
                if inner is not None and inner is not scope:
                    for position, _ in enumerate(_outputs(inner)):
                        yield from self.output(inner, position)
            elif isinstance(node, exp.Column):
                yield from self._column(scope, node)

    def _column(self, scope: Scope, column: exp.Column) -> Iterator[ColumnOf]:
        source = _source(scope, column.table)
        if isinstance(source, exp.Table):
            name = model_name_of(source)
            if name is not None:
                yield name, column.name.lower()
        elif isinstance(source, Scope):
            outputs = _outputs(source)
            if column.name.lower() in outputs:
                yield from self.output(source, outputs.index(column.name.lower()))
            elif not isinstance(source.expression, exp.Query):
                yield from self.output(source, 0)


def _outputs(scope: Scope) -> list[str]:
    """The names of a scope's columns; those that its alias lists win over its own."""
    names = [*scope.outer_columns]
    if isinstance(scope.expression, exp.Query):
        own = [each.lower() for each in scope.expression.named_selects]
        return [each.lower() for each in names] + own[len(names) :]
    return [each.lower() for each in names]


def _source(scope: Scope, alias: str) -> exp.Table | Scope | None:
    """What an alias stands for: here, or in a query around this one."""
    around: Scope | None = scope
    while around is not None:
        found = around.sources.get(alias)
        if isinstance(found, exp.Table | Scope):
            return found
        around = around.parent
    return None
