"""Finds the macros of a text by its tokens, so that strings and comments stay untouched.

``@name`` and ``@name(arguments)`` become a `Call`; identifiers with ``@{name}`` in them become a
`Name`. Other uses of ``@`` (such as ``@>`` and ``@ 5`` of Postgres) stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.errors import Problem

Tokens = tuple[Token, ...]

_PAIRS: Final = {
    TokenType.L_PAREN: TokenType.R_PAREN,
    TokenType.L_BRACKET: TokenType.R_BRACKET,
    TokenType.L_BRACE: TokenType.R_BRACE,
}
_CLOSING: Final = frozenset(_PAIRS.values())
_WORD: Final = re.compile(r"[^\W\d]\w*")
MOST_STRUCTS: Final = 12
MOST_NESTED: Final = 200
MOST_PARTS: Final = 200_000
"""How many words and signs the statements of a model may have once its macros are filled in."""
TOO_LARGE: Final = (
    "Put the values into a seed or a table, and join it. Macros that call another one twice, "
    "or that are repeated by one, multiply the text."
)
"""What to do about a model that is too large."""
_PART: Final = re.compile(r"[\w$]+")
_REFERENCE: Final = re.compile(r"@\{\s*([^\W\d]\w*)\s*\}")


NUL: Final = "\0"
_COMMENTS: Final = re.compile(r"(?:\s*(?:/\*.*?\*/|--[^\n]*))+", re.DOTALL)


class MacroError(Exception):
    """A macro cannot be expanded: why, what to do, and the token that it is about.

    ``cause`` is the problem of another file that it follows from, which is reported instead.
    """

    def __init__(
        self,
        message: str,
        advice: str,
        *,
        token: Token | None = None,
        cause: Problem | None = None,
    ) -> None:
        self.message, self.advice, self.token, self.cause = message, advice, token, cause
        super().__init__(message)

    def at(self, token: Token) -> MacroError:
        """This error with the place of a macro, unless it has a more exact one."""
        self.token = self.token or token
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """``@name``, or ``@name(arguments)``; ``arguments`` is None without parentheses."""

    name: str
    tokens: Tokens
    arguments: tuple[Tokens, ...] | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """``@{name}`` in an identifier."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """An identifier that is made of texts and references, in this order."""

    parts: tuple[str | Reference, ...]
    quoted: bool
    tokens: Tokens


def find_macros(tokens: Sequence[Token], *, spaced: frozenset[str]) -> list[Token | Call | Name]:
    """The tokens of a text, each outermost macro as one item.

    Args:
        tokens: Of one statement or argument.
        spaced: Macros between whose name and parenthesis there may be white space.

    Raises:
        MacroError: A parenthesis or brace is never closed, or a macro is glued to a name.
    """
    source = _split_names(tokens)
    found: list[Token | Call | Name] = []
    index = 0
    while index < len(source):
        item, index = _next(source, index, found, spaced)
        found.append(item)
    return found


def _next(
    source: Sequence[Token], index: int, found: list[Token | Call | Name], spaced: frozenset[str]
) -> tuple[Token | Call | Name, int]:
    token = source[index]
    if token.token_type is TokenType.IDENTIFIER and _REFERENCE.search(token.text):
        name = Name(parts=_quoted_parts(token.text), quoted=True, tokens=(token,))
        return name, index + 1
    if not _is_at(token) or not _touches(source, index):
        return token, index + 1
    if source[index + 1].token_type is TokenType.L_BRACE:
        return _name(source, index, found)
    if not _is_word(source[index + 1]):
        return token, index + 1
    before = found[-1] if found else None
    if isinstance(before, Token) and _is_glued(before, token):
        raise _glued(token)
    return _call(source, index, spaced)


def _call(source: Sequence[Token], index: int, spaced: frozenset[str]) -> tuple[Call, int]:
    word = source[index + 1]
    name = word.text.lower()
    opening = index + 2
    parenthesis = (
        opening < len(source)
        and source[opening].token_type is TokenType.L_PAREN
        and (_touches(source, index + 1) or name in spaced)
    )
    if not parenthesis:
        return Call(name=name, tokens=tuple(source[index:opening])), opening
    closing = closing_of(source, opening)
    if closing is None:
        message = f"the parenthesis of @{word.text} is never closed"
        raise MacroError(message, "Close it with `)`.", token=word)
    after = closing + 1
    if after < len(source) and _touches(source, closing) and _is_word(source[after]):
        raise _glued(source[index])
    arguments = split_commas(source[opening + 1 : closing])
    return Call(name=name, tokens=tuple(source[index:after]), arguments=arguments), after


def _name(
    source: Sequence[Token], index: int, found: list[Token | Call | Name]
) -> tuple[Name, int]:
    """An identifier with references, together with the parts of it that touch them."""
    parts: list[str | Reference] = []
    start = index
    before = found[-1] if found else None
    if isinstance(before, Token) and _touches(source, index - 1) and _is_part(before):
        parts.append(before.text)
        found.pop()
        start -= 1
    while index < len(source) and (index == start or _touches(source, index - 1)):
        if _is_at(source[index]) and _is_reference(source, index):
            parts.append(Reference(source[index + 2].text.lower()))
            index += 4
        elif parts and _is_part(source[index]):
            parts.append(source[index].text)
            index += 1
        else:
            break
    if not any(isinstance(part, Reference) for part in parts):
        message = "only one name is possible between `@{` and `}`"
        raise MacroError(message, "Write @{name} with the name of a variable.", token=source[index])
    return Name(parts=tuple(parts), quoted=False, tokens=tuple(source[start:index])), index


def closing_of(tokens: Sequence[Token], opening: int) -> int | None:
    """Where the parenthesis, bracket or brace at ``opening`` is closed; None if it is not."""
    depth = 0
    for index in range(opening, len(tokens)):
        if tokens[index].token_type in _PAIRS:
            depth += 1
        elif tokens[index].token_type in _CLOSING:
            depth -= 1
            if depth == 0:
                return index
    return None


def split_commas(tokens: Sequence[Token]) -> tuple[Tokens, ...]:
    """The comma-separated parts of some tokens; commas in parentheses do not separate."""
    return tuple(_split(tokens, TokenType.COMMA)) if tokens else ()


def split_statements(tokens: Sequence[Token]) -> tuple[Tokens, ...]:
    """The statements of a text, without the semicolons between them, and without empty ones."""
    return tuple(each for each in _split(tokens, TokenType.SEMICOLON, nested=True) if each)


def check_depth(tokens: Sequence[Token]) -> None:
    """Refuse too deeply nested brackets as Python does, before a parser meets them.

    sqlglot's compiled form does not always notice, and would end the process. Of STRUCT( it tries
    a type first, which takes twice as long or more for each one around another.

    Raises:
        RecursionError: More than `MOST_NESTED` are nested, or more than `MOST_STRUCTS` of STRUCT.
    """
    structs: list[bool] = []
    before: Token | None = None
    for token in tokens:
        if token.token_type in _PAIRS:
            structs.append(before is not None and before.token_type is TokenType.STRUCT)
            if len(structs) > MOST_NESTED or (structs[-1] and sum(structs) > MOST_STRUCTS):
                raise RecursionError(f"brackets are nested {len(structs)} deep")
        elif token.token_type in _CLOSING and structs:
            structs.pop()
        before = token


def _split(
    tokens: Sequence[Token], separator: TokenType, *, nested: bool = False
) -> Iterator[Tokens]:
    depth = start = 0
    for index, token in enumerate(tokens):
        if token.token_type is separator and (depth == 0 or nested):
            yield tuple(tokens[start:index])
            start = index + 1
        elif token.token_type in _PAIRS:
            depth += 1
        elif token.token_type in _CLOSING:
            depth -= 1
    yield tuple(tokens[start:])


def group_of(tokens: Sequence[Token]) -> Tokens | None:
    """The tokens inside brackets or parentheses around all of them; None without such."""
    opened = bool(tokens) and tokens[0].token_type in {TokenType.L_BRACKET, TokenType.L_PAREN}
    if not opened or closing_of(tokens, 0) != len(tokens) - 1:
        return None
    return tuple(tokens[1:-1])


def lambda_of(tokens: Tokens) -> tuple[tuple[str, ...], Tokens] | None:
    """The parameters and the body of ``x -> body`` or ``(x, y) -> body``; None for all else."""
    arrow = next((i for i, each in enumerate(tokens) if each.token_type is TokenType.ARROW), None)
    if not arrow or arrow + 1 == len(tokens):
        return None
    inner = group_of(tokens[:arrow])
    names = split_commas(inner) if inner is not None else (tokens[:arrow],)
    if not all(len(each) == 1 and _is_word(each[0]) for each in names):
        return None
    return tuple(each[0].text.lower() for each in names), tokens[arrow + 1 :]


def keyword_of(tokens: Tokens) -> tuple[str | None, Tokens]:
    """The name of an argument that is given as ``name := value``, and the value."""
    named = len(tokens) > 2 and tokens[1].token_type is TokenType.COLON_EQ and _is_word(tokens[0])
    return (tokens[0].text.lower(), tokens[2:]) if named else (None, tokens)


def word_of(tokens: Tokens) -> str | None:
    """The name, if the tokens are a single one, in lower case; else None."""
    return tokens[0].text.lower() if len(tokens) == 1 and _is_word(tokens[0]) else None


def in_place_of(like: Sequence[Token], token_type: TokenType, text: str) -> Token:
    """A new token of a kind and text in place of some tokens, without their comments."""
    first, last = like[0], like[-1]
    return Token(token_type, text, first.line, first.col, first.start, last.end)


def _split_names(tokens: Sequence[Token]) -> list[Token]:
    """T-SQL and Oracle read ``a_@`` as one name: its last character starts the reference."""
    source: list[Token] = []
    for index, token in enumerate(tokens):
        ends = len(token.text) > 1 and token.text.endswith("@") and _is_bare(token)
        if ends and _touches(tokens, index) and tokens[index + 1].token_type is TokenType.L_BRACE:
            line, middle = token.line, token.end
            name, end = token.text[:-1], token.end
            source.append(
                Token(token.token_type, name, line, token.col - 1, token.start, middle - 1)
            )
            comments = list(token.comments)
            source.append(Token(TokenType.PARAMETER, "@", line, token.col, middle, end, comments))
        else:
            source.append(token)
    return source


def _quoted_parts(text: str) -> tuple[str | Reference, ...]:
    pieces = _REFERENCE.split(text)
    parts = [Reference(each.lower()) if i % 2 else each for i, each in enumerate(pieces)]
    return tuple(part for part in parts if part != "")


def _is_reference(source: Sequence[Token], index: int) -> bool:
    return (
        index + 3 < len(source)
        and source[index + 1].token_type is TokenType.L_BRACE
        and _touches(source, index)
        and _is_word(source[index + 2])
        and source[index + 3].token_type is TokenType.R_BRACE
    )


def _is_at(token: Token) -> bool:
    return token.token_type is TokenType.PARAMETER and token.text == "@"


def _touches(tokens: Sequence[Token], index: int) -> bool:
    """Whether nothing is between a token and the next one."""
    return index + 1 < len(tokens) and tokens[index].end + 1 == tokens[index + 1].start


def _is_bare(token: Token) -> bool:
    """Whether a token's text is exactly that of the file: no string, no quoted name."""
    return token.end - token.start + 1 == len(token.text)


