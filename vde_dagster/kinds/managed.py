"""MANAGED: the platform makes the table and keeps it fresh by itself, so it is made once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import Interval
from vde_dagster.core.model import Model
from vde_dagster.core.work import Write
from vde_dagster.kinds.rules import ALWAYS, NotEvaluated


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
        """Not evaluated yet.

        Raises:
            NotEvaluated: Always.
        """
        raise NotEvaluated(node.model)


RULES = _Rules()
