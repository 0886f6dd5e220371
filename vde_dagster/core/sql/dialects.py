"""Which dialects are Spark's own: what is written in them runs as it is written (rule R13).

Databricks' and Hive's SQL are read by Spark itself. What only they have is an error in Spark; it
never gives other rows.
"""

from __future__ import annotations

from typing import Final

from sqlglot.dialects.dialect import Dialect

SPARKS: Final = ("spark", "spark2", "databricks", "hive")
"""Dialects whose functions and operators are Spark's own."""


def is_spark(dialect: Dialect | str) -> bool:
    """Whether a dialect is Spark's, so that Spark reads the author's text itself.

    Raises:
        ValueError: There is no such dialect.
    """
    known = Dialect.get_or_raise(dialect)
    return type(known).__name__.lower() in SPARKS
