"""INCREMENTAL_BY_PARTITION: the partitions of the new rows are replaced, the others stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from vde_dagster.core.columns import Column
from vde_dagster.core.model.kinds.facts import KindFacts, Loading, Role
from vde_dagster.core.model.writes import (
    ReplacePartitions,
    Write,
)
from vde_dagster.core.time import schedule
from vde_dagster.core.time.intervals import Interval, IntervalUnit
from vde_dagster.core.time.schedule import Scheduled


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalByPartition(KindFacts):
    """The partitions that the new rows belong to are replaced; the others stay."""

    keyword: ClassVar[str] = "INCREMENTAL_BY_PARTITION"
    role: ClassVar[Role] = Role.TABLE
    loading: ClassVar[Loading] = Loading.IN_TURN
    forward_only: bool = True
    disable_restatement: bool = False

    def missing(
        self,
        model: Scheduled,
        held: Sequence[Interval],
        now: datetime,
        blocked: Sequence[Interval] = (),
    ) -> tuple[Interval, ...]:
        """Every unit in turn; see `vde_dagster.core.time.schedule.missing_in_turn`."""
        return schedule.missing_in_turn(model, held, now, blocked)

    def write(
        self,
        interval: Interval,
        *,
        execution_time: datetime,
        columns: Sequence[Column],
        unit: IntervalUnit,
    ) -> Write:
        """Replace the partitions of the new rows."""
        return ReplacePartitions(interval=interval)
