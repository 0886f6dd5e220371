"""Timelines of plans that were carried out: kept as files of the project, the newest ones.

They are no part of the state: they say how long something took on this machine, and nobody decides
by them. Whoever cannot write one goes on without it.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import Refused
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.scheduling import Concurrency
from vde_dagster.core.planning.timeline import (
    CLOSING,
    OPENING,
    Timeline,
    as_json,
    from_json,
    timeline_of,
)
from vde_dagster.core.secrets import without_secrets
from vde_dagster.core.spans import Recording

KEPT: Final = 50
"""How many timelines are kept."""
_FOLDER: Final = "timelines"
_PRIVATE: Final = 0o600
_LOG: Final = logging.getLogger(__name__)


@contextmanager
def kept_timeline(
    home: Path, plan: Plan, concurrency: Concurrency, *, run_id: str = ""
) -> Iterator[Recording]:
    """Record what a ``with`` block does for a plan, and keep it, however the block ends.

    If no model was evaluated, nothing is kept: an older timeline says more.

    Args:
        home: The folder of the project's own state and caches.
        plan: The plan that is carried out.
        concurrency: How many of its models are evaluated at once.
        run_id: The Dagster run that carries it out; empty for none.
    """
    recording, started_at = Recording(), datetime.now(UTC)
    try:
        yield recording
    finally:
        try:
            found = timeline_of(plan, recording, concurrency, started_at=started_at, run_id=run_id)
            if any(row.name not in (OPENING, CLOSING) for row in found.rows):
                _keep(home / _FOLDER, found)
        except Exception as error:  # a picture that is missing must not change how a plan ends
            why = without_secrets(f"{type(error).__name__}: {error}")
            _LOG.warning("the timeline of this plan could not be kept: %s", why)


def timelines(home: Path) -> Iterator[Timeline]:
    """The timelines of a project that can be read, newest first.

    Args:
        home: The folder of the project's own state and caches.
    """
    for file in _files(home / _FOLDER):
        with suppress(OSError, ValueError):  # another process has removed it, or it was cut off
            yield from_json(json.loads(file.read_text("utf-8")))


def timeline_named(home: Path, beginning: str) -> Timeline:
    """The newest timeline of a plan, Dagster run or unit of work whose id begins so.

    Args:
        home: The folder of the project's own state and caches.
        beginning: The first letters of an id; empty for the newest timeline of all.

    Raises:
        Refused: There is none, or there is one of another release alone.
    """
    found = next((each for each in timelines(home) if each.is_named(beginning)), None)
    if found is not None:
        return found
    if not beginning:
        raise Refused(
            "there is no timeline yet",
            advice="`vde plan` and `vde run` keep one whenever they evaluate a model here.",
        )
    raise Refused(
        f"there is no timeline of a plan, run or unit of work {beginning}",
        advice=f"The last {KEPT} that were carried out on this machine are kept.",
    )


def _keep(folder: Path, timeline: Timeline) -> None:
    """Write a timeline as a whole, for its owner alone, and remove the oldest ones."""
    text = json.dumps(as_json(timeline), separators=(",", ":"))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = f"{timeline.started_at:%Y%m%dT%H%M%S%f}_{timeline.plan_id[:12]}.json"
    half = folder / f".{name}.{os.getpid()}"
    try:
        with open(half, "x", encoding="utf-8", opener=_private) as file:
            file.write(text)
        half.replace(folder / name)
    except BaseException:
        half.unlink(missing_ok=True)
        raise
    for old in _files(folder)[KEPT:]:
        old.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, _PRIVATE)


def _files(folder: Path) -> list[Path]:
    """The files of timelines, newest first."""
    return sorted(folder.glob("[!.]*.json"), reverse=True)
