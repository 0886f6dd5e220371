"""EXTERNAL: others write it, so there is never anything to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vde_dagster.core.model.kinds.facts import Evaluation, KindFacts, Loading, Role
from vde_dagster.core.model.writes import Write


@dataclass(frozen=True, slots=True, kw_only=True)
class External(KindFacts):
    """A table that other programs write; only its columns are known here."""

    keyword: ClassVar[str] = "EXTERNAL"
    role: ClassVar[Role] = Role.SOURCE
    loading: ClassVar[Loading] = Loading.NEVER

    def write(self, what: Evaluation) -> Write:
        """Never called.

        Raises:
            ValueError: Always.
        """
        raise ValueError("a source is never written to")
