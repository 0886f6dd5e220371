"""What every kind answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Protocol

from vde_dagster.core.errors import Refused
from vde_dagster.core.intervals import END_OF_TIME, EPOCH, Interval
from vde_dagster.core.kind import (
    IncrementalByPartition,
    IncrementalByUniqueKey,
    IncrementalUnmanaged,
    Managed,
    ScdType2ByColumn,
    ScdType2ByTime,
)
from vde_dagster.core.model import Model
from vde_dagster.core.work import TimeAxisSpec, Write

ALWAYS: Final = Interval(EPOCH, END_OF_TIME)
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

    def write(self, model: Model, interval: Interval, axis: TimeAxisSpec | None) -> Write:
        """What evaluating an interval does to the table.

        ``axis`` is how rows belong to intervals; None for kinds without intervals.
        """
        ...


class NotEvaluated(Refused):
    """Kinds that are understood, planned and rendered, but whose tables nothing writes yet."""

    def __init__(self, *models: Model) -> None:
        named = ", ".join(f"{each.name} ({each.kind.keyword})" for each in models)
        super().__init__(
            "this version of vde_dagster plans and renders models of these kinds, but does not "
            f"evaluate them yet: {named}. Nothing was written. Give them another kind, or write "
            "`enabled false` in their MODEL blocks."
        )


def refuse_not_evaluated(models: Iterable[Model]) -> None:
    """Refuse models that could be planned and not be written, all of them at once.

    Raises:
        NotEvaluated: There are such models.
    """
    refused = [each for each in models if isinstance(each.kind, _NOT_EVALUATED)]
    if refused:
        raise NotEvaluated(*refused)


_NOT_EVALUATED: Final = (
    IncrementalByUniqueKey,
    IncrementalByPartition,
    IncrementalUnmanaged,
    ScdType2ByTime,
    ScdType2ByColumn,
    Managed,
)
