"""What functions do to rows: whether they aggregate, unfold, or may say something else next time.

A function that is not known may do all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.macros import TIME_MACROS
from vde_dagster.core.sql.spark_functions import AGGREGATES, GENERATORS, SCALARS, VOLATILE

_UNFOLDING: Final = (exp.UDTF, exp.ExplodeOuter)
_NAMELESS: Final = (exp.Anonymous, exp.AnonymousAggFunc, exp.ParameterizedAgg)
_KNOWN: Final = AGGREGATES | GENERATORS | SCALARS | VOLATILE
_CHANCE: Final = (
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
    # Which value they take, or in which order, follows from how the rows happen to lie.
    exp.First,
    exp.FirstValue,
    exp.Last,
    exp.LastValue,
    exp.AnyValue,
    exp.ArrayAgg,
    exp.ArrayUniqueAgg,
    exp.GroupConcat,
    exp.Mode,
)
_SPECIAL_TIME: Final = re.compile(
    r"\s*(now|today|tomorrow|yesterday)(?![a-z])\s*\S*\s*", re.IGNORECASE
)
"""Texts that Spark replaces by the current time where a date or timestamp is made of them (its rule
SpecialDatetimeValues); a zone may follow. `epoch` is always the same instant."""
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
    """Whether a call is what an OVER belongs to."""
    inside, around = node, node.parent
    while isinstance(around, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        if around.this is not inside:
            return False
        inside, around = around, around.parent
    return isinstance(around, exp.Window) and around.this is inside


def unfolds(node: exp.Expr) -> bool:
    """Whether a call in a SELECT makes several rows of one, or may for all that is known."""
    if isinstance(node, _UNFOLDING):
        return True
    return is_unknown(node) or (isinstance(node, _NAMELESS) and node.name.lower() in GENERATORS)


def is_unknown(node: exp.Expr) -> bool:
    """Whether a call is of a function that is none of Spark's, such as one of the users' own."""
    return isinstance(node, _NAMELESS) and node.name.lower() not in _KNOWN


def is_volatile(node: exp.Expr) -> bool:  # noqa: PLR0911 - one line for each form of a call
    """Whether a call may give another outcome for equal rows; a window with what it builds on.

    A text such as 'today' counts wherever it stands, since Spark may make a time of it.
    """
    match node:
        case exp.Literal() | exp.RawString():
            return _is_special_time(node)
        case exp.Window():
            return _is_unordered(node)
        case exp.Anonymous():
            return node.name.lower() in VOLATILE
        case exp.First() | exp.Last() | exp.FirstValue() | exp.LastValue():
            return not _is_windowed(node)
        case exp.ArrayAgg() | exp.ArrayUniqueAgg() | exp.GroupConcat():
            return not isinstance(node.this, exp.Order) and not _is_order_lost(node)
        case exp.Parameter():
            return is_execution_time(node)
        case _:
            return isinstance(node, _CHANCE)


def _is_special_time(node: exp.Expr) -> bool:
    """Whether a literal is a text that Spark may replace by the current time."""
    text = not isinstance(node, exp.Literal) or node.is_string
    return text and _SPECIAL_TIME.fullmatch(node.name) is not None


def _is_unordered(window: exp.Window) -> bool:
    """Whether a window's function counts on an order that the window does not give."""
    function = window.this
    while isinstance(function, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        function = function.this
    return isinstance(function, _NEEDS_ORDER) and window.args.get("order") is None


def _is_order_lost(node: exp.Expr) -> bool:
    """Whether a list is asked for what does not follow from its order."""
    match node.parent:
        case exp.ArraySort() | exp.ArraySize() as around:
            return around.args.get("expression") is None
        case exp.ArrayContains(this=asked):
            return asked is node
        case _:
            return False


def is_execution_time(node: exp.Expr) -> bool:
    """Whether a node is a time macro for when the run was asked for."""
    name = node.name.lower()
    return isinstance(node, exp.Parameter) and name in TIME_MACROS and name.startswith("execution_")


def calls_in(node: exp.Expr) -> Iterator[exp.Expr]:
    """All nodes of an expression, without those of queries in it."""
    return node.walk(prune=lambda each: isinstance(each, exp.Query))
