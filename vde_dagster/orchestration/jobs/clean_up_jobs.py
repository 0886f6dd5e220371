"""The jobs `vde_janitor` and `vde_maintain`: what these commands do, by a schedule or a person.

They are about all environments of the state, whichever one a code location serves. So every code
location has the jobs, and that of production alone has their schedules.
"""

# No `from __future__ import annotations`: pydantic reads the annotations of a config as objects.
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import dagster as dg
from pydantic import Field

from vde_dagster.app.clean_up.janitor import Cleaned, clean_up
from vde_dagster.app.clean_up.lines import (
    Line,
    cleaned_lines,
    cleaned_summary,
    look_lines,
    look_summary,
    maintenance_lines,
    maintenance_summary,
    removed_files,
)
from vde_dagster.app.clean_up.looking import look
from vde_dagster.app.clean_up.maintaining import (
    Maintenance,
    Progress,
    look_at_upkeep,
    maintain_alone,
)
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import PRODUCTION
from vde_dagster.core.planning.plan_markdown import escaped
from vde_dagster.orchestration.assets.metadata import Metadata
from vde_dagster.orchestration.assets.step_log import logged_progress
from vde_dagster.orchestration.jobs.one_step import one_step_job
from vde_dagster.orchestration.keys import EventKey, RunTag
from vde_dagster.orchestration.location import Location
from vde_dagster.ports.physical_layer import StoredFiles
from vde_dagster.ports.state import LeaseHeld

JANITOR_JOB: Final = "vde_janitor"
MAINTAIN_JOB: Final = "vde_maintain"
_JANITOR_OP: Final = "janitor"
_MAINTAIN_OP: Final = "maintain"
_CRONS: Final = {JANITOR_JOB: "0 3 * * *", MAINTAIN_JOB: "0 4 * * *"}
"""When a schedule ticks of which ``vde.yaml`` says nothing, in UTC."""
_MOST_LINES: Final = 200
"""How many lines the log and the metadata of a step list."""


class JanitorConfig(dg.Config):
    """What `vde janitor` takes."""

    dry_run: bool = Field(default=False, description="Only list the actions, and why.")


class MaintainConfig(dg.Config):
    """What `vde maintain` takes."""

    models: list[str] = Field(
        default=[],
        description="Maintain the tables and views of these models only: mart.revenue, mart.*.",
    )
    dry_run: bool = Field(default=False, description="Only list the actions, and why.")


def build_janitor_job(location: Location) -> dg.JobDefinition:
    """The job that removes expired environments and drops versions that nothing refers to."""
    return one_step_job(
        JANITOR_JOB,
        partial(_clean_up, location),
        JanitorConfig,
        step=_JANITOR_OP,
        description="Remove expired environments, and drop versions that nothing refers to, "
        "in all environments.",
        tags={RunTag.PROJECT: location.project.configuration.name},
    )


def build_maintain_job(location: Location) -> dg.JobDefinition:
    """The job that rewrites small files, and removes old Iceberg snapshots and files."""
    return one_step_job(
        MAINTAIN_JOB,
        partial(_maintain, location),
        MaintainConfig,
        step=_MAINTAIN_OP,
        description="Rewrite small files, and remove old Iceberg snapshots and files, in all "
        "environments.",
        tags={RunTag.PROJECT: location.project.configuration.name},
    )


def build_clean_up_schedules(
    location: Location, *, janitor: dg.JobDefinition, maintain: dg.JobDefinition
) -> list[dg.ScheduleDefinition]:
    """The schedules of both jobs; none but in production's code location, since one is enough.

    One whose cron is in ``vde.yaml`` runs from the start. Others are stopped at first: looking at a
    project in a UI must not start runs. A person switches them on or off in the UI.
    """
    if location.environment != PRODUCTION:
        return []
    configuration = location.project.configuration
    crons = configuration.clean_up.schedule, configuration.maintain.schedule
    return [_schedule(job, cron) for job, cron in zip((janitor, maintain), crons, strict=True)]


def _schedule(job: dg.JobDefinition, chosen: str | None) -> dg.ScheduleDefinition:
    runs = chosen is not None
    status = dg.DefaultScheduleStatus
    return dg.ScheduleDefinition(
        name=f"{job.name}_schedule",
        job=job,
        cron_schedule=chosen or _CRONS[job.name],
        execution_timezone="UTC",
        default_status=status.RUNNING if runs else status.STOPPED,
        description=job.description,
    )


