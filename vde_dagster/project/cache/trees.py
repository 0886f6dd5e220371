"""Syntax trees as texts, and back: equal trees, with comments, positions and types.

A tree is a list of its nodes, each after the one that it is a part of, so that a long chain of
operators is a long list and no deep one. Only sqlglot's own classes are read back, whatever a text
says.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, cast

from sqlglot import exp

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Nodes = list[list[Json]]
_LEVEL: Final = 1


class Unkept(Exception):
    """Something has no form here; what it belongs to is read anew each time."""


def pack_trees(trees: Sequence[exp.Expr]) -> bytes:
    """Some trees as bytes.

    Raises:
        Unkept: One has a part that sqlglot does not define.
    """
    texts = json.dumps([nodes_of(each) for each in trees], separators=(",", ":"))
    return zlib.compress(texts.encode(), _LEVEL)


def unpack_trees(packed: bytes) -> list[exp.Expr]:
    """The trees of `pack_trees`, new each time."""
    return [tree_of(nodes) for nodes in json.loads(zlib.decompress(packed))]


def nodes_of(tree: exp.Expr) -> Nodes:
    """A tree as its nodes: each is [class, arguments], with what else there is about it as a third.

    In the arguments a number is the position of another node; a number itself is ``{"n": 5}``, and
    the name of a type ``{"t": "INT"}``.

    Raises:
        Unkept: It has a part that sqlglot does not define.
    """
    order = [tree]
    nodes: Nodes = []
    while len(nodes) < len(order):
        node = order[len(nodes)]
        name = type(node).__name__
        if _class_of(name) is not type(node):
            raise Unkept(name)
        arguments = {key: _argument(value, order) for key, value in node.args.items()}
        beside = _beside(node, order)
        nodes.append([name, arguments, beside] if beside else [name, arguments])
    return nodes


def _argument(value: object, order: list[exp.Expr]) -> Json:
    match value:
        case None | bool() | str() | float():
            return value
        case exp.Expr():
            order.append(value)
            return len(order) - 1
        case list():
            return [_argument(each, order) for each in value]
        case exp.DType():
            return {"t": value.value}
        case int():
            return {"n": value}
        case _:
            raise Unkept(type(value).__name__)


def _beside(node: exp.Expr, order: list[exp.Expr]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    # What the properties of these names say is also so where nothing was set.
    meta, kind = node._meta, node._type  # noqa: SLF001
    if meta:
        found["meta"] = {key: _plain(value) for key, value in meta.items()}
    if node.comments is not None:
        found["comments"] = [*node.comments]
    if kind is not None:
        order.append(kind)
        found["type"] = len(order) - 1
    return found


def _plain(value: object) -> Json:
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    raise Unkept(type(value).__name__)


def tree_of(nodes: Nodes) -> exp.Expr:
    """The tree of `nodes_of`, new each time."""
    built: list[exp.Expr] = [exp.Null()] * len(nodes)
    for at in range(len(nodes) - 1, -1, -1):  # parts first
        name, written, *beside = nodes[at]
        arguments = cast("dict[str, Json]", written)
        made = _known_class(cast("str", name))
        given = {key: _value(value, built) for key, value in arguments.items()}
        if issubclass(made, exp.TimeUnit) and given.get("unit") is not None:
            node: exp.Expr = made(**{**given, "unit": None})  # which would spell its unit anew
            node.set("unit", given["unit"])
        else:
            node = made(**given)
        for each in beside:
            _put_beside(node, cast("dict[str, Json]", each), built)
        built[at] = node
    return built[0]


def _value(value: Json, built: Sequence[exp.Expr]) -> object:
    if type(value) is int:
        return built[value]
    if type(value) is list:
        return [built[each] if type(each) is int else _value(each, built) for each in value]
    if type(value) is dict:
        return exp.DType(value["t"]) if "t" in value else value["n"]
    return value


def _put_beside(node: exp.Expr, beside: dict[str, Json], built: Sequence[exp.Expr]) -> None:
    if "meta" in beside:
        node.meta.update(cast("dict[str, Json]", beside["meta"]))
    if "comments" in beside:
        node.comments = cast("list[str]", beside["comments"])
    if "type" in beside:
        kind = built[cast("int", beside["type"])]
        assert isinstance(kind, exp.DataType), "the type of a node"
        node.type = kind


@lru_cache(maxsize=2048)
def _class_of(name: str) -> type[exp.Expr] | None:
    found = getattr(exp, name, None)
    return found if isinstance(found, type) and issubclass(found, exp.Expr) else None


def _known_class(name: str) -> type[exp.Expr]:
    found = _class_of(name)
    if found is None:
        raise Unkept(name)
    return found
