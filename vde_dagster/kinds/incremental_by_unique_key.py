"""INCREMENTAL_BY_UNIQUE_KEY: new rows are inserted or update those of the same key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.core import schedule
from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import Interval
from vde_dagster.core.kind import IncrementalByUniqueKey
from vde_dagster.core.model import Model
from vde_dagster.core.sql.macros import TimeRange, resolve_time_macros
from vde_dagster.core.work import MergeRows, Write


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
        """Every unit in turn; see `vde_dagster.core.schedule.missing_in_turn`."""
        return schedule.missing_in_turn(model, held, now, blocked)

    def write(self, node: Node, interval: Interval, execution_time: datetime) -> Write:
        """Insert and update rows by their key."""
        kind = node.model.kind
        assert isinstance(kind, IncrementalByUniqueKey), f"{node.name} has a key"
        times = TimeRange.of(interval, execution_time=execution_time)
        condition = kind.merge_filter
        return MergeRows(
            interval=interval,
            key=kind.unique_key,
            when_matched=tuple(resolve_time_macros(each, times) for each in kind.when_matched),
            merge_filter=None if condition is None else resolve_time_macros(condition, times),
        )


RULES = _Rules()
