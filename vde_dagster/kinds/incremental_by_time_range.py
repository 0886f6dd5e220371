"""INCREMENTAL_BY_TIME_RANGE: an evaluation replaces exactly the rows of its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.core import schedule
from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import Interval
from vde_dagster.core.model import Model
from vde_dagster.core.render_model import time_axis
from vde_dagster.core.writes import OverwriteIntervals, Write


@dataclass(frozen=True, slots=True)
class _Rules:
    has_rows: bool = True
    is_partitioned: bool = True
    is_sequential: bool = False
    restates_whole: bool = False

    def missing(
        self,
        model: Model,
        held: Sequence[Interval],
        now: datetime,
        blocked: Sequence[Interval] = (),
    ) -> tuple[Interval, ...]:
        """Every unit that is due and not held; see `vde_dagster.core.schedule.missing`."""
        return schedule.missing(model, held, now, blocked)

    def write(self, node: Node, interval: Interval, execution_time: datetime) -> Write:
        """Overwrite the interval, also where the query returns no rows for it."""
        axis = time_axis(node)
        assert axis is not None, f"{node.name} has a time column"
        return OverwriteIntervals(intervals=(interval,), axis=axis)


RULES = _Rules()
