"""The automation of an environment: one sensor, and one run for all that there is to do in a tick.

A tick plans a run from metadata and the state, without Spark, and requests it if there is
something to do. The run plans again, so it does what is due and stale when it starts. What a run
leaves undone is noted in a tag of it, by model: a model that fails is retried after a pause that
grows, together with the models that wait for it, and all others go on.

The sensor of late data is the same for models with late data alone. While the automation is
switched on it does nothing: each model has one launcher.
"""

# No `from __future__ import annotations`: Dagster reads the annotation of `context` as an object.
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final

import dagster as dg
from pydantic import Field

from vde_dagster.app.apply.running import Wanted, end_without_work, plan_run
from vde_dagster.app.catch_up.listing import list_late_data
from vde_dagster.app.inspect.interval_report import waiting_lines, waiting_models
from vde_dagster.app.plan.work_tokens import plan_token, work_tokens
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.listing import first
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_markdown import run_markdown
from vde_dagster.core.planning.plan_text import nothing_to_run
from vde_dagster.core.planning.setting_aside import set_aside
from vde_dagster.orchestration._unpublished import (
    HIDDEN_JOB,
    UnresolvedAssetJob,
    is_switched_on,
)
from vde_dagster.orchestration.assets.metadata import PARENT_RUN, Metadata
from vde_dagster.orchestration.assets.partitions import partitions_of
from vde_dagster.orchestration.failures import secrets_hidden
from vde_dagster.orchestration.jobs.one_step import one_step_job
from vde_dagster.orchestration.jobs.plan_config import AtOnceConfig
from vde_dagster.orchestration.jobs.plan_events import done_metadata, plan_events
from vde_dagster.orchestration.keys import EventKey, RunTag
from vde_dagster.orchestration.launchers.attempts import (
    SECONDS,
    ended_attempts,
    is_alive,
    note_undone,
    pauses_of,
)
from vde_dagster.orchestration.location import Location, automation_sensor_name
from vde_dagster.ports.state import environment_resource

AUTOMATION_JOB: Final = "vde_automation"
RUN_OP: Final = "run"
_ONLY_LATE_DATA: Final = {"ops": {RUN_OP: {"config": {"only_late_data": True}}}}
_REMEMBERED: Final = 200
"""How many of the last runs are searched for failed models."""
_MOST_SHOWN: Final = 10
"""How many models the answer of a tick names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What automation would do now.

    ``plan`` is what there is to do, without models that failed and are not retried yet; ``pauses``
    has the reason for each of these. ``token`` identifies the plan's work.
    """

    plan: Plan
    token: str
    pauses: Mapping[ModelName, str]


class RunJobConfig(AtOnceConfig):
    """What `vde run` takes."""

    no_stale: bool = Field(default=False, description="Compute only due intervals.")
    only_stale: bool = Field(
        default=False, description="Compute only intervals whose inputs are late or changed."
    )
    only_late_data: bool = Field(
        default=False,
        description="Compute only models with late data: due intervals, and those whose inputs "
        "are late or changed.",
    )
    explain: bool = Field(default=False, description="Only show the intervals to compute, and why.")

    def wanted(self) -> Wanted:
        """What the run computes.

        Raises:
            Refused: Several of these options are set.
        """
        asked = {
            "no_stale": (self.no_stale, Wanted.DUE),
            "only_stale": (self.only_stale, Wanted.STALE),
            "only_late_data": (self.only_late_data, Wanted.LATE_DATA),
        }
        found = {name: wanted for name, (is_set, wanted) in asked.items() if is_set}
        if len(found) > 1:
            raise Refused(f"{' and '.join(found)} cannot be combined.")
        return next(iter(found.values()), Wanted.DUE_AND_STALE)


def build_automation_job(location: Location) -> dg.JobDefinition:
    """The job that brings an environment up to date: what is due and stale, parents first.

    It is what `vde run` does, launched by the automation sensor, a schedule or a person.
    """
    return one_step_job(
        AUTOMATION_JOB,
        partial(_run, location),
        RunJobConfig,
        step=RUN_OP,
        description=f"Compute due intervals of {location.environment}, and those whose inputs are "
        "late or changed, upstream models first.",
        tags={**location.run_tags, RunTag.AUTOMATION: _who(location)},
    )


