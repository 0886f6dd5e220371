"""Every command that a text of ours names can be given as it is written, and helps.

The first part reads all texts of the package, and lets the commands in them be parsed. The second
part brings about what a text is about, on a world in memory, and does what it says.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import click
import pytest

from tests.app.memory_world import RAW, MemoryWorld, bound, hour_of
from tests.cli.calling import call
from tests.cli.test_status import Night, advised
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.cli.commands import vde
from vde_dagster.core.errors import VdeError
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import Interval

PACKAGE: Final = Path(__file__).parents[2] / "vde_dagster"

# Commands in texts
STANDS_FOR: Final = {
    "accepts": "--accept a",
    "bounds": "",
    "loses": "",
    "there": "",
    "again": "plan x",
    "words": "plan x",
    "env_option": "--env x",
    "number": "1",
    "revision": "1",
    "limit": "1",
}
"""What may stand in place of a value in a text, by the last name in its expression; else ``x``."""


def stand_in(value: ast.expr) -> str:
    """Something of the sort that a value in a text is."""
    while isinstance(value, ast.Call | ast.Starred):
        value = value.func if isinstance(value, ast.Call) else value.value
    name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return STANDS_FOR.get(name.lstrip("_"), "x")


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts that a module may print, with their lines; docstrings are for its readers."""
    inside = {id(part) for node in ast.walk(tree) for part in parts_of(node)}
    said = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if id(node) in inside | said:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(map(written, node.values))


def parts_of(node: ast.AST) -> list[ast.expr]:
    return node.values if isinstance(node, ast.JoinedStr) else []


def written(part: ast.expr) -> str:
    if isinstance(part, ast.FormattedValue):
        found = stand_in(part.value)
        return f" {found}" if found.startswith("--") else found
    return str(getattr(part, "value", ""))


def called(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The commands that are put together by `vde_dagster.cli.spelling.vde`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "vde" and node.args:
            words = [
                str(each.value) if isinstance(each, ast.Constant) else stand_in(each)
                for each in node.args
            ]
            yield node.lineno, " ".join(["vde", *words])


def commands() -> Iterator[tuple[str, str]]:
    """Each command in a text of the package, with its place."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        found = [
            (line, command)
            for line, text in texts(tree)
            for command in re.findall(r"`(vde [a-z][^`]*)`", text)
        ]
        for line, command in (*found, *called(tree)):
            yield f"{path.relative_to(PACKAGE)}:{line}", command


COMMANDS: Final = sorted(set(commands()))


def parsed(words: list[str]) -> click.Context:
    """The command that some words call, as click understands it; nothing is run."""
    command: click.Command | None = vde
    context = click.Context(vde)
    while isinstance(command, click.Group):
        name = words.pop(0)
        command = command.get_command(context, name)
        assert command is not None, f"there is no command {name}"
    assert command is not None
    return command.make_context(command.name, words)


def test_there_are_commands_in_texts() -> None:
    names = {shlex.split(command)[1] for _, command in COMMANDS}
    assert len(COMMANDS) > 60
    assert {"plan", "run", "repair", "catch-up", "publish", "janitor", "unlock", "ci"} <= names


@pytest.mark.parametrize("place,command", COMMANDS, ids=[" ".join(each) for each in COMMANDS])
def test_a_command_in_a_text_is_one_that_there_is(place: str, command: str) -> None:
    try:
        context = parsed(shlex.split(command)[1:])
    except click.exceptions.MissingParameter:
        # A text may name a command without its argument, as in "`vde repair` mends it".
        assert len(shlex.split(command)) <= 3, f"{place}: {command}"
    else:
        assert context.command.callback is not None


OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
OTHERS: Final = ("lakehouse/", "orchestration/_unpublished.py", "project/revisions.py")
"""Modules whose texts have options of other programs: Spark's, git's."""


def options() -> set[str]:
    """The options of all commands."""
    found: set[str] = {"--help", "--version"}
    waiting: list[click.Command] = [vde]
    while waiting:
        command = waiting.pop()
        context = click.Context(command)
        found |= {opt for each in command.params for opt in (*each.opts, *each.secondary_opts)}
        if isinstance(command, click.Group):
            inner = (command.get_command(context, name) for name in command.list_commands(context))
            waiting += [each for each in inner if each is not None]
    return found


def test_an_option_in_a_text_is_one_that_there_is() -> None:
    known = options()
    unknown = {
        (str(path.relative_to(PACKAGE)), option)
        for path in PACKAGE.rglob("*.py")
        if not str(path.relative_to(PACKAGE)).startswith(OTHERS)
        for _, text in texts(ast.parse(path.read_text("utf-8")))
        if " " in text
        for option in OPTION.findall(text)
        if option not in known
    }
    assert unknown == set()
