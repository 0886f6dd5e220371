"""The function of a Python model: how it is called, what it reads, and the statements around it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from sqlglot import exp

from vde_dagster.core.errors import Place
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.table_names import project_names_of_statement, temporary_names
from vde_dagster.project.macros.files import load_user_macros
from vde_dagster.project.macros.language import MacroScope, Statements, read_statements
from vde_dagster.project.problems import Problems, suggestion
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.model_properties import Properties
from vde_dagster.project.settings import Settings

_ADVICE: Final = (
    "Write `def {}(context)` that returns a data frame; start, end and execution_time are "
    "attributes of the context."
)


def why_no_model(value: object, name: str) -> tuple[str, str] | None:
    """Why calling ``value(context)`` gives no data frame, with advice; None if it may.

    Args:
        value: The decorated object.
        name: Its name in the module.
    """
    why = _why(value)
    return (f"{name} {why}", _ADVICE.format(name)) if why is not None else None


def _why(value: object) -> str | None:
    if inspect.isclass(value) or not callable(value):
        return "is not a function, so it cannot return the model's rows"
    if inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value):
        return "is async, but a model's function is called without await"
    if inspect.isgeneratorfunction(value):
        return "has a `yield` in it, but a model's function has to return all rows together"
    try:
        # A wrapped function is not the one that is called.
        inspect.signature(value, follow_wrapped=False).bind(None)
    except ValueError:  # written in C without a signature
        return None
    except TypeError as error:
        return f"cannot be called with only the context: {error}"
    return None


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
        match node:
            case ast.Attribute(attr="variables"):
                return dict(variables)
            case ast.Call(func=ast.Attribute(value=owner, attr="var"), args=[name, *rest]):
                if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
                    return dict(variables)
                key = name.value.lower()
                of_context = isinstance(owner, ast.Name) and owner.id == context
                if key in variables:
                    used[key] = variables[key]
                elif of_context and not (rest or node.keywords):
                    where = Place(path=path, line=node.lineno)
                    message = f"the variable {name.value!r} is not declared"
                    advice = suggestion(key, sorted(variables)) if variables else ""
                    advice = advice or "Declare it under `variables` in vde.yaml."
                    problems.add(where, message, advice)
            case _:
                pass
    return used


def _first_parameter(tree: ast.Module, function: str) -> str:
    """The name of the function's first parameter, its context."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function and node.args.args:
            return node.args.args[0].arg
    return "context"


def read_pre_and_post(
    properties: Properties, settings: Settings, problems: Problems
) -> tuple[Statements, Statements]:
    """The statements of ``pre_statements`` and ``post_statements``, read as those of SQL models."""
    given = {"pre_statements": properties.before, "post_statements": properties.after}
    own = {key: Problems() for key in given}
    read = {key: _read(texts, properties, settings, own[key]) for key, texts in given.items()}
    every = tuple(each for found in read.values() for each in found.expressions)
    before, after = (_named(found, every, settings, own[key]) for key, found in read.items())
    for key, each in own.items():
        # Which lines of the file a text comes from is not known.
        problems.take(each, properties.places.get(key, Place(path=settings.source.path)), key)
    return before, after


def _read(
    texts: tuple[Value, ...], properties: Properties, settings: Settings, problems: Problems
) -> Statements:
    place = Place(path=settings.source.path)
    for each in texts:
        if not each.is_string:
            problems.add(
                place, f"{each.raw} is not a text", "Write each statement as a text with SQL."
            )
    if problems.found or not texts:
        return Statements()
    functions, _ = load_user_macros(settings.source.attachments)  # reported at the file
    read = read_statements(
        "\n;\n".join(each.written for each in texts),
        dialect=properties.dialect,
        place=place,
        scope=MacroScope(variables=settings.variables, functions=functions),
        problems=problems,
    )
    if read is not None and any(isinstance(each, exp.Query) for each in read.expressions):
        message = "a pre- or post-statement is a query, and its rows are not used"
        problems.add(place, message, "Remove it, or read the rows in the function.")
    return read or Statements()


def _named(
    read: Statements, every: tuple[exp.Expr, ...], settings: Settings, problems: Problems
) -> Statements:
    catalog = settings.defaults.catalog
    try:
        temporary = temporary_names(every)
        named = tuple(
            project_names_of_statement(each, catalog, temporary=temporary)
            for each in read.expressions
        )
    except SQL_ERRORS as error:
        message = f"the statement does not parse: {first_line(error)}"
        problems.add(Place(path=settings.source.path), message, "Check the SQL.")
        return Statements()
    return replace(read, expressions=named)
