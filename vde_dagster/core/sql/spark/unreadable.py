"""What sqlglot reads and Spark's own parser refuses: a model in Spark's dialect runs as written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.sql.spark.reading import read_spark, token_types


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A part of a text that Spark cannot parse, with its line in the text, the first being 1."""

    line: int
    message: str
    advice: str


def unreadable(text: str) -> Iterator[Unreadable]:
    """What Spark cannot parse of a statement.

    Raises:
        sqlglot.errors.SqlglotError: There is no such reading.
    """
    tree = read_spark(text)
    tokens = Dialect.get_or_raise("spark").tokenize(text)
    for token, after in pairwise([None, *tokens, None]):
        left = token.token_type if token is not None else None
        right = after.token_type if after is not None else None
        if left is TokenType.COMMA and right in _ENDS:
            yield _found(token, "a comma after the last item of a list", "Remove it.")
        elif right is TokenType.COMMA and left in _BEGINS:
            yield _found(after, "a comma with nothing before it", "Remove it.")
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


_ENDS: Final = token_types(
    "FROM GROUP_BY HAVING LIMIT ORDER_BY R_BRACKET R_PAREN SEMICOLON UNION WHERE"
) | {None}


_BEGINS: Final = token_types("COMMA GROUP_BY L_PAREN ORDER_BY SELECT") | {None}


_TYPES: Final = frozenset(
    {
        *("ARRAY", "BIGINT", "BINARY", "BOOLEAN", "BYTE", "CHAR", "CHARACTER", "DATE", "DEC"),
        *("DECIMAL", "DOUBLE", "FLOAT", "GEOGRAPHY", "GEOMETRY", "INT", "INTEGER", "INTERVAL"),
        *("LONG", "MAP", "NUMERIC", "OBJECT", "REAL", "SHORT", "SMALLINT", "STRING", "STRUCT"),
        *("TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TINYINT", "VARCHAR", "VARIANT"),
    }
)
_SUFFIXES: Final = frozenset({"BD", "D", "F", "L", "S", "Y"})
"""Letters behind numbers: the tokenizer puts ``::`` before them."""
_SIZED: Final = frozenset({"CHAR", "CHARACTER", "VARCHAR"})
_BEFORE_VALUE: Final = token_types("AND ARRAY COMMA ELSE EQ L_PAREN OR SELECT THEN WHEN WHERE")
_OPERAND: Final = token_types("END IDENTIFIER NUMBER R_BRACKET R_PAREN STRING VAR")
_CASTS: Final = ("CAST", "TRY_CAST")


def _of_words(tokens: list[Token]) -> Iterator[Unreadable]:
    """What the syntax tree does not show, by a word and its neighbours."""
    calls = [""]
    padded = [None, *tokens, None]
    for before, word, after in zip(padded, padded[1:], padded[2:], strict=False):
        assert word is not None, "only neighbours are missing"
        left = before.text.upper() if before is not None else ""
        right = after.text.upper() if after is not None else ""
        match word.token_type:
            case TokenType.L_PAREN:
                calls.append(left)
            case TokenType.R_PAREN:
                calls = calls[:-1] or [""]
            case TokenType.L_BRACKET if before and before.token_type in _BEFORE_VALUE:
                yield _found(word, "lists in brackets", "Write `array(...)`.")
            case TokenType.ISNULL | TokenType.NOTNULL if before and before.token_type in _OPERAND:
                advice = "IS NULL" if word.token_type is TokenType.ISNULL else "IS NOT NULL"
                yield _found(word, word.text.upper(), f"Write `{advice}`.")
            case TokenType.NUMBER if left == "LIMIT" and right == ",":
                yield _found(word, "LIMIT with two numbers", "Write `LIMIT n OFFSET m`.")
            case TokenType.NUMBER if left == "OFFSET" and right in ("ROW", "ROWS"):
                yield _found(word, "OFFSET with ROWS", "Write `OFFSET n`.")
            case TokenType.WITH if left == "TIMESTAMP" and right == "TIME":
                advice = "Write TIMESTAMP, which is an instant."
                yield _found(word, "`WITH TIME ZONE`", advice)
            case TokenType.DATETIME if after and after.token_type is TokenType.STRING:
                yield _found(word, "DATETIME before a text", "Write TIMESTAMP.")
            case _ if left == "::" or (left == "AS" and calls[-1] in _CASTS):
                yield from _of_type(word, right)


def _of_type(word: Token, after: str) -> Iterator[Unreadable]:
    """The type to which a value is cast."""
    name = word.text.upper()
    if name in _SIZED and after != "(":
        yield _found(word, f"the type {name} without a length", "Write STRING.")
    elif name not in _TYPES | _SUFFIXES:
        advice = "Write one of Spark's types: STRING, BIGINT, DOUBLE, TIMESTAMP, ARRAY<INT>, ..."
        yield _found(word, f"the type {name}", advice)


def _backquoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("spark")


def _of_star(star: exp.Star, tokens: list[Token]) -> Iterator[Unreadable]:
    """``*`` with something behind it that is not EXCEPT."""
    at = next((i for i, a in enumerate(tokens) if a.start == star.meta.get("start")), len(tokens))
    word, after = [*tokens, None, None, None][at + 1 : at + 3] or (None, None)
    written = word.text.upper() if word is not None else ""
    is_list = after is not None and after.token_type is TokenType.L_PAREN
    if any(star.args.values()) and not (written == "EXCEPT" and is_list):
        advice = "Write `* EXCEPT (...)`, or name the columns."
        yield _found(word, f"`*` with {written}", advice)


_SYNTAX: Final[dict[type[exp.Expr], tuple[str, str]]] = {
    exp.CTE: ("MATERIALIZED", "Take the word out."),
    exp.Distinct: ("DISTINCT ON", "Number the rows with ROW_NUMBER in a sub-query."),
    exp.Fetch: ("FETCH", "Write `LIMIT n`."),
    exp.Glob: ("GLOB", "Write LIKE or RLIKE."),
    exp.Join: ("a join ASOF", "Write the join with a condition and ROW_NUMBER."),
    exp.Qualify: (
        "QUALIFY",
        "Write `SELECT ... FROM (SELECT ..., <window> AS w FROM ...) WHERE w = 1`.",
    ),
}
"""Nodes that Spark's grammar has in no form, or not in that of `_is_other`."""


def _is_other(node: exp.Expr) -> bool:
    match node:
        case exp.CTE():
            return node.args.get("materialized") is not None
        case exp.Distinct():
            return node.args.get("on") is not None
        case exp.Join():
            return str(node.args.get("method") or "").upper() == "ASOF"
        case _:
            return True
