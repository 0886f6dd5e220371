"""The translation of statements in other dialects than Spark's, their macros filled in."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.dialects import reread, transpiled
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.spark.unreadable import unreadable
from vde_dagster.project.macros.tokens import MacroError, Tokens

_ADVICE: Final = "Write that part in another way, or write the model in Spark's dialect."


def translated(tree: exp.Expr, dialect: str, tokens: Tokens) -> tuple[exp.Expr, str]:
    """A statement as Spark reads it, and its text.

    Args:
        tree: The statement with its macros filled in.
        dialect: Its own.
        tokens: What the author wrote.

    Raises:
        MacroError: sqlglot cannot write it for Spark, or what it writes Spark cannot read.
    """
    try:
        text = transpiled(tree, pretty=True)
        found = reread(tree, text)
        wrong = next(unreadable(text), None)
    except SQL_ERRORS as error:
        message = f"sqlglot cannot translate this from {dialect} to Spark's SQL: "
        raise MacroError(f"{message}{first_line(error)}", _ADVICE, token=tokens[0]) from error
    if wrong is not None:
        message = f"sqlglot translates this to what Spark's SQL does not have: {wrong.message}"
        raise MacroError(message, _ADVICE, token=tokens[0])
    return found, text
