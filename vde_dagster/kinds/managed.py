"""MANAGED: a plan makes the table once; afterwards it is kept fresh by what it reads (seed 001).

Neither Spark nor Iceberg has tables that keep themselves fresh, so vde_dagster is the platform: see
`vde_dagster.app.managed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import ALWAYS, Interval, parse_duration
from vde_dagster.core.model import Model
from vde_dagster.core.writes import ReplaceTable, Write

TARGET_LAG: Final = "target_lag"


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
        """Making the table, unless it was made."""
        return () if held else (ALWAYS,)

    def write(self, node: Node, interval: Interval, execution_time: datetime) -> Write:
        """Replace all rows."""
        return ReplaceTable(interval=ALWAYS)


RULES = _Rules()


def target_lag(model: Model) -> timedelta:
    """How old a table's last result has to be before it is made anew; zero where none is said.

    It was checked when the model was read, so that it is a length of time.
    """
    written = dict(model.storage.properties).get(TARGET_LAG)
    return parse_duration(written) if written is not None else timedelta(0)
