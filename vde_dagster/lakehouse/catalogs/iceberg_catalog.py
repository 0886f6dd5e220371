"""The Iceberg catalog on pyiceberg: tables, views, publishing and history, without a JVM."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchPropertyException
from pyiceberg.utils.config import Config
from sqlalchemy import Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused, SetupError
from vde_dagster.core.faults import Fault, fault_of
from vde_dagster.core.ledger.damage import LostMetadata, TableHead
from vde_dagster.core.ledger.earlier_schemas import PresentColumn
from vde_dagster.core.ledger.late.history import SourceHistory
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import EPOCH
from vde_dagster.lakehouse.catalogs.catalog_properties import (
    ADDRESSES,
    refuse_without_views,
    wrong_address,
)
from vde_dagster.lakehouse.catalogs.views import SqlViews
from vde_dagster.lakehouse.iceberg import evolution
from vde_dagster.lakehouse.iceberg import publish as publishing
from vde_dagster.lakehouse.iceberg.arrow_rows import arrow_rows, weight
from vde_dagster.lakehouse.iceberg.iceberg_types import columns_of, schemas_of
from vde_dagster.lakehouse.iceberg.row_changes import earliest, latest, line, row_changes
from vde_dagster.lakehouse.iceberg.source_changes import origin, source_history
from vde_dagster.lakehouse.iceberg.table_heads import rest_table_heads, table_head
from vde_dagster.lakehouse.iceberg.view_metadata import MetadataFiles, NewestFiles
from vde_dagster.lakehouse.upkeep.maintenance import IcebergMaintenance, in_catalog
from vde_dagster.lakehouse.upkeep.physical_layer import SqlPhysicalLayer
from vde_dagster.lakehouse.upkeep.reachable import Folder, missing_files
from vde_dagster.ports.catalog import RowChange, TableState, ViewDefinition
from vde_dagster.ports.engine import ArrowRows, TableRows
from vde_dagster.ports.physical_layer import StoredFiles, StoredTable
from vde_dagster.runtime.spans import spent_on

if TYPE_CHECKING:
    from pyiceberg.catalog.rest import RestCatalog

    from vde_dagster.lakehouse.catalogs.rest_views import RestViews
    from vde_dagster.lakehouse.upkeep.rest_physical_layer import RestPhysicalLayer

LOCK_TIMEOUT_SECONDS = 60
_OPEN_ATTEMPTS = 5
_LOADING: Final = "snapshot-loading-mode"


def open_iceberg_catalog(name: str, properties: Mapping[str, str]) -> PyIcebergCatalog:
    """Open a catalog as pyiceberg knows it, ready to be used by several processes concurrently.

    For a SQLite file, missing folders (its own, the warehouse) and the catalog's tables are
    created, writers wait up to 60 s for each other, and readers never wait.

    Args:
        name: The catalog's name. It is a key in a SQL catalog: Spark must use the same one.
        properties: pyiceberg's own (``type``, ``uri``, ``warehouse``, ...).

    Raises:
        SetupError: The catalog cannot be opened, has no place for tables, has no views in
            pyiceberg, or leaves Iceberg snapshots out of tables.
    """
    refuse_without_views(name, properties)
    _refuse_without_warehouse(name, properties)
    for attempt in range(1, _OPEN_ATTEMPTS + 1):
        try:
            return _patient(_with_histories(load_catalog(name, **_with_file(name, properties))))
        except DBAPIError as error:  # another process is creating the same tables right now
            found = fault_of(error)
            is_busy = found is None or found.fault is Fault.LOCKED
            if not is_busy or attempt == _OPEN_ATTEMPTS:
                said = error.orig if found is None else found.message
                what = f"the catalog {name!r} cannot be opened: {said}"
                advice = ADDRESSES if found is None else found.advice
                raise SetupError(what, advice=advice) from error
            time.sleep(0.1 * attempt)
        except (ValueError, OSError, ArgumentError, NoSuchPropertyException) as error:
            wrong = wrong_address(type(error).__name__, str(error))
            if wrong is None:
                raise
            what = f"the catalog {name!r} cannot be opened: {wrong}"
            raise SetupError(what, advice=ADDRESSES) from error
    raise AssertionError("the loop returns or raises")


def _refuse_without_warehouse(name: str, properties: Mapping[str, str]) -> None:
    """Refuse a catalog in a database that does not say where its tables are, before it is made.

    Raises:
        SetupError: It does not, nor do pyiceberg's own settings.
    """
    known = {**(Config().get_catalog_config(name) or {}), **properties}
    if str(known.get("uri")).startswith(("sqlite", "postgresql")) and not known.get("warehouse"):
        raise SetupError(
            f"the catalog {name!r} has no `warehouse` for its tables",
            advice="write it under `catalog.properties` of vde.yaml: an address such as "
            "s3://bucket/folder, or a folder.",
        )


def _with_histories(catalog: PyIcebergCatalog) -> PyIcebergCatalog:
    """Refuse a catalog that leaves Iceberg snapshots out of tables: late data would not be seen.

    Raises:
        SetupError: It does, as its properties or its server say.
    """
    mode = str(catalog.properties.get(_LOADING, "all")).lower()
    if mode != "all":
        raise SetupError(
            f"the catalog {catalog.name!r} loads tables without their earlier Iceberg snapshots "
            f"(`{_LOADING}: {mode}`), so changes in them could not be found",
            advice=f"remove `{_LOADING}` from `catalog.properties`, or from the configuration "
            "that the server sends.",
        )
    return catalog


def _patient(catalog: PyIcebergCatalog) -> PyIcebergCatalog:
    """Let a REST catalog wait where its server says that it is asked too often."""
    rest = publishing.as_rest(catalog)
    if rest is not None:
        from vde_dagster.lakehouse.catalogs.asked_too_often import wait_where_asked_too_often

        wait_where_asked_too_often(rest._session)  # noqa: SLF001 - it is not published
    return catalog


def _with_file(name: str, properties: Mapping[str, str]) -> Mapping[str, str]:
    """Make the file and folders of a catalog in SQLite, and let its writers wait for each other.

    Raises:
        SetupError: They cannot be made, or the file is not a database.
    """
    uri = properties.get("uri", "")
    if not uri.startswith("sqlite:"):
        return properties
    url = make_url(uri)
    warehouse = properties.get("warehouse", "").removeprefix("file://").removeprefix("file:")
    try:
        if warehouse.startswith("/"):
            Path(warehouse).mkdir(parents=True, exist_ok=True)
        if url.database and not url.database.startswith((":memory:", "file:")):
            _make_database(Path(url.database))
    except (OSError, ValueError, sqlite3.Error) as error:
        what = f"the catalog {name!r} cannot be opened in {url.database}: {error}"
        raise SetupError(what, advice=ADDRESSES) from error
    if "timeout" not in url.query:
        url = url.update_query_dict({"timeout": str(LOCK_TIMEOUT_SECONDS)})
    return {**properties, "uri": url.render_as_string(hide_password=False)}


def _make_database(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.touch(0o600)  # only its owner may read what will be in it
    with (
        closing(sqlite3.connect(file, timeout=LOCK_TIMEOUT_SECONDS)) as connection,
        suppress(sqlite3.OperationalError),  # somebody writes, who set the mode
    ):
        connection.execute("PRAGMA journal_mode=WAL")  # kept in the file


@spent_on("catalog")
class IcebergCatalog(IcebergMaintenance):
    """Implements `vde_dagster.ports.catalog.Catalog` over pyiceberg.

    Args:
        catalog: From `open_iceberg_catalog`.
        engine: The database of a SQL catalog; None takes it from ``catalog``. Of the others, a REST
            catalog has views that are swapped one by one; the rest have none that we can swap.
        state: Gives the id of the state, which the views that it makes carry; empty for none.
    """

    def __init__(
        self,
        catalog: PyIcebergCatalog,
        engine: Engine | None = None,
        *,
        state: Callable[[], str] = str,
    ) -> None:
        self._catalog = catalog
        database = engine if engine is not None else getattr(catalog, "engine", None)
        self._views: SqlViews | RestViews | None = None
        files = MetadataFiles(catalog)
        self._heads = NewestFiles(files, lambda _, metadata: table_head(metadata))
        self._layer: SqlPhysicalLayer | RestPhysicalLayer | None = None
        if isinstance(database, Engine):
            self._views = SqlViews(catalog, database, state)
            self._layer = SqlPhysicalLayer(catalog, database)
        elif (rest := publishing.as_rest(catalog)) is not None:
            from vde_dagster.lakehouse.catalogs.rest_views import RestViews
            from vde_dagster.lakehouse.upkeep.rest_physical_layer import RestPhysicalLayer

            self._views = RestViews(rest, state)
            self._layer = RestPhysicalLayer(rest)

    @property
    def swaps_at_once(self) -> bool:
        """Whether `swap_views` changes all views in one transaction: a SQL catalog does."""
        return self._views is None or isinstance(self._views, SqlViews)

    def table(self, name: TableName) -> TableState | None:
        """The current state of a table; None where there is none of this name."""
        table = self._load(name)
        if table is None:
            return None
        snapshot = table.metadata.current_snapshot()
        return TableState(
            name=name,
            uuid=str(table.metadata.table_uuid),
            iceberg_snapshot_id=None if snapshot is None else snapshot.snapshot_id,
            columns=columns_of(table.schema()),
            properties=dict(table.metadata.properties),
            rows_of=None if snapshot is None else origin(table, snapshot.snapshot_id),
            partition_columns=tuple(
                table.schema().find_column_name(each.source_id) or ""
                for each in table.spec().fields
            ),
            schemas=schemas_of(table),
            changed_at=EPOCH + timedelta(milliseconds=table.metadata.last_updated_ms),
        )

    def table_heads(
        self, names: Collection[TableName]
    ) -> Mapping[TableName, TableHead | LostMetadata]:
        """The current state of those of these names that are tables; see the port."""
        views = self._known_views()
        if isinstance(views, SqlViews):
            tables = views.tables(names)
            heads = self._heads.of(tables)
            return {name: heads.get(name) or LostMetadata(file=at) for name, at in tables.items()}
        return rest_table_heads(cast("RestCatalog", self._catalog), names)

    def view(self, name: TableName) -> ViewDefinition | None:
        """A view that `swap_views` made; None where there is none of this name."""
        return self.views([name]).get(name)

    def views(self, names: Collection[TableName]) -> Mapping[TableName, ViewDefinition]:
        """The views among these names that `swap_views` made."""
        return self._known_views().views(names)

    def view_query(self, name: TableName) -> tuple[str, tuple[Column, ...]] | None:
        """The query of a view that an engine created, and its columns; see the port."""
        return self._known_views().query(name)

    def present(self, names: Collection[TableName]) -> Collection[TableName]:
        """Those of these names that are tables or views, of any program."""
        return self._known_views().present(names)

    def taken(self, names: Collection[TableName]) -> Collection[TableName]:
        """Those of these names that are tables or views that `swap_views` did not make."""
        return self._known_views().taken(names)

    def swap_views(
        self,
        views: Sequence[ViewDefinition],
        drops: Sequence[TableName],
        *,
        number: int = 0,
        again: bool = False,
    ) -> None:
        """Make all of these views, and drop the others; see the port.

        Raises:
            Refused: A name is taken by a table or shows another model, a target or a column does
                not exist, or the catalog is neither a SQL nor a REST catalog.
            Conflict: One of the views was changed meanwhile.
            OutcomeUnknown: The answer was lost.
        """
        known = self._known_views()
        if isinstance(known, SqlViews):
            known.swap(views, drops)
        else:
            known.swap(views, drops, number=number, again=again)

    publish = in_catalog(publishing.publish)
    evolve = in_catalog(evolution.evolve)
    describe = in_catalog(evolution.describe)
    restore = in_catalog(publishing.restore)
    drop_branch = in_catalog(publishing.drop_branch)

    def missing_files(self, name: TableName, iceberg_snapshot_id: int) -> Sequence[str]:
        """The data files of a table that are not in storage any more; see the port."""
        return self._of(name, (), lambda table: missing_files(table, iceberg_snapshot_id))

    def branches(self, name: TableName) -> Collection[str]:
        """The units of work that have a branch of a table; none where there is no table."""
        return self._of(name, (), publishing.branches)

    def origin(self, name: TableName, iceberg_snapshot_id: int) -> int:
        """The Iceberg snapshot that gave a table the rows that it has at a given one; see the port.

        From the table's newest metadata file alone.
        """
        return origin(self._load(name), iceberg_snapshot_id)

    def columns_at(
        self, name: TableName, iceberg_snapshot_id: int
    ) -> tuple[PresentColumn, ...] | None:
        """How a table's present columns are read at an Iceberg snapshot; see the port."""
        table = self._load(name)
        if table is None or table.snapshot_by_id(iceberg_snapshot_id) is None:
            return None
        return schemas_of(table).columns(iceberg_snapshot_id)

    def line(self, name: TableName) -> Sequence[int]:
        """The current Iceberg snapshot of a table and its retained ancestors, newest first."""
        return self._of(name, (), lambda table: [each.snapshot_id for each in line(table)])

    def row_changes(
        self, name: TableName, *, after: int | None, column: str
    ) -> Sequence[RowChange]:
        """What the Iceberg snapshots of a table's line did, by a time column; see the port."""
        return self._of(name, (), lambda table: row_changes(table, after=after, column=column))

    def earliest(self, name: TableName, column: str) -> datetime | None:
        """The first time of a column among a table's rows, by metadata; see the port."""
        return self._of(name, None, lambda table: earliest(table, column))

    def latest(self, name: TableName, column: str) -> datetime | None:
        """The last time of a column among a table's rows, by metadata; see the port."""
        return self._of(name, None, lambda table: latest(table, column))

    def history(self, source: ModelName, since: HighWaterMark | None) -> SourceHistory:
        """A source's head and its changes after a mark, from metadata alone."""
        name = TableName(source.schema, source.name, source.catalog)
        return source_history(source, self._load(name), since)

    def weight(self, name: TableName, iceberg_snapshot_id: int | None) -> int | None:
        """The bytes of a table's files at an Iceberg snapshot, if `read` reads them; see the port.

        Deletes by position are read; those by equality and deletion vectors (format 3) are not.
        """
        return self._of(name, None, lambda table: weight(table, iceberg_snapshot_id))

    def read(self, wanted: TableRows) -> ArrowRows:
        """Rows of a table for a user's own code, fetched now; see the port."""
        table = self._load(wanted.table)
        if table is None:
            raise Refused(f"the table {wanted.table} does not exist in the catalog")
        found: ArrowRows = arrow_rows(table, wanted)
        return found

    def physical_layer(self) -> Sequence[StoredTable]:
        """All tables and views in the schemas of physical tables; see the port."""
        return tuple(self._known_layer().tables())

    def stored(self, name: TableName) -> StoredTable | None:
        """A table or view by its name, wherever it is; None if there is none."""
        return self._known_layer().stored(name)

    def reading_views(self) -> Sequence[StoredTable]:
        """All views elsewhere whose text names something in these schemas; see the port."""
        return tuple(self._known_layer().reading_views())

    def files(self, stored: StoredTable) -> StoredFiles:
        """The files in the folder of a table or view."""
        found = Folder(stored.location, self._catalog.properties).files()
        return StoredFiles(count=len(found), size=sum(each.size or 0 for each in found))

    def drop_physical(self, name: TableName, *, uuid: str, location: str) -> bool:
        """Drop a physical table or view with all of its files; see the port."""
        return self._known_layer().drop(name, uuid=uuid, location=location)

    def _known_views(self) -> SqlViews | RestViews:
        if self._views is None:
            raise self._unsupported()
        return self._views
