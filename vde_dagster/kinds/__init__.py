"""What each kind of model needs and writes: one file per kind, values only.

``of(model)`` gives the rules of a model's kind. A kind that a branch forgot fails the type check.
"""

from __future__ import annotations

from typing import assert_never

from vde_dagster.core.kind import External, Full, IncrementalByTimeRange, Seed, View
from vde_dagster.core.model import Model
from vde_dagster.kinds import external, full, incremental_by_time_range, seed, view
from vde_dagster.kinds.rules import KindRules


def of(model: Model) -> KindRules:
    """The rules of a model's kind."""
    match model.kind:
        case IncrementalByTimeRange():
            return incremental_by_time_range.RULES
        case Full():
            return full.RULES
        case View():
            return view.RULES
        case Seed():
            return seed.RULES
        case External():
            return external.RULES
        case unreachable:
            assert_never(unreachable)
