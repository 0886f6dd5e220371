"""The project's defaults for properties that a model leaves out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vde_dagster.core.graph.freshness import FRESHNESS, UPDATES_ON
from vde_dagster.core.model.model import SESSION, UpdatesOn
from vde_dagster.core.model.retries import RETRIES
from vde_dagster.core.sql.dialects import SUPPORTED
from vde_dagster.core.time.intervals import parse_duration, parse_instant
from vde_dagster.project.written_settings import WrittenDefaults

FORWARD_ONLY: Final = "forward_only"
"""The name of the option of a kind, and of the patterns for models without it."""
SUPPORTED_DIALECTS: Final = f"Use one of {', '.join(SUPPORTED)}."
"""The advice for a dialect that models cannot be written in."""


def is_dialect(name: str) -> bool:
    """Whether models may be written in a dialect of this name."""
    return name.lower() in SUPPORTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults(WrittenDefaults):
    """The values of properties that a model leaves out; ``catalog`` is the project's own.

    ``session`` are the settings of Spark's session that may change results, as JSON.
    ``forward_only`` are the patterns of models that are forward-only, as they are written.
    """

    catalog: str = "lake"
    session: str = ""
    forward_only: tuple[str, ...] = ()

    def as_texts(self) -> dict[str, str]:
        """The defaults as they are stored with a model's source."""
        start = self.start.isoformat() if self.start is not None else ""
        session = {SESSION: self.session} if self.session else {}
        updates = dict[str, str]()
        if self.freshness is not None:
            updates[FRESHNESS] = f"{self.freshness.total_seconds():.0f} seconds"
        if self.updates_on is not UpdatesOn.ANY:
            updates[UPDATES_ON] = self.updates_on.value
        if self.retries:
            updates[RETRIES] = str(self.retries)
        if self.forward_only:
            updates[FORWARD_ONLY] = json.dumps(self.forward_only)
        return {
            "dialect": self.dialect,
            "start": start,
            "cron": self.cron,
            "catalog": self.catalog,
            **session,
            **updates,
        }

    @classmethod
    def from_texts(cls, texts: Mapping[str, str]) -> Defaults:
        """The defaults that were stored."""
        start = parse_instant(texts["start"]) if texts["start"] else None
        freshness = texts.get(FRESHNESS)
        return cls(
            dialect=texts["dialect"],
            start=start,
            cron=texts["cron"],
            catalog=texts.get("catalog", "lake"),
            session=texts.get(SESSION, ""),
            freshness=parse_duration(freshness) if freshness is not None else None,
            updates_on=UpdatesOn(texts.get(UPDATES_ON, UpdatesOn.ANY.value)),
            retries=int(texts.get(RETRIES, 0)),
            forward_only=tuple(json.loads(texts.get(FORWARD_ONLY, "[]"))),
        )
