"""What each kind of model needs and writes: one file per kind, values only.

``of(model)`` gives the rules of a model's kind. A kind that a branch forgot fails the type check.
"""

from __future__ import annotations

from typing import assert_never

from vde_dagster.core.kind import (
    Embedded,
    External,
    Full,
    IncrementalByPartition,
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    IncrementalUnmanaged,
    Managed,
    ScdType2ByColumn,
    ScdType2ByTime,
    Seed,
    View,
)
from vde_dagster.core.model import Model
from vde_dagster.kinds import (
    embedded,
    external,
    full,
    incremental_by_partition,
    incremental_by_time_range,
    incremental_by_unique_key,
    incremental_unmanaged,
    managed,
    scd_type_2,
    seed,
    view,
)
from vde_dagster.kinds.rules import KindRules


def of(model: Model) -> KindRules:  # noqa: PLR0911 - one line for each kind
    """The rules of a model's kind."""
    match model.kind:
        case IncrementalByTimeRange():
            return incremental_by_time_range.RULES
        case IncrementalByUniqueKey():
            return incremental_by_unique_key.RULES
        case IncrementalByPartition():
            return incremental_by_partition.RULES
        case IncrementalUnmanaged():
            return incremental_unmanaged.RULES
        case Full():
            return full.RULES
        case View():
            return view.RULES
        case Embedded():
            return embedded.RULES
        case Seed():
            return seed.RULES
        case ScdType2ByTime() | ScdType2ByColumn():
            return scd_type_2.RULES
        case External():
            return external.RULES
        case Managed():
            return managed.RULES
        case unreachable:
            assert_never(unreachable)


def is_by_interval(model: Model) -> bool:
    """Whether a model is loaded interval by interval, so that its intervals are counted.

    So are all incremental kinds. A FULL table, a view and a seed are made at once.
    """
    rules = of(model)
    return rules.is_partitioned or rules.is_sequential
