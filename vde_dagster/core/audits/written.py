"""An author's text inside of the query of an audit: it runs as it is written (rule R13).

In the syntax tree of a generated query it is one leaf. The tables that it reads are marked in it
until an engine puts the names of physical tables there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.names import DEFAULT_SCHEMA, ModelName, TableName
from vde_dagster.core.sql.select_clauses import clauses_of
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.text import SqlText, closed, table_text

THIS: Final = ModelName(DEFAULT_SCHEMA, "this_model")
"""What the staged rows are called in the text of an audit."""
_MARKED: Final = re.compile("`\0([^\0]+)\0`")
_OPENING: Final = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING: Final = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)


def leaf(text: SqlText) -> exp.Paren:
    """A text in parentheses, as a part of a tree."""
    return exp.Paren(this=_marked(text))


def _marked(text: SqlText) -> exp.Var:
    marked = text.with_tables(lambda name: TableName("", f"\0{name}\0")).text
    return exp.Var(this=closed(marked))


def rows_of_text(text: SqlText, name: str) -> exp.Select:
    """The rows of a query's text."""
    source = exp.Subquery(
        this=_marked(text),
        alias=exp.TableAlias(this=exp.to_identifier(name)),
    )
    return exp.select(exp.Star()).from_(source, copy=False)


def tables_in(query: exp.Expr) -> Iterator[ModelName]:
    """The models and sources that the texts in a tree read; the staged rows are none."""
    for node in query.find_all(exp.Var):
        for name in _MARKED.findall(node.name):
            if (found := ModelName.parse(name)) != THIS:
                yield found


def filled(sql: str, target: Callable[[ModelName], TableName | str]) -> str:
    """The text of a query with tables, or the texts of what is read, in place of the marks."""

    def read(name: ModelName) -> str:
        found = target(name)
        return found if isinstance(found, str) else table_text(found)

    return _MARKED.sub(lambda found: read(ModelName.parse(found[1])), sql)


def items_of_text(text: str) -> list[str]:
    """The texts of the items of a list in parentheses; a single item may stand without them."""
    tokens = Dialect.get_or_raise("spark").tokenize(text)
    inner = tokens[1:-1] if _is_enclosed(tokens) else tokens
    groups: list[list[Token]] = [[]]
    depth = 0
    for token in inner:
        depth += token.token_type in _OPENING
        depth -= token.token_type in _CLOSING
        if depth == 0 and token.token_type is TokenType.COMMA:
            groups.append([])
        else:
            groups[-1].append(token)
    return [text[each[0].start : each[-1].end + 1] for each in groups if each]


def _is_enclosed(tokens: list[Token]) -> bool:
    """Whether the first parenthesis is closed by the last token."""
    if not tokens or tokens[0].token_type is not TokenType.L_PAREN:
        return False
    depth = 0
    for index, token in enumerate(tokens):
        depth += token.token_type in _OPENING
        depth -= token.token_type in _CLOSING
        if depth == 0:
            return index == len(tokens) - 1
    return False


def condition_text(text: str) -> str:
    """The condition of a SELECT from one table with nothing behind WHERE, its columns' names bare.

    Args:
        text: In Spark's dialect, without time macros.
    """
    query = read_spark(text)
    assert isinstance(query, exp.Select), "a query that only picks rows"
    clauses = clauses_of(query)
    if clauses.where is None:
        return "TRUE"
    alias = clauses.from_.first.alias if clauses.from_.first is not None else ""
    start = _where_ends(text)
    cuts = sorted(
        (column.parts[0].meta["start"], column.parts[1].meta["start"])
        for column in clauses.where.find_all(exp.Column)
        if column.table and column.parts[0].name.lower() == alias
    )
    pieces = []
    for first, last in cuts:
        pieces.append(text[start:first])
        start = last
    return "".join([*pieces, text[start:]]).strip()


def _where_ends(text: str) -> int:
    depth = 0
    for token in Dialect.get_or_raise("spark").tokenize(text):
        depth += token.token_type in _OPENING
        depth -= token.token_type in _CLOSING
        if depth == 0 and token.token_type is TokenType.WHERE:
            return token.end + 1
    raise AssertionError("the query has its own WHERE")
