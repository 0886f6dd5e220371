"""The dialects that a model may be written in, and which of them are Spark's own.

Databricks' and Hive's SQL are read by Spark itself: they run as they are written (rule R13). What
only they have is an error in Spark; it never gives other rows. All others sqlglot translates;
there is no proof that both mean the same: a model's author checks that, with unit tests.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import sqlglot
from sqlglot import ErrorLevel, exp, parse_one
from sqlglot.dialects.dialect import Dialect, Dialects
from sqlglot.errors import UnsupportedError

from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.spark.reading import read_spark

SPARKS: Final = ("spark", "spark2", "databricks", "hive")
"""Dialects whose functions and operators are Spark's own."""
_NO_SQL: Final = {"", "dax", "prql"}
SUPPORTED: Final = (*SPARKS, *sorted({each.value for each in Dialects} - _NO_SQL - {*SPARKS}))
"""Every dialect that a model may be written in: those of SQL that sqlglot reads."""


def is_spark(dialect: Dialect | str) -> bool:
    """Whether a dialect is Spark's, so that Spark reads the author's text itself.

    Raises:
        ValueError: There is no such dialect.
    """
    known = Dialect.get_or_raise(dialect)
    return type(known).__name__.lower() in SPARKS


@cache
def reads_parameters(dialect: type[Dialect]) -> bool:
    """Whether a dialect's parser reads ``@name`` as a parameter; for DuckDB ``@`` is ABS."""
    try:
        return isinstance(sqlglot.parse_one("@a", dialect=dialect), exp.Parameter)
    except SQL_ERRORS:
        return False


def read_sql(text: str, dialect: str) -> exp.Expr:
    """The tree of one statement or expression, as Spark reads it or its translation.

    Raises:
        sqlglot.errors.SqlglotError: It is not a single statement, or has no form in Spark's SQL.
    """
    if is_spark(dialect):
        return read_spark(text)
    tree = parse_one(text, dialect=dialect)
    return reread(tree, transpiled(tree))


def transpiled(tree: exp.Expr, *, pretty: bool = False) -> str:
    """A statement or expression of any dialect as Spark's SQL, every identifier quoted.

    Args:
        tree: As its dialect's parser read it.
        pretty: Whether it is laid out in several lines.

    Raises:
        sqlglot.errors.SqlglotError: sqlglot cannot write a part of it for Spark.
    """
    if isinstance(tree, exp.Command):
        raise UnsupportedError(f"`{tree.sql()[:60]}` is a statement that it does not support")
    level = ErrorLevel.RAISE
    return with_macros(tree).sql("spark", identify=True, pretty=pretty, unsupported_level=level)


def reread(tree: exp.Expr, text: str) -> exp.Expr:
    """The tree of a translation, whose names have the lines of the author's file.

    Args:
        tree: What was translated.
        text: What `transpiled` made of it.

    Raises:
        sqlglot.errors.SqlglotError: Spark's SQL does not read the text.
    """
    lines: dict[str, int] = {}
    for name in tree.find_all(exp.Identifier):
        line = name.meta.get("line")
        if isinstance(line, int):
            lines.setdefault(name.name.lower(), line)
    first = min(lines.values(), default=None)
    found = read_spark(text)
    for node in found.walk():
        if "line" in node.meta:
            node.meta["line"] = lines.get(node.name.lower(), first)
    return found


def with_macros(tree: exp.Expr) -> exp.Expr:
    """A copy in which macros stand as their author writes them, whatever the dialect."""
    holder = exp.Tuple(expressions=[tree.copy()])
    for macro in list(holder.find_all(exp.Parameter)):
        macro.replace(exp.Var(this=f"@{macro.name.lower()}"))
    (written,) = holder.expressions
    return written.pop()  # type: ignore[no-any-return]
