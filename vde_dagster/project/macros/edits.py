"""Changes to the author's text: what replaces a macro, and what is removed together with it.

The text of a model in Spark's dialect is what runs (rule R13), so a macro is replaced at its place
and everything else stays as it was written, to the letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.sql.text import closed
from vde_dagster.project.macros.tokens import MacroError


class Glue(Enum):
    """What is removed together with a macro that gives nothing, next to what is removed so far."""

    ALIAS = auto()  # the name behind it
    PARENTHESES = auto()  # those around it
    BEFORE = auto()  # the operator before it
    AFTER = auto()  # the operator behind it
    DIRECTION = auto()  # ASC, DESC, NULLS FIRST, NULLS LAST behind it
    COMMA = auto()  # the comma on one side
    CLAUSE = auto()  # the words that begin the clause


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """Tokens from the first to the last one, by their places."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Edit:
    """The text in place of a macro, ``wrapped`` in parentheses or not, and what else is removed."""

    text: str
    wrapped: bool = False
    glue: tuple[Glue, ...] = ()

    @property
    def written(self) -> str:
        """The text as it is put into another one; it may end with a comment."""
        return f"({closed(self.text)})" if self.wrapped else self.text


def edited(text: str, tokens: Sequence[Token], edits: Iterable[tuple[int, int, Edit]]) -> str:
    """The text of some tokens after all edits.

    Args:
        text: What the tokens were read from.
        tokens: As the author wrote them, in order.
        edits: Each with the offsets of the first and the last character that it replaces, which are
            borders of tokens.

    Raises:
        MacroError: Two edits overlap, or what is to be removed with a macro is not next to it.
    """
    places = {token.start: index for index, token in enumerate(tokens)}
    ends = {token.end: index for index, token in enumerate(tokens)}
    spans = sorted(
        (
            (_around(tokens, _Span(first=places[start], last=ends[end]), edit.glue), edit)
            for start, end, edit in edits
        ),
        key=lambda each: each[0].first,
    )
    pieces: list[str] = []
    at = tokens[0].start
    for span, edit in spans:
        start = tokens[span.first].start
        if start < at:
            raise MacroError("two macros that give nothing meet here", "Give one another branch.")
        pieces += [text[at:start], edit.written]
        at = tokens[span.last].end + 1
    return "".join([*pieces, text[at : tokens[-1].end + 1]])


def _around(tokens: Sequence[Token], span: _Span, glue: Sequence[Glue]) -> _Span:
    for each in glue:
        span = _wider(tokens, span, each)
    return span


def _wider(tokens: Sequence[Token], span: _Span, glue: Glue) -> _Span:
    first, last = span.first, span.last
    before = tokens[first - 1] if first else None
    after = tokens[last + 1] if last + 1 < len(tokens) else None
    match glue:
        case Glue.ALIAS:
            named = after is not None and after.token_type is TokenType.ALIAS
            last += 2 if named else 1
        case Glue.PARENTHESES:
            _expect(before, TokenType.L_PAREN)
            _expect(after, TokenType.R_PAREN)
            first, last = first - 1, last + 1
        case Glue.BEFORE:
            _expect(before)
            first -= 1
        case Glue.AFTER:
            _expect(after)
            last += 1
        case Glue.DIRECTION:
            while last + 1 < len(tokens) and tokens[last + 1].text.upper() in _DIRECTIONS:
                last += 1
        case Glue.COMMA:
            return _without_comma(tokens, span)
        case Glue.CLAUSE:
            while first and tokens[first - 1].token_type in _CLAUSE_WORDS:
                first -= 1
    return _Span(first=first, last=last)


_DIRECTIONS: Final = frozenset({"ASC", "DESC", "NULLS", "FIRST", "LAST"})
_CLAUSE_WORDS: Final = frozenset(
    {
        TokenType.GROUP_BY,
        TokenType.HAVING,
        TokenType.LIMIT,
        TokenType.OFFSET,
        TokenType.ORDER_BY,
        TokenType.QUALIFY,
        TokenType.WHERE,
    }
)


def _without_comma(tokens: Sequence[Token], span: _Span) -> _Span:
    """An item of a list with the comma after or before it; a single item has none."""
    first, last = span.first, span.last
    if last + 1 < len(tokens) and tokens[last + 1].token_type is TokenType.COMMA:
        return _Span(first=first, last=last + 1)
    if first and tokens[first - 1].token_type is TokenType.COMMA:
        return _Span(first=first - 1, last=last)
    return span


def _expect(token: Token | None, kind: TokenType | None = None) -> None:
    if token is None or (kind is not None and token.token_type is not kind):
        message = "the macro gives nothing here, where something is needed"
        raise MacroError(message, "Give @IF another branch.")
