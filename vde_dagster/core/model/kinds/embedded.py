"""EMBEDDED: no object, so there is never anything to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vde_dagster.core.model.kinds.facts import Evaluation, KindFacts, Loading, Role
from vde_dagster.core.model.writes import Write


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded(KindFacts):
    """No table or view: the query is inlined in the models that read it."""

    keyword: ClassVar[str] = "EMBEDDED"
    role: ClassVar[Role] = Role.EMBEDDED
    loading: ClassVar[Loading] = Loading.NEVER

    def write(self, what: Evaluation) -> Write:
        """Never called.

        Raises:
            ValueError: Always.
        """
        raise ValueError("an EMBEDDED model has nothing that is written to")
