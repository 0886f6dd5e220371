"""What Dagster's log of a step says: what each unit of work did, and what Spark is doing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Final

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.inspect.unit_text import LOOK_SECONDS, progress_text, unit_text, watched
from vde_dagster.app.services import Services
from vde_dagster.ports.engine import EngineProgress

LINE_LOOKS: Final = 5
"""After how many looks the next line may be logged."""


def log_units(
    log: dg.DagsterLogManager, services: Services, binding: Binding, done: Iterable[Evaluated]
) -> None:
    """Log a line for each unit of work."""
    for each in done:
        log.info(unit_text(services, binding, each))


def logged_progress(
    log: dg.DagsterLogManager, progress: Callable[[], EngineProgress | None]
) -> AbstractContextManager[None]:
    """While a ``with`` block lasts and the engine works, log what it does every few seconds.

    Args:
        log: That of the step.
        progress: What the engine is doing (`vde_dagster.ports.engine.Engine.progress`).
    """
    told: set[str] = set()
    looks = 0

    def notice(found: EngineProgress) -> None:
        nonlocal looks
        looks += 1
        if found.address and not told:
            told.add(found.address)
            log.info(f"Spark's UI: {found.address}")
        line = progress_text(found)
        if line and looks >= LINE_LOOKS:
            looks = 0
            log.info(line)

    return watched(progress, notice, seconds=LOOK_SECONDS)
