"""The project's defaults for properties that a model leaves out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import Place
from vde_dagster.core.graph.freshness import (
    FRESHNESS,
    UPDATES_ON,
    FreshnessInvalid,
    parse_freshness,
)
from vde_dagster.core.model.model import SESSION, UpdatesOn
from vde_dagster.core.model.retries import MOST_RETRIES, RETRIES
from vde_dagster.core.sql.translation.proven import SUPPORTED, is_supported
from vde_dagster.core.time.cron import CronInvalid, unit_of
from vde_dagster.core.time.intervals import parse_duration, parse_instant
from vde_dagster.project.problems import message_and_advice
from vde_dagster.project.project_file import FILE_NAME
from vde_dagster.project.yaml_document import Entry, Reader

FORWARD_ONLY: Final = "forward_only"
"""The name of the option of a kind, and of the patterns for models without it."""
SUPPORTED_DIALECTS: Final = f"Use one of {', '.join(SUPPORTED)}."
"""The advice for a dialect that models cannot be written in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """The values of properties that a model leaves out; ``catalog`` is the project's own.

    ``session`` are the settings of Spark's session that may change results, as JSON.
    ``forward_only`` are the patterns of models that are forward-only, as they are written.
    """

    dialect: str = "spark"
    start: datetime | None = None
    cron: str = "@daily"
    catalog: str = "lake"
    session: str = ""
    freshness: timedelta | None = None
    updates_on: UpdatesOn = UpdatesOn.ANY
    retries: int = 0
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


def defaults_of(entry: Entry | None, reader: Reader) -> Defaults:
    """The ``defaults`` of ``vde.yaml``; the reader collects what is wrong in them."""
    standard = Defaults()
    if entry is None:
        return standard
    reader.known(entry, ("cron", "dialect", FRESHNESS, RETRIES, "start", UPDATES_ON), "defaults")
    start = standard.start
    written = entry.children.get("start")
    if written is not None:
        try:
            start = parse_instant(reader.text(written, ""))
        except ValueError:
            reader.add(written.place, "start is no date", "Write it like 2024-01-31.")
    return Defaults(
        dialect=_dialect(entry.children.get("dialect"), standard.dialect, reader),
        start=start,
        cron=_cron(entry.children.get("cron"), standard.cron, reader),
        freshness=_freshness(entry.children.get(FRESHNESS), reader),
        updates_on=_updates_on(entry.children.get(UPDATES_ON), reader),
        retries=_retries(entry.children.get(RETRIES), reader),
    )


def _freshness(entry: Entry | None, reader: Reader) -> timedelta | None:
    if entry is None:
        return None
    try:
        return parse_freshness(reader.text(entry, "1 day"))
    except FreshnessInvalid as error:
        reader.add(entry.place, *message_and_advice(error))
        return None


def _updates_on(entry: Entry | None, reader: Reader) -> UpdatesOn:
    written = reader.text(entry, UpdatesOn.ANY.value).lower()
    if written not in (each.value for each in UpdatesOn):
        if entry is not None:
            message = f"updates_on is any or all, not {written!r}"
            reader.add(entry.place, message, "Write one of these two.")
        return UpdatesOn.ANY
    return UpdatesOn(written)


def _retries(entry: Entry | None, reader: Reader) -> int:
    written = reader.text(entry, "0")
    if (
        written.isascii()
        and written.isdigit()
        and len(written) <= 9
        and int(written) <= MOST_RETRIES
    ):
        return int(written)
    if entry is not None:
        message = f"retries is a whole number up to {MOST_RETRIES}, not {written!r}"
        reader.add(entry.place, message, "Write one, for example 2.")
    return 0


def _dialect(entry: Entry | None, standard: str, reader: Reader) -> str:
    written = reader.text(entry, standard)
    if entry is not None and not is_dialect(written):
        advice = SUPPORTED_DIALECTS
        reader.add(entry.place, f"unknown dialect {written!r}", advice)
        return standard
    return written


def is_dialect(name: str) -> bool:
    """Whether models may be written in a dialect of this name."""
    return is_supported(name)


def _cron(entry: Entry | None, standard: str, reader: Reader) -> str:
    written = reader.text(entry, standard)
    try:
        unit_of(written)
    except CronInvalid as error:
        where = entry.place if entry is not None else Place(path=Path(FILE_NAME))
        reader.add(where, *message_and_advice(error))
        return standard
    return written
