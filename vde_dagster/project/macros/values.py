"""Values that macros take and give: between Python, syntax trees and names."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from vde_dagster.core.sql.dialects import is_spark, with_macros
from vde_dagster.project.macros.tokens import MacroError

_PLAIN: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def expression_of(value: object, *, what: str) -> exp.Expr:
    """A Python value as SQL: text, numbers, booleans, NULL, dates, and lists of these as arrays.

    Raises:
        MacroError: Another type, or a number that is not finite; ``what`` names the value.
    """
    match value:
        case exp.Expr():
            return value.copy()
        case list() | tuple():
            return exp.Array(expressions=[expression_of(each, what=what) for each in value])
        case float() | Decimal() if not math.isfinite(value):
            raise MacroError(f"{what} is {value}, which is no number in SQL", "Use a finite one.")
        case None | bool() | str() | int() | float() | Decimal() | date():
            converted = exp.convert(value)
            assert isinstance(converted, exp.Expr)
            return converted
        case Mapping():
            raise MacroError(f"{what} is a mapping, which has no form in SQL", "Use its parts.")
        case _:
            message = f"{what} is a {type(value).__name__}, which has no form in SQL"
            raise MacroError(message, "Use a text, a number, a boolean, a date or a list of these.")


def with_written(expression: exp.Expr, text: str) -> exp.Expr:
    """The same expression, with a note of how its author wrote it in Spark's dialect."""
    expression.meta[_WRITTEN] = text
    return expression


def written_of(expression: exp.Expr, dialect: Dialect) -> str:
    """How the author wrote an expression; if code made it, its form in a dialect."""
    known = expression.meta.get(_WRITTEN) if expression.meta and is_spark(dialect) else None
    if isinstance(known, str):
        return known
    return with_macros(expression).sql(dialect, comments=False)


_WRITTEN: Final = "written"


def name_of(expression: exp.Expr) -> str | None:
    """The text of a value as a part of a name: a literal's, or a plain name's; else None."""
    match expression:
        case exp.Literal() | exp.Identifier() | exp.Var():
            return expression.name
        case exp.Column(this=exp.Identifier()) if len(expression.parts) == 1:
            return expression.name
        case exp.Boolean():
            return str(expression.this).lower()
        case _:
            return None


def names_of(expression: exp.Expr) -> tuple[str, ...] | None:
    """The parts of a dotted name, such as schema and table; None if it is no name."""
    match expression:
        case exp.Column() | exp.Table():
            parts = expression.parts
            known = all(isinstance(each, exp.Identifier) for each in parts)
            return tuple(each.name for each in parts) if known else None
        case exp.Identifier():
            return (expression.name,)
        case exp.Literal(is_string=True):
            return tuple(expression.name.split("."))
        case exp.Dot():
            parts = expression.parts
            return tuple(each.name for each in parts)
        case _:
            return None


def is_plain(text: str) -> bool:
    """Whether a text may stand as a name without quotes, keywords aside."""
    return _PLAIN.fullmatch(text) is not None
