"""VIEW: no rows of its own; the physical view is made once for each set of tables it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from vde_dagster.core.columns import Column
from vde_dagster.core.model.kinds.facts import KindFacts, Loading, Role
from vde_dagster.core.model.writes import (
    ReplaceTable,
    Write,
)
from vde_dagster.core.time.intervals import ALWAYS, Interval, IntervalUnit
from vde_dagster.core.time.schedule import Scheduled


@dataclass(frozen=True, slots=True, kw_only=True)
class View(KindFacts):
    """No rows of its own: a view over what its query reads."""

    keyword: ClassVar[str] = "VIEW"
    role: ClassVar[Role] = Role.VIEW
    loading: ClassVar[Loading] = Loading.ONCE

    def missing(
        self,
        model: Scheduled,
        held: Sequence[Interval],
        now: datetime,
        blocked: Sequence[Interval] = (),
    ) -> tuple[Interval, ...]:
        """Making the view, unless it was made."""
        return () if held else (ALWAYS,)

    def write(
        self,
        interval: Interval,
        *,
        execution_time: datetime,
        columns: Sequence[Column],
        unit: IntervalUnit,
    ) -> Write:
        """Make the view."""
        return ReplaceTable(interval=ALWAYS)
