"""Replacing the whole table (FULL, SEED), and appending whatever comes (INCREMENTAL_UNMANAGED)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses

from vde_dagster.core.work import AppendRows, ReplaceTable
from vde_dagster.lakehouse.writes.written import Written, check_count, whole_sum

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from vde_dagster.lakehouse.branch import Branch


def replace_table(branch: Branch, frame: DataFrame, write: ReplaceTable) -> Written:
    """Replace all rows."""
    branch.writer(frame).overwrite(F.lit(True))
    added = branch.committed().added
    return _written(branch.rows(), write, added, branch.staging.algorithm)


def append_rows(branch: Branch, frame: DataFrame, write: AppendRows) -> Written:
    """Add rows, whatever is there (seed 001, INCREMENTAL_UNMANAGED)."""
    before = branch.head
    branch.writer(frame).append()
    added = branch.committed().added
    return _written(branch.added_since(before), write, added, branch.staging.algorithm)


def _written(
    rows: DataFrame, write: ReplaceTable | AppendRows, added: int, algorithm: str
) -> Written:
    sums = {write.interval: whole_sum(rows, algorithm)}
    check_count(sums.values(), added)
    return Written(rows=rows, sums=sums)
