"""The dialects that a model may be written in, and which of them are Spark's own.

Databricks' and Hive's SQL are read by Spark itself: they run as they are written (rule R13). What
only they have is an error in Spark; it never gives other rows. All others sqlglot translates.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, Dialects

from vde_dagster.core.sql.errors import SQL_ERRORS

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
