"""Trees that were parsed around macros: their placeholders, and what is refused in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.project.macros.tokens import MacroError, Tokens
from vde_dagster.project.macros.values import is_plain

NUL: Final = "\0"
MARK: Final = f"{NUL}\1"
"""The start of a placeholder. A text that has it already is refused."""
_FREE: Final = (TokenType.IDENTIFIER, TokenType.STRING)
"""Tokens whose text may be anything."""


def placeholders(holder: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes that placeholders were parsed as, from left to right, outer ones first."""
    for node in holder.walk(bfs=False):
        name = node.args.get("this")
        if isinstance(name, str) and name.startswith(MARK):
            yield node


def check_texts(holder: exp.Expr, tokens: Sequence[Token], written: set[int]) -> None:
    """Refuse a tree with a value's text in a place where the generator prints it unquoted.

    Parsers take words, such as the unit of EXTRACT, from strings and quoted names as well.

    Raises:
        MacroError: A value with more than a word in it stands where only a word may.
    """
    texts = [
        token.text.upper()
        for token in tokens
        if id(token) not in written and token.token_type in _FREE and not is_plain(token.text)
    ]
    for node in holder.walk() if texts else ():
        if isinstance(node, exp.Identifier | exp.Literal | exp.JSONPathPart):
            continue
        for each in node.args.values():
            if isinstance(each, str) and any(text and text in each.upper() for text in texts):
                message = f"{each!r} is the value of a macro where one word is needed"
                raise MacroError(message, "Give the macro a value of one word.")


def is_in(node: exp.Expr, holder: exp.Expr) -> bool:
    """Whether a node is still part of a tree."""
    return node.root() is holder


def is_own(leaf: exp.Expr, name: str) -> bool:
    """Whether a name belongs to a SQL lambda that has a parameter of this name."""
    around = leaf.find_ancestor(exp.Lambda)
    while around is not None:
        if any(each.name.lower() == name for each in around.expressions):
            return True
        around = around.find_ancestor(exp.Lambda)
    return False


def size_of(tree: exp.Expr) -> int:
    """How many nodes a tree has."""
    return sum(1 for _ in tree.walk())


def places_of(leaf: exp.Expr, tokens: Tokens) -> list[tuple[int, int]]:
    """Where a name is in the text. Words, such as units, have no positions."""
    start, end = leaf.meta.get("start"), leaf.meta.get("end")
    if start is not None and end is not None:
        return [(start, end)]
    words = [each for each in tokens if each.text.lower() == leaf.name.lower()]
    return [(each.start, each.end) for each in words[:1]]


def reached(error: ParseError) -> tuple[int, int]:
    """How far a parser came."""
    details = error.errors[-1] if error.errors else {}
    return details.get("line") or 0, details.get("col") or 0
