"""What every kind answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Protocol

from vde_dagster.core.errors import Refused
from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import END_OF_TIME, EPOCH, Interval
from vde_dagster.core.kind import (
    Managed,
    ScdType2ByColumn,
    ScdType2ByTime,
)
from vde_dagster.core.model import Model, PythonFunction, Query
from vde_dagster.core.work import Write

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

    def write(self, node: Node, interval: Interval, execution_time: datetime) -> Write:
        """What evaluating an interval at ``execution_time`` does to the table."""
        ...


class NotEvaluated(Refused):
    """Models that are understood, planned and rendered, but whose tables nothing writes yet."""

    def __init__(self, *models: Model) -> None:
        named = "; ".join(f"{each.name} ({_not_evaluated(each)})" for each in models)
        super().__init__(
            "this version of vde_dagster plans and renders these models, but does not evaluate "
            f"them yet: {named}. Nothing was written. Change them, or write `enabled false` in "
            "their MODEL blocks."
        )


def refuse_not_evaluated(models: Iterable[Model]) -> None:
    """Refuse models that could be planned and not be written, all of them at once.

    Raises:
        NotEvaluated: There are such models.
    """
    refused = [each for each in models if _not_evaluated(each)]
    if refused:
        raise NotEvaluated(*refused)


def _not_evaluated(model: Model) -> str:
    """What of a model is not evaluated yet; empty where all of it is."""
    if isinstance(model.kind, _NOT_EVALUATED):
        return f"kind {model.kind.keyword}"
    if isinstance(model.body, Query | PythonFunction) and (model.body.before or model.body.after):
        return f"statements beside its {'query' if isinstance(model.body, Query) else 'function'}"
    return ""


_NOT_EVALUATED: Final = (ScdType2ByTime, ScdType2ByColumn, Managed)
