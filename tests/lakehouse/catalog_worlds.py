"""A catalog in memory and one of Iceberg, with what other writers do in them."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate

from tests.kept_folder import KeptFolder
from tests.worlds.catalog import MemoryCatalog
from tests.worlds.rest_server import RestServer, rest_server
from vde_dagster.core.columns import Column
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.names import ModelName, TableName, physical_table
from vde_dagster.core.time.intervals import IntervalUnit
from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog, open_iceberg_catalog
from vde_dagster.ports.catalog import NUMBERS_OF_A_SWAP, ViewDefinition

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog
    from pyiceberg.table import Table

ID: Final = Column(name="id", type="bigint")
AT: Final = Column(name="at", type="timestamp")
EVENTS: Final = ModelName("raw", "events")
TABLE: Final = TableName("raw", "events")
STATE_ID: Final = "5" * 32
"""The id of the state that makes the views."""
ONE: Final = physical_table(ModelName("s", "one"), "1" * 32)
"""The table of a version."""

Pairs = Sequence[tuple[int, datetime]]


class MemoryWorld(MemoryCatalog):
    """A catalog in memory: others write to the same object."""

    @property
    def catalog(self) -> MemoryCatalog:
        return self

    def create(self, name: TableName) -> None:
        axis = TimeAxisSpec(column="at", type="timestamp", unit=IntervalUnit.HOUR)
        self.create_table(name, [ID, AT], partition_by=axis)

    def delete_all(self, name: TableName) -> int:
        return self.delete(name, [])

    def branch(self, name: TableName, work_id: str, snapshot: int) -> None:
        self.tables[name].branches[work_id] = snapshot

    def drop(self, name: TableName) -> None:
        self.drop_table(name)

    def add_again(self, name: TableName, column: str) -> None:
        self.replace_column(name, column)

    def lose_metadata(self, name: TableName) -> None:
        self.lost_metadata.add(name)

    def create_view(self, name: TableName) -> None:
        self.queries[name] = "SELECT 1"


class IcebergWorld:
    """Others write with pyiceberg. Its files are in ``warehouse`` of its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._database = folder / "folder" / "lake.db"
        settings = {"type": "sql", "uri": f"sqlite:///{self._database}"}
        settings["warehouse"] = f"{folder}/warehouse"
        self._tables = open_iceberg_catalog("lake", settings)
        for namespace in ("raw", "vde__s"):
            self._tables.create_namespace(namespace)

    @property
    def catalog(self) -> IcebergCatalog:
        return IcebergCatalog(self._tables, state=lambda: STATE_ID)

    def create(self, name: TableName) -> None:
        schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
        table = self._tables.create_table((name.namespace, name.name), schema)
        with table.update_spec() as spec:
            spec.add_field("at", "hour", "at_hour")

    def append(self, name: TableName, values: Pairs) -> int:
        self._load(name).append(self._rows(name, values))
        return self._head(name)

    def overwrite(self, name: TableName, values: Pairs) -> int:
        # pyiceberg splits it into a delete and an append.
        self._load(name).overwrite(self._rows(name, values))
        return self._head(name)

    def delete_all(self, name: TableName) -> int:
        self._load(name).delete("id >= 0")
        return self._head(name)

    def compact(self, name: TableName) -> int:
        compact(self._tables, self._load(name))
        return self._head(name)

    def roll_back(self, name: TableName, snapshot: int) -> None:
        self._load(name).manage_snapshots().rollback_to_snapshot(snapshot).commit()

    def branch(self, name: TableName, work_id: str, snapshot: int) -> None:
        self._load(name).manage_snapshots().create_branch(snapshot, f"w_{work_id}").commit()

    def expire(self, name: TableName) -> None:
        self._load(name).maintenance.expire_snapshots().older_than(datetime.now(UTC)).commit()

    def lose_file(self, name: TableName) -> str:
        """Delete the data file that the last append wrote; its path."""
        table = self._load(name)
        snapshot = table.current_snapshot()
        assert snapshot is not None
        (path,) = (
            entry.data_file.file_path
            for manifest in snapshot.manifests(table.io)
            if manifest.added_snapshot_id == snapshot.snapshot_id
            for entry in manifest.fetch_manifest_entry(table.io)
        )
        Path(path.removeprefix("file://")).unlink()
        return str(path)

    def drop(self, name: TableName) -> None:
        self._tables.drop_table((name.namespace, name.name))

    def set_property(self, name: TableName, key: str, value: str) -> None:
        with self._load(name).transaction() as transaction:
            transaction.set_properties({key: value})

    def add_again(self, name: TableName, column: str) -> None:
        """Drop a column, and add another one of its name and type; nothing is written."""
        found = self._load(name).schema().find_field(column).field_type
        with self._load(name).update_schema(allow_incompatible_changes=True) as update:
            update.delete_column(column)
        with self._load(name).update_schema() as update:
            update.add_column(column, found)

    def rename_column(self, name: TableName, column: str, new: str) -> None:
        with self._load(name).update_schema() as update:
            update.rename_column(column, new)

    def drop_column(self, name: TableName, column: str) -> None:
        with self._load(name).update_schema(allow_incompatible_changes=True) as update:
            update.delete_column(column)

    def lose_metadata(self, name: TableName) -> None:
        Path(self._load(name).metadata_location.removeprefix("file://")).unlink()

    def create_view(self, name: TableName) -> None:
        """A view as another program makes it, without this package's properties."""
        self.catalog.swap_views([ViewDefinition(name=name, target=TABLE, columns=(ID, AT))], [])
        location = self._location(name)
        metadata = json.loads(Path(location).read_text(encoding="utf-8"))
        for version in metadata["versions"]:
            version["summary"] = {}
        Path(location).write_text(json.dumps(metadata), encoding="utf-8")

    def _location(self, name: TableName) -> str:
        """The metadata file of a view."""
        with sqlite3.connect(self._database) as connection:
            (location,) = connection.execute(
                "SELECT metadata_location FROM iceberg_tables WHERE table_name = ?", (name.name,)
            ).fetchone()
        return str(location)

    def _load(self, name: TableName) -> Table:
        return self._tables.load_table((name.namespace, name.name))

    def _rows(self, name: TableName, values: Pairs) -> pa.Table:
        arrow = self._load(name).schema().as_arrow()
        return pa.Table.from_pylist([{"id": i, "at": at} for i, at in values], schema=arrow)

    def _head(self, name: TableName) -> int:
        found = self._load(name).metadata.current_snapshot_id
        assert isinstance(found, int)
        return found


