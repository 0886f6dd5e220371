"""Python modules without what changes nothing of what they do (seed 000, *Fingerprinting*)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final


def reads_docstrings(source: str) -> bool:
    """Whether code may follow from the docstrings of its own module or of another."""
    return any(each in source for each in _READS_DOCSTRINGS)


def python_form(source: str, *, docstrings: bool = False) -> str:
    """A Python module without formatting, comments, and docstrings that nothing in it reads.

    Args:
        source: The module's text.
        docstrings: Whether they count, since other modules may read them.
    """
    tree = ast.parse(source)
    if not (docstrings or reads_docstrings(source)):
        _drop_docstrings(tree)
    _drop_header(tree)
    parts: list[str] = []
    _write_node(tree, parts)
    return "".join(parts)


_READS_DOCSTRINGS: Final = ("__doc__", "getdoc")


def _drop_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:] or [ast.Pass()]


def _write_node(value: object, parts: list[str]) -> None:
    """The tree as a text that does not depend on Python's version, as that of ``ast.dump`` does."""
    match value:
        case ast.AST():
            parts.append(f"({type(value).__name__}")
            for key, child in ast.iter_fields(value):
                spelling = isinstance(value, ast.Constant) and key == "kind"  # u"..."
                if child is None and not (isinstance(value, ast.Constant) and key == "value"):
                    continue
                if child == [] or spelling or key == "type_comment":
                    continue
                parts.append(f" {key}=")
                _write_node(child, parts)
            parts.append(")")
        case list():
            parts.append("[")
            for item in value:
                _write_node(item, parts)
            parts.append("]")
        case _:
            text = repr(value)
            parts.append(f"{len(text)}:{text};")


def _drop_header(tree: ast.Module) -> None:
    """Take the model's header out: its properties are parts of their own."""
    names = frozenset(_names_of_header(tree))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            others = [each for each in node.decorator_list if _called(each) not in names]
            node.decorator_list = others


def _names_of_header(tree: ast.Module) -> Iterator[str]:
    """What a module calls the decorator of models."""
    package = "vde_dagster"
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == package and not node.level:
            yield from (each.asname or each.name for each in node.names if each.name == "model")
        elif isinstance(node, ast.Import):
            imported = (each for each in node.names if each.name == package)
            yield from (f"{each.asname or each.name}.model" for each in imported)


def _called(decorator: ast.expr) -> str:
    """The name of a decorator as it is written."""
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
