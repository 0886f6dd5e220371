"""A tiny project: one source, an hourly model with late data, a day, a view.

Tests have it in memory, and in the full form on the shared JVM, too. Those that need Spark say so.
"""

from __future__ import annotations

import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import dagster as dg
import pytest

from tests.app.memory_world import RAW, MemoryWorld, bound
from tests.app.read_models import reading_as_fits
from tests.kept_folder import KeptFolder
from tests.orchestration.automated_world import opened
from tests.orchestration.launchpad import Launchpad, Make, made_in
from tests.orchestration.served import cheaper, instance_at
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.binding import Binding
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.services import VALID_TO
from vde_dagster.composition import VdeProject
from vde_dagster.core.columns import Column
from vde_dagster.core.planning.plan import Plan
from vde_dagster.orchestration.definitions import project_definitions
from vde_dagster.orchestration.home import dagster_home

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
class Sample(ABC):
    """The project, and what upstream systems and readers do."""

    folder: Path

    @cached_property
    def catalog(self) -> str:
        return VdeProject.load(self.folder).configuration.catalog.name

    @property
    def spark(self) -> SparkSession:
        raise NotImplementedError("there is none in memory")

    @abstractmethod
    def project(self) -> VdeProject:
        """The project as a new process would open it."""

    @abstractmethod
    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """What a reader finds in a table or view."""

    @abstractmethod
    def delete_event(self, number: int) -> None:
        """Somebody takes an event out of the source."""

    def land(self, *events: tuple[int, float, int], until: float) -> None:
        """Land (id, hour it happened in, amount) in one Iceberg snapshot; complete to an hour."""
        rows = [
            {
                "id": number,
                "happened": START + timedelta(hours=hour),
                "amount": amount,
                "landed_hour": int(until),
            }
            for number, hour, amount in events
        ]
        self._land(rows, START + timedelta(hours=until))

    @abstractmethod
    def _land(self, rows: list[dict[str, Any]], complete: datetime) -> None: ...

    def write(self, path: str, text: str) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a part of a file."""
        text = (self.folder / path).read_text("utf-8")
        assert old in text, text
        self.write(path, text.replace(old, new))

    def configure(self, settings: str) -> None:
        """Add to the project's settings."""
        self.write("vde.yaml", (self.folder / "vde.yaml").read_text("utf-8") + settings)

    def bound(self, environment: str = "prod") -> Binding:
        """What an environment runs."""
        return bound(self.project().services, environment)

    def plan(self, environment: str = "prod", project: VdeProject | None = None) -> Plan:
        opened = project or self.project()
        return plan_environment(opened.services, opened.files.graph, environment)

    def apply(self, environment: str = "prod") -> None:
        project = self.project()
        apply_plan(project.services, self.plan(environment, project), lambda _: None)

    def definitions(self, environment: str = "prod") -> dg.Definitions:
        return project_definitions(self.project(), environment)


@dataclass(frozen=True)
class OnSpark(Sample):
    """Its catalog is real, and its engine is the shared session."""

    session: SparkSession

    @property
    def spark(self) -> SparkSession:
        return self.session

    def project(self) -> VdeProject:
        return VdeProject.load(self.folder)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        self.project().open_spark()
        frame = self.spark.table(f"{self.catalog}.{table}")
        return sorted(tuple(row) for row in frame.collect())

    def delete_event(self, number: int) -> None:
        self.project().iceberg_catalog().load_table("raw.events").delete(f"id = {number}")

    def _land(self, rows: list[dict[str, Any]], complete: datetime) -> None:
        import pyarrow as pa

        table = self.project().iceberg_catalog().load_table("raw.events")
        with table.transaction() as change:
            if rows:
                change.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
            change.set_properties({VALID_TO: complete.isoformat()})


@dataclass(frozen=True)
class InMemory(Sample):
    """Its state, catalog and engine are in memory."""

    world: MemoryWorld

    def project(self) -> VdeProject:
        return opened(self.folder, self.world)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        return self.world.rows(table)

    def delete_event(self, number: int) -> None:
        table = self.world.catalog.tables[RAW]
        kept = [each for each in table.rows_at(table.head) if each[0] != number]
        self.world.catalog.delete(RAW, kept)

    def _land(self, rows: list[dict[str, Any]], complete: datetime) -> None:
        if rows:
            self.world.catalog.append(RAW, [tuple(each.values()) for each in rows])
        self.world.catalog.set_property(RAW, VALID_TO, complete.isoformat())


@dataclass(frozen=True)
class Kept:
    """A project that was made once in this process, and what it was at two times."""

    landed: Callable[[], Sample]
    applied: Callable[[], Sample]


