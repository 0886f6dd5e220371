"""What functions do to rows: whether they aggregate, unfold, or are nondeterministic.

A function that is not known may do all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.macros import TIME_MACROS
from vde_dagster.core.sql.meaning.constants import is_constant, is_special_time, orders_nothing
from vde_dagster.core.sql.spark.functions import AGGREGATES, GENERATORS, NONDETERMINISTIC, SCALARS

_UNFOLDING: Final = (exp.UDTF, exp.ExplodeOuter)
_NAMELESS: Final = (exp.Anonymous, exp.AnonymousAggFunc, exp.ParameterizedAgg)
_KNOWN: Final = AGGREGATES | GENERATORS | SCALARS | NONDETERMINISTIC
_NONDETERMINISTIC: Final = (
    exp.Rand,
    exp.Randn,
    exp.Randstr,
    exp.Uuid,
    exp.Shuffle,
    exp.CurrentDate,
    exp.CurrentDatetime,
    exp.CurrentTime,
    exp.CurrentTimestamp,
    exp.CurrentUser,
    exp.SessionUser,
    exp.CurrentCatalog,
    exp.CurrentDatabase,
    exp.CurrentSchema,
    exp.CurrentTimezone,
    exp.Uniform,
    exp.Localtime,
    exp.Localtimestamp,
    exp.TableSample,
    # Which value they take, or in which order, depends on the order in which rows are read.
    exp.First,
    exp.FirstValue,
    exp.Last,
    exp.LastValue,
    exp.AnyValue,
    exp.ArrayAgg,
    exp.ArrayUniqueAgg,
    exp.GroupConcat,
    exp.Mode,
    # What they keep of many values depends on the order in which partial results are merged.
    exp.ApproxQuantile,
    exp.ApproxTopK,
    exp.ApproxTopKAccumulate,
    exp.ApproxTopKCombine,
)
_SKETCHES: Final = frozenset(
    {
        "hll_sketch_agg",
        "hll_union_agg",
        "histogram_numeric",
        "kll_merge_agg_bigint",
        "kll_merge_agg_double",
        "kll_merge_agg_float",
        "kll_sketch_agg_bigint",
        "kll_sketch_agg_double",
        "kll_sketch_agg_float",
        "theta_sketch_agg",
        "theta_union_agg",
    }
)
"""Aggregates without a class that do so, too."""
_NEEDS_ORDER: Final = (
    exp.RowNumber,
    exp.Ntile,
    exp.Lag,
    exp.Lead,
    exp.FirstValue,
    exp.LastValue,
    exp.NthValue,
    exp.First,
    exp.Last,
)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a call makes one value of many rows; the function of a window does not."""
    if isinstance(node, exp.Any):
        return not isinstance(node.this, exp.Query)
    if isinstance(node, exp.Anonymous):
        found = node.name.lower() in AGGREGATES
    else:
        found = isinstance(node, exp.AggFunc)
    return found and not _is_windowed(node)


def _is_windowed(node: exp.Expr) -> bool:
    """Whether a call has an OVER."""
    inside, around = node, node.parent
    while isinstance(around, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        if around.this is not inside:
            return False
        inside, around = around, around.parent
    return isinstance(around, exp.Window) and around.this is inside


def unfolds(node: exp.Expr) -> bool:
    """Whether a call in a SELECT makes several rows of one, or may do so."""
    if isinstance(node, _UNFOLDING):
        return True
    return is_unknown(node) or (isinstance(node, _NAMELESS) and node.name.lower() in GENERATORS)


def is_unknown(node: exp.Expr) -> bool:
    """Whether a call is of a function that is not Spark's, such as a user's own."""
    return isinstance(node, _NAMELESS) and node.name.lower() not in _KNOWN


def is_nondeterministic(node: exp.Expr) -> bool:  # noqa: PLR0911 - one line for each form of a call
    """Whether a call may give another result for equal rows; a window with what it inherits.

    A text such as 'today' counts anywhere, since Spark may make a time of it.
    """
    if is_special_time(node):
        return True
    match node:
        case exp.Window():
            return is_unordered(node)
        case exp.Anonymous():
            return node.name.lower() in NONDETERMINISTIC | _SKETCHES
        case exp.First() | exp.Last() | exp.FirstValue() | exp.LastValue():
            return not _is_windowed(node)
        case exp.ArrayAgg() | exp.ArrayUniqueAgg() | exp.GroupConcat():
            return not _is_list_ordered(node) and not _is_order_lost(node)
        case exp.ArgMax() | exp.ArgMin():
            return node.expression is None or is_constant(node.expression)
        case exp.Parameter():
            return is_execution_time(node)
        case _:
            return isinstance(node, _NONDETERMINISTIC)


def is_unordered(window: exp.Window, fixed: Collection[exp.Expr] = ()) -> bool:
    """Whether a window's function depends on an order that the window does not give.

    Args:
        window: With what it inherits from a named one.
        fixed: Expressions that are the same in all rows, besides those that are seen to be.
    """
    if not _counts_on_order(window):
        return False
    order = window.args.get("order")
    keys = order.expressions if order is not None else []
    return orders_nothing(keys, [*(window.args.get("partition_by") or []), *fixed])


def _counts_on_order(window: exp.Window) -> bool:
    """Whether each row has a place in a window, or a frame that ends at a place."""
    function = window.this
    while isinstance(function, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        function = function.this
    if isinstance(function, _NEEDS_ORDER):
        return True
    frame = window.args.get("spec")
    if not isinstance(frame, exp.WindowSpec) or str(frame.args.get("kind")).upper() != "ROWS":
        return False
    ends = (frame.args.get("start"), frame.args.get("end"))
    return any(str(each).upper() != "UNBOUNDED" for each in ends)


def _is_list_ordered(node: exp.Expr) -> bool:
    """Whether values are collected in an order that the call gives."""
    inside, around = node.this, node.parent
    if isinstance(around, exp.WithinGroup) and around.this is node:
        inside = around.expression
    return isinstance(inside, exp.Order) and not orders_nothing(inside.expressions)


def _is_order_lost(node: exp.Expr) -> bool:
    """Whether a list is only used for what does not depend on its order."""
    match node.parent:
        case exp.ArraySort() | exp.ArraySize() as around:
            return around.args.get("expression") is None
        case exp.ArrayContains(this=asked):
            return asked is node
        case _:
            return False


def is_execution_time(node: exp.Expr) -> bool:
    """Whether a node is a time macro for the execution time."""
    name = node.name.lower()
    return isinstance(node, exp.Parameter) and name in TIME_MACROS and name.startswith("execution_")


def calls_in(node: exp.Expr) -> Iterator[exp.Expr]:
    """All nodes of an expression, without those of queries in it."""
    return node.walk(prune=lambda each: isinstance(each, exp.Query))
