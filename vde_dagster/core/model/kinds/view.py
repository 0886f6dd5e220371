"""VIEW: no rows of its own; the physical view is made once for each set of tables it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vde_dagster.core.model.kinds.facts import Evaluation, KindFacts, Loading, Role
from vde_dagster.core.model.writes import ReplaceTable, Write
from vde_dagster.core.time.intervals import ALWAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class View(KindFacts):
    """A view of the query, without rows of its own."""

    keyword: ClassVar[str] = "VIEW"
    role: ClassVar[Role] = Role.VIEW
    loading: ClassVar[Loading] = Loading.ONCE

    def write(self, what: Evaluation) -> Write:
        """Make the view."""
        return ReplaceTable(interval=ALWAYS)
