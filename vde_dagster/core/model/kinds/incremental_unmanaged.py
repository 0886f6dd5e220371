"""INCREMENTAL_UNMANAGED: what the query returns is appended, each interval once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from vde_dagster.core.columns import Column
from vde_dagster.core.model.kinds.facts import KindFacts, Loading, Role
from vde_dagster.core.model.writes import (
    AppendRows,
    Write,
)
from vde_dagster.core.time import schedule
from vde_dagster.core.time.intervals import Interval, IntervalUnit
from vde_dagster.core.time.schedule import Scheduled


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalUnmanaged(KindFacts):
    """What the query returns is appended, once per interval."""

    keyword: ClassVar[str] = "INCREMENTAL_UNMANAGED"
    role: ClassVar[Role] = Role.TABLE
    loading: ClassVar[Loading] = Loading.IN_TURN
    range_shapes_rows: ClassVar[bool] = False
    forward_only: bool = True
    disable_restatement: bool = False

    def missing(
        self,
        model: Scheduled,
        held: Sequence[Interval],
        now: datetime,
        blocked: Sequence[Interval] = (),
    ) -> tuple[Interval, ...]:
        """Every unit that is due and not held; see `vde_dagster.core.time.schedule.missing`."""
        return schedule.missing(model, held, now, blocked)

    def write(
        self,
        interval: Interval,
        *,
        execution_time: datetime,
        columns: Sequence[Column],
        unit: IntervalUnit,
    ) -> Write:
        """Append what the query returns."""
        return AppendRows(interval=interval)
