"""The MODEL block: a small grammar on sqlglot's tokenizer.

``MODEL ( key value, key value, ... );`` A value is everything up to the next comma that is in no
parentheses or angle brackets. What a property means is decided in ``model_properties``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.errors import Place, Problem, ProjectInvalid

_OPENING: Final = {TokenType.L_PAREN: TokenType.R_PAREN, TokenType.LT: TokenType.GT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Some tokens of a block, with the text that they were read from."""

    tokens: tuple[Token, ...]
    text: str
    path: Path

    @property
    def place(self) -> Place:
        """Where the value starts."""
        first = self.tokens[0]
        return Place(path=self.path, line=first.line, column=first.col)

    @property
    def written(self) -> str:
        """The value as it stands in the file; a single string without its quotes."""
        if len(self.tokens) == 1:
            return self.tokens[0].text
        return self.text[self.tokens[0].start : self.tokens[-1].end + 1]

    @property
    def head(self) -> str:
        """The first word, in upper case."""
        return self.tokens[0].text.upper()

    def items(self) -> tuple[Value, ...]:
        """The comma-separated items in the value's parentheses; the value itself without any."""
        inner = self._inner()
        if inner is None:
            return (self,)
        return _split(inner, self.text, self.path)

    def is_group(self) -> bool:
        """Whether the value has parentheses."""
        return self._inner() is not None

    def rest(self) -> Value | None:
        """The value without its first word; None where nothing is left."""
        if len(self.tokens) < 2:
            return None
        return Value(tokens=self.tokens[1:], text=self.text, path=self.path)

    def _inner(self) -> tuple[Token, ...] | None:
        for index, token in enumerate(self.tokens):
            if token.token_type is TokenType.L_PAREN:
                closing = self.tokens[-1].token_type is TokenType.R_PAREN
                return self.tokens[index + 1 : -1] if closing else None
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A file's MODEL block and where the query starts: at which character, on which line."""

    properties: tuple[tuple[str, Value], ...]
    place: Place
    query_offset: int
    query_line: int


def read_block(text: str, *, path: Path, dialect: str) -> Block | None:
    """The MODEL block at the start of a file; None where the file has none.

    Raises:
        ProjectInvalid: The block cannot be read.
    """
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(text)
    except TokenError as error:
        problem = Problem(
            place=Place(path=path, line=_line_of(error)),
            message="the file cannot be read: a quote or comment is not closed",
            advice="Look for a missing quote near this line.",
        )
        raise ProjectInvalid([problem]) from error
    if len(tokens) < 2 or tokens[0].text.upper() != "MODEL":
        return None
    if tokens[1].token_type is not TokenType.L_PAREN:
        return None
    place = Place(path=path, line=tokens[0].line, column=tokens[0].col)
    closing = _closing(tokens, 1)
    if closing is None:
        message = "the parenthesis of MODEL is never closed"
        raise ProjectInvalid([Problem(place=place, message=message, advice="Close it with `);`.")])
    after = tokens[closing + 1] if closing + 1 < len(tokens) else None
    semicolon = after is not None and after.token_type is TokenType.SEMICOLON
    last = after if semicolon and after is not None else tokens[closing]
    properties = [
        (each.tokens[0].text.lower(), each) for each in _split(tokens[2:closing], text, path)
    ]
    return Block(
        properties=tuple(properties),
        place=place,
        query_offset=last.end + 1,
        query_line=last.line,
    )


def _split(tokens: Sequence[Token], text: str, path: Path) -> tuple[Value, ...]:
    values: list[Value] = []
    current: list[Token] = []
    depth = 0
    for token in tokens:
        if token.token_type is TokenType.COMMA and depth == 0:
            if current:
                values.append(Value(tokens=tuple(current), text=text, path=path))
            current = []
            continue
        if token.token_type in _OPENING:
            depth += 1
        elif token.token_type in _OPENING.values():
            depth -= 1
        current.append(token)
    if current:
        values.append(Value(tokens=tuple(current), text=text, path=path))
    return tuple(values)


def _closing(tokens: Sequence[Token], opening: int) -> int | None:
    depth = 0
    for index in range(opening, len(tokens)):
        if tokens[index].token_type is TokenType.L_PAREN:
            depth += 1
        elif tokens[index].token_type is TokenType.R_PAREN:
            depth -= 1
            if depth == 0:
                return index
    return None


def _line_of(error: TokenError) -> int:
    """The line that sqlglot names in its message; 1 where it names none."""
    words = str(error).replace(",", " ").replace(":", " ").split()
    for word, following in pairwise(words):
        if word.lower() == "line" and following.isdigit():
            return int(following)
    return 1
