"""Functions of several rows: aggregates, and functions over windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.duckdb.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    MOST_DIGITS,
    NotTheSame,
    SparkType,
    decimal,
)
from vde_dagster.core.sql.duckdb.values import (
    Scope,
    Value,
    call,
    cast,
    condition,
    fitted,
    number,
    whole_literal,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """A call over rows for DuckDB, and the type to which its result is cast.

    ``rounds`` is whether its last digits follow from the order in which rows are added.
    """

    node: exp.Expr
    type: SparkType
    rounds: bool = False

    def over(self, around: Callable[[exp.Expr], exp.Expr] = lambda node: node) -> Value:
        """The value, with what stands around the call inside of the cast."""
        return Value(node=cast(around(self.node), self.type), type=self.type)


_SUM_DIGITS: Final = 10
"""So many more digits Spark gives to a sum of decimals."""


def _count(node: exp.Expr, scope: Scope) -> Computed:
    what = node.this
    if isinstance(what, exp.Star) or (isinstance(what, exp.Literal) and not what.is_string):
        return Computed(node=exp.Count(this=exp.Star()), type=BIGINT)
    if isinstance(what, exp.Distinct):
        if what.args.get("on") or len(what.expressions) != 1:
            raise NotTheSame("COUNT of several distinct columns")
        value = not_a_double(scope.value(what.expressions[0]))
        counted = exp.Distinct(expressions=[value.node])
        return Computed(node=exp.Count(this=counted), type=BIGINT)
    return Computed(node=exp.Count(this=scope.value(what).node), type=BIGINT)


def not_a_double(value: Value) -> Value:
    """A value by which rows are grouped: Spark shows one zero of two, and DuckDB either.

    Raises:
        NotTheSame: It is a double, or a null without a type.
    """
    if value.type == DOUBLE or value.type.name == "void":
        raise NotTheSame(f"rows that are grouped by a {value.type}")
    return value


def _sum(node: exp.Expr, scope: Scope) -> Computed:
    value = scope.value(node.this)
    if value.type.is_integer:
        return Computed(node=call("sum", value.node), type=BIGINT)
    if value.type == DOUBLE:
        return Computed(node=call("sum", value.node), type=DOUBLE, rounds=True)
    if value.type.is_decimal:
        precision = value.type.precision + _SUM_DIGITS
        if precision > MOST_DIGITS:
            raise NotTheSame(f"a sum of {value.type}, whose digits Spark limits")
        return Computed(node=call("sum", value.node), type=decimal(precision, value.type.scale))
    raise NotTheSame(f"a sum of {value.type}")


def _avg(node: exp.Expr, scope: Scope) -> Computed:
    value = scope.value(node.this)
    if value.type != DOUBLE and not value.type.is_integer:
        raise NotTheSame(f"a mean of {value.type}")
    mean = call("avg", fitted(value, DOUBLE))
    return Computed(node=mean, type=DOUBLE, rounds=value.type == DOUBLE)


def _extreme(node: exp.Expr, scope: Scope) -> Computed:
    value = scope.value(node.this)
    if value.type.name == "void":
        raise NotTheSame("an extreme of nulls")
    return Computed(node=call(node.key, value.node), type=value.type)


def _count_if(node: exp.Expr, scope: Scope) -> Computed:
    one = exp.If(this=condition(node.this, scope), true=number(1))
    return Computed(node=exp.Count(this=exp.Case(ifs=[one])), type=BIGINT)


def _logical(node: exp.Expr, scope: Scope) -> Computed:
    name = "bool_and" if isinstance(node, exp.LogicalAnd) else "bool_or"
    return Computed(node=call(name, condition(node.this, scope)), type=BOOLEAN)


Maker = Callable[[exp.Expr, Scope], Computed]

AGGREGATES: Final[dict[type[exp.Expr], tuple[str, Maker]]] = {
    exp.Count: ("this big_int", _count),
    exp.CountIf: ("this", _count_if),
    exp.Sum: ("this", _sum),
    exp.Avg: ("this", _avg),
    exp.Min: ("this", _extreme),
    exp.Max: ("this", _extreme),
    exp.LogicalAnd: ("this", _logical),
    exp.LogicalOr: ("this", _logical),
}
"""Each with the arguments that may be given, and how it is translated."""


def _numbered(name: str) -> Maker:
    return lambda _node, _scope: Computed(node=call(name), type=INT)


def _neighbour(node: exp.Expr, scope: Scope) -> Computed:
    value = scope.value(node.this)
    offset = node.args.get("offset")
    arguments = [value.node]
    if offset is not None:
        arguments.append(number(whole_literal(offset, scope, least=0)))
    if (default := node.args.get("default")) is not None:
        instead = scope.value(default)
        if instead.type not in (value.type, SparkType(name="void")):
            raise NotTheSame(f"a default of another type in {node.key.upper()}")
        arguments.append(fitted(instead, value.type))
    if value.type.name == "void":
        raise NotTheSame(f"{node.key.upper()} of nulls")
    return Computed(node=call(node.key, *arguments), type=value.type)


def _tile(node: exp.Expr, scope: Scope) -> Computed:
    count = whole_literal(node.this, scope, least=1)
    return Computed(node=call("ntile", number(count)), type=INT)


RANKINGS: Final[dict[type[exp.Expr], tuple[str, Maker]]] = {
    exp.RowNumber: ("", _numbered("row_number")),
    exp.Rank: ("", _numbered("rank")),
    exp.DenseRank: ("", _numbered("dense_rank")),
    exp.Lag: ("this offset default", _neighbour),
    exp.Lead: ("this offset default", _neighbour),
    exp.Ntile: ("this", _tile),
}
"""Functions that stand over ordered windows alone."""


def filtered(node: exp.Expr, scope: Scope, inner: Computed) -> Value:
    """An aggregate with a FILTER."""
    where = exp.Where(this=condition(node.args["expression"].this, scope))
    return inner.over(lambda made: exp.Filter(this=made, expression=where))


def windowed(node: exp.Expr, scope: Scope, inner: Computed) -> Value:
    """A function over a window, whose frame is the standard's, which both engines have.

    Raises:
        NotTheSame: The window has a name or a frame of its own; or doubles are added, which Spark
            does from row to row.
    """
    if inner.rounds:
        raise NotTheSame("doubles that are added over a window")
    by = [not_a_double(scope.value(each)).node for each in node.args.get("partition_by") or []]
    order = node.args.get("order")
    if order is None and type(node.this) in RANKINGS:
        raise NotTheSame("a window without an order")
    parts = [sorting(each, scope) for each in order.expressions] if order is not None else []
    ordered = exp.Order(expressions=parts) if parts else None
    return inner.over(
        lambda made: exp.Window(this=made, partition_by=by, order=ordered, over="OVER")
    )


def sorting(node: exp.Expr, scope: Scope) -> exp.Expr:
    """One part of an ORDER BY, its nulls where Spark puts them.

    Raises:
        NotTheSame: It is not known to mean the same.
    """
    if node.args.get("with_fill"):
        raise NotTheSame("WITH FILL")
    return ordered_by(node, scope.value(node.this).node)


def ordered_by(node: exp.Expr, value: exp.Expr) -> exp.Expr:
    """A value in an ORDER BY, with the direction and place of nulls that were parsed."""
    return exp.Ordered(
        this=value,
        desc=bool(node.args.get("desc")),
        nulls_first=bool(node.args.get("nulls_first")),
    )
