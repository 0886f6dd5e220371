"""A lake of its own for each test, on the one Spark session: a namespace, an engine, a catalog."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pytest

from tests.app.memory_world import DEFAULTS
from tests.lakehouse.interpreted import interpreted_in_short_form
from tests.lakehouse.kinds.worlds import World, Worlds, worlds_in_memory, worlds_on_spark
from tests.worlds.clock import ManualClock
from tests.worlds.ids import CountingIds
from tests.worlds.state import memory_state
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.ledger.unit_of_work import (
    PythonRows,
    RowSource,
    SqlRows,
    Staged,
    Staging,
)
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import ReplaceTable, Write
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import EPOCH, Interval
from vde_dagster.project.model_files import external_source, read_model

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession
    from sqlalchemy import Engine

    from tests.conftest import SparkLake
    from tests.lakehouse.catalog_worlds import IcebergWorld, MemoryWorld, RestWorld
    from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog
    from vde_dagster.lakehouse.staging.spark_engine import SparkEngine

NOW = datetime(2024, 1, 3, tzinfo=UTC)
DAY = Interval(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC))
WHOLE = ReplaceTable(interval=Interval(EPOCH, NOW))
COMPILED: Final = {
    "test_native.py",
    "test_observed.py",
    "test_faults.py",
    "test_jobs.py",
    "test_session.py",
    "test_own_session.py",
}
"""Files about how Spark runs queries, and about its settings."""
MANY_QUERIES: Final = {"test_spark_pairs.py", "test_spark_examples.py"}
"""Files with hundreds of queries, which Spark plans once."""


@pytest.fixture(scope="module", name="spark")
def _interpreted(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """The session: in the short form it interprets its queries, of which each has a few rows."""
    if request.path.name in COMPILED:
        yield spark
        return
    adaptive = request.path.name not in MANY_QUERIES
    with interpreted_in_short_form(spark, adaptive=adaptive) as found:
        yield found


def python_rows(source: str, **more: Any) -> PythonRows:
    """What the function `run` of a model's text returns for the day."""
    rows = PythonRows(
        source=source, function="run", path="models/x.py", interval=DAY, execution_time=NOW
    )
    return replace(rows, **more)


@dataclass(kw_only=True)
class Lake:
    """The adapters of one test. ``schema`` is a name that no other test has."""

    spark: SparkSession
    iceberg: PyIcebergCatalog
    catalog: IcebergCatalog
    engine: SparkEngine
    schema: str

    def __post_init__(self) -> None:
        self.clock = ManualClock(NOW)
        self.state = memory_state(self.clock)
        self.ids = CountingIds()

    @property
    def key(self) -> VersionKey:
        """A version of a model that is written without a project."""
        return VersionKey(ModelName(self.schema, "alone"), "0" * 32)

    @property
    def _world(self) -> World:
        return World(
            catalog=self.catalog,
            engine=self.engine,
            types={},
            storage=Storage(),
            key=self.key,
            iceberg=self.iceberg,
        )

    def staging(self, *rows: RowSource | str, write: Write = WHOLE, **more: Any) -> Staging:
        """A unit of work on that version's table as it is now; a text is a query."""
        parts = [
            self._world.part(SqlRows(sql=each) if isinstance(each, str) else each, write)
            for each in rows
        ]
        return self._world.staging(*parts, **more)

    def publish(self, *rows: RowSource | str, **more: Any) -> Staged:
        """Stage one unit of work, and publish it."""
        return self._world.publish(self.staging(*rows, **more))

    def table(self, name: TableName | None = None) -> Table:
        """A table's metadata as it is now; that of the version that is written alone."""
        found = name or self.key.table
        return self.iceberg.load_table((found.namespace, found.name))

    def files(self) -> list[str]:
        """The paths of the data files of the table that is written alone."""
        tasks = self.table().scan().plan_files()
        return [task.file.file_path.removeprefix("file:") for task in tasks]

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """What a query returns; ``{own}`` is the table that is written alone."""
        _, found = self.engine.fetch(sql.format(own=self.key.table), limit=1000)
        return [tuple(each) for each in found]

    def services(self) -> Services:
        """What one process of a project works with."""
        return Services(
            state=self.state,
            catalog=self.catalog,
            engine=self.engine,
            clock=self.clock,
            ids=self.ids,
        )

    def source(self, name: str, **columns: pa.Array) -> ModelName:
        """A table that others wrote without Spark, with the rows of these columns."""
        rows = pa.table(columns)
        self.iceberg.create_namespace_if_not_exists(self.schema)
        self.iceberg.create_table((self.schema, name), rows.schema).append(rows)
        return ModelName(self.schema, name)

    def graph(self, sources: Mapping[str, Mapping[str, str]], **texts: str) -> Graph:
        """A project: models by their files' names, over sources with these columns."""
        return graph_of(self.schema, sources, texts)