World = MemoryWorld | IcebergWorld
"""A catalog, and what other writers do in it."""


class KeptIceberg:
    """A world of Iceberg that a file's tests have one after the other, each as it was made.

    Args:
        folder: Where it is.
        tables: What is created in it.
        values: The rows that each of these has.
    """

    def __init__(self, folder: Path, *tables: TableName, values: Pairs = ()) -> None:
        self.folder = folder
        self._world = IcebergWorld(folder)
        for name in tables:
            self._world.create(name)
            if values:
                self._world.append(name, values)
        self._kept = KeptFolder.of(folder)

    def put_back(self) -> IcebergWorld:
        """The world as it was made."""
        self._kept.put_back()
        return self._world


class NumberedCatalog(IcebergCatalog):
    """A REST catalog where each swap has a number, as those have that a state gives.

    Args:
        catalog: As pyiceberg opened it.
        numbers: They rise.
    """

    def __init__(self, catalog: PyIcebergCatalog, numbers: Iterator[int]) -> None:
        super().__init__(catalog, state=lambda: STATE_ID)
        self._numbers = numbers

    def swap_views(
        self,
        views: Sequence[ViewDefinition],
        drops: Sequence[TableName],
        *,
        number: int = 0,
        again: bool = False,
    ) -> None:
        """The number is the next one, if none is given."""
        own = number or next(self._numbers)
        super().swap_views(views, drops, number=own, again=again)


