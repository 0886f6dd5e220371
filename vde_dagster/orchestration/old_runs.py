"""Deleting runs that ended long ago, so that Dagster's storage does not grow for ever.

What is loaded is in the state; Dagster only shows it. So a run may go once it is neither the one
that gave the latest result of an asset or of its newest partition, nor the one that was to compute
the asset last, which conditions, freshness and Dagster's pages look at. The run of the newest event
stays, too. Results of checks are in a table of their own, which stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

import dagster as dg

from vde_dagster.app.binding import bind_environment
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.time.intervals import Interval
from vde_dagster.orchestration._unpublished import (
    asset_runs,
    forget_run,
    home_of,
    run_of_newest_event,
)
from vde_dagster.orchestration.home import own_home
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.metadata import AUTOMATION, ENVIRONMENT
from vde_dagster.orchestration.partitions import is_partitioned, partition_key

MOST: Final = 20
"""How many runs are deleted at once."""
_PAGE: Final = 200
"""How many are read at once."""
_ENDED: Final = [
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
]


def delete_old_runs(
    instance: dg.DagsterInstance, location: Location, after: timedelta, *, most: int = MOST
) -> int:
    """Delete runs of an environment that ended longer ago than this; returns how many.

    In a home that several projects share only the runs of its automation are known to be its own.
    """
    filters = dg.RunsFilter(
        tags=_own_tags(instance, location),
        statuses=_ENDED,
        updated_before=datetime.now(UTC) - after,
    )
    kept = _kept(instance, location)
    gone = list(islice((each for each in _found(instance, filters) if each not in kept), most))
    for each in gone:
        forget_run(instance, each)
    return len(gone)


def _found(instance: dg.DagsterInstance, filters: dg.RunsFilter) -> Iterator[str]:
    """The runs that are searched for, oldest first, however many of them stay."""
    cursor: str | None = None
    while page := instance.get_run_records(filters, limit=_PAGE, ascending=True, cursor=cursor):
        yield from (each.dagster_run.run_id for each in page)
        cursor = page[-1].dagster_run.run_id


def _own_tags(instance: dg.DagsterInstance, location: Location) -> dict[str, str]:
    configuration, environment = location.project.configuration, location.environment
    is_own = home_of(instance).resolve() == own_home(configuration).resolve()
    if is_own:
        return {ENVIRONMENT: environment}
    return {AUTOMATION: f"{configuration.name}/{environment}"}


def _kept(instance: dg.DagsterInstance, location: Location) -> set[str]:
    """The runs that something of Dagster still needs, whoever's they are."""
    assets = [*asset_runs(instance)]
    latest = {asset: partition for asset, partition, _ in assets}
    return {
        *(run for *_, runs in assets for run in runs),
        *_of_newest_partitions(instance, location, latest),
        run_of_newest_event(instance) or "",
    }


def _of_newest_partitions(
    instance: dg.DagsterInstance, location: Location, latest: Mapping[dg.AssetKey, str | None]
) -> Iterator[str]:
    """The runs that gave the latest results of the newest partitions of an environment's models.

    ``latest`` are the partitions of the latest results of all assets, whose runs are known. Mostly
    they are the newest ones; after late rows were loaded they are older.
    """
    for asset, partition in _newest_partitions(location):
        if latest.get(asset) != partition:
            wanted = dg.AssetRecordsFilter(asset_key=asset, asset_partitions=[partition])
            found = instance.fetch_materializations(wanted, limit=1).records
            yield from (each.run_id for each in found)


def _newest_partitions(location: Location) -> Iterator[tuple[dg.AssetKey, str]]:
    """The newest partition that is loaded of each model with partitions, with its asset."""
    services = location.project.services
    binding = bind_environment(services, location.environment) or location.binding
    nodes = [each for each in binding.graph if each.name in location.specs and is_partitioned(each)]
    holdings = services.state.holdings(binding.key(each.name) for each in nodes)
    for node in nodes:
        loaded = holdings.get(binding.key(node.name), NOTHING).computed
        if loaded:
            unit, end = node.model.unit, loaded[-1].end
            newest = Interval(unit.shifted(end, -1), end)
            yield location.key(node.name), partition_key(unit, newest)
