"""Statements as tokens, each with its comments; a macro is one token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.sql.translation.interval_sums import with_closed_sums
from vde_dagster.project.formatting.comments import Between, comments_between, ends_line
from vde_dagster.project.macros.builtin import BUILTINS
from vde_dagster.project.macros.tokens import Call, Name, find_macros, in_place_of

_TYPES: Final = (
    TokenType.DATE,
    TokenType.DATETIME,
    TokenType.TIME,
    TokenType.TIMESTAMP,
    TokenType.TIMESTAMPLTZ,
    TokenType.TIMESTAMPNTZ,
    TokenType.TIMESTAMPTZ,
)
_PREFIX: Final = "vde_macro_"


class NotReadable(Exception):
    """A statement is no SQL of the dialect, so it has no layout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A token, or a macro in the place of one, and the comments that belong to it.

    ``leading`` are the comments before it, ``trailing`` those after it on its line, ``below`` those
    on lines of their own after the end of a statement. ``end`` is where its text ends, exclusively.
    ``macro`` is the text of a macro, or of a literal, that stays as it is written.
    """

    token: Token
    start: int
    end: int
    leading: tuple[str, ...] = ()
    trailing: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    macro: str | None = None
    is_query: bool = False

    @property
    def comments(self) -> tuple[str, ...]:
        """All of its comments."""
        return (*self.leading, *self.trailing, *self.below)


def read_pieces(text: str, dialect: Dialect, prefix: str) -> list[Piece]:
    """The tokens of a text, each with its comments; a macro is one token.

    Raises:
        TokenError: A quote or comment is never closed.
        MacroError: A macro is never closed, or glued to a name.
    """
    tokens = dialect.tokenize(text)
    nested = dialect.tokenizer_class.NESTED_COMMENTS
    found = list(_pieces(text, find_macros(tokens, spaced=frozenset(BUILTINS)), prefix))
    edges = [0, *(edge for piece in found for edge in (piece.start, piece.end)), len(text)]
    gaps = [
        comments_between(text[start:end], after_token=at > 0, nested=nested)
        for at, (start, end) in enumerate(zip(edges[::2], edges[1::2], strict=True))
    ]
    return [_with_comments(piece, at, found, gaps) for at, piece in enumerate(found)]


def _pieces(text: str, items: Sequence[Token | Call | Name], prefix: str) -> Iterator[Piece]:
    """Each item as a piece; literals such as ``DATE '2024-01-01'`` are one, and stay literals.

    sqlglot would write a cast, which reads as another tree in dialects whose casts are not strict.
    """
    taken = False
    for at, item in enumerate(items):
        following = items[at + 1] if at + 1 < len(items) else None
        if taken:
            taken = False
        elif _is_literal(text, item, following):
            assert isinstance(item, Token)
            assert isinstance(following, Token)
            piece = _stand_in(text, (item, following), at, prefix)
            string = text[following.start : following.end + 1]
            yield replace(piece, macro=f"{item.text.upper()} {string}")
            taken = True
        else:
            yield _piece(text, item, at, prefix)


def _is_literal(text: str, item: object, following: object) -> bool:
    if not (isinstance(item, Token) and isinstance(following, Token)):
        return False
    string = item.token_type in _TYPES and following.token_type is TokenType.STRING
    return string and not text[item.end + 1 : following.start].strip()


def _piece(text: str, item: Token | Call | Name, at: int, prefix: str) -> Piece:
    if isinstance(item, Token):
        bare = Token(item.token_type, item.text, item.line, item.col, item.start, item.end)
        if item.token_type is TokenType.HINT:
            bare.comments = [text[item.start + 3 : item.end - 1]]  # where the parser expects it
        return Piece(token=bare, start=item.start, end=item.end + 1)
    first = item.tokens[0]
    if isinstance(item, Name) and item.quoted:
        bare = Token(first.token_type, first.text, first.line, first.col, first.start, first.end)
        return Piece(token=bare, start=first.start, end=first.end + 1)
    query = isinstance(item, Call) and item.name == "union" and item.arguments is not None
    return _stand_in(text, item.tokens, at, prefix, is_query=query)


def _stand_in(
    text: str, tokens: Sequence[Token], at: int, prefix: str, *, is_query: bool = False
) -> Piece:
    """A name that stands in for some tokens, about as long as they are."""
    start, end = tokens[0].start, tokens[-1].end + 1
    name = f"{prefix}{at}".ljust(min(end - start, 40), "_")
    token = in_place_of(tokens, TokenType.VAR, name)
    token.comments = []
    return Piece(token=token, start=start, end=end, macro=text[start:end], is_query=is_query)


def _with_comments(piece: Piece, at: int, found: list[Piece], gaps: list[Between]) -> Piece:
    """A piece with the comments around it; those before a semicolon belong to what it ends."""
    leading, trailing = gaps[at].leading, gaps[at + 1].trailing
    following = found[at + 1] if at + 1 < len(found) else None
    if at and piece.token.token_type is TokenType.SEMICOLON:
        leading = ()
    ends = following is None or following.token.token_type is TokenType.SEMICOLON
    below = gaps[at + 1].leading if ends else ()
    return replace(piece, leading=leading, trailing=trailing, below=below)


def parse_pieces(
    pieces: Sequence[Piece], dialect: Dialect, text: str, *, comments: bool = False
) -> exp.Expr:
    """The tree of one statement, with names in place of its macros.

    Raises:
        NotReadable: It is no SQL of the dialect.
    """
    tokens: list[Token] = []
    before: TokenType | None = None
    for piece in pieces:
        token = piece.token
        given = [*token.comments, *(map(_text_of, piece.comments) if comments else ())]
        copy = Token(
            token.token_type, token.text, token.line, token.col, token.start, token.end, given
        )
        if not piece.is_query:
            tokens.append(copy)
        elif before in {TokenType.FROM, TokenType.JOIN}:
            kinds = ((TokenType.L_PAREN, "("), (TokenType.SELECT, "SELECT"))
            tokens += [in_place_of((token,), kind, name) for kind, name in kinds]
            tokens += [copy, in_place_of((token,), TokenType.R_PAREN, ")")]
        else:
            tokens += [in_place_of((token,), TokenType.SELECT, "SELECT"), copy]
        before = token.token_type
    try:
        found = dialect.parser().parse(tokens, text)
    except ParseError as error:
        raise NotReadable(str(error)) from error
    if len(found) != 1 or found[0] is None:
        raise NotReadable("no statement")
    return with_closed_sums(found[0])


def unused_prefix(text: str) -> str:
    """A prefix that no name in a text has."""
    prefix = _PREFIX
    while prefix in text.lower():
        prefix += "x"
    return prefix


def plain_name(name: str) -> str:
    """A stand-in's name without the padding that makes it as long as its macro."""
    return name.rstrip("_").lower() if name.lower().startswith(_PREFIX) else name


def _text_of(comment: str) -> str:
    """The text inside a comment."""
    inline = comment[2:] if comment.startswith(("--", "//", "/*", "{#")) else comment[1:]
    return inline if ends_line(comment) else inline[:-2]
