"""The late-data sensor: a tick reads metadata, decides, and asks for runs (seed 003).

What was loaded is known by the high-water mark in the state, which a session moves when it commits.
A run key only keeps one change from being asked for twice while its run is under way; a run that
ended without moving the mark is asked for again, after a pause that grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, assert_never

import dagster as dg

from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.detecting import detect, late_models
from vde_dagster.core.intervals import format_instant
from vde_dagster.core.late_data import HighWaterMark, Load, NothingToLoad, Stop
from vde_dagster.core.names import ModelName
from vde_dagster.core.ownership import may_write
from vde_dagster.core.snapshot import VersionKey
from vde_dagster.orchestration.jobs import catch_up_config
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.metadata import CATCH_UP, ENVIRONMENT

SECONDS: Final = 30
_LONGEST_PAUSE: Final = timedelta(hours=1)
_ENDED: Final = (
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
)


def build_late_data_sensor(location: Location, job: dg.JobDefinition) -> dg.SensorDefinition | None:
    """The sensor of an environment's models with late data; None where it owns none.

    It is stopped at first: looking at a project in a UI must not start runs and Spark. A person
    switches it on once, in the UI or with ``dagster sensor start``; Dagster remembers that.
    """
    if not _own_late_models(location, location.binding):
        return None

    @dg.sensor(
        name=f"vde_late_data_{location.environment}",
        job=job,
        minimum_interval_seconds=SECONDS,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Finds new and late rows in the sources' Iceberg metadata, without Spark, and "
        "asks for one catch-up run for each model that has some.",
    )
    def late_data(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        binding = bind_environment(location.project.services, location.environment)
        if binding is None:
            return dg.SkipReason(
                f"{location.environment} shows nothing yet: run `vde plan {location.environment}`, "
                "or materialize one of its assets."
            )
        answers = list(_answers(context.instance, location, binding))
        requests = [each for each in answers if isinstance(each, dg.RunRequest)]
        reasons = [each for each in answers if isinstance(each, str)]
        if requests:
            return dg.SensorResult(run_requests=requests)
        return dg.SkipReason("; ".join(reasons) or "no model has late data of its own")

    return late_data


def _own_late_models(location: Location, binding: Binding) -> tuple[ModelName, ...]:
    names = late_models(binding)
    owners = location.project.services.state.owners(binding.key(name) for name in names)
    return tuple(
        name for name in names if may_write(location.environment, owners.get(binding.key(name)))
    )


def _answers(
    instance: dg.DagsterInstance, location: Location, binding: Binding
) -> Iterator[dg.RunRequest | str]:
    """For each model what to run, or why not."""
    for name in _own_late_models(location, binding):
        decision = detect(location.project.services, binding, name)
        match decision:
            case NothingToLoad(reason=reason):
                yield f"{name}: {reason}"
            case Stop(reason=reason, advice=advice):
                yield f"{name} cannot be loaded: {reason}. {advice}"
            case Load():
                yield _request(instance, location.environment, binding.key(name), decision)
            case unreachable:
                assert_never(unreachable)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempts:
    """The runs that were asked for one change so far."""

    ended: int
    under_way: str | None
    last_end: datetime | None


def _request(
    instance: dg.DagsterInstance, environment: str, key: VersionKey, decision: Load
) -> dg.RunRequest | str:
    change = _change(key, decision)
    attempts = _attempts(instance, change)
    if attempts.under_way is not None:
        return f"{key.model}: run {attempts.under_way} is loading what is new"
    again = _not_before(attempts)
    if again is not None and again > datetime.now(UTC):
        return (
            f"{key.model}: {attempts.ended} runs did not load what is new; the next one starts "
            f"after {format_instant(again.replace(microsecond=0))} UTC"
        )
    return dg.RunRequest(
        run_key=f"{change}:{attempts.ended + 1}",
        run_config=catch_up_config(key.model),
        tags={ENVIRONMENT: environment, CATCH_UP: change},
    )


def _change(key: VersionKey, decision: Load) -> str:
    """What identifies the work that a decision asks for."""
    fill_end = format_instant(decision.fill[-1].end) if decision.fill else "-"
    return ":".join(
        [
            str(key.model),
            key.version,
            _snapshot_id(decision.before),
            _snapshot_id(decision.after),
            fill_end,
        ]
    )


def _snapshot_id(mark: HighWaterMark | None) -> str:
    return str(mark.iceberg_snapshot_id) if mark is not None else "-"


def _attempts(instance: dg.DagsterInstance, change: str) -> _Attempts:
    records = instance.get_run_records(dg.RunsFilter(tags={CATCH_UP: change}))
    open_runs = [each for each in records if each.dagster_run.status not in _ENDED]
    ended = [each for each in records if each.dagster_run.status in _ENDED]
    last = max((each.end_time or 0.0 for each in ended), default=None)
    return _Attempts(
        ended=len(ended),
        under_way=open_runs[0].dagster_run.run_id[:8] if open_runs else None,
        last_end=datetime.fromtimestamp(last, UTC) if last is not None else None,
    )


def _not_before(attempts: _Attempts) -> datetime | None:
    """The first failure is tried again at once; then the pause doubles, up to an hour."""
    if attempts.last_end is None or attempts.ended <= 1:
        return None
    pause = timedelta(seconds=SECONDS * 2 ** min(attempts.ended - 1, 10))
    return attempts.last_end + min(pause, _LONGEST_PAUSE)
