"""INCREMENTAL_UNMANAGED: what the query returns is appended, each interval once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.core.intervals import Interval, due, subtract
from vde_dagster.core.model import Model
from vde_dagster.core.work import TimeAxisSpec, Write
from vde_dagster.kinds.rules import NotEvaluated


@dataclass(frozen=True, slots=True)
class _Rules:
    has_rows: bool = True
    is_partitioned: bool = False

    def missing(
        self, model: Model, held: Sequence[Interval], now: datetime
    ) -> tuple[Interval, ...]:
        """Every whole unit from the model's start that has ended and is not held."""
        wanted = due(model.start, now, model.unit)
        return subtract([wanted], held) if wanted else ()

    def write(self, model: Model, interval: Interval, axis: TimeAxisSpec | None) -> Write:
        """Not evaluated yet.

        Raises:
            NotEvaluated: Always.
        """
        raise NotEvaluated(model)


RULES = _Rules()
