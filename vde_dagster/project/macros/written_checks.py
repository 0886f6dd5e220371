"""Checks that the text that runs is what the syntax tree says, and that Spark can read it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from sqlglot import exp, parse_one
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.errors import Place
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.spark.unreadable import Unreadable, unreadable
from vde_dagster.core.sql.star_macro import STAR_PLACE
from vde_dagster.project.macros.placement import NO_MEMBERS, put_union
from vde_dagster.project.macros.tokens import MacroError
from vde_dagster.project.problems import Problems


def check_text(
    tree: exp.Expr, text: str, stars: Sequence[exp.Expr], tokens: Sequence[Token]
) -> None:
    """Refuse a statement whose text, with its macros replaced, parses to another tree.

    Args:
        tree: The statement with its macros expanded.
        text: The same as a text.
        stars: The nodes of @STAR and @UNION, which are in the text by their numbers.
        tokens: What the author wrote.

    Raises:
        MacroError: They differ: a macro stands where its text cannot be put.
    """
    if isinstance(tree, exp.Command) or not any(_begins_macro(each) for each in tokens):
        return
    try:
        read = _plain(_filled(read_spark(text), stars))
        # A tree that Python code builds may differ from the one that its text parses to.
        if read == _plain(tree) or read == _plain(read_spark(tree.sql("spark"))):
            return
    except SQL_ERRORS:
        pass
    message = "a macro stands where the text that it gives cannot be put"
    advice = "Put parentheses around the macro, or write what it gives without it."
    raise MacroError(message, advice, token=next(filter(_begins_macro, tokens)))


def check_spark(
    tree: exp.Expr, text: str, tokens: Sequence[Token], place: Place, problems: Problems
) -> None:
    """Report what Spark cannot parse of a statement: it runs as written.

    Args:
        tree: The statement with its macros expanded.
        text: The same as a text.
        tokens: What the author wrote.
        place: Of the statement's file.
        problems: Gets what is wrong, each at its line.
    """
    if isinstance(tree, exp.Command):
        return  # such as a statement that Iceberg adds to Spark's
    lines = {token.line for token in tokens if _begins_macro(token)}
    for found in _unreadable(text):
        line = _line_in_file(found.line, text, tokens, lines)
        message = f"Spark's SQL does not have {found.message}, and it runs as written"
        problems.reject(Place(path=place.path, line=line), message, found.advice)


def _unreadable(text: str) -> Iterator[Unreadable]:
    try:
        yield from unreadable(text)
    except SQL_ERRORS as error:
        message = f"this ({first_line(error)})"
        yield Unreadable(line=1, message=message, advice="Write it in Spark's SQL.")


def _line_in_file(line: int, text: str, tokens: Sequence[Token], macros: Collection[int]) -> int:
    """The line of a statement's file for one of its text, in which macros may take other space."""
    first, last = tokens[0].line, tokens[-1].line
    from_start = first + line - 1
    if all(each >= from_start for each in macros):
        return from_start
    from_end = last - (text.count("\n") + 1 - line)
    return max(first, min(last, from_end)) if all(each <= from_end for each in macros) else first


def _begins_macro(token: Token) -> bool:
    return token.token_type is TokenType.PARAMETER or "@" in token.text


def _filled(tree: exp.Expr, stars: Sequence[exp.Expr]) -> exp.Expr:
    holder = exp.Tuple(expressions=[tree])
    for node in list(holder.find_all(exp.Parameter)):
        name = node.name.lower()
        if name.startswith(STAR_PLACE):
            star = stars[int(name.removeprefix(STAR_PLACE))].copy()
            if isinstance(star, exp.Query):
                put_union(node, star)
            else:
                node.replace(star)
    filled: exp.Expr = holder.expressions[0]
    return filled


def _plain(tree: exp.Expr) -> exp.Expr:
    """A tree without notes of how it was written."""
    holder = exp.Tuple(expressions=[tree.copy()])
    for node in list(holder.walk()):
        node.comments = None
        if isinstance(node, exp.Paren):
            node.replace(node.this)
        elif isinstance(node, exp.Identifier):
            node.set("quoted", None)
        elif isinstance(node, exp.In) and node.args.get("query") == _NOTHING:
            node.replace(exp.false())
    return holder


_NOTHING: Final = exp.Subquery(this=parse_one(NO_MEMBERS, dialect="spark"))
