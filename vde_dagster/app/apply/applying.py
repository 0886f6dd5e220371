"""Applying a plan: one walk over its stages, see `vde_dagster.core.planning.stages`.

`walking` checks a plan, reserves its environment and runs the opening stages. The caller then runs
the others: all in order (`Walk.rest`), or some of them one by one (`Walk.visit`) and then the rest.
At the end everything that failed is raised as one error, and the leases are given back.

If several models may be evaluated at once, threads evaluate them from the first stage on that the
caller visits, and visiting a stage gets what was done for its model (docs/how-to/concurrency.md).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace

from vde_dagster.app.apply.stage_threads import NotBegun, StageThreads, StoppableClock
from vde_dagster.app.apply.stopped import raise_stopped
from vde_dagster.app.apply.visitor import Applying, applying, visit_without_work
from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.listing import late_data_listed
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.plan.plan_checks import check_plan, what_stayed_undone
from vde_dagster.app.services import Services
from vde_dagster.core.errors import VdeError
from vde_dagster.core.ledger.rows_lost import rest_goes_on
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.scheduling import ONE_AT_A_TIME, Concurrency, schedule_of
from vde_dagster.core.planning.stages import (
    Closing,
    Opening,
    ShowFilled,
    Stage,
    WorkStage,
    awaited,
    filled_by,
    left_out,
    stages_of,
)
from vde_dagster.project.garbage_collection import looking_at_new_values_only
from vde_dagster.runtime.spans import Context, each_in_span, span_of_threads

Report = Callable[[Evaluated], None]
RunStage = Callable[[Applying, Stage], Iterator[Evaluated]]


def apply_plan(
    services: Services, plan: Plan, report: Report, *, concurrency: Concurrency = ONE_AT_A_TIME
) -> tuple[Evaluated, ...]:
    """Apply a plan, without Dagster. ``report`` is called with each unit of work when it is done.

    See `applied_units`, also for what is raised.
    """
    done: list[Evaluated] = []
    with closing(applied_units(services, plan, concurrency=concurrency)) as steps:
        for evaluated in steps:
            report(evaluated)
            done.append(evaluated)
    return tuple(done)


def applied_units(
    services: Services, plan: Plan, *, concurrency: Concurrency = ONE_AT_A_TIME
) -> Generator[Evaluated, None, None]:
    """Apply a plan step by step: each unit of work is yielded when it is done.

    A caller that stops before the end closes the generator, which gives back its leases. See
    `walking` for what is raised.
    """
    with walking(services, plan, concurrency=concurrency) as walk:
        yield from walk.rest()


def promote_followed(services: Services, plan: Plan) -> None:
    """Promote a plan whose models others fill, each one when it is asked for.

    See `walking` for what is raised.
    """
    with walking(services, plan, visit_without_work) as walk:
        for _ in walk.rest():
            pass


@contextmanager
def walking(
    services: Services,
    plan: Plan,
    run_stage: RunStage = Applying.visit,
    *,
    concurrency: Concurrency = ONE_AT_A_TIME,
    report: Report = lambda _: None,
) -> Iterator[Walk]:
    """The walk over the stages of a plan; the opening stages are done when it is entered.

    If a model cannot be filled, stages that do not wait for it run all the same, unless the plan is
    to fail fast, and one error at the end reports all that failed.

    Args:
        services: The ports.
        plan: What is applied. An empty plan has no stages.
        run_stage: What a stage does.
        concurrency: How many models are evaluated at once, and what a failure ends.
        report: Called with each unit of work when it is done, by the thread that walks.

    Raises:
        Conflict: The environment changed since the plan was made, or another process is changing
            it; nothing was written. Or another process writes a version that was to be filled.
        Refused: The plan cannot be applied, so nothing was written; or an evaluation is not
            possible in the current state.
        EvaluationFailed: A query failed. What was filled before stays and is not filled again.
    """
    with _not_collecting(plan):
        check_plan(services, plan)
    clock = StoppableClock(services.clock)
    services = replace(services, asked_at=services.clock.now())
    if concurrency.models > 1:
        services = replace(services, clock=clock)
    with (
        late_data_listed(services),
        _not_collecting(plan),
        span_of_threads("apply", plan_id=plan.plan_id, environment=plan.environment) as context,
        applying(services, plan) as work,
    ):
        run_stage = _in_spans(run_stage, context)
        stages: list[WorkStage | Closing] = []
        for stage in stages_of(plan):
            if isinstance(stage, Opening):
                list(run_stage(work, stage))
            else:
                stages.append(stage)
        walk = Walk(
            plan=plan,
            stages=tuple(stages),
            work=work,
            run_stage=run_stage,
            concurrency=concurrency,
            report=report,
            clock=clock,
        )
        with walk.ended():
            yield walk
    errors = [*walk.errors, *what_stayed_undone(plan)]
    if errors:
        raise_stopped(plan, errors, walk.failed, walk.not_begun, is_promoted=walk.is_promoted)


def _not_collecting(plan: Plan) -> AbstractContextManager[None]:
    """Where nothing is computed: it is over soon, and Python need not look at all values for it."""
    return nullcontext() if plan.backfills else looking_at_new_values_only()


def _in_spans(run_stage: RunStage, context: Context) -> RunStage:
    """What a stage does, each unit of work in a span."""

    def run(work: Applying, stage: Stage) -> Iterator[Evaluated]:
        name = str(stage.model) if isinstance(stage, WorkStage) else type(stage).__name__
        return each_in_span(name, run_stage(work, stage), lambda unit: unit.work_id, context)

    return run


@dataclass(slots=True, kw_only=True)
class Walk:
    """The stages of a plan after its opening, and their outcomes so far.

    Args:
        plan: The plan as it was made.
        stages: Those that fill models, parents first, and the closing; none for an empty plan.
        work: The visitor that runs the stages.
        run_stage: What a stage does.
        concurrency: How many models are evaluated at once, and what a failure ends.
        report: Called with each unit of work when it is done, by the thread that walks.
        clock: What models wait on, if several are evaluated at once.
    """

    plan: Plan
    stages: tuple[WorkStage | Closing, ...]
    work: Applying
    run_stage: RunStage
    concurrency: Concurrency
    report: Report
    clock: StoppableClock
    errors: list[VdeError] = field(default_factory=list)
    _begun: set[ModelName | None] = field(default_factory=set)
    _done: set[ModelName | None] = field(default_factory=set)
    _threads: StageThreads | None = field(default=None, init=False)
    _filled: frozenset[ModelName] = field(init=False)

    def __post_init__(self) -> None:
        self._filled = filled_by(self.plan)
        work = {each.model: each for each in self.stages if isinstance(each, WorkStage)}
        if self.concurrency.models > 1 and len(work) > 1:
            self._threads = StageThreads(
                schedule_of(self.plan, self.concurrency),
                lambda model: self.run_stage(self.work, work[model]),
                self.work.services.engine,
                self.clock,
                self.report,
                goes_on=self._goes_on,
            )

    @property
    def binding(self) -> Binding:
        """What the plan's environment will run, as far as is known so far."""
        return self.work.binding

    @property
    def is_promoted(self) -> bool:
        """Whether the plan's environment shows it, since its closing stage is done."""
        return self.plan.promotes and None in self._done

    @property
    def failed(self) -> frozenset[ModelName]:
        """The models whose stage was started and did not succeed."""
        return frozenset(name for name in self._begun - self._done if name is not None)

    @property
    def not_begun(self) -> tuple[ModelName, ...]:
        """The models that wait for none that failed, and were not started since another one had."""
        if not (self.concurrency.fail_fast and self.errors):
            return ()
        stopped = {*self._begun, *left_out(self.plan, self.failed)}
        work = (stage.model for stage in self.stages if isinstance(stage, WorkStage))
        return tuple(name for name in work if name not in stopped)

    @contextmanager
    def ended(self) -> Iterator[None]:
        """At the end of a ``with`` block no thread evaluates anything of the plan any more.

        If the block ends by an exception that is not an error (Ctrl-C, a process that is to end),
        units of work that are under way are given up.
        """
        interrupts = True
        try:
            yield
            interrupts = False
        except Exception:
            interrupts = False
            raise
        finally:
            if self._threads is not None:
                self._threads.end(interrupt=interrupts)

    @contextmanager
    def visit(self, stage: WorkStage | Closing) -> Iterator[Iterator[Evaluated]]:
        """Run a stage: the caller iterates over its units of work, each of which runs then.

        What it awaits (`vde_dagster.core.planning.stages.awaited`) has to be done before. The stage
        is done when the context is left without an error.

        Raises:
            NotBegun: It is not run, since another one failed and the plan is to fail fast.
            VdeError: The error of the stage; it is kept for the end of the walk, too.
        """
        model = _model_of(stage)
        self._begun.add(model)
        try:
            yield self._units(stage)
        except NotBegun:
            self._begun.discard(model)
            raise
        except VdeError as error:
            self.errors.append(error)
            if self._goes_on(model, error):
                self._done.add(model)
            raise
        self._done.add(model)

    def rest(self) -> Generator[Evaluated, None, None]:
        """Run the stages not started yet, in order, except those that wait for what failed.

        Each unit of work is yielded when it is done. What fails is raised at the end of the walk.
        """
        if self._threads is not None:
            yield from self._threads.units()
        lacking: set[ModelName] = set()
        self._settle()
        for stage in self.stages:
            yield from self._unless_begun(stage, lacking)
            if isinstance(stage, WorkStage) and stage.model not in self._done:
                lacking.add(stage.model)

    def end(self) -> Iterator[Evaluated]:
        """Run only the last stage, unless it was started or waits; the caller ran the others.

        Each unit of work is yielded when it is done. What fails is raised at the end of the walk.
        """
        self._settle()
        work = {stage.model for stage in self.stages if isinstance(stage, WorkStage)}
        for stage in self.stages[-1:]:
            yield from self._unless_begun(stage, work - self._done)

    def _unless_begun(
        self, stage: WorkStage | Closing, lacking: Collection[ModelName]
    ) -> Iterator[Evaluated]:
        if _model_of(stage) not in self._begun and not self._waits(stage, lacking):
            with suppress(VdeError), self.visit(stage) as steps:
                yield from steps

    def _waits(self, stage: WorkStage | Closing, lacking: Collection[ModelName]) -> bool:
        """Whether a stage is left out, since what it awaits was not filled."""
        if not lacking or isinstance(stage, ShowFilled):
            return False
        return not awaited(self.plan, stage, self._filled).isdisjoint(lacking)

    def _units(self, stage: WorkStage | Closing) -> Iterator[Evaluated]:
        """The units of work of a stage, each of which is done when it is asked for."""
        if isinstance(stage, WorkStage):
            if self._threads is not None:
                yield from self._threads.units_of(stage.model)
                return
            if self.concurrency.fail_fast and self.errors:
                raise NotBegun.of(stage.model)
        self._settle()
        for unit in self.run_stage(self.work, stage):
            self.report(unit)
            yield unit

    def _settle(self) -> None:
        """Wait for all threads, and note the outcome of stages that were not visited."""
        if self._threads is None:
            return
        self._threads.wait()
        for model, error in self._threads.outcomes:
            if model in self._begun:
                continue
            self._begun.add(model)
            if error is None or self._goes_on(model, error):
                self._done.add(model)
            if isinstance(error, VdeError):
                self.errors.append(error)
            elif error is not None:
                raise error

    def _goes_on(self, model: ModelName | None, error: BaseException) -> bool:
        """Whether what awaits a model need not wait: only rows that it shows anyway are kept."""
        return rest_goes_on(error) and model not in self.plan.views


def _model_of(stage: WorkStage | Closing) -> ModelName | None:
    """The model that a stage fills; None for the last stage."""
    return stage.model if isinstance(stage, WorkStage) else None
