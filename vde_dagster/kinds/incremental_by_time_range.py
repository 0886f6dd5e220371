"""INCREMENTAL_BY_TIME_RANGE: an evaluation replaces exactly the rows of its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.core.intervals import Interval, due, subtract
from vde_dagster.core.model import Model
from vde_dagster.core.work import OverwriteIntervals, TimeAxisSpec, Write


@dataclass(frozen=True, slots=True)
class _Rules:
    has_rows: bool = True
    is_partitioned: bool = True

    def missing(
        self, model: Model, held: Sequence[Interval], now: datetime
    ) -> tuple[Interval, ...]:
        """Every whole unit from the model's start that has ended and is not held."""
        wanted = due(model.start, now, model.unit)
        return subtract([wanted], held) if wanted else ()

    def write(self, model: Model, interval: Interval, axis: TimeAxisSpec | None) -> Write:
        """Overwrite the interval, also where the query returns no rows for it."""
        assert axis is not None, f"{model.name} has a time column"
        return OverwriteIntervals(intervals=(interval,), axis=axis)


RULES = _Rules()
