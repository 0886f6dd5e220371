"""The late-data sensor: a tick reads metadata, decides, and requests runs (seed 003).

What was loaded is known by the high-water mark in the state, which a session moves when it commits.
If a run ended without moving the mark, another one is requested, see `attempts`. While the
automation of the environment is switched on this sensor does nothing: each model has one launcher.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import assert_never

import dagster as dg

from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.catch_up.listing import list_late_data
from vde_dagster.app.catch_up.sessions import note_detected
from vde_dagster.app.evaluate.refusals import still_refused
from vde_dagster.app.inputs.seen import Seen
from vde_dagster.app.services import Services
from vde_dagster.core.ledger.late.decision import Load, NothingToLoad, Stop
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName, env_option
from vde_dagster.core.time.intervals import format_instant
from vde_dagster.orchestration._unpublished import is_switched_on
from vde_dagster.orchestration.attempts import SECONDS, attempts_with
from vde_dagster.orchestration.catch_up_job import own_late_models
from vde_dagster.orchestration.failures import secrets_hidden
from vde_dagster.orchestration.jobs import catch_up_config
from vde_dagster.orchestration.location import Location, automation_sensor_name
from vde_dagster.orchestration.metadata import CATCH_UP
from vde_dagster.ports.state import version_resource


def build_late_data_sensor(location: Location, job: dg.JobDefinition) -> dg.SensorDefinition | None:
    """The sensor of an environment's models with late data; None where it owns none.

    It is stopped at first: looking at a project in a UI must not start runs and Spark. A person
    switches it on once, in the UI or with ``dagster sensor start``; Dagster remembers that.
    """
    if not own_late_models(location, location.binding):
        return None

    @dg.sensor(
        name=f"vde_late_data_{location.environment}",
        job=job,
        minimum_interval_seconds=SECONDS,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Finds new and late rows in the sources' Iceberg metadata, without Spark, and "
        "requests one catch-up run for all models that have some, and those that track them.",
    )
    @secrets_hidden()
    def late_data(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        other = automation_sensor_name(location.environment)
        if is_switched_on(context, other):
            return dg.SkipReason(
                f"the sensor {other} is switched on: it launches models with late data together "
                "with all others, so this one launches nothing. Switch this one off."
            )
        binding = bind_environment(location.project.services, location.environment)
        if binding is None:
            return dg.SkipReason(
                f"{location.environment} shows nothing yet: run `vde plan {location.environment}`, "
                "or materialize one of its assets."
            )
        answers = list(_answers(context.instance, location, binding))
        list_late_data(location.project.services)
        asked = [each for each in answers if isinstance(each, _Session)]
        if asked:
            return dg.SensorResult(run_requests=[_request(location, asked)])
        reasons = [each for each in answers if isinstance(each, str)]
        return dg.SkipReason("; ".join(reasons) or "no model of this environment has late data")

    return late_data


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """A session that is to be run: its model, the change that it loads, the number of the try."""

    name: ModelName
    change: str
    attempt: int


def _answers(
    instance: dg.DagsterInstance, location: Location, binding: Binding
) -> Iterator[_Session | str]:
    """For each model what to run, or why not: facts first, and what tracks them after."""
    services = location.project.services
    first: set[ModelName] = set()
    names = own_late_models(location, binding)
    seen = Seen.above(services, binding, names)
    pauses = services.state.pauses(binding.environment)
    for name in names:
        if name in pauses:
            yield f"{name} is {pauses[name]}"
            continue
        awaited = _awaited(binding, name, first)
        if awaited:
            yield f"{name}: {', '.join(map(str, awaited))} is loaded first"
            continue
        decision = detect(services, binding, name, seen=seen)
        match decision:
            case NothingToLoad(reason=reason):
                note_detected(services, binding, name, decision)
                yield f"{name}: {reason}"
            case Stop(reason=reason, advice=advice):
                yield f"{name} cannot be loaded: {reason}. {advice}"
            case Load():
                answer = _asked(instance, services, binding, name, decision)
                if isinstance(answer, _Session):
                    first.add(name)
                yield answer
            case unreachable:
                assert_never(unreachable)


def _awaited(binding: Binding, name: ModelName, first: Collection[ModelName]) -> list[ModelName]:
    """Those of the models that are loaded first that a model follows, sorted."""
    if not first:
        return []
    above = (node.name for node in binding.graph.upstream([name]))
    return sorted(each for each in above if each in first)


def _asked(
    instance: dg.DagsterInstance,
    services: Services,
    binding: Binding,
    name: ModelName,
    decision: Load,
) -> _Session | str:
    key = binding.key(name)
    change = _change(key, decision)
    held = bool(services.state.lease_holder(version_resource(key)))
    attempts = attempts_with(instance, change_tag(key.model), change, is_held=held)
    if attempts.under_way is not None:
        return f"{key.model}: run {attempts.under_way} is loading the new rows"
    refused = still_refused(services, binding, name, of_session=True)
    if refused:
        where = env_option(binding.environment)
        return f"{name}: {refused}. `vde catch-up {name}{where}` tries it all the same."
    pause = attempts.pause(datetime.now(UTC))
    if pause:
        return (
            f"{key.model}: {attempts.ended} runs did not load the new rows; the next one starts "
            f"{pause}"
        )
    return _Session(name=key.model, change=change, attempt=attempts.ended + 1)


def _request(location: Location, asked: Sequence[_Session]) -> dg.RunRequest:
    """One run for all sessions, in one Spark session: models that track them are loaded, too."""
    work = "|".join(f"{each.change}:{each.attempt}" for each in asked)
    changes = {change_tag(each.name): each.change for each in asked}
    return dg.RunRequest(
        run_key=work,
        run_config=catch_up_config(*(each.name for each in asked)),
        tags={**location.run_tags, **changes},
    )


def change_tag(name: ModelName) -> str:
    """The tag of a run with what a session of a model loads."""
    return f"{CATCH_UP}{name}"


def _change(key: VersionKey, decision: Load) -> str:
    """What identifies the work that a decision asks for."""
    fill_end = format_instant(decision.fill[-1].end) if decision.fill else "-"
    marks = [_snapshot_id(mark) for each in decision.sources for mark in (each.before, each.after)]
    return ":".join([str(key.model), key.version, *marks, fill_end])


def _snapshot_id(mark: HighWaterMark | None) -> str:
    return str(mark.iceberg_snapshot_id) if mark is not None else "-"
