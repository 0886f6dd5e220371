"""Evaluates models of a plan on threads, as many at once as its schedule allows.

Threads take models and put what is done into a queue. The thread that walks over the plan takes it
out of there, so that all results are reported by one thread. See docs/how-to/concurrency.md.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from queue import SimpleQueue
from typing import Final, assert_never

from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.core.errors import VdeError
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.scheduling import Schedule, Task
from vde_dagster.ports.clock import Clock
from vde_dagster.ports.engine import Engine

_LOOK_SECONDS: Final = 0.5
"""How often what threads compute is interrupted again, until they have ended."""
_WAIT: Final = timedelta(seconds=1)
"""How long a thread waits at a time: no signal ends its sleep."""


class StoppableClock:
    """A clock on which a thread that waits can be stopped; implements `ports.clock.Clock`.

    Args:
        clock: The clock that it is.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stopped = threading.Event()

    def now(self) -> datetime:
        """The present instant, in UTC."""
        return self._clock.now()

    def wait(self, length: timedelta) -> None:
        """Wait so long.

        Raises:
            KeyboardInterrupt: A user stops the process.
        """
        left = length
        while left > timedelta():
            if self._stopped.is_set():
                raise KeyboardInterrupt
            self._clock.wait(min(left, _WAIT))
            left -= _WAIT

    def stop(self) -> None:
        """End all waiting, now and later."""
        self._stopped.set()


class NotBegun(VdeError):
    """A model was not started, since another one had failed and nothing was to begin after that."""

    @classmethod
    def of(cls, model: ModelName) -> NotBegun:
        """The error that says so of a model."""
        return cls(f"{model} was not started, because another model had failed before")


@dataclass(frozen=True, slots=True)
class _Done:
    """A unit of work of a model is done."""

    model: ModelName
    unit: Evaluated


@dataclass(frozen=True, slots=True)
class _Ended:
    """The evaluation of a model has ended, with an error or without."""

    model: ModelName
    error: BaseException | None