def _clean_up(
    location: Location, context: dg.OpExecutionContext, config: JanitorConfig, shown: Metadata
) -> None:
    """Do what `vde janitor` does. ``shown`` grows, also if that fails.

    Raises:
        Refused: Files of what was dropped cannot be deleted; all else was done.
    """
    services, times = location.project.services, location.project.configuration.times
    if config.dry_run:
        seen = look(services, times)
        files = seen.sizes(services)
        _tell(context, shown, look_lines(seen, files), look_summary(seen, files))
        return
    with _left_to_others(context, shown):
        done = clean_up(services, times)
        _tell(context, shown, cleaned_lines(done), cleaned_summary(done))
        shown |= _cleaned(done)
        if done.failed:
            raise Refused("\n".join(each.reason for each in done.failed))


def _cleaned(done: Cleaned) -> Metadata:
    """What the janitor did, in numbers."""
    return {
        EventKey.ENVIRONMENTS_REMOVED: len(done.removed),
        EventKey.VERSIONS_DROPPED: len(done.dropped) + len(done.finished),
        EventKey.VERSIONS_MARKED: len(done.swept.marked),
        EventKey.BRANCHES_REMOVED: len(done.branches),
        EventKey.RECORDS_REMOVED: done.records,
        **_freed(each.files for each in done.dropped),
    }


def _maintain(
    location: Location, context: dg.OpExecutionContext, config: MaintainConfig, shown: Metadata
) -> None:
    """Do what `vde maintain` does. ``shown`` grows, also if that fails."""
    services, configuration = location.project.services, location.project.configuration
    times, upkeep, models = configuration.times, configuration.maintain, config.models
    if config.dry_run:
        found = look_at_upkeep(services, times, upkeep, models=models)
        lines = maintenance_lines(found, dry_run=True)
        _tell(context, shown, lines, maintenance_summary(found, dry_run=True))
        return

    def report(turn: Progress) -> None:
        if turn.done is not None and turn.done.is_changed:
            name = turn.target.stored.name
            context.log.info(f"{turn.number:,} of {turn.count:,}: {name} is maintained")

    with _left_to_others(context, shown):
        with logged_progress(context.log, services.engine.progress):
            found = maintain_alone(services, times, upkeep, models=models, report=report)
        _tell(context, shown, maintenance_lines(found), maintenance_summary(found))
        shown |= _maintained(found)


def _maintained(found: Maintenance) -> Metadata:
    """What was done to tables and views, in numbers."""
    compacted = [each.compacted for each in found.done if each.compacted is not None]
    return {
        EventKey.TABLES_CHANGED: sum(each.is_changed for each in found.done),
        EventKey.TABLES_LEFT: len(found.left) + len(found.busy),
        EventKey.FILES_REWRITTEN: sum(each.files for each in compacted),
        EventKey.SNAPSHOTS_EXPIRED: sum(len(each.expired) for each in found.done),
        **_freed(removed_files(found)),
    }


def _freed(files: Iterable[StoredFiles]) -> Metadata:
    every = [*files]
    return {
        EventKey.FILES_REMOVED: sum(each.count for each in every),
        EventKey.BYTES_REMOVED: sum(each.size for each in every),
    }


@contextmanager
def _left_to_others(context: dg.OpExecutionContext, shown: Metadata) -> Iterator[None]:
    """End without work where another process does it, perhaps for other models."""
    try:
        yield
    except LeaseHeld as error:
        reason = f"nothing was done, since another process is working on it: {error.message}"
        shown[EventKey.REASON] = reason
        context.log.info(reason)


def _tell(
    context: dg.OpExecutionContext, shown: Metadata, lines: Iterable[Line], summary: str
) -> None:
    """Put what was done into the log of a step, and into its metadata."""
    listed = [*lines]
    more = len(listed) - _MOST_LINES
    rest = [f"and {more:,} more"] if more > 0 else []
    told, rows = [], []
    for line in listed[:_MOST_LINES]:
        size = f" ({line.size})" if line.size else ""
        told.append(f"{line.what} {line.name}: {line.why}{size}")
        rows.append(f"| {line.what} | `{line.name}` | {escaped(line.why)} | {line.size} |")
    context.log.info("\n".join([*told, *rest, summary]))
    table = ["| | what | why | size |", "| --- | --- | --- | --- |", *rows, ""] if rows else []
    shown[EventKey.CLEANED] = dg.MetadataValue.md("\n".join([*table, *rest, summary]))
