"""What a write leaves on a branch, and the writes of intervals and of whole tables.

Intervals are replaced or added to (seed 001, INCREMENTAL_BY_TIME_RANGE). A whole table is replaced
(FULL, SEED), or gets whatever comes (INCREMENTAL_UNMANAGED).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from sqlglot import exp

from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.unit_of_work import MergedChanges, OwnRows
from vde_dagster.core.model.layout import are_whole_partitions
from vde_dagster.core.model.writes import (
    AppendRows,
    AppendToIntervals,
    OverwriteIntervals,
    ReplaceTable,
    Write,
)
from vde_dagster.core.time.intervals import Interval
from vde_dagster.lakehouse.digest import Figures, observed, row_sums
from vde_dagster.lakehouse.staging.branch import CHANGE_TYPE, INSERTED, Branch
from vde_dagster.lakehouse.staging.table_rows import inside, rows_inside, spark_column, unit_sums

if TYPE_CHECKING:
    from pyspark.sql import DataFrameWriterV2

RangeWrite = OverwriteIntervals | AppendToIntervals
"""A write of rows that belong to intervals by their time."""
_NOT_ALONE: Final = (
    "nothing was published. Another process writes to this branch, which only its unit of work "
    "may do."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The staged rows of what was processed, and the sums of the intervals.

    A caller that wants the rows calls for a frame of them: to make one takes Spark as long as a
    small query. ``findings`` are what is to be said of them besides what audits find. ``merged``
    says what became of changes that have an order.
    """

    rows: Callable[[], DataFrame]
    sums: Mapping[Interval, RowSum]
    findings: tuple[AuditResult, ...] = ()
    merged: MergedChanges | None = None


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
            f"{loaded} rows have become {now}, but {change.rows} more are on the branch; "
            f"{_NOT_ALONE}"
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
            f"{committed} rows were written, but {counted} are on the branch; {_NOT_ALONE}"
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


def write_intervals(
    branch: Branch, parts: Sequence[tuple[DataFrame, RangeWrite]]
) -> Sequence[Written]:
    """Write rows of several intervals in one commit: some replace all rows there, some add to them.

    Rows outside of the intervals are not written. If the replaced intervals are whole partitions,
    files are exchanged. Otherwise their old rows are deleted by a commit before, which rewrites
    only the files that have them.

    Args:
        branch: The branch.
        parts: The rows, and how they are written. All have the same time column, and no two of
            them an interval in common.

    Raises:
        EvaluationFailed: An interval does not consist of whole units.
    """
    axis = parts[0][1].axis
    replaced = [
        interval
        for _, write in parts
        if isinstance(write, OverwriteIntervals)
        for interval in write.intervals
    ]
    partitions = branch.staging.storage.partitioned_by
    exchanges = bool(replaced) and are_whole_partitions(partitions, axis, replaced)
    condition = inside(axis, replaced)
    if replaced and not exchanges and not branch.is_empty:
        branch.run(exp.delete(branch.target).where(condition).sql("spark", identify=True))
        branch.committed()
    before = branch.head
    summed = [_summed(branch, frame, write) for frame, write in parts]
    writer = branch.writer(reduce(DataFrame.union, (rows for rows, _ in summed)))
    if exchanges:
        writer.overwrite(spark_column(condition))
    else:
        writer.append()
    added = branch.committed()
    ranges = [
        _Range(
            write=write,
            rows=_reading(branch, write, before, is_alone=len(parts) == 1, exchanges=exchanges),
            taken=_taken(figures, write),
        )
        for (_, write), (_, figures) in zip(parts, summed, strict=True)
    ]
    sums = _sums(ranges, branch.staging.algorithm, added)
    return [
        Written(rows=each.rows, sums={unit: found.get(unit, RowSum()) for unit in each.units})
        for each, found in zip(ranges, sums, strict=True)
    ]


