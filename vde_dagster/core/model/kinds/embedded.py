"""EMBEDDED: no object, so there is never anything to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from vde_dagster.core.columns import Column
from vde_dagster.core.model.kinds.facts import KindFacts, Loading, Role
from vde_dagster.core.model.writes import (
    Write,
)
from vde_dagster.core.time.intervals import Interval, IntervalUnit
from vde_dagster.core.time.schedule import Scheduled


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded(KindFacts):
    """No object at all: its query stands as a sub-query in every model that reads it."""

    keyword: ClassVar[str] = "EMBEDDED"
    role: ClassVar[Role] = Role.EMBEDDED
    loading: ClassVar[Loading] = Loading.NEVER

    def missing(
        self,
        model: Scheduled,
        held: Sequence[Interval],
        now: datetime,
        blocked: Sequence[Interval] = (),
    ) -> tuple[Interval, ...]:
        """Nothing."""
        return ()

    def write(
        self,
        interval: Interval,
        *,
        execution_time: datetime,
        columns: Sequence[Column],
        unit: IntervalUnit,
    ) -> Write:
        """Never called.

        Raises:
            ValueError: Always.
        """
        raise ValueError("an EMBEDDED model has nothing that is written to")
