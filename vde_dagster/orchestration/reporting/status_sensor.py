"""The sensor that keeps Dagster's pages true: it reports what an environment shows, and its state.

It launches nothing and starts no Spark, so it is switched on at first. It also deletes old runs, if
the project says after how long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Final

import dagster as dg

from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.inspect.status import (
    EnvironmentStatus,
    late_rows_not_loaded,
    look_at_environment,
)
from vde_dagster.core.errors import VdeError
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration._unpublished import latest_check_results
from vde_dagster.orchestration.failures import secrets_hidden
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.reporting.shown import (
    Known,
    Limits,
    Reported,
    Reporter,
    stale_intervals,
)
from vde_dagster.orchestration.reporting.status_checks import (
    Found,
    checks_of,
    found_of_environment,
    found_of_tables,
)
from vde_dagster.ports.state import environment_resource

SECONDS: Final = 60
"""How often the sensor looks."""
_TABLES: Final = 50
"""How many tables one tick looks at; the next one goes on after them."""
_MOST_RESULTS: Final = 200
"""How many results of checks one tick reports."""
_LOOKED_UP: Final = 500
"""How many checks are looked up in Dagster's database at once."""
_READ_AGAIN: Final = 10
"""After how many ticks the results that Dagster has are read again: runs give some, too."""

_ENDED: Final = [
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
]
"""Runs that have ended may leave checks without a result, or materialize what was checked."""

_Result = tuple[bool, str]


@dataclass(slots=True)
class _Memory:
    """What the ticks of one process know.

    ``known`` is what was compared with Dagster's events, ``shown`` the results of checks that
    Dagster has, and ``failing`` those that failed in the tick before. ``at`` is the table that was
    looked at last.
    """

    known: Known = field(default_factory=dict)
    shown: dict[dg.AssetCheckKey, _Result] = field(default_factory=dict)
    failing: frozenset[dg.AssetCheckKey] = frozenset()
    at: ModelName | None = None
    ticks: int = 0
    read_at: datetime | None = None


def build_status_sensor(location: Location) -> dg.SensorDefinition:
    """The sensor of an environment's state."""
    memory = _Memory()

    @secrets_hidden()
    def tick(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        services, environment = location.project.services, location.environment
        holder = services.state.lease_holder(environment_resource(environment))
        if holder:
            return dg.SkipReason(f"{holder} is working on {environment}")
        try:
            reported, results = _tick(context.instance, location, memory)
        except VdeError as error:  # as while somebody promotes it; the next tick looks again
            return dg.SkipReason(str(error))
        if not (reported.events or results):
            return dg.SkipReason(f"Dagster knows what {environment} shows{_more(reported)}")
        said = f"reported {reported.events:,} results and {results:,} checks"
        return dg.SkipReason(f"{said}{_more(reported)}")

    return dg.SensorDefinition(
        name=f"vde_status_{location.environment}",
        evaluation_fn=tick,
        minimum_interval_seconds=SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Reports to Dagster what {location.environment} shows, and what "
        "is missing, stale or written outside vde. It launches nothing.",
    )


def _more(reported: Reported) -> str:
    return "" if reported.is_all else "; the rest follows"


def _tick(
    instance: dg.DagsterInstance, location: Location, memory: _Memory
) -> tuple[Reported, int]:
    services, environment = location.project.services, location.environment
    shown = bind_environment(services, environment)
    binding = shown or location.binding
    status = look_at_environment(services, environment) if shown is not None else None
    reporter = Reporter(
        instance=instance,
        services=services,
        binding=binding,
        keys={each: spec.key for each, spec in location.specs.items()},
        stale=stale_intervals(status) if status is not None else {},
    )
    reported = reporter.report(Limits(), known=memory.known)
    found = _found(location, binding, status, memory)
    return reported, _report_checks(instance, location, found, memory)


def _found(
    location: Location, binding: Binding, status: EnvironmentStatus | None, memory: _Memory
) -> Iterator[Found]:
    """What the checks find of all models, and of the next tables."""
    names = [n.name for n in binding.graph if n.name in location.specs and checks_of(n)]
    if status is not None:
        stored = {name for name in names if not binding.graph[name].model.kind.is_source}
        late = late_rows_not_loaded(location.project.services, binding)
        yield from found_of_environment(status, stored, late)
    after = sorted(names)
    begin = next((at for at, name in enumerate(after) if memory.at and name > memory.at), 0)
    looked_at = after[begin : begin + _TABLES]
    memory.at = looked_at[-1] if looked_at else None
    yield from found_of_tables(location.project.services, binding, looked_at)


def _report_checks(
    instance: dg.DagsterInstance, location: Location, found: Iterable[Found], memory: _Memory
) -> int:
    """Report the results that Dagster does not have.

    That something is missing or stale is reported once two ticks have found it: what is due for a
    minute, until automation computes it, is not news.
    """
    results = {_key(location, each): each for each in found}
    _refresh(instance, memory, results)
    failing = frozenset(key for key, each in results.items() if not each.passed)
    news = [
        (key, each)
        for key, each in results.items()
        if memory.shown.get(key) != (each.passed, each.text)
        and (each.passed or each.check.is_of_table or key in memory.failing)
    ]
    for key, each in news[:_MOST_RESULTS]:
        instance.report_runless_asset_event(each.for_job(key.asset_key))
        memory.shown[key] = (each.passed, each.text)
    memory.failing = failing | (memory.failing - results.keys())
    return min(len(news), _MOST_RESULTS)


def _refresh(
    instance: dg.DagsterInstance, memory: _Memory, results: Mapping[dg.AssetCheckKey, Found]
) -> None:
    """Read the results that Dagster has: of checks that are new, and now and then of all.

    A run that fails leaves checks without a result that it was to evaluate, and Dagster shows them
    as failed. Checks of an asset that a run materialized are shown as not evaluated. So after a run
    all results are read again.
    """
    since, memory.read_at = memory.read_at, datetime.now(UTC)
    ended = dg.RunsFilter(statuses=_ENDED, updated_after=since)
    if memory.ticks % _READ_AGAIN == 0 or instance.get_runs_count(ended):
        memory.shown.clear()
    memory.ticks += 1
    unknown = iter([key for key in results if key not in memory.shown])
    while keys := [*islice(unknown, _LOOKED_UP)]:
        for key, result in latest_check_results(instance, keys).items():
            if result is not None:
                memory.shown[key] = (result.passed, result.description or "")


def _key(location: Location, found: Found) -> dg.AssetCheckKey:
    return dg.AssetCheckKey(location.key(found.name), found.check.value)
