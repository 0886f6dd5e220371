"""EXTERNAL: others write it, so there is never anything to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import Interval
from vde_dagster.core.model import Model
from vde_dagster.core.writes import Write


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
        """Nothing."""
        return ()

    def write(self, node: Node, interval: Interval, execution_time: datetime) -> Write:
        """Never called for a source: nothing here writes to one.

        Raises:
            ValueError: Always.
        """
        raise ValueError(f"{node.name} is a source, which is never written to")


RULES = _Rules()
