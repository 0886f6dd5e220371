"""INCREMENTAL_BY_TIME_RANGE: an evaluation replaces exactly the rows of its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.core import schedule
from vde_dagster.core.intervals import Interval
from vde_dagster.core.model import Model
from vde_dagster.core.work import OverwriteIntervals, TimeAxisSpec, Write


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

    def write(self, model: Model, interval: Interval, axis: TimeAxisSpec | None) -> Write:
        """Overwrite the interval, also where the query returns no rows for it."""
        assert axis is not None, f"{model.name} has a time column"
        return OverwriteIntervals(intervals=(interval,), axis=axis)


RULES = _Rules()
