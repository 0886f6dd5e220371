"""Macros that a project writes in Python: ``macros/*.py``, functions with the @macro decorator.

Such a file is run once, and may import the standard library, sqlglot and this package, but nothing
of the project: so the results of a macro depend on its own file alone.
"""

from __future__ import annotations

import ast
import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.sql.macros import TIME_MACROS
from vde_dagster.project.macros.builtin import BUILTINS
from vde_dagster.project.macros.user import MacroEvaluator, UserMacro
from vde_dagster.project.modules import (
    F,
    MarkedFunction,
    ModuleFailed,
    marked_functions,
    marking,
    parse_module,
)
from vde_dagster.project.problems import Problems
from vde_dagster.project.unread import declared_names

__all__ = ["UserMacro", "load_user_macros", "macro"]

_MARK: Final = "__vde_macro__"
_ALLOWED: Final = sys.stdlib_module_names | {"sqlglot", "vde_dagster"}
_CACHED: Final = 256
_EVALUATORS: Final = frozenset({"evaluator", "_evaluator"})
_DOUBTFUL: Final = frozenset({"_", "context", "_context", "ctx"})
"""First parameters that get no argument of the call where other tools call the function."""


def macro(name: str | None = None) -> Callable[[F], F]:
    """Declare that models may call a function as ``@name(arguments)``.

    Arguments come as sqlglot expressions, or as what their annotations ask for: ``str``, ``int``,
    ``float``, ``bool``, ``list[...]`` of these, a union with ``None``, or a class of sqlglot. The
    function returns an expression, SQL text in the model's dialect, a number, a boolean, a date, a
    list of these, or None if the call is to vanish.

    A first parameter ``evaluator``, or one with the annotation `MacroEvaluator`, is not an argument
    of the call: it knows the dialect, the variables and what @DEF defines.

    Args:
        name: The function's own if None.

    Raises:
        TypeError: It was written without parentheses, or the name is not a text.
    """
    return marking(_MARK, "macro", name)


def is_macro_file(path: str) -> bool:
    """Whether a path relative to the project is a file of macros."""
    return path.startswith("macros/") and path.endswith(".py")


def load_user_macros(
    files: Mapping[str, str],
) -> tuple[Mapping[str, UserMacro | Problem], tuple[Problem, ...]]:
    """The macros of a project's files, by lower-case name, and what is wrong with them.

    A name that only a file that failed seems to declare has that file's problem.

    Args:
        files: Texts by path, relative to the project; only files of macros are read.
    """
    macros: dict[str, UserMacro] = {}
    failed: dict[str, Problem] = {}
    problems: list[Problem] = []
    for path, text in sorted(files.items()):
        if not is_macro_file(path):
            continue
        found, wrong = _run(path, text)
        problems += wrong
        if wrong:
            failed |= dict.fromkeys(declared_names(text, Path(path)), wrong[0])
        for each in found:
            other = macros.setdefault(each.name, each)
            if other is not each:
                place = Place(path=Path(each.path), line=each.line)
                message = f"the macro @{each.name} is also defined at {other.path}:{other.line}"
                problems.append(Problem(place=place, message=message, advice="Rename one of them."))
    return {**failed, **macros}, tuple(problems)


@lru_cache(maxsize=_CACHED)
def _run(path: str, text: str) -> tuple[tuple[UserMacro, ...], tuple[Problem, ...]]:
    """The macros of one file. The same text is run once, however many models are read."""
    problems = Problems()
    try:
        _check_imports(parse_module(text, Path(path)), path, problems)
    except ModuleFailed as error:
        return (), (error.problem,)
    if problems.found:
        return (), tuple(problems.found)
    marked, problems.found = marked_functions({path: text}, _MARK, what="macro")
    found = [_macro(name, each, problems) for name, each in marked.items()]
    return tuple(each for each in found if each is not None), tuple(problems.found)


def _check_imports(tree: ast.Module, path: str, problems: Problems) -> None:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                modules = [each.name for each in names]
            case ast.ImportFrom(module=module, level=level):
                modules = ["." * level + (module or "")]
            case _:
                continue
        for module in modules:
            if module.split(".", maxsplit=1)[0] not in _ALLOWED:
                place = Place(path=Path(path), line=node.lineno)
                message = f"a macro file cannot import {module!r}"
                advice = "It may import the standard library, sqlglot and vde_dagster."
                problems.add(place, message, advice)


def _macro(name: str, marked: MarkedFunction, problems: Problems) -> UserMacro | None:
    place, function = marked.place, marked.function
    if name in TIME_MACROS or name in BUILTINS:
        message = f"@{name} is a built-in macro"
        problems.add(place, message, "Rename the function.")
        return None
    types = _types(function, place, problems)
    return UserMacro(
        name=name,
        function=function,
        path=place.path.as_posix(),
        line=place.line,
        types=types,
        is_told=_is_told(function, types, place, problems),
    )


def _is_told(
    function: Callable[..., object], types: Mapping[str, object], place: Place, problems: Problems
) -> bool:
    """Whether a macro's first parameter is the evaluator; a problem if that is not clear."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    if not parameters or parameters[0].kind not in _POSITIONAL:
        return False
    first, *rest = parameters
    if first.name in _EVALUATORS or types.get(first.name) is MacroEvaluator:
        return True
    if first.name in _DOUBTFUL:
        name = getattr(function, "__name__", "f")
        alone = f"def {name}{signature.replace(parameters=rest)}"
        told = f"def {name}{signature.replace(parameters=[first.replace(name='evaluator'), *rest])}"
        problems.add(
            place,
            f"the first parameter {first.name!r} looks like the evaluator, but is the "
            "macro's first argument",
            f"Write `{alone}`, or `{told}` to get the evaluator, which is not an argument.",
        )
    return False


_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _types(
    function: Callable[..., object], place: Place, problems: Problems
) -> Mapping[str, object]:
    try:
        return typing.get_type_hints(function)
    except Exception as error:  # evaluating a user's annotations runs a user's code
        message = f"its annotations cannot be read: {type(error).__name__}: {error}"
        problems.add(
            place, message, "Import the names that they use, outside of `if TYPE_CHECKING:`."
        )
        return {}
