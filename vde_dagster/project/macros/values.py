"""Values that macros take and give: between Python, syntax trees, names and single tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from vde_dagster.project.macros.tokens import MacroError, in_place_of

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


def written_of(expression: exp.Expr) -> str:
    """How the author wrote an expression; if code made it, its form in Spark's dialect."""
    known = expression.meta.get(_WRITTEN) if expression.meta else None
    return known if isinstance(known, str) else expression.sql("spark", comments=False)


def forget_written(tree: exp.Expr) -> None:
    """Remove from a tree the notes of how its parts were written, once the whole has one."""
    for node in tree.walk():
        if node.meta:
            node.meta.pop(_WRITTEN, None)


_WRITTEN: Final = "written"


def text_of(expression: exp.Expr) -> str | None:
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


def identifier_of(text: str) -> exp.Identifier:
    """An identifier of any text; all but plain names that are no keywords are quoted."""
    plain = is_plain(text) and text.upper() not in Tokenizer.KEYWORDS
    return exp.to_identifier(text, quoted=not plain)


def is_plain(text: str) -> bool:
    """Whether a text may stand as a name without quotes, keywords aside."""
    return _PLAIN.fullmatch(text) is not None


def atoms_of(expression: exp.Expr, *, like: Sequence[Token]) -> list[Token] | None:
    """The tokens that a person would type for a value; None if it is no literal or name.

    A literal is one token, whatever characters it has: nothing in it is read as SQL.
    """
    match expression:
        case exp.Literal():
            kind = TokenType.STRING if expression.is_string else TokenType.NUMBER
            return [_with_comments(in_place_of(like, kind, expression.name), like)]
        case exp.Boolean():
            kind, text = (TokenType.TRUE, "true") if expression.this else (TokenType.FALSE, "false")
            return [_with_comments(in_place_of(like, kind, text), like)]
        case exp.Null():
            return [_with_comments(in_place_of(like, TokenType.NULL, "null"), like)]
        case exp.Column(this=exp.Identifier()) if len(expression.parts) == 1:
            return [name_token(expression.name, like=like, quoted=expression.this.quoted)]
        case _:
            return None


def name_token(text: str, *, like: Sequence[Token], quoted: bool) -> Token:
    """A name as one token: a plain one reads as a name, also where it is a keyword."""
    kind = TokenType.IDENTIFIER if quoted or not is_plain(text) else TokenType.VAR
    return _with_comments(in_place_of(like, kind, text), like)


def _with_comments(token: Token, like: Sequence[Token]) -> Token:
    token.comments = [comment for each in like for comment in each.comments]
    return token
