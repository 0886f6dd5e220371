"""Replacing intervals, and adding to them (seed 001, INCREMENTAL_BY_TIME_RANGE)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from sqlglot import exp

from vde_dagster.core.dsha import RowSum
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.intervals import Interval, merge
from vde_dagster.core.layout import are_whole_partitions
from vde_dagster.core.sql.rendering import within
from vde_dagster.core.work import AppendToIntervals, OverwriteIntervals, TimeAxisSpec
from vde_dagster.lakehouse.unit_sums import unit_sums
from vde_dagster.lakehouse.writes.written import Written, check_count

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

    from vde_dagster.lakehouse.branch import Branch


def overwrite_intervals(branch: Branch, frame: DataFrame, write: OverwriteIntervals) -> Written:
    """Replace exactly the rows of some intervals, also by none. Rows outside never enter.

    Where the intervals are whole partitions, files are exchanged in one commit. Otherwise the old
    rows are deleted, which rewrites only the files they lie in, and the new ones are appended.

    Raises:
        EvaluationFailed: An interval does not consist of whole units.
    """
    inside = _inside(write.axis, write.intervals)
    rows = frame.where(_column(inside))
    partitions = branch.staging.storage.partitioned_by
    if are_whole_partitions(partitions, write.axis, write.intervals):
        branch.writer(rows).overwrite(_column(inside))
    else:
        branch.run(exp.delete(branch.target).where(inside))
        branch.committed()
        branch.writer(rows).append()
    added = branch.committed().added
    return _written(branch.rows().where(_column(inside)), write, added, branch.staging.algorithm)


def append_to_intervals(branch: Branch, frame: DataFrame, write: AppendToIntervals) -> Written:
    """Add the rows that lie in some intervals.

    Raises:
        EvaluationFailed: An interval does not consist of whole units.
    """
    before = branch.head
    branch.writer(frame.where(_column(_inside(write.axis, write.intervals)))).append()
    added = branch.committed().added
    return _written(branch.added_since(before), write, added, branch.staging.algorithm)


def _written(
    rows: DataFrame,
    write: OverwriteIntervals | AppendToIntervals,
    added: int,
    algorithm: str,
) -> Written:
    wanted = _units(write)
    sums = unit_sums(rows, write.axis, algorithm)
    check_count(sums.values(), added)
    if None in sums:
        raise EvaluationFailed(f"{sums[None].rows} rows have no {write.axis.column} that is a time")
    return Written(rows=rows, sums={unit: sums.get(unit, RowSum()) for unit in wanted})


def _units(write: OverwriteIntervals | AppendToIntervals) -> list[Interval]:
    try:
        return [unit for each in write.intervals for unit in write.axis.unit.cells(each)]
    except ValueError as error:
        raise EvaluationFailed(str(error)) from error


def _inside(axis: TimeAxisSpec, intervals: Iterable[Interval]) -> exp.Expr:
    """The condition that a row's time lies in one of the intervals."""
    column = exp.column(axis.column, quoted=True)
    ranges = [
        within(column, each, time_type=axis.type, time_format=axis.format)
        for each in merge(intervals)
    ]
    return exp.or_(*ranges) if ranges else exp.false()


def _column(condition: exp.Expr) -> SparkColumn:
    return F.expr(condition.sql("spark"))
