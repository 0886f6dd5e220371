"""The columns of queries as axes: the time column that each is computed from, and the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.bounds import Axis
from vde_dagster.core.sql.reads.conditions import axis_of
from vde_dagster.core.sql.reads.joined import Source, is_plain, sources_of
from vde_dagster.core.sql.reads.ties import Column, ColumnAxes, Timed, timed
from vde_dagster.core.sql.rendering import model_name_of
from vde_dagster.core.sql.select_clauses import (
    OperationClauses,
    SelectClauses,
    clauses_of,
    operation_of,
)
from vde_dagster.core.sql.table_names import query_of

AxisOf = Callable[[ModelName, str], Axis | None]
"""A column of a table as an axis by its type; None if its values are no times."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of queries over tables whose types are known."""

    axis: AxisOf

    def of(self, sources: Sequence[Source], outer: Mapping[Column, Axis]) -> ColumnAxes:
        """Those of a SELECT by alias and name; ``outer`` are those of the queries around it."""
        by_alias = {each.alias: each for each in sources}

        def axis(column: Column) -> Axis | None:
            alias, name = column
            if alias not in by_alias:
                return outer.get(column)
            return self._axis_of(by_alias[alias], name)

        return axis

    def _axis_of(self, source: Source, name: str) -> Axis | None:
        """A column of a source."""
        if not is_plain(source):
            return None
        query = query_of(source.node)
        if query is not None:
            return self.in_query(query, name)
        model = model_name_of(source.node) if isinstance(source.node, exp.Table) else None
        return None if model is None else self.axis(model, name)

    def in_query(self, node: exp.Expr, name: str) -> Axis | None:
        """A column of a query's rows."""
        match node:
            case exp.Subquery():
                return self.in_query(node.this, name)
            case exp.SetOperation():
                return self._in_operation(operation_of(node), name)
            case exp.Select():
                output = output_of(node, name)
                return None if output is None else self._axis_made(clauses_of(node), output)
            case _:
                return None

    def _in_operation(self, operation: OperationClauses, name: str) -> Axis | None:
        left, right = operation.left, operation.right
        names, others = names_of(left), names_of(right)
        at = names.index(name) if names.count(name) == 1 else len(others)
        if operation.is_by_name or at >= len(others) or others.count(others[at]) != 1:
            return None
        first = self.in_query(left, name)
        return first if first == self.in_query(right, others[at]) else None

    def _axis_made(self, select: SelectClauses, output: exp.Expr) -> Axis | None:
        axes: set[Axis | None] = set()
        for part in parts_of(output, is_grouped=select.group is not None):
            found = self.timed_in(select, part)
            axes.add(None if found is None else axis_of(part, {found.column: found.axis}))
        return axes.pop() if len(axes) == 1 else None

    def timed_in(self, select: SelectClauses, part: exp.Expr) -> Timed | None:
        """An expression of a SELECT by the one column of a source that it is computed from."""
        columns = list(part.find_all(exp.Column))
        seen = columns[0].table.lower() if columns else ""
        sources = sources_of(select.from_, seen=seen) if columns else None
        return None if sources is None else timed(part, self.of(sources, {}))


def names_of(node: exp.Expr) -> list[str]:
    """The columns of a query in lower case, with or without parentheses around it."""
    inner = node.unnest()
    return [each.lower() for each in inner.named_selects] if isinstance(inner, exp.Query) else []


def output_of(select: exp.Select, name: str) -> exp.Expr | None:
    """The expression of the column of this name; None if there is not exactly one."""
    names = names_of(select)
    if names.count(name) != 1 or len(names) != len(select.selects):
        return None
    return select.selects[names.index(name)].unalias().unnest()


def parts_of(output: exp.Expr, *, is_grouped: bool) -> list[exp.Expr]:
    """Expressions of one row; the column has the value of one of them."""
    match output:
        case exp.Coalesce():
            parts = [output.this, *output.expressions]
            return [inner for each in parts for inner in parts_of(each.unnest(), is_grouped=False)]
        case exp.Min() | exp.Max() if is_grouped and not output.expressions:
            return [output.this.unnest()]
        case _:
            return [output]