class RestWorld(IcebergWorld):
    """A REST catalog, in which others write with pyiceberg, too."""

    def __init__(self, server: RestServer) -> None:
        self.server = server
        self.folder = server.folder
        self._numbers = itertools.count(NUMBERS_OF_A_SWAP, NUMBERS_OF_A_SWAP)
        self._tables = open_iceberg_catalog("lake", server.properties)
        for namespace in ("raw", "vde__s"):
            self._tables.create_namespace(namespace)

    @property
    def catalog(self) -> NumberedCatalog:
        return NumberedCatalog(self._tables, self._numbers)

    def create_view(self, name: TableName) -> None:
        self.catalog.swap_views([ViewDefinition(name=name, target=TABLE, columns=(ID, AT))], [])
        self.server.views[name.namespace, name.name].metadata["properties"].clear()


@contextmanager
def world_of(kind: str, folder: Path) -> Iterator[World]:
    """A world in a folder: in ``memory``, of ``iceberg`` in SQLite, or behind ``rest``."""
    match kind:
        case "memory":
            yield MemoryWorld()
        case "iceberg":
            yield IcebergWorld(folder)
        case "rest":
            with rest_server(folder) as server:
                yield RestWorld(server)
        case _:
            raise ValueError(kind)


KEPT: Final = pytest.param("kept", id="iceberg")
"""A parameter of fixtures: the fixture `kept` is a `KeptIceberg`."""


@contextmanager
def opened(
    request: pytest.FixtureRequest, folder: Path, *tables: TableName, values: Pairs = ()
) -> Iterator[World]:
    """The world that a fixture's parameter names, with these tables of these rows."""
    from tests.lakehouse.postgres_worlds import postgres_world

    if request.param == "kept":
        kept: KeptIceberg = request.getfixturevalue("kept")
        yield kept.put_back()
        return
    world: AbstractContextManager[World] = (
        postgres_world(request.getfixturevalue("postgres"), folder)
        if request.param == "postgres"
        else world_of(request.param, folder)
    )
    with world as found:
        for name in tables:
            found.create(name)
            if values:
                found.append(name, values)
        yield found


def fail(
    server: RestServer,
    error: Exception,
    *,
    methods: Sequence[str] = (),
    part: str = "",
    end: str = "",
    times: int = 1_000_000,
    after: bool = False,
) -> list[str]:
    """Let some requests fail, before or after they are done: the paths of those that did.

    They have one of the methods, if any is named, and a path with the part and the end.
    """
    failed: list[str] = []

    def hook(method: str, path: str) -> None:
        is_meant = (not methods or method in methods) and part in path and path.endswith(end)
        if is_meant and len(failed) < times:
            failed.append(path)
            raise error

    setattr(server, "after" if after else "before", hook)
    return failed


def compact(catalog: PyIcebergCatalog, table: Table) -> None:
    """Commit a replacement of files by equal ones, as a rewrite does, without totals of rows.

    Iceberg's specification lets writers leave them out (*Optional Snapshot Summary Fields*).
    """
    before = table.metadata.current_snapshot()
    assert before is not None
    assert isinstance(table.metadata, TableMetadataV2)
    fields = {
        "snapshot_id": table.metadata.new_snapshot_id(),
        "parent_snapshot_id": before.snapshot_id,
        "sequence_number": table.metadata.last_sequence_number + 1,
        "timestamp_ms": before.timestamp_ms + 1,
        "summary": Summary(Operation.REPLACE),
    }
    snapshot = before.model_copy(update=fields)
    moved = {"ref-name": "main", "type": "branch", "snapshot-id": snapshot.snapshot_id}
    updates = (
        AddSnapshotUpdate(snapshot=snapshot),
        SetSnapshotRefUpdate.model_validate(moved),
    )
    catalog.commit_table(table, (), updates)
