"""The kinds of models (seed 001): one file for each, with its options and what it does.

Every option is a canonical value: names of columns in lower case, keys as SQL in Spark's dialect,
time formats as Python's. So two ways to write one option are equal values.
"""

from __future__ import annotations

from vde_dagster.core.model.kinds.embedded import Embedded
from vde_dagster.core.model.kinds.external import External
from vde_dagster.core.model.kinds.full import Full
from vde_dagster.core.model.kinds.incremental_by_partition import IncrementalByPartition
from vde_dagster.core.model.kinds.incremental_by_time_range import IncrementalByTimeRange
from vde_dagster.core.model.kinds.incremental_by_unique_key import IncrementalByUniqueKey
from vde_dagster.core.model.kinds.incremental_unmanaged import IncrementalUnmanaged
from vde_dagster.core.model.kinds.managed import Managed
from vde_dagster.core.model.kinds.scd_type_2 import ScdType2, ScdType2ByColumn, ScdType2ByTime
from vde_dagster.core.model.kinds.seed import Seed
from vde_dagster.core.model.kinds.view import View
from vde_dagster.core.model.kinds.written_merge import WrittenMerge

__all__ = [
    "Embedded",
    "External",
    "Full",
    "IncrementalByPartition",
    "IncrementalByTimeRange",
    "IncrementalByUniqueKey",
    "IncrementalUnmanaged",
    "Kind",
    "Managed",
    "ScdType2",
    "ScdType2ByColumn",
    "ScdType2ByTime",
    "Seed",
    "View",
    "WrittenMerge",
]

Kind = (
    IncrementalByTimeRange
    | IncrementalByUniqueKey
    | IncrementalByPartition
    | IncrementalUnmanaged
    | Full
    | View
    | Embedded
    | Seed
    | ScdType2ByTime
    | ScdType2ByColumn
    | External
    | Managed
)
