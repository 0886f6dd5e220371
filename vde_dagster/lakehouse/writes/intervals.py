"""What a write leaves on a branch, and the writes of intervals and of whole tables.

Intervals are replaced or added to (seed 001, INCREMENTAL_BY_TIME_RANGE). A whole table is replaced
(FULL, SEED), or gets whatever comes (INCREMENTAL_UNMANAGED).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from sqlglot import exp

from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.unit_of_work import OwnRows
from vde_dagster.core.model.layout import are_whole_partitions
from vde_dagster.core.model.writes import (
    AppendRows,
    AppendToIntervals,
    OverwriteIntervals,
    ReplaceTable,
)
from vde_dagster.core.time.intervals import Interval
from vde_dagster.lakehouse.digest import observed, row_sums
from vde_dagster.lakehouse.staging.branch import CHANGE_TYPE, INSERTED, Branch
from vde_dagster.lakehouse.staging.table_rows import inside, rows_inside, spark_column, unit_sums

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriterV2

_NOT_ALONE: Final = (
    "nothing was published. Somebody else writes to this table: only its own unit of work may."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The staged rows of what was processed, and the sums of the intervals.

    Whoever wants the rows calls for a frame of them: to make one takes Spark as long as a small
    query. ``findings`` are what is to be said of them besides what audits find.
    """

    rows: Callable[[], DataFrame]
    sums: Mapping[Interval, RowSum]
    findings: tuple[AuditResult, ...] = ()


def put(
    branch: Branch, frame: DataFrame, act: Callable[[DataFrameWriterV2], None]
) -> tuple[int, RowSum | None]:
    """Write rows to a branch, and sum them while they are written.

    Args:
        branch: The branch.
        frame: The rows, in exactly the table's columns and types.
        act: Writes them: appends them, or overwrites something by them.

    Returns:
        How many rows the commit added, and their sum; None if the rows that were summed are not
        these, because Spark did a part of the work twice.
    """
    rows, seen = observed(frame, branch.staging.algorithm)
    act(branch.writer(rows))
    added = branch.committed()
    sums = seen.sums(added)
    return added, None if sums is None else total(sums.values())


def whole_sum(rows: DataFrame, algorithm: str) -> RowSum:
    """The sum of all rows."""
    return total(row_sums(rows, algorithm).values())


def changed_sum(branch: Branch, before: int) -> RowSum:
    """By what commits changed the table's sum: the rows of added files less those of removed ones.

    The files that the commits exchanged are read, and no others.
    """
    if before == branch.head:
        return RowSum()
    changes = branch.changes_since(before)
    kind = changes[CHANGE_TYPE]
    sums = row_sums(changes, branch.staging.algorithm, kind, apart=(CHANGE_TYPE,))
    removed = total(found for kind, found in sums.items() if kind != INSERTED)
    return sums.get(INSERTED, RowSum()) - removed


def exchanged(
    branch: Branch,
    rows: DataFrame,
    interval: Interval,
    change: RowSum,
    *,
    before: int,
    loaded: int | None,
) -> Written:
    """The result of commits that replaced rows by others.

    If the rows are the same, the branch goes back to where it was: the table keeps its files and
    its Iceberg snapshot, so it does not count as changed.

    Args:
        branch: The branch, after the commits.
        rows: The staged rows of what was processed; they stay readable.
        interval: What the change is recorded for.
        change: By what they changed the table's sum.
        before: Where the branch was.
        loaded: How many rows it had then; None if that is not known.

    Raises:
        EvaluationFailed: The rows that changed are not those in the sum.
    """
    now = branch.loaded
    if loaded is not None and now is not None and change.rows != now - loaded:
        raise EvaluationFailed(
            f"{loaded} rows have become {now}, but {change.rows} more are found on the "
            f"branch; {_NOT_ALONE}"
        )
    if change == RowSum() and branch.head != before:
        branch.go_back(before)
    return Written(rows=lambda: rows, sums={interval: change})


def check_count(sums: Iterable[RowSum], committed: int) -> None:
    """Every row that was committed is in a sum, once.

    Raises:
        EvaluationFailed: A row is missing or counted twice; nothing was published.
    """
    counted = total(sums).rows
    if counted != committed:
        raise EvaluationFailed(
            f"{committed} rows were written, but {counted} are found on the branch; {_NOT_ALONE}"
        )


def replace_table(branch: Branch, frame: DataFrame, write: ReplaceTable) -> Written:
    """Replace all rows."""
    added, seen = put(branch, frame, lambda writer: writer.overwrite(F.lit(True)))
    return _whole(branch, partial(branch.at, branch.head), write, added, seen)


def append_rows(branch: Branch, frame: DataFrame, write: AppendRows) -> Written:
    """Add rows, whatever is there (seed 001, INCREMENTAL_UNMANAGED)."""
    before = branch.head
    added, seen = put(branch, frame, lambda writer: writer.append())
    if not added and before is not None:
        branch.go_back(before)  # so the table does not count as changed
    new = partial(branch.added_between, before, branch.head)
    return _whole(branch, new, write, added, seen)


def _whole(
    branch: Branch,
    rows: Callable[[], DataFrame],
    write: ReplaceTable | AppendRows,
    added: int,
    seen: RowSum | None,
) -> Written:
    found = seen if seen is not None else whole_sum(rows(), branch.staging.algorithm)
    check_count([found], added)
    return Written(rows=rows, sums={write.interval: found})


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
