"""What the engine is doing while models are evaluated, for people who wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from vde_dagster.ports.engine import EngineProgress, StageProgress

LOOK_SECONDS: Final = 1.0
"""How often it is looked what the engine is doing."""
_LAST_LOOK_SECONDS: Final = 5.0
"""How long the end waits for a look that is under way; an engine may hang."""
_MOST_STAGES: Final = 3


@contextmanager
def watched(
    progress: Callable[[], EngineProgress | None],
    seen: Callable[[EngineProgress], None],
    *,
    seconds: float = LOOK_SECONDS,
) -> Iterator[None]:
    """While a ``with`` block lasts, look what the engine is doing, in a thread of its own.

    Args:
        progress: What the engine is doing (`vde_dagster.ports.engine.Engine.progress`).
        seen: Called with each answer, by that thread.
        seconds: How often it is looked.
    """
    over = threading.Event()

    def watch() -> None:
        while not over.wait(seconds):
            found = progress()
            if found is not None:
                seen(found)

    watching = threading.Thread(target=watch, name="what the engine is doing", daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join(_LAST_LOOK_SECONDS)


def progress_text(progress: EngineProgress, *, most: int = _MOST_STAGES) -> str:
    """What an engine is doing, in one line that names at most so many stages; empty for nothing."""
    if progress.waits_for:
        return f"Spark waits for {progress.waits_for}"
    if not progress.stages:
        return ""
    shown = progress.stages[:most]
    more = len(progress.stages) - len(shown)
    also = f"; and {more} more stage{'s' if more > 1 else ''}" if more else ""
    return f"Spark: {'; '.join(map(_stage, shown))}{also}"


def _stage(stage: StageProgress) -> str:
    failed = f", {stage.failed} failed" if stage.failed else ""
    return f"stage {stage.stage} has done {stage.done} of {stage.tasks} tasks{failed}"
