"""Applying a plan: one walk over its stages, see `vde_dagster.core.planning.stages`.

`walking` checks a plan, reserves its environment and opens it. Whoever enters runs the stages: all
in a row (`Walk.rest`), or some of them in a way of its own (`Walk.visit`) and then the rest. At the
end everything that failed is raised as one error, and what was reserved is given back.
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
    """Carry out a plan, without Dagster. ``report`` is told of each unit of work when it is done.

    See `applied_units`, also for what is raised.
    """
    done: list[Evaluated] = []
    with closing(applied_units(services, plan)) as steps:
        for evaluated in steps:
            report(evaluated)
            done.append(evaluated)
    return tuple(done)


def applied_units(services: Services, plan: Plan) -> Generator[Evaluated, None, None]:
    """Carry out a plan step by step: each unit of work is yielded when it is done.

    Who stops before the end closes the generator, which gives back what it reserved. See `walking`
    for what is raised.
    """
    with walking(services, plan) as walk:
        yield from walk.rest()


def promote_followed(services: Services, plan: Plan) -> None:
    """Move an environment to a plan whose models are filled by others, each when it is asked for.

    See `walking` for what is raised.
    """
    with walking(services, plan, visit_without_work) as walk:
        for _ in walk.rest():
            pass


@contextmanager
def walking(services: Services, plan: Plan, run_stage: RunStage = Applying.visit) -> Iterator[Walk]:
    """The walk over the stages of a plan; those of its opening are behind it.

    Where a model cannot be filled, what does not wait for it is done all the same, and one error at
    the end tells of all that failed.

    Args:
        services: The ports.
        plan: What is carried out; nothing of it, where it is empty.
        run_stage: What a stage does.

    Raises:
        Conflict: The environment changed since the plan was made, or somebody else is changing it;
            nothing was written. Or somebody else writes what was to be filled.
        Refused: The plan cannot be carried out, so nothing was written; or an evaluation cannot be
            done as things stand.
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
    """The stages of a plan behind its opening, and what has become of them so far.

    Args:
        plan: As it was made.
        stages: What fills its models, parents first, and what shows them; none of an empty plan.
        work: Whoever carries them out.
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
        """What the plan's environment will run, as far as that is known by now."""
        return self.work.binding

    @property
    def failed(self) -> frozenset[ModelName]:
        """The models whose work was begun and has not come to its end."""
        return frozenset(name for name in self._begun - self._done if name is not None)

    @contextmanager
    def visit(self, stage: WorkStage | Closing) -> Iterator[Iterator[Evaluated]]:
        """Run a stage: whoever enters goes through its units of work, each of which is done then.

        What it awaits (`vde_dagster.core.planning.stages.awaited`) has to be done before. The stage
        is done when this is left without an error.

        Raises:
            VdeError: What was raised here; it is kept for the end of the walk, too.
        """
        model = _model_of(stage)
        self._begun.add(model)
        try:
            yield self.run_stage(self.work, stage)
        except VdeError as error:
            self.errors.append(error)
            raise
        self._done.add(model)

    def rest(self) -> Iterator[Evaluated]:
        """Run the stages that were not begun yet, in order, but those that wait for what failed.

        Each unit of work is yielded when it is done. What fails is raised at the end of the walk.
        """
        lacking: set[ModelName] = set()
        for stage in self.stages:
            yield from self._unless_begun(stage, lacking)
            if isinstance(stage, WorkStage) and stage.model not in self._done:
                lacking.add(stage.model)

    def end(self) -> Iterator[Evaluated]:
        """Run the last stage alone, unless it was begun or waits: whoever ran the others is done.

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
    """The model that a stage fills, each of which has one; None for the last stage."""
    return stage.model if isinstance(stage, WorkStage) else None


def _waits(plan: Plan, stage: Stage, lacking: Collection[ModelName]) -> bool:
    """Whether a stage is left out, since what it awaits was not filled; views are made at last."""
    is_last = isinstance(stage, ShowFilled)
    return bool(lacking) and not is_last and not awaited(plan, stage).isdisjoint(lacking)
