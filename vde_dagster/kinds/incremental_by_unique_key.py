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
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.sql.places import macros_placed
from vde_dagster.core.sql.rendering import in_spark
from vde_dagster.core.writes import MergeRows, Write


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
        clauses = kind.written.when_matched or in_spark(kind.when_matched)
        condition = kind.written.merge_filter or in_spark([kind.merge_filter])
        return MergeRows(
            interval=interval,
            key=kind.written.key or kind.unique_key,
            when_matched=macros_placed(clauses).with_times(times).text,
            merge_filter=macros_placed(condition).with_times(times).text,
        )


RULES = _Rules()
