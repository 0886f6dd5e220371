"""A query whose columns all have names, as a model's must: written into the text, at its places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot import tokenize
from sqlglot.tokenizer_core import Token, TokenType

_OPENING: Final = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING: Final = (TokenType.R_PAREN, TokenType.R_BRACKET)
_BEHIND: Final = frozenset(
    ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT")
)
"""The words of which one ends the list of what is selected."""
_NO_NAMES: Final = frozenset(
    (TokenType.NULL, TokenType.TRUE, TokenType.FALSE, TokenType.NUMBER, TokenType.STRING)
)


def with_names(query: str, columns: Sequence[str]) -> str:
    """A query in which each column that its author gave no name is called c0, c1, ...

    Args:
        query: A query of Spark's dialect.
        columns: How Spark calls its columns: one that the text does not name has another name.
    """
    items = list(_items(query))
    if any(item[-1].token_type is TokenType.STAR for item in items):
        return query
    if len(items) == 1 and len(columns) > 1:  # a call that makes several columns
        return _behind(query, items[0], f"({', '.join(map(_name, range(len(columns))))})")
    for index in reversed(range(min(len(items), len(columns)))):
        last = items[index][-1]
        is_name = last.token_type not in _NO_NAMES and last.text == columns[index]
        if not is_name:
            query = _behind(query, items[index], _name(index))
    return query


def _name(index: int) -> str:
    return f"c{index}"


def _behind(query: str, item: Sequence[Token], alias: str) -> str:
    end = item[-1].end + 1
    return f"{query[:end]} AS {alias}{query[end:]}"


def _items(query: str) -> Iterator[list[Token]]:
    """What the outermost SELECT lists."""
    depth, item, inside = 0, list[Token](), False
    last = ""
    for token in tokenize(query, read="spark"):
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        word = token.text.upper()
        if depth == 0 and not inside:
            inside = word == "SELECT"
        elif depth == 0 and word in _BEHIND and last != "WITHIN":
            break
        elif depth == 0 and token.token_type is TokenType.COMMA:
            yield item
            item = []
        elif inside and not (word == "DISTINCT" and not item):
            item.append(token)
        last = word
    if item:
        yield item
