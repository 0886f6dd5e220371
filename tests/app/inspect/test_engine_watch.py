"""What people are told of an engine at work."""

from __future__ import annotations

import threading

import pytest

from vde_dagster.app.inspect.unit_text import progress_text, watched
from vde_dagster.ports.engine import EngineProgress, StageProgress

STAGES = tuple(StageProgress(stage=each, tasks=2, done=1) for each in range(5))


@pytest.mark.parametrize(
    "most,end",
    [
        (1, "Spark: stage 0 has done 1 of 2 tasks; and 4 more stages"),
        (3, "stage 2 has done 1 of 2 tasks; and 2 more stages"),
        (4, "stage 3 has done 1 of 2 tasks; and 1 more stage"),
        (5, "stage 3 has done 1 of 2 tasks; stage 4 has done 1 of 2 tasks"),
    ],
)
def test_as_many_stages_are_named_as_there_is_room_for_and_the_others_are_counted(
    most: int, end: str
) -> None:
    assert progress_text(EngineProgress(stages=STAGES), most=most).endswith(end)


def test_an_engine_without_work_is_not_spoken_of() -> None:
    assert progress_text(EngineProgress(address="http://driver:4040")) == ""


def test_stages_that_nobody_computes_are_not_counted_but_what_they_wait_for_is_said() -> None:
    waiting = EngineProgress(waits_for="executors: there are none", stages=STAGES)
    assert progress_text(waiting) == "Spark waits for executors: there are none"


def test_nobody_looks_any_more_when_the_work_is_done() -> None:
    looked = threading.Semaphore(0)
    found: list[EngineProgress] = []

    def progress() -> EngineProgress | None:
        looked.release()
        return EngineProgress(stages=STAGES) if len(found) < 2 else None

    before = threading.active_count()
    with watched(progress, found.append, seconds=0.001):
        for _ in range(5):
            assert looked.acquire(timeout=60)
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
    assert len(found) == 2
