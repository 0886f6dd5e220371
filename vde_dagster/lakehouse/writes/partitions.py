"""Replacing the partitions that new rows belong to (seed 001, INCREMENTAL_BY_PARTITION)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vde_dagster.core.work import ReplacePartitions
from vde_dagster.lakehouse.writes.written import Written, changed_sum

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from vde_dagster.lakehouse.branch import Branch


def replace_partitions(branch: Branch, frame: DataFrame, write: ReplacePartitions) -> Written:
    """Replace every partition that has a new row. Without new rows nothing changes."""
    before = branch.head
    branch.writer(frame).overwritePartitions()
    branch.committed()
    return Written(
        rows=branch.inserted_since(before),
        sums={write.interval: changed_sum(branch, before)},
    )