def take_over(branch: Branch, write: Write) -> Written:
    """Keep the rows that the branch of a shallow copy begins with, but for those of other times.

    Only files that have rows of other times, too, are written.
    """
    algorithm = branch.staging.algorithm
    assert isinstance(write, OverwriteIntervals | ReplaceTable), "nothing was there before"
    if isinstance(write, ReplaceTable):
        found = whole_sum(branch.rows(), algorithm)
        check_count([found], branch.loaded or 0)
        return Written(rows=branch.rows, sums={write.interval: found})
    wanted = inside(write.axis, write.intervals)
    by_unit = unit_sums(branch.rows().where(spark_column(wanted)), write.axis, algorithm)
    _check_times(by_unit, write)
    if total(by_unit.values()).rows != branch.loaded:
        has_none = exp.column(write.axis.column, quoted=True).is_(exp.null())
        others = exp.delete(branch.target).where(exp.or_(exp.not_(wanted), has_none))
        branch.run(others.sql("spark", identify=True))
        branch.committed()
    units = _units(write)
    sums = {unit: by_unit.get(unit, RowSum()) for unit in units}
    check_count(sums.values(), branch.loaded or 0)
    return Written(rows=branch.rows, sums=sums)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Range:
    """A part that was written, how its rows are read, and their sums if taken on the way."""

    write: RangeWrite
    rows: Callable[[], DataFrame]
    taken: Mapping[Interval | None, RowSum] | None

    @property
    def units(self) -> list[Interval]:
        """The units that were asked for."""
        return _units(self.write)

    def sums(self, algorithm: str) -> Mapping[Interval | None, RowSum]:
        """The sums of the rows that are there, by units."""
        return unit_sums(self.rows(), self.write.axis, algorithm)


def _summed(
    branch: Branch, frame: DataFrame, write: RangeWrite
) -> tuple[DataFrame, Figures | None]:
    """The rows to write, and their sums once they are; None where they are read again for them.

    A sum for each of several units costs several times as much while writing (dsha.md), and
    less than to read the rows again where it is known that they are few. Times that are texts are
    read again: one may sort within a unit and still be no time.
    """
    rows, units = rows_inside(frame, write.axis, write.intervals), _units(write)
    if write.axis.is_formatted or (len(units) > 1 and not _is_small(write, len(units))):
        return rows, None
    conditions = (inside(write.axis, [unit]).sql("spark") for unit in units)
    return observed(rows, branch.staging.algorithm, [*conditions] if len(units) > 1 else ())


_FEW_UNITS, _FEW_ROWS = 32, 100_000


def _is_small(write: RangeWrite, units: int) -> bool:
    """Whether sums by units cost less while writing; see docs/inside/dsha.md."""
    rows = write.source_rows if isinstance(write, AppendToIntervals) else None
    return rows is not None and rows <= _FEW_ROWS and units <= _FEW_UNITS


def _taken(figures: Figures | None, write: RangeWrite) -> Mapping[Interval | None, RowSum] | None:
    found = figures.taken() if figures is not None else None
    if not found:  # Spark may say nothing of no rows
        return None if found is None else {}
    return dict(zip(_units(write), found, strict=True))


def _reading(
    branch: Branch, write: RangeWrite, before: int | None, *, is_alone: bool, exchanges: bool
) -> Callable[[], DataFrame]:
    """How the rows of a part are read, now that the branch has them."""
    head = branch.head

    def rows() -> DataFrame:
        if isinstance(write, OverwriteIntervals) or before is None:
            return rows_inside(branch.at(head), write.axis, write.intervals)
        if is_alone:
            return branch.added_between(before, head)
        read = branch.inserted_since if exchanges else branch.added_between
        return rows_inside(read(before, head), write.axis, write.intervals)

    return rows


def _sums(
    parts: Sequence[_Range], algorithm: str, added: int
) -> Sequence[Mapping[Interval, RowSum]]:
    """The sums of each part by its units, of as many rows as were committed.

    Where those that were taken while writing are not of these rows, rows are read again.

    Raises:
        EvaluationFailed: A row is missing, is counted twice, or is in no unit that was asked for.
    """
    sums: list[Mapping[Interval | None, RowSum]] = []
    for each in parts:
        if each.taken is not None:
            sums.append(each.taken)
        else:
            sums.append(each.sums(algorithm) if added else {})
    if total(found for each in sums for found in each.values()).rows != added:
        sums = [each.sums(algorithm) for each in parts]
    check_count((found for each in sums for found in each.values()), added)
    for part, found in zip(parts, sums, strict=True):
        _check_times(found, part.write)
        strays = set(found).difference(part.units)
        if strays:
            stray = next(iter(strays))
            raise EvaluationFailed(f"rows of {stray} were written, which were not requested")
    return [{unit: sum_ for unit, sum_ in each.items() if unit is not None} for each in sums]


def _check_times(sums: Mapping[Interval | None, RowSum], write: RangeWrite) -> None:
    if None in sums:
        column = write.axis.column
        raise EvaluationFailed(f"rows without a time in {column}: {sums[None].rows}")


def rows_within(rows: DataFrame, own: OwnRows | None) -> DataFrame:
    """The rows of a table that a batch of its own reads."""
    if own is None:
        return rows.where(F.lit(False))
    return rows_inside(rows, own.axis, [own.interval])


def _units(write: RangeWrite) -> list[Interval]:
    try:
        return [unit for each in write.intervals for unit in write.axis.unit.cells(each)]
    except ValueError as error:
        raise EvaluationFailed(str(error)) from error