def _is_word(token: Token) -> bool:
    return _is_bare(token) and _WORD.fullmatch(token.text) is not None


def _is_part(token: Token) -> bool:
    return _is_bare(token) and _PART.fullmatch(token.text) is not None


def _is_glued(before: Token, at: Token) -> bool:
    names = (TokenType.VAR, TokenType.IDENTIFIER)
    return before.end + 1 == at.start and before.token_type in names


def _glued(at: Token) -> MacroError:
    return MacroError(
        "a macro follows or precedes a name without a space",
        "Write name_@{variable} to build a name from parts.",
        token=at,
    )


def with_comments_behind(text: str, tokens: Tokens) -> int:
    """Where some tokens end, the comments behind the last one with them."""
    end = tokens[-1].end + 1
    found = _COMMENTS.match(text, end) if tokens[-1].comments else None
    return found.end() if found is not None else end


def own_parameters(tokens: Sequence[Token]) -> dict[str, set[int]]:
    """The parameters of SQL's lambdas, such as ``x -> x + 1``: where each name is one."""
    found: dict[str, set[int]] = {}
    for at, token in enumerate(tokens):
        if token.token_type is not TokenType.ARROW or not at:
            continue
        first = at - 1
        if tokens[first].token_type is TokenType.R_PAREN:
            while first and tokens[first].token_type is not TokenType.L_PAREN:
                first -= 1
        names = {each.text.lower() for each in tokens[first:at] if _is_word(each)}
        last, depth = at + 1, 0
        while last < len(tokens) and depth >= 0:
            kind = tokens[last].token_type
            depth += (kind in _PAIRS) - (kind in _CLOSING)
            if depth < 0 or (depth == 0 and kind is TokenType.COMMA):
                break
            last += 1
        for name in names:
            found.setdefault(name, set()).update(range(first, last))
    return found
