"""The rows of a DataFrame whose time is in some intervals, and frames without any such row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from sqlglot import exp

from vde_dagster.core.audits.results import outside
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.sql.rendering import within
from vde_dagster.core.time.formats import ISO_DATE, TimeFormat
from vde_dagster.core.time.intervals import Interval, merge
from vde_dagster.lakehouse.digest import Figures, watched
from vde_dagster.lakehouse.tables import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from vde_dagster.core.audits.values import AuditResult


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


def with_times(rows: DataFrame, axis: TimeAxisSpec) -> tuple[DataFrame, Figures]:
    """The rows, and what is known of their times once they are written."""
    column = F.col(quoted(axis.column))
    text = column.cast("string")
    end = r"\z" if axis.type == "bigint" else ""  # a text is ordered by how it begins
    written = text.rlike(rf"\A{_format(axis).expression}{end}")
    is_time = written if axis.is_formatted else column.isNotNull()
    named = {"returned": F.count(F.lit(1)), "timed": F.count_if(is_time)}
    named |= {"first": F.min(text), "last": F.max(text)}
    return watched(rows, *(figure.alias(name) for name, figure in named.items()))


def check_times(
    times: Figures, axis: TimeAxisSpec, intervals: Iterable[Interval], *, place: str
) -> tuple[AuditResult, ...]:
    """What is to be said of rows none of which is in the intervals.

    Args:
        times: What is known of what a function returned for the intervals.
        axis: The time column.
        intervals: They are loaded without any row.
        place: The function, for people.

    Raises:
        EvaluationFailed: There are rows, and none of them has a time at all; or Spark does not say
            whether there are any.
    """
    found = times.found()
    wanted = ", ".join(map(str, merge(intervals)))
    if found is None:
        raise EvaluationFailed(
            f"Spark did not report which rows {place} returns for {wanted}. Nothing was loaded",
            advice="Evaluate it again.",
        )
    if not found.get("returned"):
        return ()
    first, last = found["first"], found["last"]
    if not found["timed"]:
        form = f" in the format {_format(axis).pattern!r}" if axis.is_formatted else ""
        raise EvaluationFailed(
            f"{place} returns {found['returned']:,} rows for {wanted}, and {axis.column} is a time"
            f"{form} in none of them, but {first!r}, for example. Nothing was loaded",
            advice=f"let the function write a time into {axis.column}, or change the format of "
            "`time_column`.",
        )
    return (outside(place, axis.column, wanted, first=first, last=last),)


def _format(axis: TimeAxisSpec) -> TimeFormat:
    return TimeFormat(axis.format or ISO_DATE)
