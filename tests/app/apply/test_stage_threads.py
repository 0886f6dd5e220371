"""Models are evaluated on threads, as many at once as may be, and one thread gets all results."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

import pytest

from tests.worlds.catalog import MemoryCatalog
from tests.worlds.clock import ManualClock
from tests.worlds.engine import MemoryEngine
from vde_dagster.app.apply.stage_threads import NotBegun, StageThreads, StoppableClock
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.core.errors import EvaluationFailed, VdeError
from vde_dagster.core.ledger.rows_lost import RowsWouldGo
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.scheduling import Concurrency, Schedule, Task
from vde_dagster.core.time.intervals import ALWAYS

PATIENCE: Final = 60
"""Seconds after which a test fails that would hang."""

Evaluate = Callable[[], Iterator[str]]


class Watched(MemoryEngine):
    """An engine that tells which models share it, and what was interrupted."""

    def __init__(self) -> None:
        super().__init__(MemoryCatalog())
        self.names: dict[str, str] = {}
        self.interrupted = threading.Event()

    @contextmanager
    def sharing(self, name: str) -> Iterator[None]:
        self.names[name] = threading.current_thread().name
        yield

    def interrupt(self) -> None:
        self.interrupted.set()


class Threads:
    """Threads over models of which each is a function that yields the names of units of work."""

    def __init__(
        self, models: int, fail_fast: bool = False, **evaluate: tuple[str, Evaluate]
    ) -> None:
        self.engine = Watched()
        self.reported: list[str] = []
        self.reporters: set[threading.Thread] = set()
        self._evaluate = {name: each for name, (_, each) in evaluate.items()}
        tasks = tuple(
            Task(model=named(name), awaits=frozenset(map(named, awaits)))
            for name, (awaits, _) in evaluate.items()
        )
        concurrency = Concurrency(models=models, fail_fast=fail_fast)
        schedule = Schedule(concurrency=concurrency, waiting=tasks)
        self.clock = StoppableClock(ManualClock())
        self.threads = StageThreads(
            schedule, self._units, self.engine, self.clock, self._report, goes_on=self._goes_on
        )

    def units(self) -> list[str]:
        return [each.work_id for each in self.threads.units()]

    def units_of(self, name: str) -> list[str]:
        return [each.work_id for each in self.threads.units_of(named(name))]

    def outcomes(self) -> dict[str, BaseException | None]:
        return {name.name: error for name, error in self.threads.outcomes}

    def _units(self, model: ModelName) -> Iterator[Evaluated]:
        for unit in self._evaluate[model.name]():
            yield evaluated(model, unit)

    def _goes_on(self, model: ModelName, error: BaseException) -> bool:
        return isinstance(error, RowsWouldGo) and model == named("k")

    def _report(self, unit: Evaluated) -> None:
        self.reported.append(unit.work_id)
        self.reporters.add(threading.current_thread())


def named(name: str) -> ModelName:
    return ModelName("m", name)


def evaluated(model: ModelName, work_id: str) -> Evaluated:
    return Evaluated(
        work_id=work_id,
        key=VersionKey(model, "0" * 32),
        interval=ALWAYS,
        rows=1,
        entries=(),
        iceberg_snapshot_id=1,
        seconds=0.0,
    )


def units(*names: str) -> Evaluate:
    return lambda: iter(names)


def after(event: threading.Event, *names: str) -> Evaluate:
    """Units of work that are done once something has happened elsewhere."""

    def evaluate() -> Iterator[str]:
        assert event.wait(PATIENCE)
        yield from names

    return evaluate


def failing(error: BaseException) -> Evaluate:
    def evaluate() -> Iterator[str]:
        raise error

    return evaluate


def test_as_many_models_run_at_once_as_may() -> None:
    meeting = threading.Barrier(3)

    def meets() -> Iterator[str]:
        meeting.wait(PATIENCE)
        yield threading.current_thread().name

    found = Threads(3, a=("", meets), b=("", meets), c=("", meets))
    assert sorted(found.units()) == ["models 1", "models 2", "models 3"]
    assert found.outcomes() == {"a": None, "b": None, "c": None}


@pytest.mark.parametrize("fail_fast", [False, True])
def test_what_awaits_refused_rows_begins_only_where_whoever_walks_says_so(fail_fast: bool) -> None:
    kept, moved = (
        RowsWouldGo(named(name), (ALWAYS,), why="", command="", rest_goes_on=True, work_id=name)
        for name in "km"
    )
    found = Threads(
        2,
        fail_fast,
        k=("", failing(kept)),
        b=("k", units("b1")),
        m=("", failing(moved)),
        c=("m", units("c1")),
    )
    assert found.units() == ([] if fail_fast else ["b1"])
    assert "c" not in found.outcomes()


def test_results_of_a_model_can_be_asked_for_while_another_one_goes_ahead() -> None:
    ahead = threading.Event()

    def first() -> Iterator[str]:
        yield "b1"
        ahead.set()

    found = Threads(2, a=("", after(ahead, "a1", "a2")), b=("", first))
    assert found.units_of("a") == ["a1", "a2"], "a is done after b, and is asked for first"
    assert found.reported[0] == "b1", "whoever waits hears of the others, too"
    assert found.units_of("b") == ["b1"]


def test_units_are_got_once_and_by_one_thread() -> None:
    found = Threads(2, a=("", units("a1", "a2")), b=("", units("b1")), c=("ab", units("c1")))
    assert found.units_of("a") == ["a1", "a2"]
    assert sorted(found.units()) == ["b1", "c1"]
    assert found.units() == []
    assert sorted(found.reported) == ["a1", "a2", "b1", "c1"]
    assert found.reporters == {threading.current_thread()}


def test_an_error_of_ours_ends_its_model_and_leaves_out_what_waits_for_it() -> None:
    error = EvaluationFailed("no such column")
    found = Threads(
        2, a=("", failing(error)), b=("a", units("b1")), c=("", units("c1")), d=("c", units("d1"))
    )
    assert found.units() == ["c1", "d1"]
    assert found.outcomes() == {"a": error, "c": None, "d": None}
    with pytest.raises(EvaluationFailed) as caught:
        found.units_of("a")
    assert caught.value is error
    with pytest.raises(NotBegun, match=r"m\.b was not started"):
        found.units_of("b")


def test_what_was_done_before_an_error_is_got_before_it_is_raised() -> None:
    def fails_later() -> Iterator[str]:
        yield "a1"
        raise EvaluationFailed("the second batch")

    found = Threads(2, a=("", fails_later), b=("", units("b1")))
    steps = found.threads.units_of(named("a"))
    assert next(steps).work_id == "a1"
    with pytest.raises(EvaluationFailed, match="the second batch"):
        next(steps)


def test_to_fail_fast_is_to_begin_no_other_and_to_end_what_has_begun() -> None:
    failed = threading.Event()

    def fails() -> Iterator[str]:
        failed.set()
        raise EvaluationFailed("first")

    def in_batches() -> Iterator[str]:
        yield "a1"
        assert failed.wait(PATIENCE)
        yield "a2"
        yield "a3"

    found = Threads(2, True, a=("", in_batches), b=("", fails), c=("a", units("c1")))
    assert found.units() == ["a1", "a2", "a3"]
    assert list(found.outcomes()) == ["a", "b"]
    with pytest.raises(NotBegun):
        found.units_of("c")


class NotOurs(Exception):
    """What nobody expects."""


@pytest.mark.parametrize("error", [NotOurs(), KeyboardInterrupt()])
def test_what_nobody_expects_is_raised_and_nothing_begins_after_it(error: BaseException) -> None:
    found = Threads(2, a=("", failing(error)), b=("a", units("b1")))
    with pytest.raises(type(error)) as caught:
        found.units()
    assert caught.value is error
    found.threads.end(interrupt=False)
    assert list(found.engine.names) == ["m.a"]
    assert not isinstance(error, VdeError)


def test_the_end_waits_for_units_of_work_under_way_and_begins_no_other() -> None:
    begun, ending, ends = threading.Event(), threading.Event(), threading.Event()

    def in_batches() -> Iterator[str]:
        begun.set()
        assert ending.wait(PATIENCE)
        yield "a1"
        ends.set()  # it goes on after a unit of work: only if it is asked for another one
        yield "a2"

    found = Threads(2, a=("", in_batches), b=("a", units("b1")))
    waiting = threading.Thread(target=found.threads.wait, daemon=True)
    waiting.start()
    assert begun.wait(PATIENCE)

    def end_the_unit() -> None:
        while not found.threads._is_ending:
            time.sleep(0.001)
        ending.set()

    threading.Thread(target=end_the_unit, daemon=True).start()
    found.threads.end(interrupt=False)
    assert not ends.is_set()
    assert not found.engine.interrupted.is_set()
    waiting.join(PATIENCE)
    assert not waiting.is_alive()
    assert found.reported == ["a1"]
    assert isinstance(found.outcomes()["a"], KeyboardInterrupt)


def test_an_end_that_interrupts_ends_what_the_engine_computes() -> None:
    begun = threading.Event()
    found: list[Threads] = []

    def computes() -> Iterator[str]:
        begun.set()
        assert found[0].engine.interrupted.wait(PATIENCE)
        raise KeyboardInterrupt

    found.append(Threads(2, a=("", computes), b=("", computes), c=("", units("c1"))))
    waiting = threading.Thread(target=found[0].threads.wait, daemon=True)
    waiting.start()
    assert begun.wait(PATIENCE)
    found[0].threads.end(interrupt=True)
    waiting.join(PATIENCE)
    assert "c" not in found[0].outcomes()


class Signal(BaseException):
    """What Dagster raises for a signal is no KeyboardInterrupt either."""


class _Pressed(threading.Thread):
    """A thread in whose place a signal arrives while somebody waits for it."""

    signals: Final[list[BaseException]] = []

    def join(self, timeout: float | None = None) -> None:
        if self.signals:
            raise self.signals.pop(0)
        super().join(timeout)


def pressed(
    monkeypatch: pytest.MonkeyPatch, *signals: BaseException
) -> tuple[Threads, threading.Event]:
    """Two models under way while a failure is to be reported; signals arrive at the wait for them.

    The event lets one of them end, which nothing else does.
    """
    monkeypatch.setattr(threading, "Thread", _Pressed)
    monkeypatch.setattr(_Pressed, "signals", [*signals])
    begun, released = threading.Barrier(3), threading.Event()
    found: list[Threads] = []

    def computes() -> Iterator[str]:
        begun.wait(PATIENCE)
        assert found[0].engine.interrupted.wait(PATIENCE)
        assert released.wait(PATIENCE)
        raise KeyboardInterrupt

    def pauses() -> Iterator[str]:
        begun.wait(PATIENCE)
        while True:
            found[0].clock.wait(timedelta(seconds=1))

    found.append(Threads(2, a=("", pauses), b=("", computes), c=("", units("c1"))))
    found[0].threads._begin()
    begun.wait(PATIENCE)
    return found[0], released


@pytest.mark.parametrize("signal", [KeyboardInterrupt(), Signal()], ids=["Ctrl-C", "Dagster's"])
def test_a_signal_while_units_of_work_are_waited_for_ends_them_and_is_raised_then(
    monkeypatch: pytest.MonkeyPatch, signal: BaseException
) -> None:
    found, released = pressed(monkeypatch, signal)
    released.set()
    with pytest.raises(type(signal)) as raised:
        found.threads.end(interrupt=False)
    assert raised.value is signal
    assert not any(each.is_alive() for each in found.threads._threads)
    found.threads.wait()
    assert {name: type(error) for name, error in found.outcomes().items()} == {
        "a": KeyboardInterrupt,
        "b": KeyboardInterrupt,
    }


@pytest.mark.parametrize("interrupt", [False, True])
def test_the_signal_after_that_waits_for_nothing(
    monkeypatch: pytest.MonkeyPatch, interrupt: bool
) -> None:
    first, second = KeyboardInterrupt("first"), KeyboardInterrupt("second")
    found, released = pressed(monkeypatch, *([] if interrupt else [first]), second)
    with pytest.raises(KeyboardInterrupt, match="second"):
        found.threads.end(interrupt=interrupt)
    assert found.engine.interrupted.is_set()
    assert any(each.is_alive() for each in found.threads._threads)
    released.set()
    found.threads.end(interrupt=True)


def test_an_error_of_the_engine_is_no_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    found, released = pressed(monkeypatch, OSError("no such thread"))
    with pytest.raises(OSError, match="no such thread"):
        found.threads.end(interrupt=False)
    assert not found.engine.interrupted.is_set()
    released.set()
    found.threads.end(interrupt=True)


def test_a_clock_waits_as_long_as_it_is_told_unless_it_is_stopped() -> None:
    clock = ManualClock()
    stoppable, began = StoppableClock(clock), clock.now()
    for length in (timedelta(), timedelta(seconds=0.5), timedelta(minutes=1, seconds=1.25)):
        stoppable.wait(length)
    assert stoppable.now() - began == timedelta(minutes=1, seconds=1.75)
    stoppable.stop()
    with pytest.raises(KeyboardInterrupt):
        stoppable.wait(timedelta(hours=2))
    assert clock.now() - began == timedelta(minutes=1, seconds=1.75)


def test_an_end_that_interrupts_ends_the_pause_before_a_retry() -> None:
    begun = threading.Event()
    found: list[Threads] = []

    def pauses() -> Iterator[str]:
        begun.set()
        while True:  # as many pauses as it takes until it is interrupted
            found[0].clock.wait(timedelta(seconds=1))

    found.append(Threads(2, a=("", pauses), b=("", units("b1"))))
    waiting = threading.Thread(target=found[0].threads.wait, daemon=True)
    waiting.start()
    assert begun.wait(PATIENCE)
    found[0].threads.end(interrupt=True)
    waiting.join(PATIENCE)
    assert isinstance(found[0].outcomes()["a"], KeyboardInterrupt)
