"""The sensor that keeps MANAGED tables fresh: it reads metadata, and asks for runs (seed 001)."""

from __future__ import annotations

from typing import Final

import dagster as dg

from vde_dagster.app.binding import bind_environment
from vde_dagster.app.managed import Freshness, managed_tables
from vde_dagster.core.kind import Managed
from vde_dagster.core.snapshot import VersionKey
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.metadata import ENVIRONMENT

SECONDS: Final = 30


def build_managed_sensor(location: Location) -> dg.SensorDefinition | None:
    """The sensor of an environment's MANAGED models; None where it has none.

    It is stopped at first, as that of late data is: looking at a project must not start Spark.
    """
    names = [n.name for n in location.binding.graph if isinstance(n.model.kind, Managed)]
    if not names:
        return None

    @dg.sensor(
        name=f"vde_managed_{location.environment}",
        target=dg.AssetSelection.assets(*map(location.key, names)),
        minimum_interval_seconds=SECONDS,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Finds MANAGED tables that are older than their target lag and whose inputs "
        "changed, from metadata and without Spark, and asks for a run of each.",
    )
    def managed(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        services = location.project.services
        binding = bind_environment(services, location.environment)
        if binding is None:
            return dg.SkipReason(f"{location.environment} shows nothing yet")
        found = managed_tables(services, binding)
        requests = [
            _request(location, binding.key(each.name), each)
            for each in found
            if each.is_due and each.name in location.specs
        ]
        if requests:
            return dg.SensorResult(run_requests=requests)
        told = "; ".join(f"{each.name}: {each.waits_for or each.reason}" for each in found)
        return dg.SkipReason(told or "no MANAGED table was made yet: a plan makes it")

    return managed


def _request(location: Location, key: VersionKey, found: Freshness) -> dg.RunRequest:
    """One run for one state of the inputs; a run that fails is asked for again after a change."""
    return dg.RunRequest(
        run_key=f"{key.model}:{key.version}:{found.token}",
        asset_selection=[location.key(found.name)],
        tags={ENVIRONMENT: location.environment},
    )
