"""FULL: every evaluation makes the whole table, once per cron period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vde_dagster.core.model.kinds.facts import Evaluation, KindFacts, Loading, Role
from vde_dagster.core.model.writes import ReplaceTable, Write


@dataclass(frozen=True, slots=True, kw_only=True)
class Full(KindFacts):
    """Each evaluation rebuilds the whole table."""

    keyword: ClassVar[str] = "FULL"
    role: ClassVar[Role] = Role.TABLE
    loading: ClassVar[Loading] = Loading.WHOLE

    def write(self, what: Evaluation) -> Write:
        """Replace all rows."""
        return ReplaceTable(interval=what.interval)
