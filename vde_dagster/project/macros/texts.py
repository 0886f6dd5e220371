"""Texts that macros are filled into, each part with its line in the file, and their trees."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import accumulate
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.sql.dialects import is_spark, reads_parameters, with_macros
from vde_dagster.core.sql.macros import TIME_MACROS
from vde_dagster.core.sql.spark.reading import (
    bind_lambdas,
    spark_tokens,
    with_closed_sums,
    with_spark_precedence,
)
from vde_dagster.project.macros.tokens import MacroError, in_place_of

_STATEMENT: Final = None
_KINDS: Final[tuple[type[exp.Expr] | None, ...]] = (exp.Expr, _STATEMENT, exp.Ordered)
"""What a text inside another one may be, in the order in which it is tried."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text and its line; what a macro made is all on the line of its call."""

    text: str
    line: int
    is_made: bool = False

    def line_at(self, offset: int) -> int:
        """The line of a character."""
        return self.line if self.is_made else self.line + self.text.count("\n", 0, offset)


Written = tuple[Piece, ...]
"""A text with its lines."""


def text_of(written: Written) -> str:
    """The text itself."""
    return "".join(each.text for each in written)


def line_in_file(written: Written, line: int) -> int:
    """The line of the file for one of a text, the first being 1."""
    lines = text_of(written).splitlines(keepends=True)
    return next(_lines_at(written, [sum(map(len, lines[: line - 1]))]))


def _lines_at(written: Written, offsets: Iterable[int]) -> Iterator[int]:
    """The lines of the file for characters of a text."""
    starts = list(accumulate((len(each.text) for each in written), initial=0))
    for offset in offsets:
        at = min(bisect_right(starts, offset), len(written)) - 1
        yield written[at].line_at(offset - starts[at])


def joined(parts: Iterable[Written], between: str) -> Written:
    """Texts in a row with another one between each two."""
    found: list[Piece] = []
    for part in parts:
        if found:
            found.append(Piece(between, found[-1].line, is_made=True))
        found += part
    return tuple(found)


def read_statement(written: Written, around: Sequence[Token], dialect: Dialect) -> exp.Expr:
    """The tree of a statement; its parts have the lines of the file.

    Args:
        written: The statement, its macros filled in.
        around: The author's words, whose first and last comments belong to it.
        dialect: Its own.

    Raises:
        sqlglot.errors.SqlglotError: It is not SQL of the dialect.
    """
    text = text_of(written)
    tokens = _relined(dialect.tokenize(text), written)
    if not tokens:
        raise ParseError("only a comment was found")
    behind = around[-1].comments if len(around) > 1 else []
    for at, comments in ((0, around[0].comments), (-1, behind)):
        known = tokens[at].comments
        new = [each for each in comments if each not in known]
        tokens[at] = _with_comments(tokens[at], [*new, *known] if at == 0 else [*known, *new])
    return tree_of(tokens, text, dialect)


def read_part(written: Written, dialect: Dialect) -> exp.Expr:
    """The tree of an expression, a query, or an item of ORDER BY.

    Raises:
        sqlglot.errors.SqlglotError: It is none of these.
    """
    text = text_of(written)
    tokens = _relined(dialect.tokenize(text), written)
    wrong: list[ParseError] = []
    for kind in _KINDS:
        try:
            return tree_of(tokens, text, dialect, kind)
        except ParseError as error:
            wrong.append(error)
    raise wrong[0]


def tree_of(
    tokens: Sequence[Token], text: str, dialect: Dialect, kind: type[exp.Expr] | None = None
) -> exp.Expr:
    """The tree of some tokens, macros for times and columns as parameters.

    Raises:
        sqlglot.errors.SqlglotError: They are nothing of this kind.
    """
    parser, own = dialect.parser(), is_spark(dialect)
    taken = spark_tokens(tokens, text) if own else _with_macros_as_names(tokens, dialect)
    found = parser.parse(taken, text) if kind is None else parser.parse_into(kind, taken, text)
    if len(found) != 1 or found[0] is None:
        raise ParseError("only a comment was found")
    tree = with_closed_sums(found[0])
    holder = exp.Tuple(expressions=[with_spark_precedence(tree, taken) if own else tree])
    for column in [] if own else list(holder.find_all(exp.Column)):
        if column.name.startswith("@") and len(column.parts) == 1 and not column.this.quoted:
            column.replace(exp.Parameter(this=exp.var(column.name[1:])))
    bind_lambdas(holder)
    (whole,) = holder.expressions
    return whole.pop()  # type: ignore[no-any-return]


def _relined(tokens: Sequence[Token], written: Written) -> list[Token]:
    """Tokens of a text with the lines of the file."""
    lines = _lines_at(written, [each.start for each in tokens])
    return [
        Token(each.token_type, each.text, line, each.col, each.start, each.end, each.comments)
        for each, line in zip(tokens, lines, strict=True)
    ]


def _with_comments(token: Token, comments: list[str]) -> Token:
    kind, text = token.token_type, token.text
    return Token(kind, text, token.line, token.col, token.start, token.end, comments)


def _with_macros_as_names(tokens: Sequence[Token], dialect: Dialect) -> list[Token]:
    """Tokens in which ``@start_ds`` is one name, if the dialect has no parameters like it."""
    if reads_parameters(type(dialect)):
        return list(tokens)
    found: list[Token] = []
    for token in tokens:
        before = found[-1] if found else None
        name = token.text.lower()
        if name in TIME_MACROS and before is not None and before.token_type is TokenType.PARAMETER:
            found[-1] = in_place_of((before, token), TokenType.VAR, f"@{name}")
            found[-1].comments = token.comments
        else:
            found.append(token)
    return found


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
            raise MacroError(
                f"{what} is {value}, which is not a number in SQL", "Use a finite number."
            )
        case None | bool() | str() | int() | float() | Decimal() | date():
            converted = exp.convert(value)
            assert isinstance(converted, exp.Expr)
            return converted
        case Mapping():
            raise MacroError(f"{what} is a mapping, which SQL cannot express", "Use its parts.")
        case _:
            message = f"{what} is a {type(value).__name__}, which SQL cannot express"
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
    """The parts of a dotted name, such as schema and table; None if it is not a name."""
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
