"""Runs that are not asset runs: a plan, and a catch-up session.

Both write partitions of several interval units, and only those that they need. A run of assets has
one partitions definition and materializes every partition of its range, so these are jobs of ops
which report each written interval themselves.
"""

# No `from __future__ import annotations`: Dagster reads the annotation of `context` as an object.
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from typing import Final, TextIO, cast

import dagster as dg

from vde_dagster.app.apply.applying import Report, Walk, walking
from vde_dagster.app.binding import Binding, bind_plan
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.view_names import naming_of
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import VdeError
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.scheduling import ONE_AT_A_TIME, Concurrency
from vde_dagster.core.planning.stages import Closing, WorkStage, awaited, filled_by
from vde_dagster.orchestration.assets.metadata import (
    Metadata,
    merged_metadata,
    run_tags,
    session_metadata,
)
from vde_dagster.orchestration.assets.translating import names_of
from vde_dagster.orchestration.failures import failures
from vde_dagster.orchestration.home import dagster_home
from vde_dagster.orchestration.jobs.plan_events import PlanEvents
from vde_dagster.orchestration.keys import EventKey, RunTag
from vde_dagster.orchestration.reporting.checks import AuditWatch
from vde_dagster.orchestration.reporting.shown import report_views
from vde_dagster.state.processes import this_process

_PLAN_JOB: Final = "vde_plan"
_PROMOTE_OP: Final = "promote"
_PRIORITY: Final = "dagster/priority"
"""The tag of ops by which Dagster chooses among those that may be run; the highest number first."""
_QUIET: Final = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def run_plan(
    project: VdeProject,
    plan: Plan,
    report: Report,
    *,
    concurrency: Concurrency = ONE_AT_A_TIME,
) -> tuple[Evaluated, ...]:
    """Apply a plan as one Dagster run in this process, on the instance of `dagster_home`.

    It does what `vde_dagster.app.apply.applying.apply_plan` does, also where models fail. A Dagster
    UI of the same home shows the run, and an event for each interval as it is written. Assets have
    the keys of `VdeTranslator`.

    Args:
        project: The project of the plan.
        plan: What to do.
        report: Called with each unit of work when it is done.
        concurrency: How many models are evaluated at once, and what a failure ends.

    Raises:
        Conflict: The environment changed since the plan was made, or another process is changing
        it;
            nothing was written.
        Refused: An evaluation cannot be done now.
        EvaluationFailed: A query failed. What was filled before stays and is not filled again.
        KeyboardInterrupt: The user stopped it; the same holds.
    """
    if plan.is_empty:
        return ()
    # a translator that fails stops nothing half-way
    names = names_of(project, bind_plan(plan), project.services.naming)
    events = PlanEvents(services=project.services, keys=names.keys, names=names.checks)
    with walking(
        project.services, plan, events.visit, concurrency=concurrency, report=report
    ) as walk:
        run = _PlanRun.of(walk, events)
        tags = {**run_tags(project.configuration.name, plan.environment), RunTag.PLAN: plan.plan_id}
        _execute(project, run.job(), run.errors, tags)
        for error in run.errors.raised:  # what no op was expected to raise
            if not isinstance(error, VdeError):
                raise error
        events.done.extend(walk.end())  # views that are missing are made, also if ops failed
    with _instance(project) as instance:  # what the moved views show and no stage computed
        report_views(instance, project.services, plan, names.keys)
    return tuple(events.done)


def run_catch_up(
    project: VdeProject, binding: Binding, name: ModelName, *, reload: bool = False
) -> Evaluated | NothingToLoad:
    """Run one catch-up session as a Dagster run in this process; see `run_plan`.

    With ``reload`` everything is loaded again from the source as it is now.

    Raises:
        Refused: What happened to the source cannot be loaded by appending; nothing was written.
        Conflict: Another process writes this version right now.
        EvaluationFailed: The query failed; readers see what they saw before.
        KeyboardInterrupt: The user stopped it.
    """
    services = project.services
    names = names_of(project, binding, naming_of(services, binding.environment))
    events = PlanEvents(services=services, keys=names.keys, names=names.checks)
    errors = _Errors()
    outcomes: list[Evaluated | NothingToLoad] = []

    @dg.op(name="catch_up", out=dg.Out(dg.Nothing))
    def run_session(context: dg.OpExecutionContext) -> Iterator[object]:
        def loaded() -> Iterator[Evaluated]:
            outcome = catch_up(services, binding, name, reload=reload)
            outcomes.append(outcome)
            if isinstance(outcome, Evaluated):
                yield outcome
            else:
                context.log.info(f"{name}: nothing to load: {outcome.reason}")

        with errors.kept():
            audits = events.watched(binding, [name])
            yield from events.of(context, lambda: binding, loaded(), audits)
            outcome = outcomes[-1]
            if isinstance(outcome, NothingToLoad):
                found: Metadata = {EventKey.REASON: outcome.reason}
            else:
                session = session_metadata(outcome.session) if outcome.session else {}
                merged = merged_metadata([outcome])
                found = {EventKey.ROWS_WRITTEN: outcome.rows, **session, **merged}
            yield dg.Output(None, metadata=found)

    @dg.job(name="vde_catch_up", executor_def=dg.in_process_executor)
    def catch_up_job() -> None:
        run_session()

    tags = run_tags(project.configuration.name, binding.environment)
    _execute(project, catch_up_job, errors, tags)
    if errors.raised:
        raise errors.raised[0]
    return outcomes[-1]


