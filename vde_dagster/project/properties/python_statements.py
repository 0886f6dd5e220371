"""The pre- and post-statements of a Python model."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot import exp

from vde_dagster.core.errors import Place
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.statement_tables import temporary_names
from vde_dagster.core.sql.table_names import project_names_of_statement
from vde_dagster.project.macros.files import load_user_macros
from vde_dagster.project.macros.language import MacroScope, Statements, read_statements
from vde_dagster.project.problems import Problems
from vde_dagster.project.properties.model_block import Value
from vde_dagster.project.properties.model_properties import Properties
from vde_dagster.project.settings import Settings

_NONE: Final = Statements()


def read_pre_and_post(
    properties: Properties, settings: Settings, problems: Problems
) -> tuple[Statements, Statements]:
    """The statements of ``pre_statements`` and ``post_statements``, read as those of SQL models."""
    given = {"pre_statements": properties.before, "post_statements": properties.after}
    own = {key: Problems() for key in given}
    read = {key: _read(texts, properties, settings, own[key]) for key, texts in given.items()}
    every = tuple(each for found in read.values() for each in found.expressions)
    named = [_named(found, every, settings, own[key]) for key, found in read.items()]
    for key, problem in own.items():
        # Which lines of the file a text comes from is not known.
        place = properties.places.get(key, Place(path=settings.source.path))
        for each in problem.found:
            problems.add(place, f"{key}: {each.message}", each.advice)
        for each in problem.unsupported:
            problems.reject(place, f"{key}: {each.message}", each.advice)
        for each in problem.warnings:
            problems.warn(place, f"{key}: {each.message}", each.advice)
    return named[0], named[1]


def _read(
    texts: tuple[Value, ...], properties: Properties, settings: Settings, problems: Problems
) -> Statements:
    if not texts:
        return _NONE
    place = Place(path=settings.source.path)
    wrong = [each for each in texts if not each.is_string]
    for each in wrong:
        problems.add(place, f"{each.raw} is no text", "Write each statement as a text of SQL.")
    if wrong:
        return _NONE
    files = settings.source.attachments.items()
    macros = {path: text for path, text in files if path.startswith("macros/")}
    functions, _ = load_user_macros(macros)  # what is wrong with a file is reported at the file
    text = "\n;\n".join(each.written for each in texts)
    scope = MacroScope(variables=settings.variables, functions=functions)
    read = read_statements(
        text, dialect=properties.dialect, place=place, scope=scope, problems=problems
    )
    if read is not None and any(isinstance(each, exp.Query) for each in read.expressions):
        message = "a pre- or post-statement is a query, whose rows nobody reads"
        problems.add(place, message, "Take it out, or read the rows in the function.")
    return read or _NONE


def _named(
    read: Statements,
    every: tuple[exp.Expr, ...],
    settings: Settings,
    problems: Problems,
) -> Statements:
    place = Place(path=settings.source.path)
    try:
        catalog, temporary = settings.defaults.catalog, temporary_names(every)
        named = tuple(
            project_names_of_statement(each, catalog, temporary=temporary)
            for each in read.expressions
        )
    except SQL_ERRORS as error:
        problems.add(place, f"it cannot be understood: {first_line(error)}", "Check the SQL.")
        return _NONE
    return replace(read, expressions=named)
