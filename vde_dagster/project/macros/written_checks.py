"""The tree of a statement whose macros are filled in, and what Spark cannot read of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlglot import exp, parse_one

from vde_dagster.core.errors import Place
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.spark.unreadable import Unreadable, unreadable
from vde_dagster.project.macros.placing import NO_MEMBERS
from vde_dagster.project.macros.texts import Written, line_in_file, text_of
from vde_dagster.project.macros.tokens import MacroError
from vde_dagster.project.macros.values import is_plain
from vde_dagster.project.problems import Problems


def check_spark(written: Written, place: Place, problems: Problems) -> None:
    """Report what Spark cannot parse of a statement, each at its line: it runs as written."""
    try:
        every = list(unreadable(text_of(written)))
    except SQL_ERRORS as error:
        message = f"this ({first_line(error)})"
        every = [Unreadable(line=1, message=message, advice="Write it in Spark's SQL.")]
    for wrong in every:
        message = f"Spark's SQL does not have {wrong.message}, and it runs as written"
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
        MacroError: A value with more than a word in it stands where only a word may.
    """
    texts = [each.upper() for each in words if each and not is_plain(each)]
    for node in tree.walk() if texts else ():
        if isinstance(node, exp.Identifier | exp.Literal | exp.JSONPathPart):
            continue
        for each in node.args.values():
            if isinstance(each, str) and any(text in each.upper() for text in texts):
                message = f"{each!r} is the value of a macro where one word is needed"
                raise MacroError(message, "Give the macro a value of one word.")


_NOTHING: Final = exp.Subquery(this=parse_one(NO_MEMBERS, dialect="spark"))
