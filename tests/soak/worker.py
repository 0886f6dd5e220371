"""The process that a soak kills: hour by hour flights land, and sensors' runs load what is due.

It prints a line of JSON after each hour, and waits for a line after each day. Started again it goes
on with the hour that it is given.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import dagster as dg
import landing
from dagster import RunsFilter

from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.composition import VdeProject
from vde_dagster.orchestration.definitions import project_definitions
from vde_dagster.orchestration.jobs.clean_up_jobs import JANITOR_JOB, MAINTAIN_JOB

SENSOR = "vde_automation_prod"
_MOST_TICKS = 4
"""How many ticks may find work in one hour: what failed or was killed is asked for again."""
_HOURS_OF_SOURCES = 72
"""So many Iceberg snapshots of a source stay, one for each hour."""
_DAYS_OF_RUNS = 3
"""For so long Dagster keeps a run: it deletes none by itself, so a team has a job for that."""


def work(folder: Path, first: datetime, last: datetime) -> Iterator[dict[str, object]]:
    """Live through some hours: what each of them took, and how its runs ended."""
    project = VdeProject.load(folder)
    definitions = project_definitions(project, "prod")
    with dg.DagsterInstance.get() as instance:
        _bury(instance)
        now = first
        while now <= last:
            began = time.monotonic()
            landing.land(project.iceberg_catalog(), until=now)
            if project.services.state.environment("prod") is None:
                plan = plan_environment(project.services, project.files.graph, "prod")
                apply_plan(project.services, plan, lambda _: None)
            ended = [*_ticks(definitions, instance)]
            if now.hour == 0:
                ended += [
                    _ended(definitions, instance, name) for name in (JANITOR_JOB, MAINTAIN_JOB)
                ]
                _let_a_day_pass(folder, instance)
                _expire_sources(project)
            yield {"hour": now.isoformat(), "seconds": time.monotonic() - began, "runs": ended}
            now += timedelta(hours=1)


def _ticks(definitions: dg.Definitions, instance: dg.DagsterInstance) -> Iterator[str]:
    """Evaluate the sensor and run what it asks for, until it asks for nothing."""
    sensor = definitions.resolve_sensor_def(SENSOR)
    for _ in range(_MOST_TICKS):
        with dg.build_sensor_context(instance=instance, definitions=definitions) as context:
            answer = sensor.evaluate_tick(context)
        if not answer.run_requests:
            return
        for request in answer.run_requests:
            yield _ended(definitions, instance, request.job_name or "", dict(request.tags))


def _ended(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    name: str,
    tags: dict[str, str] | None = None,
) -> str:
    """How a run of a job ended: empty if it succeeded."""
    done = definitions.resolve_job_def(name).execute_in_process(
        tags=tags, instance=instance, raise_on_error=False
    )
    failures = [each.message for each in done.all_events if each.is_failure]
    return "" if done.success else f"{name}: {failures}"


def _let_a_day_pass(folder: Path, instance: dg.DagsterInstance) -> None:
    """Make all files and runs a day older, of which the wall clock has seen minutes only."""
    for each in (folder / ".vde" / "warehouse").rglob("*"):
        if each.is_file():
            written = each.stat().st_mtime - timedelta(days=1).total_seconds()
            os.utime(each, (written, written))
    days = folder / ".vde" / "days.txt"
    with days.open("a+") as file:
        file.write(f"{datetime.now(UTC).timestamp()}\n")
        file.seek(0)
        *_, old = [None, *file.read().split()[:-_DAYS_OF_RUNS]]
    if old is not None:
        before = datetime.fromtimestamp(float(old), UTC)
        for run in instance.get_runs(RunsFilter(created_before=before)):
            instance.delete_run(run.run_id)
            # Dagster's SQLite storage leaves the file of a run's events
            events = Path(instance.root_directory) / "history" / "runs" / f"{run.run_id}.db"
            events.unlink(missing_ok=True)


def _expire_sources(project: VdeProject) -> None:
    """Let old Iceberg snapshots of the sources go, as who owns them does."""
    catalog = project.iceberg_catalog()
    for name in catalog.list_tables("raw"):
        table = catalog.load_table(name)
        ids = [each.snapshot_id for each in table.metadata.snapshots]
        if len(ids) > _HOURS_OF_SOURCES:
            expiry = table.maintenance.expire_snapshots()
            expiry.by_ids(ids[:-_HOURS_OF_SOURCES]).commit()


def _bury(instance: dg.DagsterInstance) -> None:
    """Say of runs whose process is gone that they failed, as Dagster's run monitoring does."""
    for run in instance.get_runs():
        if not run.is_finished:
            instance.report_run_failed(run)


def main() -> None:
    """Arguments: the project's folder, and the first and the last hour."""
    logging.disable(logging.CRITICAL)
    told = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what others print is no answer
    landing._feeds = cache(landing._feeds)  # each hour lands of the same files
    folder, first, last = sys.argv[1:]
    for each in work(Path(folder), datetime.fromisoformat(first), datetime.fromisoformat(last)):
        told.write(json.dumps(each) + "\n")
        if datetime.fromisoformat(str(each["hour"])).hour == 0:
            sys.stdin.readline()  # until the day has been compared, nothing more lands


if __name__ == "__main__":
    main()