def _write_files(made: Sample, catalog: str) -> None:
    made.write("vde.yaml", CONFIGURATION.format(catalog=catalog))
    made.write("external_models.yaml", SOURCES)
    made.write("models/staging/events.sql", EVENTS)
    made.write("models/mart/daily.sql", DAILY)
    made.write("models/mart/people.sql", PEOPLE)


def _land_one_day(made: Sample) -> None:
    made.land(*[(hour, hour + 0.5, 10 + hour) for hour in range(24)], until=24)


@pytest.fixture(autouse=True)
def models_are_read_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """What worlds in memory read from their states; see `reading_as_fits`."""
    with reading_as_fits(request):
        yield


@pytest.fixture(scope="session")
def _kept_on_spark(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Kept:
    """A project of its own catalog in the shared JVM, with one event an hour of one day."""
    made = OnSpark(tmp_path_factory.mktemp("sample"), spark)
    _write_files(made, f"lake_{uuid.uuid4().hex[:8]}")
    _create_source(made.project())
    _make_home(made)
    _land_one_day(made)
    landed = KeptFolder.of(made.folder)
    made.apply()
    applied = KeptFolder.of(made.folder)
    return Kept(
        lambda: OnSpark(landed.put_back(), spark), lambda: OnSpark(applied.put_back(), spark)
    )


@pytest.fixture(scope="session")
def _kept_in_memory(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """The same files and rows, in memory."""
    made = InMemory(tmp_path_factory.mktemp("sample"), MemoryWorld())
    _write_files(made, "lake")
    columns = [("id", "bigint"), ("happened", "timestamp"), ("amount", "int")]
    columns.append(("landed_hour", "int"))
    made.world.catalog.drop_table(RAW)
    made.world.catalog.create_table(RAW, [Column(name=name, type=kind) for name, kind in columns])
    _make_home(made)
    _land_one_day(made)
    landed = made.world.copied()
    made.apply()
    files, applied = KeptFolder.of(made.folder), made.world  # with what was read of the models
    return Kept(
        lambda: InMemory(files.put_back(), landed.copied()),
        lambda: InMemory(files.put_back(), applied.copied()),
    )


def _make_home(made: Sample) -> None:
    """A home of Dagster in the project's folder, in which nothing was run; see `cheaper`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DAGSTER_HOME", raising=False)
        home = cheaper(dagster_home(made.project().configuration))
    with dg.DagsterInstance.from_config(str(home)):
        pass


IN_MEMORY: Final = "in memory"
ON_SPARK: Final = "on Spark"
_WHERE: Final = [IN_MEMORY, pytest.param(ON_SPARK, marks=pytest.mark.full)]

sample_on_spark: Final = pytest.mark.parametrize("sample", [ON_SPARK], indirect=True)
applied_on_spark: Final = pytest.mark.parametrize("applied", [ON_SPARK], indirect=True)
"""For tests that the short form, too, has on Spark only."""


def _kept(request: pytest.FixtureRequest) -> Kept:
    name = "_kept_on_spark" if request.param == ON_SPARK else "_kept_in_memory"
    found: Kept = request.getfixturevalue(name)
    return found


@pytest.fixture(params=_WHERE)
def sample(request: pytest.FixtureRequest) -> Sample:
    """A project whose source is complete for one day, one event an hour; nothing is planned."""
    return _kept(request).landed()


@pytest.fixture(params=_WHERE)
def applied(request: pytest.FixtureRequest) -> Sample:
    """The same project, in production."""
    return _kept(request).applied()


@pytest.fixture(scope="session")
def _new_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Dagster home as its first user leaves it: the tables are there, and nothing is in them."""
    home = tmp_path_factory.mktemp("dagster_home")
    with instance_at(home):
        return home


@pytest.fixture
def instance(tmp_path: Path, _new_home: Path) -> Iterator[dg.DagsterInstance]:
    """An instance of this test alone."""
    home = shutil.copytree(_new_home, tmp_path / "dagster_home")
    with instance_at(home) as made:
        yield made


@pytest.fixture
def own_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Projects have a home of Dagster of their own."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)


@pytest.fixture
def home(tmp_path: Path, _new_home: Path) -> Path:
    """The home of another instance of this test alone, in which nothing was run."""
    return shutil.copytree(_new_home, tmp_path / "home")


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


@pytest.fixture(scope="module")
def kept() -> dict[str, Launchpad]:
    """The projects on the launchpad that this file's tests have made already."""
    return {}


@pytest.fixture
def make(
    tmp_path_factory: pytest.TempPathFactory,
    instance: dg.DagsterInstance,
    kept: dict[str, Launchpad],
) -> Make:
    """Makes a project on the launchpad."""
    return made_in(lambda: tmp_path_factory.mktemp("project"), instance, kept)
