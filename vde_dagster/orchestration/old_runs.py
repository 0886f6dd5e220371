"""Deleting runs that ended long ago, so that Dagster's storage does not grow for ever.

What is loaded is in the state; Dagster only shows it. So a run may go once it is neither the one
that gave the latest result of an asset nor the one that was to compute the asset last, which
conditions, freshness and Dagster's pages look at. Results of checks are in a table of their own,
which stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final

import dagster as dg

from vde_dagster.orchestration._unpublished import forget_run
from vde_dagster.orchestration.home import own_home
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.metadata import AUTOMATION, ENVIRONMENT

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
    kept = _last_runs(instance)
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
    is_own = Path(instance.root_directory).resolve() == own_home(configuration).resolve()
    if is_own:
        return {ENVIRONMENT: environment}
    return {AUTOMATION: f"{configuration.name}/{environment}"}


def _last_runs(instance: dg.DagsterInstance) -> Collection[str]:
    """The runs that were the last ones of an asset, or gave its latest result, whoever's it is."""
    assets = [each.asset_entry for each in instance.get_asset_records()]
    results = [each.last_materialization for each in assets]
    gave = {each.run_id for each in results if each is not None}
    return gave | {each.last_run_id for each in assets if each.last_run_id is not None}
