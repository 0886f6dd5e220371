"""FULL: every evaluation makes the whole table anew, once per cron period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.core import schedule
from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import Interval, covers
from vde_dagster.core.model import Model
from vde_dagster.core.writes import ReplaceTable, Write


@dataclass(frozen=True, slots=True)
class _Rules:
    has_rows: bool = True
    is_partitioned: bool = False
    is_sequential: bool = False
    restates_whole: bool = True

    def missing(
        self,
        model: Model,
        held: Sequence[Interval],
        now: datetime,
        blocked: Sequence[Interval] = (),
    ) -> tuple[Interval, ...]:
        """Everything from the start to the last period that is due, unless it is held."""
        wanted = schedule.due_at_once(model, now, blocked)
        return (wanted,) if wanted and not covers(held, wanted) else ()

    def write(self, node: Node, interval: Interval, execution_time: datetime) -> Write:
        """Replace all rows."""
        return ReplaceTable(interval=interval)


RULES = _Rules()
