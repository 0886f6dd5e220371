"""SEED: a CSV file's rows, loaded once; another content is another version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vde_dagster.core.model.kinds.facts import Evaluation, KindFacts, Loading, Role
from vde_dagster.core.model.writes import ReplaceTable, Write
from vde_dagster.core.time.intervals import ALWAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed(KindFacts):
    """The rows of a CSV file of the project are loaded once."""

    keyword: ClassVar[str] = "SEED"
    role: ClassVar[Role] = Role.TABLE
    loading: ClassVar[Loading] = Loading.ONCE
    path: str
    """The file: relative to the model's file, inside the project."""

    def write(self, what: Evaluation) -> Write:
        """Replace all rows."""
        return ReplaceTable(interval=ALWAYS)
