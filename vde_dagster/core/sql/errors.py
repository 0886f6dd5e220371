"""The errors that sqlglot raises for texts that it does not understand.

Besides its own errors, its parsers and its optimizer raise plain Python errors on some texts.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot.errors import SqlglotError

SQL_ERRORS: Final = (
    SqlglotError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)

_INSIDES: Final = (
    (re.compile(r" but got <Token .*", re.DOTALL), ""),
    (re.compile(r"^Required keyword: .*", re.DOTALL), "Something is missing"),
)
"""Parts of sqlglot's messages about its own objects, and what replaces them."""


def first_line(error: Exception) -> str:
    """What is wrong, in one line."""
    if not isinstance(error, SqlglotError):
        return "the parser cannot read it"
    details = getattr(error, "errors", None)
    if details and details[0].get("description"):
        near = f" near `{details[0].get('highlight')}`" if details[0].get("highlight") else ""
        description = details[0]["description"]
        for insides, explanation in _INSIDES:
            description = insides.sub(explanation, description)
        return f"{description.rstrip('.')}{near}"
    return str(error).split("\n", maxsplit=1)[0].strip()
