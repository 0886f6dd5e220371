"""SCD_TYPE_2_BY_TIME and SCD_TYPE_2_BY_COLUMN: rows with the time in which they were valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from vde_dagster.core import schedule
from vde_dagster.core.columns import Column
from vde_dagster.core.graph import Node
from vde_dagster.core.history import History
from vde_dagster.core.intervals import Interval
from vde_dagster.core.kind import ScdType2, ScdType2ByColumn, ScdType2ByTime
from vde_dagster.core.model import Model
from vde_dagster.core.writes import KeepHistory, Write


def history_of(kind: ScdType2, columns: Sequence[Column]) -> History:
    """How the history of a model is kept.

    Args:
        kind: The model's kind.
        columns: The model's columns, the two that the kind adds among them; of these the types
            count, since a model's header may declare others than ``time_data_type``.
    """
    match kind:
        case ScdType2ByTime():
            compared: tuple[str, ...] = ()
            from_epoch = not kind.updated_at_as_valid_from
        case ScdType2ByColumn():
            compared = kind.columns
            from_epoch = not kind.execution_time_as_valid_from
        case _:
            assert_never(kind)
    return History(
        key=kind.written.key or kind.unique_key,
        updated_at=kind.updated_at_name,
        compared=compared,
        from_epoch=from_epoch,
        closes_missing=kind.invalidate_hard_deletes,
        valid_from=_added(kind.valid_from_name, kind, columns),
        valid_to=_added(kind.valid_to_name, kind, columns),
    )


def _added(name: str, kind: ScdType2, columns: Sequence[Column]) -> Column:
    types = [each.type for each in columns if each.name.lower() == name]
    return Column(name=name, type=types[0] if types else kind.time_data_type)


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
        """Compare what the query returns with the rows that are valid now."""
        kind = node.model.kind
        assert isinstance(kind, ScdType2ByTime | ScdType2ByColumn), f"{node.name} has a history"
        return KeepHistory(
            interval=interval,
            history=history_of(kind, node.columns),
            execution_time=execution_time,
        )


RULES = _Rules()
