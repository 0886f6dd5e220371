"""Errors say what happened and what to do in two fields, and nothing takes their text apart."""

from __future__ import annotations

import ast
import importlib
import pickle
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

import vde_dagster
from vde_dagster.core.errors import ProjectInvalid, Refused, as_sentence
from vde_dagster.core.ledger.entries import SchemaOutgrown
from vde_dagster.core.ledger.rows_lost import RowsWouldGo
from vde_dagster.core.sql.canonical import QueryInvalid
from vde_dagster.project.model_files import ModelInvalid

PACKAGE: Final = Path(vde_dagster.__file__).parent
MADE_OF_FACTS: Final = (ModelInvalid, ProjectInvalid, QueryInvalid, RowsWouldGo, SchemaOutgrown)
"""They make their texts of what they are given: problems with their own advice, and intervals."""


@cache
def trees() -> dict[str, ast.Module]:
    """The package's modules by their paths from the repository on."""
    return {
        path.relative_to(PACKAGE.parent).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def defined() -> dict[str, str]:
    """The names of all classes of errors, each with its module; nothing is imported for it."""
    made = [
        (node.name, {ast.unparse(base).rpartition(".")[2] for base in node.bases}, path)
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    found = {"VdeError": "vde_dagster.core.errors"}
    while more := [each for each in made if each[0] not in found and each[1] & found.keys()]:
        for name, _, path in more:
            found[name] = path.removesuffix(".py").replace("/", ".")
    return found


# Texts
@pytest.mark.parametrize(
    "message,advice,text",
    [
        ("the table is gone", "", "the table is gone"),
        ("the table is gone", "plan again.", "the table is gone; plan again."),
        ("the table is gone", "Restore it.", "the table is gone. Restore it."),
        ("the table is gone.", "`vde plan` makes it.", "the table is gone. `vde plan` makes it."),
        ("the table is gone", "`vde plan` makes it.", "the table is gone; `vde plan` makes it."),
        ("is it gone?", "Restore it.", "is it gone? Restore it."),
        ("gone:\n  a\n  b", "Restore them.", "gone:\n  a\n  b\nRestore them."),
    ],
)
def test_the_text_is_the_message_and_then_the_advice(message: str, advice: str, text: str) -> None:
    error = Refused(message, advice=advice)
    assert (error.message, error.advice, str(error)) == (message, advice, text)


@pytest.mark.parametrize(
    "text,sentence",
    [("", ""), ("plan again", "Plan again."), ("Was it?", "Was it?"), ("`a` is.", "`a` is.")],
)
def test_advice_may_stand_alone_as_a_sentence(text: str, sentence: str) -> None:
    assert as_sentence(text) == sentence


def test_every_class_of_errors_carries_both_and_keeps_them_between_processes() -> None:
    every = [getattr(importlib.import_module(module), name) for name, module in defined().items()]
    every = [each for each in every if each not in MADE_OF_FACTS]
    assert len(every) > 20
    for each in every:
        error = each("what happened", advice="What to do.")
        assert (error.message, error.advice) == ("what happened", "What to do."), each
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (each, "what happened. What to do.")


# Sources
_APART: Final = {
    "split",
    "rsplit",
    "partition",
    "rpartition",
    "splitlines",
    "find",
    "rfind",
    "index",
    "removeprefix",
    "removesuffix",
    "replace",
}
_PATTERNS: Final = {"split", "sub", "match", "search", "fullmatch", "findall", "finditer"}
_TOLD_TO_DO: Final = re.compile(
    r"[.;] (?:add|apply|cast|change|choose|compute|convert|declare|did you mean|drop|give|install|"
    r"launch|leave|load|make|materialize|mend|move|name|plan|query|rename|restate|restore|run|save|"
    r"set|take|try|use|wait|write)\b",
    re.IGNORECASE,
)


def bound(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Where a name stands for an error of ours: a handler or a function, and the name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.name and node.type:
            caught = {ast.unparse(each) for each in ast.walk(node.type)}
            if caught & defined().keys():
                yield node, node.name
        if isinstance(node, ast.FunctionDef):
            for each in [*node.args.args, *node.args.kwonlyargs]:
                if each.annotation is not None and ast.unparse(each.annotation) in defined():
                    yield node, each.arg


def texts_of(scope: ast.AST, name: str) -> set[str]:
    """How the texts of an error are written in a scope, also where they have got another name."""
    texts = {f"str({name})", f"{name}.message", f"{name}.advice"}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and ast.unparse(node.value) in texts:
            texts |= {ast.unparse(each) for each in node.targets}
    return texts


def taken_apart(tree: ast.AST) -> Iterator[str]:
    """Where a part is cut out of an error's text, or looked for in it."""
    for scope, name in bound(tree):
        texts = texts_of(scope, name)
        for node in ast.walk(scope):
            found = False
            if isinstance(node, ast.Subscript):
                found = ast.unparse(node.value) in texts
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                given = any(ast.unparse(each) in texts for each in node.args)
                of_text = ast.unparse(node.func.value) in texts
                method = node.func.attr
                found = (of_text and method in _APART) or (given and method in _PATTERNS)
            if found:
                yield f"{ast.unparse(node)}"


def test_nothing_takes_the_text_of_an_error_apart() -> None:
    assert [(path, each) for path, tree in trees().items() for each in taken_apart(tree)] == []


@pytest.mark.parametrize(
    "line",
    [
        "first = str(error).split('. ')[0]",
        "first, _, rest = error.message.partition('; ')",
        "found = _ADVICE.split(str(error), maxsplit=1)",
        "found = re.search('x', error.advice)",
        "text = str(error); message = text.split('; ')",
        "text = str(error)[:10]",
    ],
)
def test_what_takes_an_error_apart_is_found(line: str) -> None:
    caught = f"try:\n    f()\nexcept (Refused, OSError) as error:\n    {line}\n"
    given = f"def f(error: Refused) -> None:\n    {line}\n"
    assert list(taken_apart(ast.parse(caught)))
    assert list(taken_apart(ast.parse(given)))
    assert not list(taken_apart(ast.parse(given.replace(line, "return f'{error.message}!'"))))


def hidden(tree: ast.AST) -> Iterator[str]:
    """Messages of errors in which advice stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in defined() and node.args:
            said = "".join(
                each.value
                for each in ast.walk(node.args[0])
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            )
            if _TOLD_TO_DO.search(said):
                yield f"{node.lineno}: {said}"


def test_advice_is_no_part_of_a_message() -> None:
    assert [(path, each) for path, tree in trees().items() for each in hidden(tree)] == []


def test_advice_in_a_message_is_found() -> None:
    assert list(hidden(ast.parse("raise Refused(f'{name} is gone; plan again.')")))
    assert list(hidden(ast.parse("raise Refused('it is gone. ' f'Write {name}.')")))
    assert not list(hidden(ast.parse("raise Refused('it is gone', advice='Plan again.')")))
