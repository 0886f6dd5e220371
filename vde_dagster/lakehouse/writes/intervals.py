"""Replacing intervals, and adding to them (seed 001, INCREMENTAL_BY_TIME_RANGE)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from sqlglot import exp

from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.unit_of_work import OwnRows
from vde_dagster.core.model.layout import are_whole_partitions
from vde_dagster.core.model.writes import AppendToIntervals, OverwriteIntervals
from vde_dagster.core.time.intervals import Interval
from vde_dagster.lakehouse.times import inside, rows_inside, spark_column, unit_sums
from vde_dagster.lakehouse.writes.whole import Written, check_count, put

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriterV2

    from vde_dagster.lakehouse.branch import Branch


def overwrite_intervals(branch: Branch, frame: DataFrame, write: OverwriteIntervals) -> Written:
    """Replace exactly the rows of some intervals, also by none; rows outside are not written.

    If the intervals are whole partitions, files are exchanged in one commit. Otherwise the old
    rows are deleted, which rewrites only the files that have them, and the new ones are appended.

    Raises:
        EvaluationFailed: An interval does not consist of whole units.
    """
    condition = inside(write.axis, write.intervals)
    partitions = branch.staging.storage.partitioned_by
    act: Callable[[DataFrameWriterV2], None] = _append
    if are_whole_partitions(partitions, write.axis, write.intervals):
        act = _overwrite(condition)
    elif not branch.is_empty:
        branch.run(exp.delete(branch.target).where(condition).sql("spark", identify=True))
        branch.committed()
    added, seen = _put(branch, frame.where(spark_column(condition)), write, act)
    head = branch.head

    def rows() -> DataFrame:
        return branch.at(head).where(spark_column(condition))

    return _written(branch, rows, write, added, seen)


def append_to_intervals(branch: Branch, frame: DataFrame, write: AppendToIntervals) -> Written:
    """Add the rows that are in some intervals.

    Raises:
        EvaluationFailed: An interval does not consist of whole units.
    """
    before = branch.head
    rows = rows_inside(frame, write.axis, write.intervals)
    added, seen = _put(branch, rows, write, _append)
    new = partial(branch.added_between, before, branch.head)
    return _written(branch, new, write, added, seen)


def rows_within(rows: DataFrame, own: OwnRows | None) -> DataFrame:
    """The rows of a table that a batch of its own reads."""
    if own is None:
        return rows.where(F.lit(False))
    return rows_inside(rows, own.axis, [own.interval])


def _append(writer: DataFrameWriterV2) -> None:
    writer.append()


def _overwrite(condition: exp.Expr) -> Callable[[DataFrameWriterV2], None]:
    return lambda writer: writer.overwrite(spark_column(condition))


def _put(
    branch: Branch,
    rows: DataFrame,
    write: OverwriteIntervals | AppendToIntervals,
    act: Callable[[DataFrameWriterV2], None],
) -> tuple[int, RowSum | None]:
    """Write rows; a single unit is summed while writing, several are read again.

    A sum for each of several units costs several times as much while writing (docs/dsha.md).
    Times that are texts are read again, too: one may sort within a unit and still be no time.
    """
    if len(_units(write)) == 1 and not write.axis.is_formatted:
        return put(branch, rows, act)
    act(branch.writer(rows))
    return branch.committed(), None


def _written(
    branch: Branch,
    rows: Callable[[], DataFrame],
    write: OverwriteIntervals | AppendToIntervals,
    added: int,
    seen: RowSum | None,
) -> Written:
    wanted = _units(write)
    sums: Mapping[Interval | None, RowSum]
    sums = _sums(branch, rows, write, added) if seen is None else {wanted[0]: seen}
    check_count(sums.values(), added)
    if None in sums:
        raise EvaluationFailed(f"{sums[None].rows} rows have no {write.axis.column} that is a time")
    asked = set(wanted)
    strays = [unit for unit in sums if unit not in asked]
    if strays:
        raise EvaluationFailed(f"rows of {strays[0]} were written, which was not asked for")
    return Written(rows=rows, sums={unit: sums.get(unit, RowSum()) for unit in wanted})


def _sums(
    branch: Branch,
    rows: Callable[[], DataFrame],
    write: OverwriteIntervals | AppendToIntervals,
    added: int,
) -> Mapping[Interval | None, RowSum]:
    """The sums of the rows that were written, by their units; no job if there are none."""
    return unit_sums(rows(), write.axis, branch.staging.algorithm) if added else {}


def _units(write: OverwriteIntervals | AppendToIntervals) -> list[Interval]:
    try:
        return [unit for each in write.intervals for unit in write.axis.unit.cells(each)]
    except ValueError as error:
        raise EvaluationFailed(str(error)) from error
