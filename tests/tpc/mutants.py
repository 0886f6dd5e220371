"""Queries that differ from another one in one place, as an edit would make them differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp

Edit = Callable[[exp.Expr], exp.Expr | None]
"""What takes a node's place; None where an edit does not fit the node."""

COMPARISONS: Final[dict[type[exp.Expr], type[exp.Binary]]] = {
    exp.LT: exp.LTE,
    exp.LTE: exp.LT,
    exp.GT: exp.GTE,
    exp.GTE: exp.GT,
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.Add: exp.Sub,
    exp.Sub: exp.Add,
    exp.Mul: exp.Add,
    exp.And: exp.Or,
    exp.Or: exp.And,
}
AGGREGATES: Final[dict[type[exp.Expr], type[exp.Func]]] = {
    exp.Sum: exp.Max,
    exp.Avg: exp.Min,
    exp.Max: exp.Min,
    exp.Min: exp.Max,
}
SETS: Final[dict[type[exp.Expr], type[exp.SetOperation]]] = {
    exp.Intersect: exp.Except,
    exp.Except: exp.Intersect,
}


def _number(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.Literal) and node.is_int:
        return exp.Literal.number(int(node.name) + 1)
    return None


def _text(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.Literal) and node.is_string:
        return exp.Literal.string(node.name[:-1])
    return None


def _operator(node: exp.Expr) -> exp.Expr | None:
    other = COMPARISONS.get(type(node))
    return (
        None if other is None else other(this=node.this.copy(), expression=node.expression.copy())
    )


def _aggregate(node: exp.Expr) -> exp.Expr | None:
    other = AGGREGATES.get(type(node))
    return None if other is None else other(this=node.this.copy())


def _count(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Column):
        return exp.Count(this=exp.Distinct(expressions=[node.this.copy()]))
    return None


def _join(node: exp.Expr) -> exp.Expr | None:
    if not isinstance(node, exp.Join) or not node.args.get("on"):
        return None
    node.set("side", None if node.side else "FULL")
    return node


def _sort(node: exp.Expr) -> exp.Expr | None:
    if not isinstance(node, exp.Ordered):
        return None
    node.set("desc", not node.args.get("desc"))
    return node


def _set_operation(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.Union):
        node.set("distinct", not node.args.get("distinct"))
        return node
    other = SETS.get(type(node))
    return None if other is None else other(**node.copy().args)


def _distinct(node: exp.Expr) -> exp.Expr | None:
    if not isinstance(node, exp.Select):
        return None
    node.set("distinct", None if node.args.get("distinct") else exp.Distinct())
    return node


def _without(word: str) -> Edit:
    def edit(node: exp.Expr) -> exp.Expr | None:
        if not isinstance(node, exp.Select) or not node.args.get(word):
            return None
        node.set(word, None)
        return node

    return edit


def _fewer_keys(node: exp.Expr) -> exp.Expr | None:
    if not isinstance(node, exp.Window) or not node.args.get("partition_by"):
        return None
    node.set("partition_by", node.args["partition_by"][1:])
    return node


def _negated(node: exp.Expr) -> exp.Expr | None:
    return exp.Not(this=node.copy()) if isinstance(node, exp.In | exp.Between | exp.Like) else None


EDITS: Final[dict[str, tuple[tuple[type[exp.Expr], ...], Edit]]] = {
    "number": ((exp.Literal,), _number),
    "text": ((exp.Literal,), _text),
    "operator": (tuple(COMPARISONS), _operator),
    "aggregate": (tuple(AGGREGATES), _aggregate),
    "count": ((exp.Count,), _count),
    "join": ((exp.Join,), _join),
    "sort": ((exp.Ordered,), _sort),
    "set operation": ((exp.SetOperation,), _set_operation),
    "distinct": ((exp.Select,), _distinct),
    "where": ((exp.Select,), _without("where")),
    "having": ((exp.Select,), _without("having")),
    "limit": ((exp.Select,), _without("limit")),
    "window": ((exp.Window,), _fewer_keys),
    "negated": ((exp.In, exp.Between, exp.Like), _negated),
}
"""The edits by name, with the nodes that they fit."""


def places(query: exp.Expr, edit: str) -> list[int]:
    """The numbers of the nodes of a query that an edit may fit, in the order of a walk."""
    types, _ = EDITS[edit]
    return [number for number, node in enumerate(query.walk()) if isinstance(node, types)]


def mutant(query: exp.Expr, edit: str, place: int) -> exp.Expr | None:
    """The query with an edit at the node of a number; None where the edit does not fit there."""
    copy = query.copy()
    node = next(node for number, node in enumerate(copy.walk()) if number == place)
    parent = node.parent
    other = EDITS[edit][1](node)
    if other is None or other is node or parent is None:
        return copy if other is not None and parent is not None else other
    node.replace(other)
    return copy
