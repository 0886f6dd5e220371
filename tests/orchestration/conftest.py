"""A tiny project on the shared JVM: one source, an hourly model with late data, a day, a view."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest

from tests.kept_folder import KeptFolder
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.composition import VdeProject
from vde_dagster.core.planning.plan import Plan
from vde_dagster.orchestration.definitions import project_definitions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2024, 1, 1, tzinfo=UTC)

CONFIGURATION = """\
name: sample
catalog:
  name: {catalog}
defaults:
  start: 2024-01-01
clock:
  valid_to: [raw.events]
"""
SOURCES = """\
- name: raw.events
  columns:
    id: bigint
    happened: timestamp
    amount: int
    landed_hour: int
"""
EVENTS = """\
MODEL (
  name staging.events,
  kind INCREMENTAL_BY_TIME_RANGE (time_column happened),
  cron '@hourly',
  owner 'analysts',
  description 'Events by the hour in which they happened',
  late_data (mode stateless, sources (raw.events))
);
SELECT
  id AS id, -- Number of the event
  happened AS happened, -- When it happened
  amount * 2 AS doubled -- Twice the amount
FROM raw.events
WHERE happened BETWEEN @start_dt AND @end_dt
"""
DAILY = """\
MODEL (
  name mart.daily,
  kind INCREMENTAL_BY_TIME_RANGE (time_column day),
  cron '@daily'
);
SELECT CAST(happened AS DATE) AS day, COUNT(*) AS events, SUM(doubled) AS doubled
FROM staging.events
WHERE happened BETWEEN @start_dt AND @end_dt
GROUP BY CAST(happened AS DATE)
"""
PEOPLE = """\
MODEL (name mart.people, kind VIEW);
SELECT day, events FROM mart.daily
"""


@dataclass(frozen=True)
class Sample:
    """The project, and what upstream systems and readers do."""

    folder: Path
    spark: SparkSession

    @cached_property
    def catalog(self) -> str:
        return VdeProject.load(self.folder).configuration.catalog.name

    def project(self) -> VdeProject:
        """The project as a new process would open it."""
        return VdeProject.load(self.folder)

    def land(self, *events: tuple[int, float, int], until: float) -> None:
        """Land (id, hour it happened in, amount) in one Iceberg snapshot; complete to an hour."""
        import pyarrow as pa

        catalog = self.project().iceberg_catalog()
        table = catalog.load_table("raw.events")
        rows = [
            {
                "id": number,
                "happened": START + timedelta(hours=hour),
                "amount": amount,
                "landed_hour": int(until),
            }
            for number, hour, amount in events
        ]
        with table.transaction() as change:
            if rows:
                change.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
            complete = START + timedelta(hours=until)
            change.set_properties({"vde.valid-to": complete.isoformat()})

    def write(self, path: str, text: str) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def plan(self, environment: str = "prod", project: VdeProject | None = None) -> Plan:
        opened = project or self.project()
        return plan_environment(opened.services, opened.files.graph, environment)

    def apply(self, environment: str = "prod") -> None:
        project = self.project()
        apply_plan(project.services, self.plan(environment, project), lambda _: None)

    def definitions(self, environment: str = "prod") -> dg.Definitions:
        return project_definitions(self.project(), environment)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """What a reader finds in a table or view, by Spark."""
        self.project().open_spark()
        frame = self.spark.table(f"{self.catalog}.{table}")
        return sorted(tuple(row) for row in frame.collect())


@dataclass(frozen=True)
class Kept:
    """A project that was made once in this process, and what it was at two times."""

    sample: Sample
    landed: KeptFolder
    applied: KeptFolder


@pytest.fixture(scope="session")
def _kept(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Kept:
    """A project of its own catalog in the shared JVM, with one event an hour of one day."""
    made = Sample(tmp_path_factory.mktemp("sample"), spark)
    made.write("vde.yaml", CONFIGURATION.format(catalog=f"lake_{uuid.uuid4().hex[:8]}"))
    made.write("external_models.yaml", SOURCES)
    made.write("models/staging/events.sql", EVENTS)
    made.write("models/mart/daily.sql", DAILY)
    made.write("models/mart/people.sql", PEOPLE)
    _create_source(made.project())
    made.land(*[(hour, hour + 0.5, 10 + hour) for hour in range(24)], until=24)
    landed = KeptFolder.of(made.folder)
    made.apply()
    return Kept(made, landed, KeptFolder.of(made.folder))


@pytest.fixture
def sample(_kept: Kept) -> Sample:
    """A project whose source is complete for one day, one event an hour; nothing is planned."""
    _kept.landed.put_back()
    return _kept.sample


@pytest.fixture
def applied(_kept: Kept) -> Sample:
    """The same project, in production."""
    _kept.applied.put_back()
    return _kept.sample


@pytest.fixture(scope="session")
def _new_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Dagster home as its first user leaves it: the tables are there, and nothing is in them."""
    home = tmp_path_factory.mktemp("dagster_home")
    with _instance_at(home):
        return home


@pytest.fixture
def instance(tmp_path: Path, _new_home: Path) -> Iterator[dg.DagsterInstance]:
    """An instance of this test alone."""
    home = shutil.copytree(_new_home, tmp_path / "dagster_home")
    with _instance_at(home) as made:
        yield made


def _instance_at(home: Path) -> dg.DagsterInstance:
    settings = {
        "telemetry": {"enabled": False},
        # By default each run has a database of its own, which takes as long to make as a short run.
        "event_log_storage": {
            "module": "dagster._core.storage.event_log",
            "class": "ConsolidatedSqliteEventLogStorage",
            "config": {"base_dir": str(home / "events")},
        },
        # By default each step has two processes that copy what it prints, and two that watch them.
        "compute_logs": {
            "module": "dagster._core.storage.noop_compute_log_manager",
            "class": "NoOpComputeLogManager",
        },
    }
    return dg.DagsterInstance.local_temp(str(home), overrides=settings)


def _create_source(project: VdeProject) -> None:
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import IdentityTransform
    from pyiceberg.types import IntegerType, LongType, NestedField, TimestamptzType

    catalog = project.iceberg_catalog()
    catalog.create_namespace("raw")
    schema = Schema(
        NestedField(1, "id", LongType(), required=False),
        NestedField(2, "happened", TimestamptzType(), required=False),
        NestedField(3, "amount", IntegerType(), required=False),
        NestedField(4, "landed_hour", IntegerType(), required=False),
    )
    field = PartitionField(4, 1000, IdentityTransform(), "landed_hour")
    catalog.create_table(
        "raw.events",
        schema,
        partition_spec=PartitionSpec(field),
        properties={"format-version": "2", "vde.valid-to": START.isoformat()},
    )