class StageThreads:
    """The evaluation of a plan's models on threads. One thread, the caller's, gets all results.

    Args:
        schedule: What is to be evaluated.
        evaluate: Evaluates a model, unit of work by unit of work; called by several threads.
        engine: Computes rows for all of them.
        clock: What they wait on.
        report: Called with each unit of work, by the thread that gets it.
        goes_on: Whether what awaits a model need not wait though its evaluation raised this.
    """

    def __init__(
        self,
        schedule: Schedule,
        evaluate: Callable[[ModelName], Iterator[Evaluated]],
        engine: Engine,
        clock: StoppableClock,
        report: Callable[[Evaluated], None],
        *,
        goes_on: Callable[[ModelName, BaseException], bool],
    ) -> None:
        self._goes_on = goes_on
        self._evaluate = evaluate
        self._engine = engine
        self._clock = clock
        self._report = report
        self._schedule = schedule
        self._changed = threading.Condition()
        self._told: SimpleQueue[_Done | _Ended | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        # From here on: what the caller's thread was told.
        self._units: dict[ModelName, deque[Evaluated]] = {
            each.model: deque() for each in schedule.waiting
        }
        self._ended: dict[ModelName, BaseException | None] = {}
        self._is_over = False
        self._is_ending = False

    @property
    def outcomes(self) -> Iterable[tuple[ModelName, BaseException | None]]:
        """The models that have ended, as far as is known here: in the plan's order, with errors."""
        return [(name, self._ended[name]) for name in self._units if name in self._ended]

    def units_of(self, model: ModelName) -> Iterator[Evaluated]:
        """The units of work of one model, each once, as they are done. Others go on meanwhile.

        Raises:
            NotBegun: It will not be evaluated.
            BaseException: What its evaluation raised.
        """
        self._begin()
        units = self._units[model]
        while True:
            while units:
                yield units.popleft()
            if model in self._ended:
                break
            if self._is_over:
                raise NotBegun.of(model)
            self._receive()
        error = self._ended[model]
        if error is not None:
            raise error

    def units(self) -> Iterator[Evaluated]:
        """The units of work of all models that were not returned yet, as they are done.

        Ends when all have ended. An error of ours is kept in `outcomes`.

        Raises:
            BaseException: What an evaluation raised that is not an error of ours. Nothing begins
            then.
        """
        self._begin()
        for units in self._units.values():
            while units:
                yield units.popleft()
        while (told := self._receive()) is not None:
            if isinstance(told, _Done):
                yield self._units[told.model].popleft()
            elif told.error is not None and not isinstance(told.error, VdeError):
                raise told.error

    def wait(self) -> None:
        """Wait until all have ended."""
        self._begin()
        while self._receive() is not None:
            pass

    def end(self, *, interrupt: bool) -> None:
        """Begin nothing more, and wait until what has started has ended after its unit of work.

        A signal that ends a wait for units of work (Ctrl-C) ends these, too, and is raised once all
        have ended. One that ends a wait for ended ones is raised at once.

        Args:
            interrupt: Whether to end units of work that are under way, too.
        """
        with self._changed:
            self._is_ending = True
            self._schedule = self._schedule.stopped()
            self._changed.notify_all()
        signal: BaseException | None = None
        if interrupt:
            self._clock.stop()
        for thread in self._threads:
            while thread.is_alive():
                try:
                    if interrupt:
                        self._engine.interrupt()
                    thread.join(_LOOK_SECONDS)
                except BaseException as error:  # Dagster's signals are not KeyboardInterrupt
                    if interrupt or isinstance(error, Exception):
                        raise
                    interrupt, signal = True, error
                    self._clock.stop()
        if signal is not None:
            raise signal

    def _begin(self) -> None:
        """Start the threads, unless they have been."""
        if self._threads:
            return
        with self._changed:
            tasks, most = len(self._schedule.waiting), self._schedule.concurrency.models
            if self._schedule.is_over:
                self._told.put(None)
        for number in range(min(tasks, most)):
            # At the end of the process nobody waits for them: that is as if it was killed.
            thread = threading.Thread(target=self._work, name=f"models {number + 1}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _receive(self) -> _Done | _Ended | None:
        """Wait for the next result of a thread; None if all have ended and there is none left."""
        told = None if self._is_over else self._told.get()
        match told:
            case _Done(model=model, unit=unit):
                self._units[model].append(unit)
                self._report(unit)
            case _Ended(model=model, error=error):
                self._ended[model] = error
            case None:
                self._is_over = True
            case unreachable:
                assert_never(unreachable)
        return told

    def _work(self) -> None:
        """What a thread does: one model after the other, until there is none for it."""
        while (task := self._taken()) is not None:
            error = self._evaluated(task.model)
            with self._changed:
                fails_fast = self._schedule.concurrency.fail_fast
                succeeded = error is None or (not fails_fast and self._goes_on(task.model, error))
                self._schedule = self._schedule.ended(task.model, succeeded=succeeded)
                if error is not None and not isinstance(error, VdeError):
                    self._schedule = self._schedule.stopped()
                self._told.put(_Ended(task.model, error))
                if self._schedule.is_over:
                    self._told.put(None)
                self._changed.notify_all()

    def _taken(self) -> Task | None:
        """The next task, for which this thread waits; None if none will begin any more."""
        with self._changed:
            while (task := self._schedule.to_begin) is None:
                if self._schedule.is_over:
                    return None
                self._changed.wait()
            self._schedule = self._schedule.begun(task)
            return task

    def _evaluated(self, model: ModelName) -> BaseException | None:
        """Evaluate a model; what was raised."""
        try:
            with self._engine.sharing(str(model)):
                for unit in self._evaluate(model):
                    self._told.put(_Done(model, unit))
                    if self._is_ending:
                        return KeyboardInterrupt()
        except BaseException as error:  # whoever gets the results raises it
            return error
        return None
