"""Stands in until the macro language is whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.macros import TIME_MACROS, macros_in
from vde_dagster.project.macros.scope import MacroScope
from vde_dagster.project.macros.user import UserMacro
from vde_dagster.project.problems import Problems, suggestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    expressions: tuple[exp.Expr, ...]
    used_variables: frozenset[str] = frozenset()
    used_files: frozenset[str] = frozenset()


def load_user_macros(
    files: Mapping[str, str],
) -> tuple[Mapping[str, UserMacro], tuple[Problem, ...]]:
    return {}, ()


def read_statements(
    text: str, *, dialect: str, place: Place, scope: MacroScope, problems: Problems
) -> Statements | None:
    if "{{" in text or "{%" in text:
        problems.add(
            place,
            "the query has Jinja in it, which models here cannot have",
            "Use time macros such as @start_dt, and models instead of Jinja macros.",
        )
        return None
    padded = "\n" * (place.line - 1) + text
    try:
        found = [
            e
            for e in sqlglot.parse(padded, dialect=dialect)
            if e is not None and not isinstance(e, exp.Semicolon)
        ]
    except (ParseError, TokenError) as error:
        details = getattr(error, "errors", None)
        line = details[0].get("line") if details else None
        if details and details[0].get("description"):
            near = f" near `{details[0].get('highlight')}`" if details[0].get("highlight") else ""
            message = f"{details[0]['description'].rstrip('.')}{near}"
        else:
            message = str(error).split("\n", maxsplit=1)[0]
        problems.add(
            Place(path=place.path, line=line or place.line),
            f"the query does not parse: {message}",
            "Check the SQL at this line against the model's dialect.",
        )
        return None
    except ValueError as error:
        problems.add(place, str(error), "Check the model's dialect.")
        return None
    for e in found:
        for name, _ in macros_in(e):
            if name not in TIME_MACROS:
                problems.add(place, f"unknown macro @{name}", suggestion(name, sorted(TIME_MACROS)))
    return Statements(expressions=tuple(found))
