"""What every kind answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import Interval
from vde_dagster.core.model import Model
from vde_dagster.core.writes import Write


class KindRules(Protocol):
    """How a kind is loaded. Every method is pure."""

    @property
    def has_rows(self) -> bool:
        """Whether versions of this kind are tables with rows that we write."""
        ...

    @property
    def is_partitioned(self) -> bool:
        """Whether intervals are evaluated one by one, and shown as partitions."""
        ...

    @property
    def is_sequential(self) -> bool:
        """Whether a batch builds on what those before it wrote, so that order counts."""
        ...

    @property
    def restates_whole(self) -> bool:
        """Whether the kind can only be restated as a whole (seed 001, *only full restatements*)."""
        ...

    def missing(
        self,
        model: Model,
        held: Sequence[Interval],
        now: datetime,
        blocked: Sequence[Interval] = (),
    ) -> tuple[Interval, ...]:
        """The contiguous ranges that have to be evaluated at ``now``.

        Args:
            model: The model.
            held: What its version's table holds.
            now: The project's clock.
            blocked: Times for which what the model reads is not whole.
        """
        ...

    def write(self, node: Node, interval: Interval, execution_time: datetime) -> Write:
        """What evaluating an interval at ``execution_time`` does to the table."""
        ...
