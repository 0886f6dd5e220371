"""Running the Python files of a project: models, macros, signals.

A file is run once, by itself, and nothing of the project is put on the import path for it. What a
model imports is part of its definition (`python_imports`).
"""

from __future__ import annotations

import ast
import inspect
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from vde_dagster.core.errors import Place, Problem
from vde_dagster.project.from_sqlmesh import wrong_import
from vde_dagster.project.problems import Problems
from vde_dagster.runtime.users_code import error_text, run_code, running_users_code, users_module

F = TypeVar("F", bound=Callable[..., object])
NAMED: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""What can have a decorator."""


class ModuleFailed(Exception):
    """A file is not Python, or raised while it ran; ``problem`` has the message."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A file that was run: its names, and the first lines of functions with their decorators."""

    namespace: Mapping[str, object]
    lines: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedFunction:
    """A function that a decorator marked, with its place."""

    function: Callable[..., object]
    place: Place

    def takes(self, parameter: str) -> bool:
        """Whether the function has a parameter of this name."""
        return parameter in inspect.signature(self.function).parameters

    def place_of(self, error: BaseException) -> Place:
        """The last line of the function's file in an error's traceback."""
        line = line_in(self.place.path, error)
        return Place(path=self.place.path, line=line or self.place.line)


def marking(mark: str, decorator: str, name: str | None) -> Callable[[F], F]:
    """A decorator that marks a function by a name, which is the function's own if None.

    Raises:
        TypeError: It was written without parentheses, or the name is not a text.
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(f"write @{decorator}() or @{decorator}('name'), with parentheses")

    def attach(function: F) -> F:
        setattr(function, mark, name or function.__name__)
        return function

    return attach


def parse_module(text: str, path: Path) -> ast.Module:
    """The code of a file of the project; ``path`` is relative to it.

    Raises:
        ModuleFailed: It is not Python, or imports what only another tool has.
    """
    try:
        tree = ast.parse(text, filename=str(path))
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        place = Place(path=path, line=getattr(error, "lineno", None) or 1)
        message = f"this is not valid Python: {error}"
        problem = Problem(place=place, message=message, advice="Check the code at this line.")
        raise ModuleFailed(problem) from error
    if (wrong := wrong_import(tree, path)) is not None:
        raise ModuleFailed(wrong)
    return tree


def run_module(tree: ast.Module, path: Path) -> Module:
    """Run the code of a file; ``path`` is relative to the project.

    Raises:
        ModuleFailed: It raised.
    """
    lines = {
        node.name: min(each.lineno for each in (node, *node.decorator_list))
        for node in tree.body
        if isinstance(node, NAMED)
    }
    try:
        with users_module(path.stem) as module, running_users_code():
            run_code(tree, str(path), module)
    except (Exception, SystemExit) as error:  # whatever a user's module raises is its problem
        message = f"the module fails when it is imported: {error_text(error)}"
        place = Place(path=path, line=line_in(path, error) or 1)
        advice = "Import it in Python to see where it fails."
        raise ModuleFailed(Problem(place=place, message=message, advice=advice)) from error
    return Module(namespace=module.__dict__, lines=lines)


def marked_functions(
    files: Mapping[str, str], mark: str, *, what: str
) -> tuple[dict[str, MarkedFunction], list[Problem]]:
    """The functions that carry a mark, by the lower-case name in it, and what is wrong.

    Args:
        files: Texts by path relative to the project.
        mark: The attribute that the decorator sets to the name.
        what: What such a function is called, for messages.
    """
    found: dict[str, MarkedFunction] = {}
    problems = Problems()
    for path, text in sorted(files.items()):
        try:
            module = run_module(parse_module(text, Path(path)), Path(path))
        except ModuleFailed as error:
            problems.found.append(error.problem)
            continue
        for key, value in module.namespace.items():
            name = inspect.getattr_static(value, mark, None)
            if not isinstance(name, str) or not callable(value):
                continue
            place = Place(path=Path(path), line=module.lines.get(key, 1))
            other = found.get(name.lower())
            if other is not None and other.function is value:
                continue  # a second name for it in its file
            if not (name.isascii() and name.isidentifier()):
                message = f"{name!r} is not a valid {what} name"
                problems.add(place, message, "Use letters, digits and underscores.")
            elif other is not None:
                message = f"the {what} {name} is also declared at {other.place}"
                problems.add(place, message, "Rename one.")
            else:
                found[name.lower()] = MarkedFunction(function=value, place=place)
    return found, problems.found


def line_in(path: Path, error: BaseException) -> int | None:
    """The last line of a file in an error's traceback; None if there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path) and frame.lineno]
    return lines[-1] if lines else None
