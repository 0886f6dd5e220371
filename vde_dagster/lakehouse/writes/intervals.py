"""Replacing intervals, and adding to them (seed 001, INCREMENTAL_BY_TIME_RANGE)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from sqlglot import exp

from vde_dagster.core.dsha import RowSum
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.intervals import EPOCH, Interval, IntervalUnit, merge
from vde_dagster.core.layout import are_whole_partitions
from vde_dagster.core.sql.rendering import within
from vde_dagster.core.time_formats import ISO_DATE, TimeFormat
from vde_dagster.core.work import AppendToIntervals, OverwriteIntervals, TimeAxisSpec
from vde_dagster.lakehouse.row_hash import row_sums
from vde_dagster.lakehouse.tables import quoted
from vde_dagster.lakehouse.writes.written import Written, check_count

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

    from vde_dagster.lakehouse.branch import Branch

_SECONDS = {
    IntervalUnit.FIVE_MINUTE: 300,
    IntervalUnit.QUARTER_HOUR: 900,
    IntervalUnit.HALF_HOUR: 1800,
    IntervalUnit.HOUR: 3600,
    IntervalUnit.DAY: 86400,
}


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
    return _written(branch.rows().where(_column(inside)), write, added)


def append_to_intervals(branch: Branch, frame: DataFrame, write: AppendToIntervals) -> Written:
    """Add the rows that lie in some intervals.

    Raises:
        EvaluationFailed: An interval does not consist of whole units.
    """
    before = branch.head
    branch.writer(frame.where(_column(_inside(write.axis, write.intervals)))).append()
    added = branch.committed().added
    return _written(branch.added_since(before), write, added)


def _written(rows: DataFrame, write: OverwriteIntervals | AppendToIntervals, added: int) -> Written:
    wanted = _units(write)
    sums = _sums(rows, write.axis)
    check_count(sums, added)
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


def _sums(rows: DataFrame, axis: TimeAxisSpec) -> Mapping[Interval, RowSum]:
    """The sums of rows by the unit that each belongs to."""
    sums: dict[Interval, RowSum] = {}
    time_of = _time_of(axis)
    for key, found in row_sums(rows, _unit_key(axis)).items():
        instant = time_of(key)
        if instant is None:
            raise EvaluationFailed(f"{found.rows} rows have no {axis.column} that is a time")
        start = axis.unit.floor(instant)
        unit = Interval(start, axis.unit.following(start))
        sums[unit] = sums.get(unit, RowSum()) + found
    return sums


def _unit_key(axis: TimeAxisSpec) -> SparkColumn:
    """What rows of one unit have in common: its start in microseconds, or a text or number."""
    column = F.col(quoted(axis.column))
    if axis.type in ("string", "bigint"):
        return column.cast("string")
    instant = column.cast("timestamp")  # the session's zone is UTC
    if axis.unit in _SECONDS:
        micros = F.unix_micros(instant)
        return micros - F.pmod(micros, F.lit(_SECONDS[axis.unit] * 1_000_000))
    return F.unix_micros(F.date_trunc(axis.unit.value, instant))


def _time_of(axis: TimeAxisSpec) -> Callable[[object], datetime | None]:
    """Reads what `_unit_key` gives for a row."""
    if axis.type in ("string", "bigint"):
        written = TimeFormat(axis.format or ISO_DATE)
        return lambda key: written.read(str(key))
    return lambda key: EPOCH + timedelta(microseconds=key) if isinstance(key, int) else None
