"""Syntax trees as texts, and back: equal trees, with comments, positions and types.

A tree is a list of its nodes, each after its parent, so that a long chain of operators is a long
list and not a deep one. Only sqlglot's own classes are read back, whatever a text says.

`sqlglot.serde` (30.30, compiled) is not used for this:

- `load` imports any module that a text names, and calls what it finds there. Every name would have
  to be checked before.
- For the trees of the planning benchmark (46 nodes each) it takes 184 us to pack one (this: 156),
  189 us to unpack one with its names checked (164 without; this: 138), and 1,110 bytes (this: 840).
- It drops arguments that are None, and empty lists of arguments or comments: the trees are equal,
  but their nodes lack arguments that the parser gave them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, cast

from sqlglot import exp

from vde_dagster.core.json_forms import Plain

Nodes = list[list[Plain]]
_LEVEL: Final = 1


class Unkept(Exception):
    """Something cannot be packed; what it belongs to is read again each time."""


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
    """A tree as its nodes: each is [class, arguments], perhaps with meta, comments and type after.

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
        arguments: dict[str, Plain] = {}
        for key, value in node.args.items():
            if value is None or type(value) is str or type(value) is bool:
                arguments[key] = value
            else:
                arguments[key] = _argument(value, order)
        # The properties of these names have a value even if nothing was set.
        meta, kind, comments = node._meta, node._type, node.comments  # noqa: SLF001
        if meta is not None or kind is not None or comments is not None:
            encoded_comments = cast("Plain", comments)
            nodes.append(
                [name, arguments, _packed_meta(meta), encoded_comments, _argument(kind, order)]
            )
        else:
            nodes.append([name, arguments])
    return nodes


def _argument(value: object, order: list[exp.Expr]) -> Plain:
    match value:
        case exp.Expr():
            order.append(value)
            return len(order) - 1
        case list():
            return [_argument(each, order) for each in value]
        case None | bool() | str() | float():
            return value
        case exp.DType():
            return {"t": value.value}
        case int():
            return {"n": value}
        case _:
            raise Unkept(type(value).__name__)


_POSITION: Final = ("line", "col", "start", "end")


def _packed_meta(meta: dict[str, object] | None) -> Plain:
    """What is noted about a node: mostly its position, as a list of four numbers."""
    if meta is None:
        return None
    if tuple(meta) == _POSITION:
        return [cast("int", value) for value in meta.values()]
    for value in meta.values():
        for each in value if isinstance(value, list) else [value]:
            if each is not None and not isinstance(each, bool | int | float | str):
                raise Unkept(type(each).__name__)
    return cast("dict[str, Plain]", meta)


def tree_of(nodes: Nodes) -> exp.Expr:
    """The tree of `nodes_of`, new each time."""
    built: list[exp.Expr] = [exp.Null()] * len(nodes)
    for at in range(len(nodes) - 1, -1, -1):  # parts first
        name, written, *beside = nodes[at]
        arguments = cast("dict[str, Plain]", written)
        made = _known_class(cast("str", name))
        given = {
            key: value if value is None or type(value) is str else _value(value, built)
            for key, value in arguments.items()
        }
        if issubclass(made, exp.TimeUnit) and given.get("unit") is not None:
            node: exp.Expr = made(**{**given, "unit": None})  # which would spell its unit again
            node.set("unit", given["unit"])
        else:
            node = made(**given)
        if beside:
            _put_beside(node, beside, built)
        built[at] = node
    return built[0]


def _value(value: Plain, built: Sequence[exp.Expr]) -> object:
    if type(value) is int:
        return built[value]
    if type(value) is list:
        return [built[each] if type(each) is int else _value(each, built) for each in value]
    if type(value) is dict:
        return exp.DType(value["t"]) if "t" in value else value["n"]
    return value


def _put_beside(node: exp.Expr, beside: list[Plain], built: Sequence[exp.Expr]) -> None:
    meta, comments, kind = beside
    if type(meta) is list:
        node.meta.update(zip(_POSITION, meta, strict=True))
    elif type(meta) is dict:
        node.meta.update(meta)
    if comments is not None:
        node.comments = cast("list[str]", comments)
    if type(kind) is int:
        found = built[kind]
        assert isinstance(found, exp.DataType), "the type of a node"
        node.type = found


@lru_cache(maxsize=2048)
def _class_of(name: str) -> type[exp.Expr] | None:
    found = getattr(exp, name, None)
    return found if isinstance(found, type) and issubclass(found, exp.Expr) else None


def _known_class(name: str) -> type[exp.Expr]:
    found = _class_of(name)
    if found is None:
        raise Unkept(name)
    return found
