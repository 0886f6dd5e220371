"""Runs that a sensor requested for the same work: how many ended, and when the next may start.

A run key only keeps the same work from being requested twice while its run is under way. If a run
ended and left the work undone, another one is requested, after a pause that grows. Run keys end in
the number of the attempt; those before count also once their runs are deleted, since Dagster starts
nothing for a key that a run has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import dagster as dg

from vde_dagster.core.time.intervals import format_instant
from vde_dagster.orchestration._unpublished import RUN_KEY_TAG

SECONDS: Final = 30
"""How often a sensor looks."""
LONGEST_PAUSE: Final = timedelta(hours=1)
STARTING: Final = timedelta(minutes=10)
"""How long a run may take from its start until it has its lease."""
ENDED: Final = (
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """The runs for one piece of work so far.

    ``ended`` counts those that ended, the last one at ``last_end`` (UTC; None for none).
    """

    ended: int = 0
    last_end: datetime | None = None

    @property
    def not_before(self) -> datetime | None:
        """When the next one may start; None for at once.

        The first failure is tried again at once; then the pause doubles, up to an hour.
        """
        if self.last_end is None or self.ended <= 1:
            return None
        pause = timedelta(seconds=SECONDS * 2 ** min(self.ended - 1, 10))
        return self.last_end + min(pause, LONGEST_PAUSE)

    def pause(self, now: datetime) -> str:
        """For people, until when the next one waits; empty where it does not."""
        again = self.not_before
        if again is None or again <= now:
            return ""
        return f"after {format_instant(again.replace(microsecond=0))} UTC"


def is_alive(run: dg.RunRecord, *, is_held: bool) -> bool:
    """Whether a run waits to be started, or works.

    Dagster does not learn that a process was killed. A run that works has its lease.
    """
    status = run.dagster_run.status
    if status in ENDED or is_held or status not in _STARTED:
        return status not in ENDED
    began = datetime.fromtimestamp(run.start_time, UTC) if run.start_time else run.create_timestamp
    return datetime.now(UTC) < began + STARTING


_STARTED: Final = (
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)


def ended_attempts(records: Sequence[dg.RunRecord], *, work: str = "") -> Attempts:
    """These runs, which ended or were killed, as attempts at the same work.

    ``work`` is what their run keys name it, before the number of the attempt; empty if that is not
    asked for.
    """
    numbers = [_number(each, work) for each in records] if work else []
    ended = max(len(records), *numbers, 0)
    return Attempts(ended=ended, last_end=max(map(_ended_at, records), default=None))


def _number(record: dg.RunRecord, work: str) -> int:
    """The number of an attempt by its run key, which may be about other work, too; 0 for none."""
    key = record.dagster_run.tags.get(RUN_KEY_TAG, "")
    found = re.search(rf"(?:^|[:|]){re.escape(work)}:(\d+)(?:\||$)", key)
    return int(found[1]) if found else 0


def _ended_at(record: dg.RunRecord) -> datetime:
    """When a run ended, or if that is not known, when it was requested (UTC)."""
    if record.end_time is None:
        return record.create_timestamp
    return datetime.fromtimestamp(record.end_time, UTC)
