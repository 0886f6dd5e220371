"""Deleting runs that ended long ago, so that Dagster's storage does not grow for ever.

What is loaded is in the state; Dagster only shows it. So a run may go once it is neither the one
that gave the latest result of an asset, nor the one that was to compute the asset last, which
conditions, freshness and Dagster's pages look at. The run of the newest event stays, too. Of others
the latest results of partitions stay without their run: conditions of assets downstream wait for
partitions that Dagster has no result of. Results of checks are in a table of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from time import monotonic
from typing import Final

import dagster as dg

from vde_dagster.core.names import PRODUCTION
from vde_dagster.core.secrets import without_secrets
from vde_dagster.orchestration._unpublished import (
    DatabaseError,
    asset_runs,
    forget_run,
    home_of,
    run_of_newest_event,
)
from vde_dagster.orchestration.clean_up_jobs import JANITOR_JOB, MAINTAIN_JOB
from vde_dagster.orchestration.home import own_home
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.metadata import AUTOMATION, ENVIRONMENT, PROJECT

MOST: Final = 20
"""How many runs are deleted at once."""
SECONDS: Final = 10.0
"""How long runs are deleted at once: a tick of a sensor has a minute."""
_PAGE: Final = 200
"""How many are read at once."""
_ENDED: Final = [
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """How many runs were deleted, and what Dagster's database said that ended it; empty if not."""

    runs: int = 0
    error: str = ""


def delete_old_runs(
    instance: dg.DagsterInstance,
    location: Location,
    after: timedelta,
    *,
    most: int = MOST,
    seconds: float = SECONDS,
) -> Deleted:
    """Delete runs of an environment that ended longer ago than this, oldest first.

    Those of production are also those about all environments. What is cut off, as by a database
    that is locked, is gone on with the next time.
    """
    gone, until = 0, monotonic() + seconds
    try:
        for each in [*islice(_old_runs(instance, location, after), most)]:
            if not forget_run(instance, each, until=until):
                break
            gone += 1
    except DatabaseError as error:
        return Deleted(runs=gone, error=_first_line(error))
    return Deleted(runs=gone)


def _first_line(error: DatabaseError) -> str:
    return without_secrets(str(error.orig)).partition("\n")[0]


def _old_runs(instance: dg.DagsterInstance, location: Location, after: timedelta) -> Iterator[str]:
    """The runs that may go, each once."""
    own = _Own.of(instance, location)
    ended, stay = datetime.now(UTC) - after, _kept(instance)
    for filters in own.filters(ended):
        for run in _found(instance, filters):
            if run.run_id not in stay and own.is_own(run.tags):
                stay.add(run.run_id)
                yield run.run_id


def _found(instance: dg.DagsterInstance, filters: dg.RunsFilter) -> Iterator[dg.DagsterRun]:
    """The runs that are searched for, oldest first, however many of them stay."""
    cursor: str | None = None
    while page := instance.get_run_records(filters, limit=_PAGE, ascending=True, cursor=cursor):
        yield from (each.dagster_run for each in page)
        cursor = page[-1].dagster_run.run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """Which runs are those of an environment.

    All have the tag of their project, but for those from before there was one. Of these only those
    of automation say whose they are; in the project's own home the others are its own, too.
    """

    project: str
    environment: str
    is_home: bool

    @staticmethod
    def of(instance: dg.DagsterInstance, location: Location) -> _Own:
        configuration = location.project.configuration
        return _Own(
            project=configuration.name,
            environment=location.environment,
            is_home=home_of(instance).resolve() == own_home(configuration).resolve(),
        )

    def filters(self, before: datetime) -> Iterator[dg.RunsFilter]:
        """What finds them."""
        of_project = {PROJECT: self.project}
        tags = [{ENVIRONMENT: self.environment}]
        if not self.is_home:
            tags = [{AUTOMATION: self._automation}, {**of_project, **tags[0]}]
        jobs = (JANITOR_JOB, MAINTAIN_JOB) if self.environment == PRODUCTION else ()
        for job, each in [
            *((None, each) for each in tags),
            *((job, {} if self.is_home else of_project) for job in jobs),
        ]:
            yield dg.RunsFilter(job_name=job, tags=each, statuses=_ENDED, updated_before=before)

    def is_own(self, tags: Mapping[str, str]) -> bool:
        """Whether a run that was found is not another project's."""
        if PROJECT in tags:
            return tags[PROJECT] == self.project
        return tags[AUTOMATION] == self._automation if AUTOMATION in tags else self.is_home

    @property
    def _automation(self) -> str:
        return f"{self.project}/{self.environment}"


def _kept(instance: dg.DagsterInstance) -> set[str]:
    """The runs that something of Dagster still needs, whoever's they are."""
    newest = run_of_newest_event(instance)
    return {*asset_runs(instance), *([newest] if newest else [])}
