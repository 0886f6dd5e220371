"""Words that Spark reads as a column if a source has one of that name, and else as a function.

That is how ``current_date`` without parentheses is read; sqlglot always reads most of these words
as the function, and some as a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.spark.names import KnownTables
from vde_dagster.core.sql.spark.scopes import Scopes

_FUNCTIONS: Final[Mapping[str, type[exp.Expr]]] = {
    "current_date": exp.CurrentDate,
    "current_time": exp.CurrentTime,
    "current_timestamp": exp.CurrentTimestamp,
    "current_user": exp.CurrentUser,
    "session_user": exp.SessionUser,
    "user": exp.CurrentUser,
}
WORDS: Final[Mapping[type[exp.Expr], str]] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTime: "current_time",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
}
"""Functions that may be called without parentheses, by their classes in sqlglot."""
_BY_ALIAS: Final = frozenset({"having", "order", "sort"})
"""Clauses in which a name means an output column of the query first."""


def with_columns_for_words(
    query: exp.Query, schemas: Mapping[ModelName, Sequence[Column]]
) -> exp.Query:
    """Change a query so that each such word is what Spark reads it as.

    If the columns of its sources are not known it is neither: an unknown function.

    Args:
        query: In Spark's dialect, with names for the columns of table functions; it is changed.
        schemas: The columns of what it reads.
    """
    scopes = Scopes(KnownTables(schemas))
    named = [(node, word, _is_column(node, word, scopes)) for node, word in words_in(query)]
    for node, word, is_column in named:
        if is_column is None:
            node.replace(exp.Anonymous(this=f"column_or_{word}"))
        elif is_column != isinstance(node, exp.Column):
            node.replace(exp.column(word) if is_column else _FUNCTIONS[word]())
    return query


def words_in(query: exp.Expr) -> Iterator[tuple[exp.Expr, str]]:
    """Each such word of a query with its node, which is a function or a column."""
    for node in query.find_all(exp.Column, *WORDS):
        if isinstance(node, exp.Column):
            word = "" if node.table else node.name.lower()
        else:  # a call with parentheses has a position in the text
            is_word = not node.args.get("this") and node.meta_get("start") is None
            word = WORDS[type(node)] if is_word else ""
        if word in _FUNCTIONS:
            yield node, word


def _is_column(node: exp.Expr, word: str, scopes: Scopes) -> bool | None:
    """Whether a word is a column; None if that is not known."""
    query, place = _query_around(node)
    if place in _BY_ALIAS:
        outputs = scopes.outputs(query)
        if outputs is None or word in outputs:
            return None if outputs is None else True
    return scopes.has(node, word) if isinstance(query, exp.Select) else False


def _query_around(node: exp.Expr) -> tuple[exp.Expr | None, str]:
    """The query that contains a node, and the clause of it."""
    inside, around = node, node.parent
    while around is not None and not isinstance(around, exp.Select | exp.SetOperation):
        inside, around = around, around.parent
    return around, inside.arg_key or ""