def graph_of(
    schema: str,
    sources: Mapping[str, Mapping[str, str]],
    texts: Mapping[str, str],
    attachments: Mapping[str, Mapping[str, str]] | None = None,
) -> Graph:
    """A project in a schema: models by their files' names, over sources with these columns.

    ``attachments`` are what belongs to a model, such as the file of a seed.
    """
    place = Place(path=Path("external_models.yaml"))
    read = [
        external_source(ModelName(schema, name), dict(columns), place=place, defaults=DEFAULTS)
        for name, columns in sources.items()
    ]
    for name, text in texts.items():
        source = ModelSource(
            path=Path(f"models/{name}.{'py' if text.startswith('from') else 'sql'}"),
            text=text.replace("{s}", schema),
            defaults=DEFAULTS.as_texts(),
            attachments=(attachments or {}).get(name, {}),
        )
        read.append(source)
    return build_graph(map(read_model, read))


@pytest.fixture
def lake(spark: SparkSession, spark_lake: SparkLake) -> Lake:
    from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog
    from vde_dagster.lakehouse.staging.spark_engine import SparkEngine

    iceberg = spark_lake.iceberg()
    return Lake(
        spark=spark,
        iceberg=iceberg,
        catalog=IcebergCatalog(iceberg),
        engine=SparkEngine(lambda: spark, spark_lake.catalog, lambda: iceberg),
        schema=f"m{uuid.uuid4().hex[:10]}",
    )


@pytest.fixture
def on_spark(spark: SparkSession, spark_lake: SparkLake) -> Worlds:
    """Spark and Iceberg, for tables that each write is tried on."""
    return worlds_on_spark(spark, spark_lake)


@pytest.fixture(params=["memory", pytest.param("spark", marks=pytest.mark.spark)])
def worlds(request: pytest.FixtureRequest) -> Worlds:
    """The adapters in memory, and those of Spark and Iceberg."""
    if request.param == "memory":
        return worlds_in_memory()
    found: Worlds = request.getfixturevalue("on_spark")
    return found


@pytest.fixture(scope="module")
def postgres(postgres_server: str) -> Iterator[Engine]:
    """A database for the catalogs of a file's tests, one after the other."""
    from tests.lakehouse.postgres_worlds import postgres_database

    with postgres_database(postgres_server) as engine:
        yield engine


@pytest.fixture
def iceberg(tmp_path: Path) -> IcebergWorld:
    """A catalog of Iceberg with the table `ONE` of `catalog_worlds`, in a folder of this test."""
    from tests.lakehouse.catalog_worlds import ONE, IcebergWorld

    found = IcebergWorld(tmp_path)
    found.create(ONE)
    return found


@pytest.fixture
def rest(tmp_path: Path) -> Iterator[RestWorld]:
    """A catalog behind a server, with a table of somebody's and one of a version."""
    from tests.lakehouse.catalog_worlds import ONE, TABLE, RestWorld, world_of

    with world_of("rest", tmp_path) as found:
        assert isinstance(found, RestWorld)
        for name in (TABLE, ONE):
            found.create(name)
        yield found


@pytest.fixture(params=["memory", "iceberg"])
def world(request: pytest.FixtureRequest) -> IcebergWorld | MemoryWorld:
    """The same, and one in memory."""
    from tests.lakehouse.catalog_worlds import ONE, MemoryWorld

    if request.param == "iceberg":
        on_disk: IcebergWorld = request.getfixturevalue("iceberg")
        return on_disk
    found = MemoryWorld()
    found.create(ONE)
    return found