def _run(
    location: Location, context: dg.OpExecutionContext, config: RunJobConfig, shown: Metadata
) -> Iterator[object]:
    """Plan and do what there is to do. ``shown`` grows, for a run that fails, too."""
    wanted, concurrency = config.wanted(), config.at_once(location.project.configuration)
    if RunTag.UNDONE in context.run.tags:  # those of the run that this one repeats
        context.instance.add_run_tags(context.run_id, {RunTag.UNDONE: "{}"})
    plan = _plan_of_run(location, context, wanted)
    context.instance.add_run_tags(context.run_id, {RunTag.PLAN: plan.plan_id})
    waiting = waiting_lines(waiting_models(location.project.services, plan))
    shown[RunTag.PLAN] = dg.MetadataValue.md(run_markdown(plan, waiting))
    if plan.is_empty:
        shown[EventKey.REASON] = f"nothing to do: {_why_nothing(location, plan, wanted)}"
        return
    if config.explain:
        return
    events = plan_events(location, plan)
    try:
        yield from events.carried_out(context, plan, concurrency)
    finally:
        note_undone(location.project.services, context, plan, events)
    shown |= done_metadata(events.done)


def build_automation_sensor(location: Location, job: dg.JobDefinition) -> dg.SensorDefinition:
    """The sensor that launches an environment's models when they are due or stale.

    Apart from its job it targets the models that it launches, so that their pages in the UI show
    it.
    """
    return _sensor(
        automation_sensor_name(location.environment),
        location,
        job,
        Wanted.DUE_AND_STALE,
        "Finds intervals that are due by cron, or whose inputs are late or changed, from metadata "
        "and without Spark, and requests one run for all of them.",
    )


def build_late_data_sensor(location: Location, job: dg.JobDefinition) -> dg.SensorDefinition | None:
    """The sensor of an environment's models with late data alone; None where it computes none."""
    if not any(node.model.late_data for node in launched_by_automation(location)):
        return None
    return _sensor(
        f"vde_late_data_{location.environment}",
        location,
        job,
        Wanted.LATE_DATA,
        "Finds new and late rows in the Iceberg metadata of sources, without Spark, and "
        "requests one run for all models with late data.",
    )


