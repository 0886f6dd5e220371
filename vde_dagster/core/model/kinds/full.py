"""FULL: every evaluation makes the whole table, once per cron period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from vde_dagster.core.columns import Column
from vde_dagster.core.model.kinds.facts import KindFacts, Loading, Role
from vde_dagster.core.model.writes import (
    ReplaceTable,
    Write,
)
from vde_dagster.core.time import schedule
from vde_dagster.core.time.intervals import Interval, IntervalUnit, covers
from vde_dagster.core.time.schedule import Scheduled


@dataclass(frozen=True, slots=True, kw_only=True)
class Full(KindFacts):
    """The whole table is made anew by each evaluation."""

    keyword: ClassVar[str] = "FULL"
    role: ClassVar[Role] = Role.TABLE
    loading: ClassVar[Loading] = Loading.WHOLE

    def missing(
        self,
        model: Scheduled,
        held: Sequence[Interval],
        now: datetime,
        blocked: Sequence[Interval] = (),
    ) -> tuple[Interval, ...]:
        """Everything from the start to the last period that is due, unless it is held."""
        wanted = schedule.due_at_once(model, now, blocked)
        return (wanted,) if wanted and not covers(held, wanted) else ()

    def write(
        self,
        interval: Interval,
        *,
        execution_time: datetime,
        columns: Sequence[Column],
        unit: IntervalUnit,
    ) -> Write:
        """Replace all rows."""
        return ReplaceTable(interval=interval)
