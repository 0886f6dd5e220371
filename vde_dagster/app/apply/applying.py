"""Applying a plan: one walk over its stages, see `vde_dagster.core.planning.stages`.

`walking` checks a plan, reserves its environment and runs the opening stages. The caller then runs
the others: all in order (`Walk.rest`), or some of them one by one (`Walk.visit`) and then the rest.
At the end everything that failed is raised as one error, and the leases are given back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field

from vde_dagster.app.apply.stopped import raise_stopped
from vde_dagster.app.apply.visitor import Applying, applying, visit_without_work
from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.plan.plan_checks import check_plan, what_stayed_undone
from vde_dagster.app.services import Services
from vde_dagster.core.errors import VdeError
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.stages import (
    Closing,
    Opening,
    ShowFilled,
    Stage,
    WorkStage,
    awaited,
    stages_of,
)

Report = Callable[[Evaluated], None]
RunStage = Callable[[Applying, Stage], Iterator[Evaluated]]


def apply_plan(services: Services, plan: Plan, report: Report) -> tuple[Evaluated, ...]:
    """Apply a plan, without Dagster. ``report`` is called with each unit of work when it is done.

    See `applied_units`, also for what is raised.
    """
    done: list[Evaluated] = []
    with closing(applied_units(services, plan)) as steps:
        for evaluated in steps:
            report(evaluated)
            done.append(evaluated)
    return tuple(done)


def applied_units(services: Services, plan: Plan) -> Generator[Evaluated, None, None]:
    """Apply a plan step by step: each unit of work is yielded when it is done.

    A caller that stops before the end closes the generator, which gives back its leases. See
    `walking` for what is raised.
    """
    with walking(services, plan) as walk:
        yield from walk.rest()


def promote_followed(services: Services, plan: Plan) -> None:
    """Promote a plan whose models others fill, each one when it is asked for.

    See `walking` for what is raised.
    """
    with walking(services, plan, visit_without_work) as walk:
        for _ in walk.rest():
            pass


@contextmanager
def walking(services: Services, plan: Plan, run_stage: RunStage = Applying.visit) -> Iterator[Walk]:
    """The walk over the stages of a plan; the opening stages are done when it is entered.

    If a model cannot be filled, stages that do not wait for it run all the same, and one error at
    the end reports all that failed.

    Args:
        services: The ports.
        plan: What is applied. An empty plan has no stages.
        run_stage: What a stage does.

    Raises:
        Conflict: The environment changed since the plan was made, or another process is changing
            it; nothing was written. Or another process writes a version that was to be filled.
        Refused: The plan cannot be applied, so nothing was written; or an evaluation is not
            possible in the current state.
        EvaluationFailed: A query failed. What was filled before stays and is not filled again.
    """
    check_plan(services, plan)
    with applying(services, plan) as work:
        stages: list[WorkStage | Closing] = []
        for stage in stages_of(plan):
            if isinstance(stage, Opening):
                list(run_stage(work, stage))
            else:
                stages.append(stage)
        walk = Walk(plan=plan, stages=tuple(stages), work=work, run_stage=run_stage)
        yield walk
    errors = [*walk.errors, *what_stayed_undone(plan)]
    if errors:
        raise_stopped(plan, errors, walk.failed)


@dataclass(slots=True, kw_only=True)
class Walk:
    """The stages of a plan after its opening, and their outcomes so far.

    Args:
        plan: The plan as it was made.
        stages: Those that fill models, parents first, and the closing; none for an empty plan.
        work: The visitor that runs the stages.
        run_stage: What a stage does.
    """

    plan: Plan
    stages: tuple[WorkStage | Closing, ...]
    work: Applying
    run_stage: RunStage
    errors: list[VdeError] = field(default_factory=list)
    _begun: set[ModelName | None] = field(default_factory=set)
    _done: set[ModelName | None] = field(default_factory=set)

    @property
    def binding(self) -> Binding:
        """What the plan's environment will run, as far as is known so far."""
        return self.work.binding

    @property
    def failed(self) -> frozenset[ModelName]:
        """The models whose stage was begun and did not succeed."""
        return frozenset(name for name in self._begun - self._done if name is not None)

    @contextmanager
    def visit(self, stage: WorkStage | Closing) -> Iterator[Iterator[Evaluated]]:
        """Run a stage: the caller iterates over its units of work, each of which runs then.

        What it awaits (`vde_dagster.core.planning.stages.awaited`) has to be done before. The stage
        is done when the context is left without an error.

        Raises:
            VdeError: The error of the stage; it is kept for the end of the walk, too.
        """
        model = _model_of(stage)
        self._begun.add(model)
        try:
            yield self.run_stage(self.work, stage)
        except VdeError as error:
            self.errors.append(error)
            raise
        self._done.add(model)

    def rest(self) -> Generator[Evaluated, None, None]:
        """Run the stages not begun yet, in order, except those that wait for what failed.

        Each unit of work is yielded when it is done. What fails is raised at the end of the walk.
        """
        lacking: set[ModelName] = set()
        for stage in self.stages:
            yield from self._unless_begun(stage, lacking)
            if isinstance(stage, WorkStage) and stage.model not in self._done:
                lacking.add(stage.model)

    def end(self) -> Iterator[Evaluated]:
        """Run only the last stage, unless it was begun or waits; the caller ran the others.

        Each unit of work is yielded when it is done. What fails is raised at the end of the walk.
        """
        work = {stage.model for stage in self.stages if isinstance(stage, WorkStage)}
        for stage in self.stages[-1:]:
            yield from self._unless_begun(stage, work - self._done)

    def _unless_begun(
        self, stage: WorkStage | Closing, lacking: Collection[ModelName]
    ) -> Iterator[Evaluated]:
        if _model_of(stage) not in self._begun and not _waits(self.plan, stage, lacking):
            with suppress(VdeError), self.visit(stage) as steps:
                yield from steps


def _model_of(stage: WorkStage | Closing) -> ModelName | None:
    """The model that a stage fills; None for the last stage."""
    return stage.model if isinstance(stage, WorkStage) else None


def _waits(plan: Plan, stage: Stage, lacking: Collection[ModelName]) -> bool:
    """Whether a stage is left out, since what it awaits was not filled."""
    is_last = isinstance(stage, ShowFilled)
    return bool(lacking) and not is_last and not awaited(plan, stage).isdisjoint(lacking)
