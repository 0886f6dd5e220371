"""How the table of a model is laid out: what the model says, and what its kind adds to it."""

from __future__ import annotations

from dataclasses import replace

from vde_dagster.core.graph import Node
from vde_dagster.core.kind import (
    IncrementalByTimeRange,
    Managed,
    ScdType2ByColumn,
    ScdType2ByTime,
)
from vde_dagster.core.layout import time_partition
from vde_dagster.core.render_model import time_axis
from vde_dagster.core.storage import PartitionField, Storage, Transform
from vde_dagster.kinds.managed import TARGET_LAG


def storage_of(node: Node) -> Storage:
    """The layout of a model's table.

    The time column of INCREMENTAL_BY_TIME_RANGE is a partition unless the model says how it is
    one, or that it is none (seed 001, *Partitioning*). SCD Type 2 keeps rows that are valid apart
    from those that are not any more, so that the files of history are never written again. What a
    MANAGED model says to vde_dagster is no property of its table.
    """
    storage, kind = node.model.storage, node.model.kind
    match kind:
        case IncrementalByTimeRange(partition_by_time_column=True):
            axis = time_axis(node)
            assert axis is not None, f"{node.name} has a time column"
            if any(each.column == axis.column for each in storage.partitioned_by):
                return storage
            return replace(storage, partitioned_by=(time_partition(axis), *storage.partitioned_by))
        case ScdType2ByTime() | ScdType2ByColumn():
            if any(each.column == kind.valid_to_name for each in storage.partitioned_by):
                return storage  # every transform puts NULL into a partition of its own
            closed = PartitionField(column=kind.valid_to_name, transform=Transform.YEARS)
            return replace(storage, partitioned_by=(*storage.partitioned_by, closed))
        case Managed():
            kept = tuple(each for each in storage.properties if each[0] != TARGET_LAG)
            return replace(storage, properties=kept)
        case _:
            return storage
