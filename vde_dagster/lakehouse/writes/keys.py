"""Refusing two rows of one key while rows are written, so that nothing is computed twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses

from vde_dagster.core.sql.text import key_expression

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_COUNT: Final = "_vde_rows_of_key"


def one_row_per_key(frame: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """The frame, which fails when it is computed and two of its rows have one key.

    Args:
        frame: The rows.
        key: Columns or expressions in Spark's SQL. NULL is a key like any other.
    """
    keys = [F.expr(key_expression(each).sql("spark")) for each in key]
    counted = frame.withColumn(_COUNT, F.count(F.lit(1)).over(Window.partitionBy(*keys)))
    return counted.where(F.coalesce(_refusal(key, keys), F.lit(True))).drop(_COUNT)


def _refusal(key: tuple[str, ...], keys: list[Column]) -> Column:
    """NULL for a key of one row; an error that names it for others."""
    shown = [F.coalesce(each.cast("string"), F.lit("NULL")) for each in keys]
    text = F.concat(
        F.lit(f"rows share the key ({', '.join(key)}) = ("),
        F.concat_ws(", ", *shown),
        F.concat(F.lit("): "), F.col(_COUNT).cast("string"), F.lit(" of them. ")),
        F.lit("A key has one row at most; group the rows in the query, or name more columns in "),
        F.lit("unique_key"),
    )
    return F.when(F.col(_COUNT) > 1, F.raise_error(text).cast("boolean"))
