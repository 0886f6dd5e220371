"""The ways of writing to a branch, one module each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, assert_never

from vde_dagster.core.ledger.unit_of_work import Staging
from vde_dagster.core.model.writes import (
    AppendRows,
    AppendToIntervals,
    KeepHistory,
    MergeRows,
    OverwriteIntervals,
    ReplacePartitions,
    ReplaceTable,
    Write,
)
from vde_dagster.lakehouse.writes.history import keep_history, with_validity
from vde_dagster.lakehouse.writes.intervals import (
    RangeWrite,
    append_rows,
    replace_table,
    write_intervals,
)
from vde_dagster.lakehouse.writes.merging import merge_rows, replace_partitions
from vde_dagster.lakehouse.writes.sequencing import write_changes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from vde_dagster.core.columns import Column
    from vde_dagster.core.model.history import History
    from vde_dagster.lakehouse.staging.branch import Branch
    from vde_dagster.lakehouse.writes.intervals import Written


def completed(frame: DataFrame, write: Write) -> DataFrame:
    """The rows of a query with the columns that the write adds to them."""
    return with_validity(frame, write.history) if isinstance(write, KeepHistory) else frame


def returned_columns(staging: Staging) -> tuple[Column, ...]:
    """The declared columns of the rows that a unit of work computes, before they are `completed`.

    A model may declare the types of columns that its kind adds, and may leave these out.
    """
    columns = staging.columns
    for history in _histories(staging):
        columns = history.without_validity(columns)
    return columns


def written_columns(staging: Staging) -> tuple[Column, ...]:
    """The declared columns of the rows that are written; empty where none are."""
    columns = returned_columns(staging)
    for history in _histories(staging) if columns else ():
        columns = (*columns, history.valid_from, history.valid_to)
    return columns


def _histories(staging: Staging) -> tuple[History, ...]:
    """The history that a unit of work keeps, if it keeps one."""
    write = staging.parts[0].write
    return (write.history,) if isinstance(write, KeepHistory) else ()


_AT_ONCE: Final = 32
"""The rows of how many writes one statement writes: Spark plans each of them."""


def write_rows(
    branch: Branch, frames: Sequence[DataFrame], writes: Sequence[Write]
) -> Sequence[Written]:
    """Write frames, whose columns are the table's in order, to a branch.

    Those of intervals that have nothing in common are written in one commit.

    Raises:
        EvaluationFailed: The rows do not fit the write, such as two rows of one key.
    """
    ranges = [each for each in writes if isinstance(each, RangeWrite)]
    if len(ranges) < len(writes) or not _are_apart(ranges):
        return [_write_one(branch, *each) for each in zip(frames, writes, strict=True)]
    parts = [*zip(frames, ranges, strict=True)]
    some = (parts[at : at + _AT_ONCE] for at in range(0, len(parts), _AT_ONCE))
    return [written for each in some for written in write_intervals(branch, each)]


def _are_apart(writes: Sequence[RangeWrite]) -> bool:
    intervals = sorted(interval for each in writes for interval in each.intervals)
    return all(one.end <= other.start for one, other in pairwise(intervals))


def _write_one(branch: Branch, frame: DataFrame, write: Write) -> Written:
    if isinstance(write, MergeRows | KeepHistory) and write.order is not None:
        return write_changes(branch, frame, write, write.order)
    return _write(branch, frame, write)


def _write(branch: Branch, frame: DataFrame, write: Write) -> Written:
    match write:
        case ReplaceTable():
            return replace_table(branch, frame, write)
        case OverwriteIntervals() | AppendToIntervals():
            return write_intervals(branch, [(frame, write)])[0]
        case MergeRows():
            return merge_rows(branch, frame, write)
        case ReplacePartitions():
            return replace_partitions(branch, frame, write)
        case AppendRows():
            return append_rows(branch, frame, write)
        case KeepHistory():
            return keep_history(branch, frame, write)
        case _:
            assert_never(write)
