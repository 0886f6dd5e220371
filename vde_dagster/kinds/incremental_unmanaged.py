"""INCREMENTAL_UNMANAGED: what the query returns is appended, each interval once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.core import schedule
from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import Interval
from vde_dagster.core.model import Model
from vde_dagster.core.writes import AppendRows, Write


@dataclass(frozen=True, slots=True)
class _Rules:
    has_rows: bool = True
    is_partitioned: bool = False
    is_sequential: bool = True
    restates_whole: bool = True

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
        """Append what the query returns."""
        return AppendRows(interval=interval)


RULES = _Rules()
