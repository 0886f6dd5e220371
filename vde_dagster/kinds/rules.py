"""What every kind answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, Protocol

from vde_dagster.core.errors import Refused
from vde_dagster.core.intervals import EPOCH, Interval
from vde_dagster.core.model import Model
from vde_dagster.core.work import TimeAxisSpec, Write

ALWAYS: Final = Interval(EPOCH, datetime(9999, 1, 1, tzinfo=UTC))
"""The one interval of what does not depend on time: a seed, a view."""


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

    def missing(
        self, model: Model, held: Sequence[Interval], now: datetime
    ) -> tuple[Interval, ...]:
        """The contiguous ranges that have to be evaluated at ``now``, given what is held."""
        ...

    def write(self, model: Model, interval: Interval, axis: TimeAxisSpec | None) -> Write:
        """What evaluating an interval does to the table.

        ``axis`` is how rows belong to intervals; None for kinds without intervals.
        """
        ...


class NotEvaluated(Refused):
    """A kind that is understood, planned and rendered, but whose tables nothing writes yet."""

    def __init__(self, model: Model) -> None:
        super().__init__(
            f"{model.name} is of kind {model.kind.keyword}, which this version of vde_dagster "
            "plans and renders but does not evaluate yet; nothing was written."
        )
