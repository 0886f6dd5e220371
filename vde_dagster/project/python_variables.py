"""Which of the project's variables the code of a Python model reads."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from vde_dagster.core.errors import Place
from vde_dagster.core.model.model import ModelSource
from vde_dagster.project.problems import Problems, suggestion


def used_variables(
    source: ModelSource,
    function: str,
    modules: Mapping[str, str],
    variables: Mapping[str, object],
    problems: Problems,
) -> dict[str, object]:
    """The project's variables that a model reads by ``context.var(name)``; all of them in doubt.

    The modules of the project that it imports may get its context as an argument.
    """
    used = dict[str, object]()
    for path, text in {str(source.path): source.text, **modules}.items():
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue  # a module that cannot be imported reads nothing
        used |= _variables_in(tree, function, variables, Path(path), problems)
    return used


def _variables_in(
    tree: ast.Module,
    function: str,
    variables: Mapping[str, object],
    path: Path,
    problems: Problems,
) -> dict[str, object]:
    """The project's variables that one file reads; all of them in doubt."""
    used = dict[str, object]()
    context = _first_parameter(tree, function)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "variables":
            return dict(variables)
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "var"
            and node.args
        ):
            continue
        name = node.args[0]
        if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
            return dict(variables)
        key = name.value.lower()
        of_context = isinstance(node.func.value, ast.Name) and node.func.value.id == context
        if key in variables:
            used[key] = variables[key]
        elif of_context and len(node.args) == 1 and not node.keywords:
            where = Place(path=path, line=node.lineno)
            message = f"the project has no variable {name.value!r}"
            advice = suggestion(key, sorted(variables)) if variables else ""
            problems.add(where, message, advice or "Declare it under `variables` in vde.yaml.")
    return used


def _first_parameter(tree: ast.Module, function: str) -> str:
    """The name of the function's first parameter, its context."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function and node.args.args:
            return node.args.args[0].arg
    return "context"
