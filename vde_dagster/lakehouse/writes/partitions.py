"""Replacing the partitions that new rows belong to (seed 001, INCREMENTAL_BY_PARTITION)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vde_dagster.core.model.writes import AppendRows, ReplacePartitions
from vde_dagster.lakehouse.writes.whole import append_rows
from vde_dagster.lakehouse.writes.written import (
    Written,
    changed_sum,
    exchanged,
    put,
    whole_sum,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from vde_dagster.lakehouse.branch import Branch


def replace_partitions(branch: Branch, frame: DataFrame, write: ReplacePartitions) -> Written:
    """Replace every partition that has a new row. Without new rows nothing changes."""
    before, loaded = branch.head, branch.loaded
    if before is None or branch.is_empty:
        return append_rows(branch, frame, AppendRows(interval=write.interval))
    added, seen = put(branch, frame, lambda writer: writer.overwritePartitions())
    if seen is None:
        change = changed_sum(branch, before)
    elif loaded is not None and branch.loaded == loaded + added:  # nothing was replaced
        change = seen
    else:
        change = seen - whole_sum(branch.removed_since(before), branch.staging.algorithm)
    rows = branch.inserted_since(before)
    return exchanged(branch, rows, write.interval, change, before=before, loaded=loaded)
