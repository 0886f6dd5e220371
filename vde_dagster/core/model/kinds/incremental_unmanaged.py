"""INCREMENTAL_UNMANAGED: what the query returns is appended, each interval once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vde_dagster.core.model.kinds.facts import Evaluation, KindFacts, Loading, Role
from vde_dagster.core.model.writes import AppendRows, Write


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalUnmanaged(KindFacts):
    """The query's rows are appended, once per interval."""

    keyword: ClassVar[str] = "INCREMENTAL_UNMANAGED"
    role: ClassVar[Role] = Role.TABLE
    loading: ClassVar[Loading] = Loading.APPENDED
    forward_only: bool = True
    disable_restatement: bool = False

    def write(self, what: Evaluation) -> Write:
        """Append what the query returns."""
        return AppendRows(interval=what.interval)
