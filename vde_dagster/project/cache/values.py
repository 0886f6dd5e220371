"""Values of the core as JSON in the cache: by their declared types, so that no class is named.

Only what differs from its default is written. Syntax trees have sqlglot's own form, with comments,
positions and types. `sqlglot.serde.load` imports what a text names and calls it, so only names of
sqlglot's own classes get there. It leaves out arguments that are None and empty lists; trees are
equal without them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final, cast

from sqlglot import exp
from sqlglot.serde import CLASS, DATA_TYPE, TYPE, dump, load

from vde_dagster.core.codec import Codec
from vde_dagster.core.json_forms import Plain, form, known_name
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.meaning.parts import Read


@lru_cache(maxsize=65_536)
def _text_of(name: ModelName) -> str:
    """A name as a text that reads as this name again; impossible if a part has a dot inside."""
    text = str(name)
    if text.count(".") not in (1, 2) or known_name(text) != name:
        raise Unkept(text)
    return text


def _read_of(found: tuple[str, str]) -> Read:
    name, column = found
    return Read(known_name(name), column)


def _duration(time: timedelta) -> list[Plain]:
    return [time.days, time.seconds, time.microseconds]


def _timedelta(found: tuple[int, int, int]) -> timedelta:
    days, seconds, microseconds = found
    return timedelta(days, seconds, microseconds)


_LEVEL: Final = 1


class Unkept(Exception):
    """Something cannot be packed; what it belongs to is read again each time."""


def pack_trees(trees: Sequence[exp.Expr]) -> bytes:
    """Some trees as bytes.

    Raises:
        Unkept: One has a part that sqlglot does not define.
    """
    texts = json.dumps([plain_of(tree) for tree in trees], separators=(",", ":"))
    return zlib.compress(texts.encode(), _LEVEL)


def unpack_trees(packed: bytes) -> list[exp.Expr]:
    """The trees of `pack_trees`, new each time."""
    return [tree_of(payloads) for payloads in json.loads(zlib.decompress(packed))]


def plain_of(tree: exp.Expr) -> Plain:
    """A tree as plain values.

    Raises:
        Unkept: It has a part that sqlglot does not define, or that JSON changes.
    """
    payloads = dump(tree)
    try:
        plain = json.loads(json.dumps(payloads))
    except (TypeError, ValueError) as error:
        raise Unkept(str(error)) from None
    if plain != payloads:
        raise Unkept("a value that is another one in JSON")
    _check_names(payloads)
    return cast("Plain", plain)


def tree_of(plain: Plain) -> exp.Expr:
    """The tree of `plain_of`, new each time.

    Raises:
        Unkept: A class is none of sqlglot's nodes.
    """
    payloads = cast("list[dict[str, Any]]", plain)
    _check_names(payloads)
    return cast("exp.Expr", load(payloads))


def _check_names(payloads: Sequence[Mapping[str, Any]]) -> None:
    for payload in payloads:
        if not _is_own(payload.get(CLASS, DATA_TYPE)):
            raise Unkept(payload[CLASS])
        _check_names(payload.get(TYPE, ()))


@lru_cache(maxsize=2048)
def _is_own(name: str) -> bool:
    """Whether `load` makes a node of sqlglot's own for a name."""
    node = getattr(exp, name.rpartition(".")[2], None)
    return name == DATA_TYPE or (
        isinstance(node, type)
        and issubclass(node, exp.Expr)
        and name in (node.__name__, f"{node.__module__}.{node.__name__}")
    )


CODEC: Final = Codec(
    forms={
        exp.Expr: form(plain_of, tree_of),
        ModelName: form(_text_of, known_name),
        Read: form(lambda read: [_text_of(read.model), read.column], _read_of),
        bytes: form(bytes.hex, bytes.fromhex),
        timedelta: form(_duration, _timedelta),
    },
    left_out={Model: ("source", "body")},
    is_checked=False,
    is_sparse=True,
)
"""What is read was written by the same code, and its checksum is right."""
