"""What ``vde.yaml`` says about when Dagster cleans up and maintains tables by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vde_dagster.core.time.cron import Cron, CronInvalid
from vde_dagster.project.problems import message_and_advice
from vde_dagster.project.yaml_document import Entry, Reader

SCHEDULE: Final = "schedule"
"""The key, below ``clean_up`` and below ``maintain``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUpSchedules:
    """The crons, in UTC, by which Dagster runs the janitor and maintains tables; None for unset."""

    janitor: str | None = None
    maintain: str | None = None


def read_schedules(
    clean_up: Entry | None, maintain: Entry | None, reader: Reader
) -> CleanUpSchedules:
    """The schedules below ``clean_up`` and ``maintain``, with what is wrong with them reported.

    Args:
        clean_up: What is written below ``clean_up``.
        maintain: What is written below ``maintain``.
        reader: Collects problems.
    """
    return CleanUpSchedules(janitor=_cron(clean_up, reader), maintain=_cron(maintain, reader))


def _cron(section: Entry | None, reader: Reader) -> str | None:
    entry = section.children.get(SCHEDULE) if section is not None else None
    written = reader.text(entry, "")
    if entry is None or not written:
        return None
    try:
        return Cron.parse(written).text
    except CronInvalid as error:
        reader.add(entry.place, *message_and_advice(error))
        return None
