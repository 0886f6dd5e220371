"""The rows of a DataFrame whose time is in some intervals, and frames without any such row."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from sqlglot import exp

from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.sql.rendering import within
from vde_dagster.core.time.formats import ISO_DATE, TimeFormat
from vde_dagster.core.time.intervals import Interval, merge
from vde_dagster.lakehouse.tables import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_LOG: Final = logging.getLogger(__name__)


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


def check_outside(
    rows: DataFrame, axis: TimeAxisSpec, intervals: Iterable[Interval], *, place: str
) -> None:
    """Say of rows none of which is in the intervals where their times are instead.

    Args:
        rows: What a function returned for the intervals.
        axis: The time column.
        intervals: They are loaded without any row.
        place: The function, for people.

    Raises:
        EvaluationFailed: There are rows, and none of them has a time at all.
    """
    column = F.col(quoted(axis.column))
    text = column.cast("string")
    pattern = TimeFormat(axis.format or ISO_DATE)
    end = r"\z" if axis.type == "bigint" else ""  # a text is ordered by how it begins
    written = text.rlike(rf"\A{pattern.expression}{end}")
    is_time = written if axis.is_formatted else column.isNotNull()
    counted = rows.agg(F.count(F.lit(1)), F.count_if(is_time), F.min(text), F.max(text)).first()
    returned, timed, first, last = counted if counted is not None else (0, 0, None, None)
    wanted = ", ".join(map(str, merge(intervals)))
    if returned and not timed:
        form = f" in the format {pattern.pattern!r}" if axis.is_formatted else ""
        raise EvaluationFailed(
            f"{place} returns {returned:,} rows for {wanted}, and {axis.column} is a time{form} in "
            f"none of them, but {first!r}, for example. Nothing was loaded",
            advice=f"let the function write a time into {axis.column}, or change the format of "
            "`time_column`.",
        )
    if returned:
        _LOG.warning(
            "%s returns %s rows for %s, and none of them lies there: %s goes from %s to %s. The "
            "interval is loaded without rows.",
            *(place, f"{returned:,}", wanted, axis.column, first, last),
        )