def _sensor(
    name: str, location: Location, job: dg.JobDefinition, wanted: Wanted, description: str
) -> dg.SensorDefinition:
    """A sensor that launches what is wanted.

    It is stopped at first: looking at a project in a UI must not start runs and Spark. A person
    switches it on once, in the UI or with ``dagster sensor start``; Dagster remembers that.
    """
    every = wanted is Wanted.DUE_AND_STALE

    @secrets_hidden()
    def tick(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        services, environment = location.project.services, location.environment
        other = automation_sensor_name(environment)
        if not every and is_switched_on(context, other):
            return dg.SkipReason(
                f"the sensor {other} is switched on: it launches all models, also those with "
                "late data, so this one launches nothing. Switch this one off."
            )
        if not services.state.revision(environment):
            return dg.SkipReason(
                f"{environment} shows nothing yet: run `vde plan {environment}`, or materialize "
                "one of its assets."
            )
        runs = _runs(context.instance, location)
        busy = _under_way(location, runs)
        if busy:
            return dg.SkipReason(busy)
        list_late_data(services)
        due = _due(location, runs, wanted)
        if due.plan.is_empty:
            end_without_work(services, due.plan)
            return dg.SkipReason(_why_nothing(location, due.plan, wanted, due.pauses))
        # Runs that were killed count, too: a run key that was used once starts nothing.
        same = dg.RunsFilter(tags={RunTag.AUTOMATION: _who(location), RunTag.WORK: due.token})
        attempts = ended_attempts(context.instance.get_run_records(same), work=due.token)
        pause = attempts.pause(datetime.now(UTC))
        if pause:
            return dg.SkipReason(
                f"{attempts.ended} runs did not finish this work; the next one starts {pause}"
            )
        return dg.RunRequest(
            run_key=f"{environment}:{due.token}:{attempts.ended + 1}",
            job_name=job.name,
            run_config={} if every else _ONLY_LATE_DATA,
            tags={RunTag.WORK: due.token},
        )

    return dg.SensorDefinition(
        name=name,
        evaluation_fn=tick,
        jobs=[job, *_shown_jobs(location)] if every else [job],
        minimum_interval_seconds=SECONDS,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description=description,
    )


def launched_by_automation(location: Location) -> tuple[Node, ...]:
    """The models that automation computes: all with rows, apart from seeds.

    Those are the ones whose version the environment may write (rule R9).
    """
    binding = location.binding
    nodes = [node for node in binding.graph if node.model.kind.follows_upstream]
    owners = location.project.services.state.owners(binding.key(node.name) for node in nodes)
    return tuple(
        node
        for node in nodes
        if may_write(location.environment, owners.get(binding.key(node.name)))
    )


def _shown_jobs(location: Location) -> Iterator[UnresolvedAssetJob]:
    """Jobs that are never launched: Dagster shows a sensor on the assets that its jobs select.

    A job has one partitions definition, so there is one for each of them.
    """
    selected: dict[dg.PartitionsDefinition | None, list[dg.AssetKey]] = {}
    for node in launched_by_automation(location):
        partitions = partitions_of(node, location.partitions_end)
        selected.setdefault(partitions, []).append(location.key(node.name))
    for number, keys in enumerate(selected.values(), start=1):
        name = f"{HIDDEN_JOB}_{automation_sensor_name(location.environment)}_{number}"
        yield dg.define_asset_job(name, selection=dg.AssetSelection.assets(*keys))


def _plan_of_run(location: Location, context: dg.OpExecutionContext, wanted: Wanted) -> Plan:
    """The plan of a run; one that a person launched or repeats retries failed models, too."""
    repeats = context.run.parent_run_id or context.run.tags.get(PARENT_RUN)  # and has its tags
    if repeats or RunTag.WORK not in context.run.tags:
        return plan_run(location.project.services, location.environment, wanted)
    return _due(location, _runs(context.instance, location), wanted).plan


def _due(location: Location, runs: Sequence[dg.RunRecord], wanted: Wanted) -> Due:
    """What is to be done now, without models that failed and are not retried yet."""
    services = location.project.services
    plan = plan_run(services, location.environment, wanted)
    tokens = work_tokens(services, plan)
    pauses = dict(pauses_of(services, location.environment, runs, tokens))
    left = set_aside(plan, pauses.keys(), "it waits until the failed model is retried")
    return Due(plan=left, token=plan_token(left, tokens), pauses=pauses)


def _runs(instance: dg.DagsterInstance, location: Location) -> Sequence[dg.RunRecord]:
    """The last runs of an environment's automation, newest first."""
    tags = {RunTag.AUTOMATION: _who(location)}
    return instance.get_run_records(dg.RunsFilter(tags=tags), limit=_REMEMBERED)


def _under_way(location: Location, runs: Sequence[dg.RunRecord]) -> str:
    """The run or process that is at work on the environment, for people; empty for none."""
    environment = location.environment
    holder = location.project.services.state.lease_holder(environment_resource(environment))
    waited_for = [each for each in runs if is_alive(each, is_held=bool(holder))]
    if waited_for:
        run_id = waited_for[0].dagster_run.run_id[:8]
        return f"run {run_id} is bringing {environment} up to date"
    return f"{holder} is working on {environment}" if holder else ""


def _why_nothing(
    location: Location,
    plan: Plan,
    wanted: Wanted,
    pauses: Mapping[ModelName, str] | None = None,
) -> str:
    """Why there is nothing to do, for people."""
    reasons = {str(name): why for name, why in (pauses or {}).items()}
    for lost in plan.lost_tables:
        reasons.setdefault(str(lost.name), lost.damage or f"its table {lost.table} is missing")
    for change in plan.changes:
        if change.staleness is not None and change.staleness.kept:
            reasons.setdefault(str(change.name), change.staleness.why_kept)
    for name, waits in waiting_models(location.project.services, plan):
        if wanted is not Wanted.LATE_DATA or plan.graph[name].model.late_data is not None:
            reasons.setdefault(str(name), f"waits: {'; '.join(map(str, waits))}")
    if not reasons:
        said = nothing_to_run(plan, waits=False)
        return said if wanted is not Wanted.LATE_DATA else f"with late data, {said}"
    lines = [f"{name}: {why}" for name, why in reasons.items()]
    return "; ".join(first(lines, _MOST_SHOWN, "and {:,} more models"))


def _who(location: Location) -> str:
    """The value of the tag that marks the runs of one environment's automation."""
    return f"{location.project.configuration.name}/{location.environment}"
