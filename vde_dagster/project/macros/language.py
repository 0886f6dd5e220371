"""The statements after a MODEL block, with every macro but the time macros expanded.

Macros are filled into the text while a model is read, and the text is parsed then. Time macros stay
in it until a query is rendered, @STAR and @UNION stay as calls until the columns of the parents are
known (see `vde_dagster.core.sql.star_macro`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp, parse_one
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.sql.dialects import is_spark, reread, transpiled
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.macros import TIME_MACROS, time_macro_in_text
from vde_dagster.core.sql.spark.unreadable import Unreadable, unreadable
from vde_dagster.core.sql.star_macro import SHOWN, is_star_macro
from vde_dagster.project.macros.builtin import BUILTINS
from vde_dagster.project.macros.expansion import Expander
from vde_dagster.project.macros.placing import NO_MEMBERS
from vde_dagster.project.macros.scope import Budget, Frame, MacroScope
from vde_dagster.project.macros.texts import (
    Written,
    is_plain,
    line_in_file,
    read_statement,
    text_of,
)
from vde_dagster.project.macros.tokens import (
    NUL,
    MacroError,
    Tokens,
    check_depth,
    find_macros,
    split_statements,
)
from vde_dagster.project.problems import Problems, suggestion

__all__ = ["MacroScope", "Statements", "is_star_macro", "read_statements"]

_TEXTS: Final = (TokenType.STRING, TokenType.RAW_STRING)
_TEMPLATE: Final = re.compile(r"\{\{-?\s*[^\W\d][^{}]*\}\}|\{%-?\s*[^\W\d].*?%\}", re.DOTALL)
"""Jinja within a string of SQL; a string may also have other braces."""
_FOREIGN: Final = re.compile(
    r"\{\{|\{%|\bJINJA_(?:QUERY_BEGIN|STATEMENT_BEGIN|END)\b|\bON_VIRTUAL_UPDATE_(?:BEGIN|END)\b",
    re.IGNORECASE,
)
"""What begins Jinja, or statements for when views are updated."""
_CHECK: Final = "Check the SQL at this line against the model's dialect."


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """The statements of a model in order, and what their macros used.

    ``texts`` are the statements as their author wrote them, with the macros replaced at their
    places; those of another dialect are sqlglot's translation of ``original``. Time macros stay in
    them, and calls for @STAR and @UNION. ``used_variables`` has every name that was asked for, also
    those that only had a default. ``used_files`` are the paths of macro files.
    """

    expressions: tuple[exp.Expr, ...] = ()
    texts: tuple[str, ...] = ()
    original: str = ""
    used_variables: frozenset[str] = frozenset()
    used_files: frozenset[str] = frozenset()


def read_statements(
    text: str, *, dialect: str, place: Place, scope: MacroScope, problems: Problems
) -> Statements | None:
    """Parse statements in a dialect and expand their macros.

    Args:
        text: What follows the MODEL block; it starts at ``place.line``.
        dialect: One of sqlglot's.
        place: The model's file, and the line at which the text starts.
        scope: The variables and macros of the project.
        problems: Takes what is wrong, each at its line.

    Returns:
        None where anything is wrong.

    Raises:
        RecursionError: The statements are nested too deeply.
    """
    padded = "\n" * (place.line - 1) + text
    try:
        read = Dialect.get_or_raise(dialect)
    except ValueError as error:
        problems.add(place, str(error), "Check the model's dialect.")
        return None
    try:
        tokens = read.tokenize(padded)
    except SQL_ERRORS as error:
        if not _refuse_foreign(padded, padded, place, problems):
            problems.add(place, f"the query does not parse: {first_line(error)}", _CHECK)
        return None
    if NUL in text:
        problems.add(place, "the query contains a NUL character", "Remove it.")
        return None
    if _refuse_foreign(_without_texts(padded, tokens), padded, place, problems):
        return None
    check_depth(tokens)
    _warn_of_texts(tokens, place, problems)
    budget = Budget(most=scope.most_parts)
    expander = Expander(dialect=read, text=padded, scope=scope, builtins=BUILTINS, budget=budget)
    before = len(problems.found)
    found = [
        each
        for statement in split_statements(tokens)
        for each in _read(expander, statement, place, problems)
    ]
    if len(problems.found) > before:
        return None
    originals = [each.original for each in found if each.original]
    if originals:
        message = f"sqlglot translated this from {dialect} to Spark SQL, and it is not proven "
        message += "that both mean the same"
        problems.warn(
            place, message, "Compare both texts with `vde render`, and write a unit test."
        )
    return Statements(
        expressions=tuple(each.tree for each in found),
        texts=tuple(each.text for each in found),
        original=";\n\n".join(originals),
        used_variables=frozenset(expander.used_variables),
        used_files=frozenset(expander.used_files),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statement:
    """A statement as Spark reads it, what runs, and the text that was translated, if any."""

    tree: exp.Expr
    text: str
    original: str = ""


def _read(
    expander: Expander, tokens: Tokens, place: Place, problems: Problems
) -> Sequence[_Statement]:
    """The statements that one becomes."""
    wrong = expander.unknown  # while there are any, all else may follow from them
    wrong.clear()
    found: Sequence[_Statement] = ()
    try:
        texts = expander.expand(tokens, Frame(), is_statement=True)
        if not wrong:
            found = [_statement(expander, each, tokens, place, problems) for each in texts]
    except MacroError as error:
        if not wrong:
            wrong.append(error)
    except SQL_ERRORS as error:
        if not wrong:
            details = error.errors if isinstance(error, ParseError) else ()
            line = details[0].get("line") if details else None
            where = Place(path=place.path, line=line or tokens[0].line)
            problems.add(where, f"the query does not parse: {first_line(error)}", _CHECK)
    for each in wrong:
        where = _place_of(each.token or tokens[0], place)
        own = Problem(place=where, message=each.message, advice=each.advice)
        problems.found.append(each.cause or own)
    return () if wrong else found


def _statement(
    expander: Expander, written: Written, tokens: Tokens, place: Place, problems: Problems
) -> _Statement:
    """One statement whose macros are filled in. Raises MacroError, and what a parser raises."""
    text = text_of(written).rstrip()
    tree = read_statement(written, tokens, expander.dialect)
    _check_left(tree, tokens, expander.dialect)
    check_words(tree, expander.words)
    if is_spark(expander.dialect):
        if not isinstance(tree, exp.Command):  # such as a statement that Iceberg adds to Spark's
            check_spark(written, place, problems)
        return _Statement(tree=with_no_members(tree), text=text)
    dialect = type(expander.dialect).__name__.lower()
    meant, in_spark = translated(tree, dialect, tokens)
    return _Statement(tree=meant, text=in_spark, original=text)


def _place_of(token: Token | None, default: Place) -> Place:
    if token is None:
        return default
    return Place(path=default.path, line=token.line, column=token.col)


def _warn_of_texts(tokens: Sequence[Token], place: Place, problems: Problems) -> None:
    """Report time macros in quotes, which are texts like any other."""
    for token in tokens:
        is_text = token.token_type is TokenType.STRING
        name = time_macro_in_text(token.text) if is_text else None
        if name is not None:
            message = f"@{name} is inside a text, where macros are not expanded"
            advice = (
                f"Write @{name} without quotes; inside a longer text, use CONCAT('...', @{name})."
            )
            problems.warn(_place_of(token, place), message, advice)


def _without_texts(text: str, tokens: Sequence[Token]) -> str:
    """A text without comments, and without strings that have no Jinja in them."""
    pieces, end = "", 0
    for token in tokens:
        written = text[token.start : token.end + 1]
        is_text = token.token_type in _TEXTS and not _TEMPLATE.search(written)
        pieces += ("" if token.start == end else " ") + ("" if is_text else written)
        end = token.end + 1
    return pieces


def _refuse_foreign(shown: str, text: str, place: Place, problems: Problems) -> bool:
    """Report what no statement may contain; returns whether there is any."""
    found = _FOREIGN.search(shown)
    if found is None:
        return False
    word, line = found[0].upper(), text.count("\n", 0, text.find(found[0])) + 1
    if word.startswith("ON_VIRTUAL"):
        message = f"the model has statements that run when views are updated ({word})"
        advice = (
            "Remove the block. Write statements that run with each evaluation after the query, "
        )
        advice += "with `;` between them. Grant rights on views with the tools of the catalog."
    else:
        message = f"the query contains Jinja ({word})"
        advice = "Use macros instead: time macros such as @start_dt, @VAR('name'), @IF, @EACH, or "
        advice += "Python functions in macros/*.py."
    where = Place(path=place.path, line=line)
    problems.add(where, f"{message}, which is not supported", advice)
    return True


def _check_left(statement: exp.Expr, tokens: Tokens, dialect: Dialect) -> None:
    """Refuse macros in places that no macro can stand in.

    Raises:
        MacroError: Something is left that is neither SQL nor a time macro.
    """
    for node in statement.walk():
        if is_star_macro(node) and not isinstance(statement, exp.Query):
            message = f"{SHOWN[node.name]} is used in a pre- or post-statement, where the columns "
            message += "of relations are not known"
            raise MacroError(message, "Name the columns.", token=tokens[0])
        if isinstance(node, exp.Parameter) and node.name.lower() not in TIME_MACROS:
            name = node.name.lower()
            known = suggestion(name, sorted({*TIME_MACROS, *BUILTINS}))
            raise MacroError(f"unknown macro @{name}", known, token=tokens[0])
        if isinstance(node, exp.Command) and _has_macro(_text_of(node), dialect):
            message = f"{node.this} is a statement that is passed on as it is written, so macros "
            message += "in it cannot be expanded"
            raise MacroError(message, "Write it without macros.", token=tokens[0])


def _text_of(command: exp.Command) -> str:
    text = command.args.get("expression") or ""
    return text.name if isinstance(text, exp.Expr) else str(text)


def _has_macro(text: str, dialect: Dialect) -> bool:
    try:
        found = find_macros(dialect.tokenize(text), spaced=frozenset())
    except (*SQL_ERRORS, MacroError):
        return "@" in text
    return any(not isinstance(each, Token) for each in found)


_ADVICE: Final = "Rewrite that part, or write the model in Spark's dialect."


def translated(tree: exp.Expr, dialect: str, tokens: Tokens) -> tuple[exp.Expr, str]:
    """A statement as Spark reads it, and its text.

    Args:
        tree: The statement with its macros filled in.
        dialect: Its own.
        tokens: What the author wrote.

    Raises:
        MacroError: sqlglot cannot write it for Spark, or what it writes Spark cannot read.
    """
    try:
        text = transpiled(tree, pretty=True)
        found = reread(tree, text)
        wrong = next(unreadable(text), None)
    except SQL_ERRORS as error:
        message = f"sqlglot cannot translate this from {dialect} to Spark SQL: "
        raise MacroError(f"{message}{first_line(error)}", _ADVICE, token=tokens[0]) from error
    if wrong is not None:
        message = f"sqlglot translates this to SQL that Spark does not have: {wrong.message}"
        raise MacroError(message, _ADVICE, token=tokens[0])
    return found, text


def check_spark(written: Written, place: Place, problems: Problems) -> None:
    """Report what Spark cannot parse of a statement, each at its line: it runs as written."""
    try:
        every = list(unreadable(text_of(written)))
    except SQL_ERRORS as error:
        message = f"this ({first_line(error)})"
        every = [Unreadable(line=1, message=message, advice="Write it in Spark SQL.")]
    for wrong in every:
        message = f"Spark SQL does not have {wrong.message}, and the text runs as written"
        line = line_in_file(written, wrong.line)
        problems.reject(Place(path=place.path, line=line), message, wrong.advice)


def with_no_members(tree: exp.Expr) -> exp.Expr:
    """A tree in which a condition that is IN an empty list is FALSE."""
    holder = exp.Tuple(expressions=[tree])
    for node in list(holder.find_all(exp.In)):
        if node.args.get("query") == _NOTHING:
            node.replace(exp.false())
    (whole,) = holder.expressions
    return whole.pop()  # type: ignore[no-any-return]


def check_words(tree: exp.Expr, words: Iterable[str]) -> None:
    """Refuse a tree with a value's text in a place where the generator prints it unquoted.

    Parsers take words, such as the unit of EXTRACT, from strings and quoted names as well.

    Raises:
        MacroError: A value with more than a word in it is where only a word may be.
    """
    texts = [each.upper() for each in words if each and not is_plain(each)]
    for node in tree.walk() if texts else ():
        if isinstance(node, exp.Identifier | exp.Literal | exp.JSONPathPart):
            continue
        for each in node.args.values():
            if isinstance(each, str) and any(text in each.upper() for text in texts):
                message = f"a macro has the value {each!r} where a single word is needed"
                raise MacroError(message, "Give the macro a value of one word.")


_NOTHING: Final = exp.Subquery(this=parse_one(NO_MEMBERS, dialect="spark"))
