"""VIEW: no rows of its own; the physical view is made once for each set of tables it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import ALWAYS, Interval
from vde_dagster.core.model import Model
from vde_dagster.core.writes import ReplaceTable, Write


@dataclass(frozen=True, slots=True)
class _Rules:
    has_rows: bool = False
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
        """Making the view, unless it was made."""
        return () if held else (ALWAYS,)

    def write(self, node: Node, interval: Interval, execution_time: datetime) -> Write:
        """Make the view anew."""
        return ReplaceTable(interval=ALWAYS)


RULES = _Rules()
