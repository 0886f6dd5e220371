"""The rows of a DataFrame whose time is in some intervals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from sqlglot import exp

from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.sql.rendering import within
from vde_dagster.core.time.intervals import Interval, merge

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def inside(axis: TimeAxisSpec, intervals: Iterable[Interval]) -> exp.Expr:
    """The condition that a row's time is in one of the intervals."""
    column = exp.column(axis.column, quoted=True)
    ranges = [
        within(column, each, time_type=axis.type, time_format=axis.format)
        for each in merge(intervals)
    ]
    return exp.or_(*ranges) if ranges else exp.false()


def spark_column(condition: exp.Expr) -> Column:
    """A condition for Spark."""
    return F.expr(condition.sql("spark"))


def rows_inside(rows: DataFrame, axis: TimeAxisSpec, intervals: Iterable[Interval]) -> DataFrame:
    """The rows whose time is in one of the intervals."""
    return rows.where(spark_column(inside(axis, intervals)))
