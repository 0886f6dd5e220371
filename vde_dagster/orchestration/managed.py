"""The sensor that keeps MANAGED tables fresh: it reads metadata, and requests runs (seed 001)."""

from __future__ import annotations

from datetime import UTC, datetime

import dagster as dg

from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.catch_up.managed import Freshness, managed_tables
from vde_dagster.app.evaluate.refusals import still_refused
from vde_dagster.core.names import env_option
from vde_dagster.orchestration.attempts import SECONDS, attempts_with
from vde_dagster.orchestration.failures import secrets_hidden
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.metadata import REFRESH
from vde_dagster.ports.state import version_resource


def build_managed_sensor(location: Location) -> dg.SensorDefinition | None:
    """The sensor of an environment's MANAGED models; None where it has none.

    It is stopped at first, as that of late data is: looking at a project must not start Spark.
    """
    names = [n.name for n in location.binding.graph if n.model.kind.is_refreshed]
    if not names:
        return None

    @dg.sensor(
        name=f"vde_managed_{location.environment}",
        target=dg.AssetSelection.assets(*map(location.key, names)),
        minimum_interval_seconds=SECONDS,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Finds MANAGED tables that are older than their target lag and whose inputs "
        "changed, from metadata and without Spark, and requests a run for each.",
    )
    @secrets_hidden()
    def managed(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        services = location.project.services
        binding = bind_environment(services, location.environment)
        if binding is None:
            return dg.SkipReason(f"{location.environment} shows nothing yet")
        found = managed_tables(services, binding)
        answers = [
            _request(context.instance, location, binding, each)
            if each.is_due and each.name in location.specs
            else f"{each.name}: {each.waits_for or each.reason}"
            for each in found
        ]
        requests = [each for each in answers if isinstance(each, dg.RunRequest)]
        if requests:
            return dg.SensorResult(run_requests=requests)
        message = "; ".join(each for each in answers if isinstance(each, str))
        return dg.SkipReason(message or "no MANAGED table has been built yet: a plan builds it")

    return managed


def _request(
    instance: dg.DagsterInstance, location: Location, binding: Binding, found: Freshness
) -> dg.RunRequest | str:
    """One run for one state of the inputs; if it fails, another is requested after a pause.

    After a blocking audit failed, it is requested only once its outcome may be another one.
    """
    services, key = location.project.services, binding.key(found.name)
    state = f"{key.model}:{key.version}:{found.token}"
    held = bool(services.state.lease_holder(version_resource(key)))
    attempts = attempts_with(instance, REFRESH, state, is_held=held)
    if attempts.under_way is not None:
        return f"{found.name}: run {attempts.under_way} is refreshing it"
    refused = still_refused(services, binding, found.name) if attempts.ended else ""
    if refused:
        return (
            f"{found.name}: {refused}. `vde refresh{env_option(location.environment)}` tries it "
            "all the same."
        )
    pause = attempts.pause(datetime.now(UTC))
    if pause:
        runs = f"{attempts.ended} runs did not refresh it"
        return f"{found.name}: {runs}; the next one starts {pause}"
    return dg.RunRequest(
        run_key=f"{state}:{attempts.ended + 1}",
        asset_selection=[location.key(found.name)],
        tags={**location.run_tags, REFRESH: state},
    )
