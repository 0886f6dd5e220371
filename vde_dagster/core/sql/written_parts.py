"""Parts of a query as their author wrote them, however the query is changed afterwards."""

from __future__ import annotations

from itertools import islice
from typing import Final

from sqlglot import ErrorLevel, exp

_NUMBER: Final = "written_part"
_LONGEST: Final = 80


def number_parts(copy: exp.Expr) -> None:
    """Give each part of an unchanged copy its number, which it and its copies keep."""
    for number, part in enumerate(copy.walk()):
        part.meta[_NUMBER] = number


def keep_number(part: exp.Expr, *, of: exp.Expr) -> None:
    """Give a part the number of what it replaces, unless it has a number of its own."""
    if _NUMBER in of.meta:
        part.meta.setdefault(_NUMBER, of.meta[_NUMBER])


def written_part(part: exp.Expr, *, original: exp.Expr, dialect: str) -> str:
    """The author's text of a part: of what it replaced, or of what contains it.

    Args:
        part: A part of a tree whose parts were numbered.
        original: The unchanged tree that it is a copy of.
        dialect: The one that it was written in.
    """
    around: exp.Expr | None = part
    while around is not None and _NUMBER not in around.meta:
        around = around.parent
    if around is None:
        return text_in(part, dialect)
    return text_in(next(islice(original.walk(), around.meta[_NUMBER], None)), dialect)


def text_in(part: exp.Expr, dialect: str) -> str:
    """The beginning of a part's text in a dialect, with macros as they are written."""
    shown = part.transform(_with_macro)
    text = shown.sql(dialect=dialect, comments=False, unsupported_level=ErrorLevel.IGNORE)
    return text[:_LONGEST]


def _with_macro(node: exp.Expr) -> exp.Expr:
    return exp.Var(this=node.sql()) if isinstance(node, exp.Parameter) else node
