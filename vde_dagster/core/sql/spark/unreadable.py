"""What sqlglot reads and Spark's own parser refuses: a model in Spark's dialect runs as written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.sql.spark.reading import read_spark


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A part of a text that Spark cannot parse, with its line in the text, the first being 1."""

    line: int
    message: str
    advice: str


def unreadable(text: str) -> Iterator[Unreadable]:
    """What Spark cannot parse of a statement.

    Raises:
        sqlglot.errors.SqlglotError: Nobody can.
    """
    tree = read_spark(text)
    tokens = Dialect.get_or_raise("spark").tokenize(text)
    for token, after in pairwise([*tokens, None]):
        if token is not None and token.token_type is TokenType.COMMA and _ends_list(after):
            yield _found(token, "a comma behind the last of a list", "Take it out.")
    yield from _of_words(tokens)
    quoted = {each.start: each for each in tokens if text[each.start] in "'\""}
    for name in tree.find_all(exp.Identifier):
        if (token := quoted.get(name.meta.get("start", -1))) is not None:
            advice = f"Write it in backquotes: {_backquoted(token.text)}."
            yield _found(token, "a text in quotes as a name", advice)
    for star in tree.find_all(exp.Star):
        yield from _of_star(star, tokens)
    for node in tree.walk():
        message, advice = _SYNTAX.get(type(node), ("", ""))
        if message and _is_other(node):
            line = next((line for each in node.walk() if (line := each.meta.get("line"))), 1)
            yield Unreadable(line=line, message=message, advice=advice)


def _found(token: Token | None, message: str, advice: str) -> Unreadable:
    return Unreadable(line=token.line if token is not None else 1, message=message, advice=advice)


_ENDS: Final = frozenset(
    {
        TokenType.FROM,
        TokenType.GROUP_BY,
        TokenType.HAVING,
        TokenType.LIMIT,
        TokenType.ORDER_BY,
        TokenType.R_BRACKET,
        TokenType.R_PAREN,
        TokenType.SEMICOLON,
        TokenType.UNION,
        TokenType.WHERE,
    }
)


def _ends_list(token: Token | None) -> bool:
    return token is None or token.token_type in _ENDS


_TYPES: Final = frozenset({"CHAR", "CHARACTER", "TEXT", "VARCHAR"})
_UNITS_FIRST: Final = frozenset({"DATEADD", "DATEDIFF", "DATE_ADD", "DATE_DIFF"})
_UNITS: Final = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})
_BEFORE_VALUE: Final = frozenset(
    {
        TokenType.COMMA,
        TokenType.ELSE,
        TokenType.EQ,
        TokenType.L_PAREN,
        TokenType.SELECT,
        TokenType.THEN,
    }
)


_OPERAND: Final = frozenset(
    {
        TokenType.END,
        TokenType.IDENTIFIER,
        TokenType.NUMBER,
        TokenType.R_BRACKET,
        TokenType.R_PAREN,
        TokenType.STRING,
        TokenType.VAR,
    }
)


def _of_words(tokens: list[Token]) -> Iterator[Unreadable]:
    """What the syntax tree does not show, by a word and its two neighbours."""
    calls = [""]
    padded = [None, *tokens, None]
    for before, word, after in zip(padded, padded[1:], padded[2:], strict=False):
        assert word is not None, "only neighbours are missing"
        left = before.text.upper() if before is not None else ""
        right = after.text.upper() if after is not None else ""
        match word.token_type:
            case TokenType.L_PAREN:
                calls.append(left)
                is_text = after is not None and after.token_type is TokenType.STRING
                if is_text and left in _UNITS_FIRST and right in _UNITS:
                    yield _found(after, "a unit in quotes", f"Write {left}({right}, ...).")
            case TokenType.R_PAREN:
                calls = calls[:-1] or [""]
            case TokenType.L_BRACKET if before and before.token_type in _BEFORE_VALUE:
                yield _found(word, "lists in brackets", "Write `array(...)`.")
            case TokenType.DARROW:
                yield _found(word, "`->>`", "Write get_json_object(<text>, '$.<key>').")
            case TokenType.ISNULL if before and before.token_type in _OPERAND:
                yield _found(word, "ISNULL", "Write `IS NULL`.")
            case TokenType.NUMBER if left == "LIMIT" and right == ",":
                yield _found(word, "LIMIT with two numbers", "Write `LIMIT n OFFSET m`.")
            case _ if word.text.upper() in _TYPES and right != "(":
                is_cast = left == "AS" and calls[-1] in ("CAST", "TRY_CAST")
                if is_cast or left == "::":
                    what = f"the type {word.text.upper()} without a length"
                    yield _found(word, what, "Write STRING.")


def _backquoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("spark")


def _of_star(star: exp.Star, tokens: list[Token]) -> Iterator[Unreadable]:
    """``*`` with something behind it that is not EXCEPT."""
    word = next((b for a, b in pairwise(tokens) if a.start == star.meta.get("start")), None)
    written = word.text.upper() if word is not None else ""
    if any(star.args.values()) and written != "EXCEPT":
        advice = "Write `* EXCEPT (...)`, or name the columns."
        yield _found(word, f"`*` with {written}", advice)


_SYNTAX: Final[dict[type[exp.Expr], tuple[str, str]]] = {
    exp.ArrayAgg: ("ARRAY_AGG with ORDER BY", "Write `array_sort(array_agg(...))`."),
    exp.CTE: ("MATERIALIZED", "Take the word out."),
    exp.Distinct: ("DISTINCT ON", "Number the rows with ROW_NUMBER in a sub-query."),
    exp.Fetch: ("FETCH", "Write `LIMIT n`."),
    exp.Glob: ("GLOB", "Write LIKE or RLIKE."),
    exp.Join: ("a join ASOF", "Write the join with a condition and ROW_NUMBER."),
    exp.Qualify: (
        "QUALIFY",
        "Write `SELECT ... FROM (SELECT ..., <window> AS w FROM ...) WHERE w = 1`.",
    ),
    exp.Slice: ("slices in brackets", "Write `slice(<array>, <start>, <length>)`."),
    exp.Union: ("UNION BY NAME", "Name the columns in the same order and write UNION."),
}
"""Nodes that Spark's grammar has in no form, or not in that of `_is_other`."""


def _is_other(node: exp.Expr) -> bool:
    match node:
        case exp.ArrayAgg():
            return isinstance(node.this, exp.Order)
        case exp.Union():
            return bool(node.args.get("by_name"))
        case exp.CTE():
            return node.args.get("materialized") is not None
        case exp.Distinct():
            return node.args.get("on") is not None
        case exp.Join():
            return str(node.args.get("method") or "").upper() == "ASOF"
        case _:
            return True