def _execute(
    project: VdeProject,
    job: dg.JobDefinition,
    errors: "_Errors",
    tags: Mapping[str, str],
) -> None:
    """Run a job in this process on the project's instance; what its ops raise is kept.

    Raises:
        RuntimeError: It failed, and no op of it did.
    """
    with _instance(project) as instance, _without_raw_errors():
        result = job.execute_in_process(
            run_config=_QUIET,
            instance=instance,
            tags={**tags, RunTag.PROCESS: this_process().as_json()},
            raise_on_error=False,
        )
    if not (result.success or errors.raised):
        home = dagster_home(project.configuration)
        raise RuntimeError(f"the Dagster run {result.run_id} failed; see its log in {home}")


def _instance(project: VdeProject) -> dg.DagsterInstance:
    return dg.DagsterInstance.from_config(str(dagster_home(project.configuration)))


@contextmanager
def _without_raw_errors() -> Iterator[None]:
    """Leave out what Dagster prints of an event that it cannot write, such as on a full disk.

    Dagster also raises that, or writes it to the run's log
    (`dagster._core.instance.types._EventListenerLogHandler`).
    """
    with redirect_stderr(cast(TextIO, _WithoutRawErrors(sys.stderr))):
        yield


class _WithoutRawErrors:
    """A stream without the texts of `_without_raw_errors`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, unless it is one of those."""
        raw = text.startswith("Exception while writing logger call to event log")
        return len(text) if raw else self._stream.write(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


@dataclass(kw_only=True)
class _Errors:
    """Keeps the errors of a run's ops, as they were before Dagster wrapped them."""

    raised: list[BaseException] = field(default_factory=list)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep an error for the caller, and give Dagster a failure with its text."""
        try:
            with failures():
                yield
        except dg.Failure as failure:
            cause = failure.__cause__
            self.raised.append(cause if isinstance(cause, Exception) else failure)
            raise
        except (dg.DagsterExecutionInterruptedError, KeyboardInterrupt):
            self.raised.append(KeyboardInterrupt())
            raise
        except Exception as error:
            self.raised.append(error)
            raise


@dataclass(kw_only=True)
class _PlanRun:
    """The stages of a plan as a job: an op for each model to fill, and one that moves the views.

    Ops are run in the order of the stages. If one fails, those that do not wait for it are still
    run, as `apply_plan` does. If several models are evaluated at once, an op waits for its own.
    ``audits`` are then watched from before the run on, since an op may begin after its model.
    """

    walk: Walk
    events: PlanEvents
    audits: Mapping[ModelName, AuditWatch] = field(default_factory=dict)
    errors: _Errors = field(default_factory=_Errors)

    @classmethod
    def of(cls, walk: Walk, events: PlanEvents) -> "_PlanRun":
        """The run of a walk of which no model was evaluated yet."""
        if walk.concurrency.models == 1:
            return cls(walk=walk, events=events)
        work = [each.model for each in walk.stages if isinstance(each, WorkStage)]
        audits = dict(zip(work, events.watched(walk.binding, work), strict=True))
        return cls(walk=walk, events=events, audits=audits)

    def job(self) -> dg.JobDefinition:
        plan, stages = self.walk.plan, self.walk.stages
        filled = filled_by(plan)
        awaits = [sorted(awaited(plan, stage, filled)) for stage in stages]
        ops = [self._op(stage, at=at, first=not awaits[at]) for at, stage in enumerate(stages)]

        @dg.job(
            name=_PLAN_JOB,
            description=f"A plan of {plan.environment}, applied by `vde`.",
            executor_def=dg.in_process_executor,
        )
        def plan_job() -> None:
            ended: dict[ModelName, object] = {}
            for stage, op, names in zip(stages, ops, awaits, strict=True):
                before = [ended[each] for each in names]
                end = op(before) if before else op()
                if isinstance(stage, WorkStage):
                    ended[stage.model] = end

        return plan_job

    def _op(self, stage: WorkStage | Closing, *, at: int, first: bool) -> dg.OpDefinition:
        def run(context: dg.OpExecutionContext) -> Iterator[object]:
            with self.errors.kept(), self.walk.visit(stage) as steps:
                yield from self.events.of(
                    context, lambda: self.walk.binding, steps, self._audits(stage)
                )
            yield dg.Output(None)

        plan = self.walk.plan
        name, said = _PROMOTE_OP, f"Point the views of {plan.environment} at the plan's versions."
        if isinstance(stage, WorkStage):
            model = stage.model
            name, said = f"{model.schema}__{model.name}", plan.graph[model].model.description
        return dg.op(
            name=name,
            ins={} if first else {"after": dg.In(dg.Nothing)},
            out=dg.Out(dg.Nothing),
            description=said or None,
            tags={_PRIORITY: str(-at)},
        )(run)

    def _audits(self, stage: WorkStage | Closing) -> list[AuditWatch]:
        """What audits find in the model of a stage."""
        if not isinstance(stage, WorkStage):
            return []
        known = self.audits.get(stage.model)
        return self.events.watched(self.walk.binding, [stage.model]) if known is None else [known]
