"""Which models of a plan are evaluated at once: decided purely, by what waits, runs and has ended.

A `Schedule` is a value. The evaluation of models asks it what begins (`Schedule.to_begin`), and
tells it what has started and ended. No model begins before all that it awaits is done; no more
models run at once than each of those that run allows; and of those that could begin the first one
in the plan's order does, so that none is overtaken for ever by others that need less room.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.stages import awaited, filled_by, work_stages


@dataclass(frozen=True, slots=True, kw_only=True)
class Concurrency:
    """How many models of a plan are evaluated at once, and what a failure ends.

    Args:
        models: At most how many; at least 1.
        fail_fast: Whether no model begins any more once one has failed. Otherwise only those are
            left out that wait for it.
    """

    models: int = 1
    fail_fast: bool = False

    def __post_init__(self) -> None:
        if self.models < 1:
            raise ValueError(f"at least one model is evaluated at a time, not {self.models}")


ONE_AT_A_TIME: Final = Concurrency()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The evaluation of one model of a plan.

    Args:
        model: The model.
        awaits: The models that have to be done before; each is a task of the same schedule.
        at_most: How many models may run while this one does, itself among them; None for any.
    """

    model: ModelName
    awaits: frozenset[ModelName] = frozenset()
    at_most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Where each task of a plan is: it waits, runs, is done, has failed or is left out.

    Args:
        concurrency: How many may run at once.
        waiting: Those that may begin later, in the plan's order: what a task awaits comes before.
        running: Those that have started and not ended.
        done: The models whose task has succeeded.
        failed: The models whose task has failed.
        left_out: The models that will not begin, since they await one that failed.
        is_stopped: Whether none begins any more.
    """

    concurrency: Concurrency
    waiting: tuple[Task, ...]
    running: tuple[Task, ...] = ()
    done: frozenset[ModelName] = frozenset()
    failed: frozenset[ModelName] = frozenset()
    left_out: frozenset[ModelName] = frozenset()
    is_stopped: bool = False

    @property
    def to_begin(self) -> Task | None:
        """The task that begins now; None if none may.

        One that would need more room than there is keeps those behind it waiting, too.
        """
        if self.is_stopped:
            return None
        ready = (each for each in self.waiting if each.awaits <= self.done)
        first = next(ready, None)
        return first if first is not None and self._has_room(first) else None

    @property
    def is_over(self) -> bool:
        """Whether nothing runs and nothing will begin."""
        return not self.running and self.to_begin is None

    def begun(self, task: Task) -> Schedule:
        """The schedule once a task has started: the one that was `to_begin`."""
        waiting = tuple(each for each in self.waiting if each is not task)
        return replace(self, waiting=waiting, running=(*self.running, task))

    def ended(self, model: ModelName, *, succeeded: bool) -> Schedule:
        """The schedule once a running task has ended."""
        running = tuple(each for each in self.running if each.model != model)
        if succeeded:
            return replace(self, running=running, done=self.done | {model})
        left_out = _awaiting(self.waiting, {model})
        return replace(
            self,
            waiting=tuple(each for each in self.waiting if each.model not in left_out),
            running=running,
            failed=self.failed | {model},
            left_out=self.left_out | left_out,
            is_stopped=self.is_stopped or self.concurrency.fail_fast,
        )

    def stopped(self) -> Schedule:
        """The schedule if no task is to begin any more."""
        return replace(self, is_stopped=True)

    def _has_room(self, task: Task) -> bool:
        """Whether a task may run beside those that run now."""
        limits = (each.at_most for each in (task, *self.running) if each.at_most is not None)
        return len(self.running) < min((self.concurrency.models, *limits))


def schedule_of(plan: Plan, concurrency: Concurrency) -> Schedule:
    """The schedule of what a plan evaluates, before anything has started."""
    filled = filled_by(plan)
    return Schedule(
        concurrency=concurrency,
        waiting=tuple(
            Task(
                model=stage.model,
                awaits=awaited(plan, stage, filled),
                at_most=plan.graph[stage.model].model.concurrency,
            )
            for stage in work_stages(plan)
        ),
    )


def _awaiting(tasks: Collection[Task], models: Collection[ModelName]) -> frozenset[ModelName]:
    """The models among tasks in order that await some models, directly or through others."""
    stopped = set(models)
    for each in tasks:
        if not stopped.isdisjoint(each.awaits):
            stopped.add(each.model)
    return frozenset(stopped) - frozenset(models)
