"""SEED: a CSV file's rows, loaded once; another content is another version."""

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
        """The one load, unless it was done."""
        return () if held else (ALWAYS,)

    def write(self, node: Node, interval: Interval, execution_time: datetime) -> Write:
        """Replace all rows."""
        return ReplaceTable(interval=ALWAYS)


RULES = _Rules()
