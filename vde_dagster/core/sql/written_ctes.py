"""The common table expressions in front of a query, as its text has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

_FIRST: Final = frozenset({TokenType.SELECT, TokenType.L_PAREN, TokenType.VALUES, TokenType.FROM})


def names_of_ctes(query: exp.Expr) -> tuple[str, ...]:
    """The names of the common table expressions in front of a query, in lower case."""
    return tuple(each.alias.lower() for each in getattr(query, "ctes", ()))


def query_of_cte(text: str, name: str) -> str:
    """A query that returns the rows of one of the common table expressions in front of a query.

    Its text is that of the query, with another end.

    Args:
        text: The query, in Spark's dialect.
        name: Of the common table expression, as it may be written.

    Raises:
        ValueError: No common table expression stands in front of the query.
    """
    tokens = Dialect.get_or_raise("spark").tokenize(text)
    end = _end_of_with(tokens)
    rows = exp.to_identifier(name, quoted=True).sql("spark")
    return f"{text[:end]}\nSELECT * FROM {rows}"


def _end_of_with(tokens: Sequence[Token]) -> int:
    """Where the query itself begins: behind the last parenthesis of its WITH clause."""
    if not tokens or tokens[0].token_type is not TokenType.WITH:
        raise ValueError("there is no common table expression in front of the query")
    depth = 0
    for at, token in enumerate(tokens):
        depth += token.token_type is TokenType.L_PAREN
        depth -= token.token_type is TokenType.R_PAREN
        if depth or token.token_type is not TokenType.R_PAREN or at + 1 == len(tokens):
            continue
        if tokens[at + 1].token_type in _FIRST:
            return token.end + 1
    raise ValueError("nothing stands behind the common table expressions")
