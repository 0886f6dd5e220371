"""The MODEL block: a small grammar on sqlglot's tokenizer.

``MODEL ( key value, key value, ... );`` A value is everything up to the next comma that is in no
parentheses, brackets or angle brackets. What a property means is decided in ``model_properties``.
A Python model's header is written as the same grammar (`python_values`), so both are read by the
same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.errors import Place, Problem, ProjectInvalid
from vde_dagster.project.macros.tokens import check_depth, closing_of, group_of

OPENING: Final = {
    TokenType.L_PAREN: TokenType.R_PAREN,
    TokenType.L_BRACKET: TokenType.R_BRACKET,
}
_NESTED_TYPES: Final = ("ARRAY", "MAP", "STRUCT")
ASSIGNING: Final = (TokenType.EQ, TokenType.COLON_EQ, TokenType.FARROW, TokenType.COLON)
CLOSING: Final = tuple(OPENING.values())
BRACKETS: Final = (*OPENING, *CLOSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Some tokens of a block, with the text that they were read from."""

    tokens: tuple[Token, ...]
    text: str
    path: Path

    @property
    def place(self) -> Place:
        """Where the value starts."""
        # A token of several lines has the line of its end.
        before = self.text[: self.tokens[0].start]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return Place(path=self.path, line=line, column=column)

    @property
    def written(self) -> str:
        """The value's words, apart by one space each; a single string without its quotes."""
        if len(self.tokens) == 1:
            return self.tokens[0].text
        ends = [-1, *(each.end for each in self.tokens)]
        words = (
            f"{' ' * (each.start > end + 1)}{self.text[each.start : each.end + 1]}"
            for end, each in zip(ends, self.tokens, strict=False)
        )
        return "".join(words).lstrip(" ")

    @property
    def head(self) -> str:
        """The first word, in upper case."""
        return self.tokens[0].text.upper()

    @property
    def sql(self) -> str:
        """The value as SQL; a text that is one string stands for the SQL in it."""
        return self.written if self.is_string else self.raw

    @property
    def raw(self) -> str:
        """The value exactly as written in the file."""
        return self.text[self.tokens[0].start : self.tokens[-1].end + 1]

    @property
    def is_string(self) -> bool:
        """Whether the value is a single string."""
        return len(self.tokens) == 1 and self.tokens[0].token_type is TokenType.STRING

    @property
    def is_word(self) -> bool:
        """Whether the value is a string, or text without spaces, parentheses and brackets."""
        whole = len(self.first_word().tokens) == len(self.tokens)
        return whole and not any(token.token_type in BRACKETS for token in self.tokens)

    @property
    def in_python(self) -> bool:
        """Whether the value was written in Python, where SQL is a text like other values."""
        return self.path.suffix == ".py"

    def first_word(self) -> Value:
        """The value up to its first space or sign of assignment."""
        length = 1
        while (
            length < len(self.tokens)
            and self.tokens[length].start == self.tokens[length - 1].end + 1
            and self.tokens[length].token_type not in ASSIGNING
        ):
            length += 1
        return self.until(length)

    def until(self, index: int) -> Value:
        """The value up to one of its tokens."""
        return replace(self, tokens=self.tokens[:index])

    def unquoted(self) -> Value:
        """The content of a string, as a value at the same place; the value itself if it is none."""
        if not self.is_string or not self.written.strip():
            return self
        text = "\n" * (self.tokens[0].line - 1) + self.written
        try:
            tokens = tuple(Dialect.get_or_raise("").tokenize(text))
        except TokenError:
            return self
        return Value(tokens=tokens, text=text, path=self.path) if tokens else self

    def items(self) -> tuple[Value, ...]:
        """The items of a list in parentheses or brackets; the value itself if it is not a list."""
        inner = group_of(self.tokens)  # None for (a) + (b)
        return (self,) if inner is None else _split(inner, self.text, self.path)

    def group(self) -> tuple[Value, ...] | None:
        """The items in the parentheses after a name, as in ``NAME (a, b)``; None without any."""
        rest = self.after_name()
        if self.is_string or rest is None or rest.tokens[0].token_type is not TokenType.L_PAREN:
            return None
        inner = group_of(rest.tokens)
        return None if inner is None else _split(inner, self.text, self.path)

    @property
    def name(self) -> str:
        """The dotted name that a value starts with, as written."""
        tokens = self.tokens[: self._name_length()]
        return "".join(token.text for token in tokens)

    def after_name(self) -> Value | None:
        """What follows the dotted name that a value starts with; None if nothing does."""
        return self._from(self._name_length())

    def rest(self) -> Value | None:
        """The value without its first word, and without a sign of assignment after it."""
        return self.after(1)

    def after(self, index: int) -> Value | None:
        """What follows so many tokens and a sign of assignment; None if nothing does."""
        if index < len(self.tokens) and self.tokens[index].token_type in ASSIGNING:
            index += 1
        return self._from(index)

    def _name_length(self) -> int:
        length = 1
        while length + 1 < len(self.tokens) and self.tokens[length].token_type is TokenType.DOT:
            length += 2
        return length

    def _from(self, index: int) -> Value | None:
        if index >= len(self.tokens):
            return None
        return replace(self, tokens=self.tokens[index:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A file's MODEL block, and the character and line at which the query starts.

    ``has_rest`` says whether anything but comments follows the block.
    """

    properties: tuple[tuple[str, Value], ...]
    place: Place
    query_offset: int
    query_line: int
    has_rest: bool


def read_block(text: str, *, path: Path, dialect: str, keyword: str = "MODEL") -> Block | None:
    """The MODEL block, or that of another keyword, at the start of a text; None without one.

    Raises:
        ProjectInvalid: The block cannot be read.
        RecursionError: The file is nested too deeply.
    """
    try:
        tokens = _with_quotes(Dialect.get_or_raise(dialect).tokenize(text), text)
    except TokenError as error:
        problem = Problem(
            place=Place(path=path, line=_line_of(error)),
            message="the file cannot be read: a quote or comment is not closed",
            advice="Look for a missing quote near this line.",
        )
        raise ProjectInvalid([problem]) from error
    check_depth(tokens)
    if len(tokens) < 2 or tokens[0].text.upper() != keyword:
        return None
    if tokens[1].token_type is not TokenType.L_PAREN:
        return None
    place = Place(path=path, line=tokens[0].line, column=tokens[0].col)
    closing = closing_of(tokens, 1)
    if closing is None:
        message, advice = f"the parenthesis of {keyword} is never closed", "Close it with `);`."
        if "--" in text and any(token.comments for token in tokens):
            advice += " Text after `--` is a comment up to the end of the line, including a `)`."
        raise ProjectInvalid([Problem(place=place, message=message, advice=advice)])
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
        has_rest=any(
            token.start > last.end and token.token_type is not TokenType.SEMICOLON
            for token in tokens
        ),
    )


def block_starts(text: str, dialect: str, keyword: str) -> list[int]:
    """Where blocks of a keyword start in a text: at the start of a statement.

    None if there are none, or the text cannot be read.
    """
    if keyword.lower() not in text.lower():
        return []
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(text)
    except (SqlglotError, ValueError):
        return []
    return [
        token.start
        for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False)
        if (before is None or before.token_type is TokenType.SEMICOLON)
        and after.token_type is TokenType.L_PAREN
        and token.text.upper() == keyword
    ]


def _with_quotes(tokens: Sequence[Token], text: str) -> list[Token]:
    """Tokens in which ``'it''s'`` is one string, even if a dialect would read two."""
    found: list[Token] = []
    for token in tokens:
        last = found[-1] if found else token
        both_strings = last.token_type is token.token_type is TokenType.STRING
        touching = both_strings and last.end + 1 == token.start
        if touching and text[last.end] == text[token.start]:
            joined = f"{last.text}{text[token.start]}{token.text}"
            found[-1] = Token(
                TokenType.STRING, joined, token.line, token.col, last.start, token.end, []
            )
        else:
            found.append(token)
    return found


def _split(tokens: Sequence[Token], text: str, path: Path) -> tuple[Value, ...]:
    """The tokens between commas that are in no parentheses, brackets or nested type."""
    values: list[Value] = []
    current: list[Token] = []
    depth = angles = 0
    for token in tokens:
        if token.token_type is TokenType.COMMA and depth == angles == 0:
            if current:
                values.append(Value(tokens=tuple(current), text=text, path=path))
            current = []
            continue
        if token.token_type in OPENING:
            depth += 1
        elif token.token_type in CLOSING:
            depth -= 1
        elif token.token_type is TokenType.LT and current and _is_nested_type(current[-1]):
            angles += 1
        elif token.token_type is TokenType.GT and angles:
            angles -= 1
        current.append(token)
    if current:
        values.append(Value(tokens=tuple(current), text=text, path=path))
    return tuple(values)


def _is_nested_type(token: Token) -> bool:
    return token.text.upper() in _NESTED_TYPES


def _line_of(error: TokenError) -> int:
    """The line that sqlglot names in its message; 1 if it names none."""
    words = str(error).replace(",", " ").replace(":", " ").split()
    for word, following in pairwise(words):
        if word.lower() == "line" and following.isdigit():
            return int(following)
    return 1
