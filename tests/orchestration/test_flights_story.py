"""Real flights with real delays, hour by hour: what landed reaches the last mart, by itself.

In each tick an hour lands, the sensor requests a run, and the run is executed. Everything is
compared with a computation over the CSV files that knows nothing of the project. The short form has
the same chain with few rows in `test_automation`, and late flights in `tests/cli/test_demo.py`.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import expected
import landing
import pytest

from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.cli.printing import as_json
from vde_dagster.composition import VdeProject
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.orchestration.definitions import project_definitions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLE = Path(landing.__file__).parent
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TIMES = {
    "staging.departures": "scheduled_departure",
    "staging.arrivals": "scheduled_departure",
    "staging.weather": "observed_at",
    "core.flights": "scheduled_departure",
}
"""The hourly models with their time columns."""
DAILY = ("mart.airport_delays", "mart.carrier_delays")
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
SENSOR = "vde_automation_prod"
model_rows = lru_cache(maxsize=2)(expected.model_rows)


@dataclass(frozen=True)
class Told:
    """What a run reported by model: the starts of intervals that it computed, and of others."""

    computed: dict[str, set[str]] = field(default_factory=dict)
    reused: dict[str, set[str]] = field(default_factory=dict)


@dataclass
class Flights:
    """The project, as its sensor and its job see it. One JVM serves all runs."""

    folder: Path
    instance: dg.DagsterInstance

    @cached_property
    def project(self) -> VdeProject:
        return VdeProject.load(self.folder)

    @cached_property
    def definitions(self) -> dg.Definitions:
        return project_definitions(self.project, "prod")

    def land(self, until: datetime) -> None:
        landing.land(self.project.iceberg_catalog(), until=until)

    def tick(self) -> list[dg.RunRequest] | str:
        sensor = self.definitions.resolve_sensor_def(SENSOR)
        with dg.build_sensor_context(
            instance=self.instance, definitions=self.definitions
        ) as context:
            answer = sensor.evaluate_tick(context)
        return answer.skip_message or list(answer.run_requests or [])

    def run(self, request: dg.RunRequest) -> Told:
        job = self.definitions.resolve_job_def(request.job_name or "")
        result = job.execute_in_process(
            run_config=QUIET, tags=dict(request.tags), instance=self.instance
        )
        reported = Told()
        for event in result.all_events:
            if event.event_type is not dg.DagsterEventType.ASSET_MATERIALIZATION:
                continue
            made = event.step_materialization_data.materialization
            name = ".".join(made.asset_key.path[-2:])
            kind = reported.reused if made.metadata["vde/reused"].value else reported.computed
            kind.setdefault(name, set()).add(made.partition or "")
        return reported

    def loaded(self, name: str) -> list[list[object]]:
        services = self.project.services
        shown = services.state.environment("prod")
        assert shown is not None
        table = shown.snapshots[ModelName.parse(name)].key.table
        catalog, name_there = self.project.iceberg_catalog(), (table.namespace, table.name)
        if not catalog.table_exists(name_there):
            return []  # no day is whole yet
        columns = catalog.load_table(name_there).scan().to_arrow()
        return unordered(zip(*(each.to_pylist() for each in columns.columns), strict=True))


def unordered(rows: Iterable[Iterable[object]]) -> list[list[object]]:
    return sorted(([as_json(value) for value in row] for row in rows), key=str)


@pytest.fixture
def flights(tmp_path: Path, spark: SparkSession) -> Iterator[Flights]:
    folder = tmp_path / "nyc_flights"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".vde", "__pycache__"))
    with (folder / "vde.yaml").open("a", encoding="utf-8") as settings:
        settings.write(f"\ncatalog:\n  name: flights_{uuid.uuid4().hex}\n")
    home = tmp_path / "home"
    home.mkdir()
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        yield Flights(folder=folder, instance=instance)


def by_unit(rows: expected.Rows, column: str, unit: timedelta) -> dict[datetime, list[object]]:
    """The rows of each unit of time."""
    at, found = rows.columns.index(column), dict[datetime, list[object]]()
    for row in rows.rows:
        time = row[at]
        assert isinstance(time, datetime)
        start = datetime.fromtimestamp(
            time.timestamp() // unit.total_seconds() * unit.total_seconds(), UTC
        )
        found.setdefault(start, []).append(row)
    return found


def changed(name: str, before: datetime, after: datetime) -> set[datetime]:
    """The hours whose rows of an hourly model differ between two times."""
    old, new = (by_unit(model_rows(each)[name], TIMES[name], HOUR) for each in (before, after))
    return {hour for hour in old.keys() | new.keys() if old.get(hour) != new.get(hour)}


def starts(partitions: Iterable[str]) -> set[datetime]:
    return {
        datetime.strptime(each, "%Y-%m-%d-%H:%M" if len(each) > 10 else "%Y-%m-%d").replace(
            tzinfo=UTC
        )
        for each in partitions
    }


def story(flights: Flights, *, first: datetime, ticks: int) -> None:
    flights.land(first)
    services = flights.project.services
    graph = flights.project.files.graph
    apply_plan(services, plan_environment(services, graph, "prod"), lambda _: None)
    for number in range(1, ticks + 1):
        before, now = first + (number - 1) * HOUR, first + number * HOUR
        assert isinstance(flights.tick(), str), "nothing has landed"
        flights.land(now)
        planned = {str(each.name): each for each in plan_run(services, "prod").backfills}
        answer = flights.tick()
        assert isinstance(answer, list), answer
        (request,) = answer
        reported = flights.run(request)
        wanted = model_rows(now)
        for name in (*TIMES, *DAILY, "mart.punctuality"):
            is_due = now >= expected.START + DAY or name in TIMES
            rows = unordered(wanted[name].rows) if is_due else []
            assert flights.loaded(name) == rows, f"{name} at {now}"

        new = {now - HOUR}
        inputs = {name: changed(name, before, now) | new for name in TIMES if "staging" in name}
        for name, hours in inputs.items():
            assert starts(reported.computed[name]) == hours, f"{name} at {now}"
        read = set[datetime]().union(*inputs.values())
        core, kept = (
            starts(reported.computed["core.flights"]),
            starts(reported.reused.get("core.flights", ())),
        )
        assert core == read, f"core.flights at {now}"
        assert not core & kept
        assert core | kept == hours_of(planned["core.flights"].to_evaluate)
        days = {
            hour.replace(hour=0)
            for hour in changed("core.flights", before, now)
            if hour.replace(hour=0) + DAY <= now
        }
        for name in DAILY:
            computed = starts(reported.computed.get(name, ()))
            assert computed == days, f"{name} at {now}"
            looked_at = starts(reported.reused.get(name, ()))
            again = planned[name].to_evaluate if name in planned else ()
            assert computed | looked_at == days_of(again), f"{name} at {now}"
    assert flights.tick() == "prod is up to date"
    assert plan_run(services, "prod").is_up_to_date


def hours_of(ranges: Iterable[Interval]) -> set[datetime]:
    return {
        each.start + number * HOUR
        for each in ranges
        for number in range(round((each.end - each.start) / HOUR))
    }


def days_of(ranges: Iterable[Interval]) -> set[datetime]:
    return {
        each.start + number * DAY
        for each in ranges
        for number in range(round((each.end - each.start) / DAY))
    }


@pytest.mark.full
def test_late_flights_reach_the_last_mart_by_themselves(flights: Flights) -> None:
    story(flights, first=datetime(2013, 1, 1, 22, tzinfo=UTC), ticks=3)


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_late_flights_reach_the_last_mart_hour_by_hour_over_two_days(flights: Flights) -> None:
    story(flights, first=datetime(2013, 1, 1, 14, tzinfo=UTC), ticks=46)
