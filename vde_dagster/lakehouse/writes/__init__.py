"""The ways of writing to a branch, one module each."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

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
    append_rows,
    append_to_intervals,
    overwrite_intervals,
    replace_table,
)
from vde_dagster.lakehouse.writes.merging import merge_rows, replace_partitions

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


def write_rows(  # noqa: PLR0911 - one line for each write
    branch: Branch, frame: DataFrame, write: Write
) -> Written:
    """Write a frame, whose columns are the table's in order, to a branch.

    Raises:
        EvaluationFailed: The rows do not fit the write, such as two rows of one key.
    """
    match write:
        case ReplaceTable():
            return replace_table(branch, frame, write)
        case OverwriteIntervals():
            return overwrite_intervals(branch, frame, write)
        case AppendToIntervals():
            return append_to_intervals(branch, frame, write)
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
