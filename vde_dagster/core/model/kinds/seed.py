"""SEED: a CSV file's rows, loaded once; another content is another version."""

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
class Seed(KindFacts):
    """The rows of a CSV file of the project. ``path`` is relative to the model's file."""

    keyword: ClassVar[str] = "SEED"
    role: ClassVar[Role] = Role.TABLE
    loading: ClassVar[Loading] = Loading.ONCE
    path: str

    def missing(
        self,
        model: Scheduled,
        held: Sequence[Interval],
        now: datetime,
        blocked: Sequence[Interval] = (),
    ) -> tuple[Interval, ...]:
        """The one load, unless it was done."""
        return () if held else (ALWAYS,)

    def write(
        self,
        interval: Interval,
        *,
        execution_time: datetime,
        columns: Sequence[Column],
        unit: IntervalUnit,
    ) -> Write:
        """Replace all rows."""
        return ReplaceTable(interval=ALWAYS)
