"""What Dagster's log of a step says: what each unit of work did, and what Spark is doing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.inspect.unit_text import unit_text
from vde_dagster.app.services import Services
from vde_dagster.ports.engine import EngineProgress, StageProgress

LOOK_SECONDS: Final = 1.0
"""How often it is looked what the engine is doing."""
LINE_LOOKS: Final = 5
"""Every how many looks a line may be logged."""
_LAST_LOOK_SECONDS: Final = 5.0
"""How long a step waits at its end for a look that is under way; an engine may hang."""
_MOST_STAGES: Final = 3


def log_units(
    log: dg.DagsterLogManager, services: Services, binding: Binding, done: Iterable[Evaluated]
) -> None:
    """Log a line for each unit of work."""
    for each in done:
        log.info(unit_text(services, binding, each))


@contextmanager
def logged_progress(
    log: dg.DagsterLogManager, progress: Callable[[], EngineProgress | None]
) -> Iterator[None]:
    """While a ``with`` block lasts and the engine works, log what it does every few seconds.

    Args:
        log: That of the step.
        progress: What the engine is doing (`vde_dagster.ports.engine.Engine.progress`).
    """
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(log, progress, over), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join(_LAST_LOOK_SECONDS)


def _watch(
    log: dg.DagsterLogManager,
    progress: Callable[[], EngineProgress | None],
    over: threading.Event,
) -> None:
    address, looks = "", 0
    while not over.wait(LOOK_SECONDS):
        found = progress()
        if found is None:
            continue
        if found.address and not address:
            address = found.address
            log.info(f"Spark's UI: {address}")
        looks += 1
        if found.stages and looks >= LINE_LOOKS:
            looks = 0
            log.info(progress_text(found))


def progress_text(progress: EngineProgress) -> str:
    """What an engine is doing, in one line."""
    shown = progress.stages[:_MOST_STAGES]
    more = len(progress.stages) - len(shown)
    also = f"; and {more} more stages" if more else ""
    return f"Spark: {'; '.join(map(_stage, shown))}{also}"


def _stage(stage: StageProgress) -> str:
    failed = f", {stage.failed} failed" if stage.failed else ""
    return f"stage {stage.stage} has done {stage.done} of {stage.tasks} tasks{failed}"
