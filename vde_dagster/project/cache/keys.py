"""Digests of all that a model depends on: its texts, and the code that reads them."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

import sqlglot
from sqlglot import tokenizer_core

from vde_dagster.core.model.fingerprint import SCHEME, hash_parts
from vde_dagster.core.model.model import ModelSource
from vde_dagster.project.macros.files import is_macro_file
from vde_dagster.version import __version__

_PACKAGE: Final = Path(__file__).parents[2]
_READING: Final = ("core", "project")
"""The packages whose code decides what a model is."""


@lru_cache(maxsize=1)
def code_digest() -> str:
    """A digest of this package's own code, and of the versions of what it reads SQL with."""
    own = hashlib.blake2b(digest_size=16)
    for room in _READING:
        for name, content in _python_files(_PACKAGE / room, room):
            own.update(f"{name} {len(content)} ".encode())
            own.update(content)
    compiled = getattr(tokenizer_core, "__file__", "").rpartition(".")[2]
    # What is installed says its version, too, after a search that takes longer than all else here.
    reads = getattr(sqlglot, "__version__", None) or version("sqlglot")
    return hash_parts(SCHEME, __version__, own.hexdigest(), reads, compiled, sys.version)


def _python_files(folder: Path, name: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        inner = f"{name}/{each.name}"
        if each.is_dir():
            found += _python_files(each, inner)
        elif each.name.endswith(".py"):
            found.append((inner, each.read_bytes()))
    return found


def source_digest(source: ModelSource) -> str:
    """A digest of a model's text with its settings and all files that are attached to it."""
    return hash_parts(
        source.path.as_posix(),
        source.text,
        f"{len(source.defaults)}",
        *_flat(source.defaults),
        *_flat({path: _digest(text) for path, text in source.attachments.items()}),
    )


def _flat(mapping: Mapping[str, str]) -> list[str]:
    return [text for pair in sorted(mapping.items()) for text in pair]


@lru_cache(maxsize=4096)
def _digest(text: str) -> str:
    """A text's digest; cached, since the same files are attached to many models."""
    return hash_parts(text)


def is_lasting(source: ModelSource) -> bool:
    """Whether a model depends on its texts alone.

    Python models and macros are code that runs when a model is read, and may do anything. Most
    macros read nothing but their arguments.
    """
    return source.path.suffix != ".py" and all(
        _is_closed(text) for path, text in source.attachments.items() if is_macro_file(path)
    )


_CLOSED: Final = frozenset(
    {
        "__future__", "abc", "bisect", "calendar", "collections", "contextlib", "copy",
        "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "hashlib", "heapq",
        "itertools", "json", "keyword", "math", "numbers", "operator", "re", "sqlglot",
        "statistics", "string", "textwrap", "types", "typing", "unicodedata", "vde_dagster",
    }
)  # fmt: skip
"""Modules whose functions are deterministic, except those in `_OPEN`."""

_OPEN: Final = frozenset(
    {
        "__builtins__", "__import__", "breakpoint", "compile", "eval", "exec", "getattr", "globals",
        "hash", "id", "input", "locals", "now", "open", "today", "utcnow", "vars",
    }
)  # fmt: skip


@lru_cache(maxsize=256)
def _is_closed(text: str) -> bool:
    """Whether code reads nothing but its arguments: no file, no clock, no setting of the machine.

    Decided by the names in it; in doubt the answer is no.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return all(_is_closed_node(node) for node in ast.walk(tree))


def _is_closed_node(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return all(each.name.split(".", maxsplit=1)[0] in _CLOSED for each in names)
        case ast.ImportFrom(module=module, level=level, names=names):
            known = level == 0 and (module or "").split(".", maxsplit=1)[0] in _CLOSED
            return known and all(each.name not in _OPEN for each in names)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name not in _OPEN
        case _:
            return True
