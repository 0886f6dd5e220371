"""Replacing the whole table (FULL, SEED), and appending whatever comes (INCREMENTAL_UNMANAGED)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses

from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.model.writes import AppendRows, ReplaceTable
from vde_dagster.lakehouse.writes.written import Written, check_count, put, whole_sum

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from vde_dagster.lakehouse.branch import Branch


def replace_table(branch: Branch, frame: DataFrame, write: ReplaceTable) -> Written:
    """Replace all rows."""
    added, seen = put(branch, frame, lambda writer: writer.overwrite(F.lit(True)))
    return _written(branch, partial(branch.at, branch.head), write, added, seen)


def append_rows(branch: Branch, frame: DataFrame, write: AppendRows) -> Written:
    """Add rows, whatever is there (seed 001, INCREMENTAL_UNMANAGED)."""
    before = branch.head
    added, seen = put(branch, frame, lambda writer: writer.append())
    if not added and before is not None:
        branch.go_back(before)  # so the table does not count as changed
    new = partial(branch.added_between, before, branch.head)
    return _written(branch, new, write, added, seen)


def _written(
    branch: Branch,
    rows: Callable[[], DataFrame],
    write: ReplaceTable | AppendRows,
    added: int,
    seen: RowSum | None,
) -> Written:
    found = seen if seen is not None else whole_sum(rows(), branch.staging.algorithm)
    check_count([found], added)
    return Written(rows=rows, sums={write.interval: found})
