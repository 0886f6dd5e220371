"""All physical tables and views of a SQL catalog, and dropping one with its files.

What is dropped is named by its uuid and its folder, so that a drop that was cut goes on, and never
touches a table that was created under the same name since.

In front is what every sort of catalog has in common.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from sqlalchemy import Connection, Engine, Row, text
from sqlalchemy.exc import DBAPIError, OperationalError

from vde_dagster.core.errors import Conflict, OutcomeUnknown, Refused
from vde_dagster.core.names import PHYSICAL_PREFIX, TableName
from vde_dagster.lakehouse.iceberg.publish import branches
from vde_dagster.lakehouse.iceberg.view_metadata import Json, MetadataFiles, current_version
from vde_dagster.lakehouse.upkeep.reachable import Folder, deleting
from vde_dagster.ports.physical_layer import STATE, StoredTable

_FILE: Final = re.compile("^file:/*")


def stored_table(name: TableName, table: Table) -> StoredTable:
    """A table as its metadata describes it."""
    return StoredTable(
        name=name,
        uuid=str(table.metadata.table_uuid),
        location=table.metadata.location,
        is_view=False,
        state=table.properties.get(STATE, ""),
        branches=branches(table),
    )


def stored_view(name: TableName, metadata: Json) -> StoredTable:
    """A view as its metadata describes it."""
    representations = current_version(metadata)["representations"]
    return StoredTable(
        name=name,
        uuid=str(metadata["view-uuid"]),
        location=str(metadata["location"]),
        is_view=True,
        state=str(metadata.get("properties", {}).get(STATE, "")),
        text="\n".join(str(each.get("sql", "")) for each in representations),
    )


def by_folder(places: Iterable[tuple[TableName, str]]) -> Mapping[str, Sequence[TableName]]:
    """The tables and views whose metadata is in each folder, or below it."""
    found: dict[str, list[TableName]] = defaultdict(list)
    for name, location in places:
        folder = plain(location)
        while folder:
            folder = folder.rpartition("/")[0]
            found[folder].append(name)
    return found


def beside(own: TableName, inside: Iterable[TableName]) -> str:
    """The name of another table or view among these; empty if there is none."""
    names = [f"{each.namespace}.{each.name}" for each in inside if each != own]
    return min(names, default="")


def plain(location: str) -> str:
    """A location in one of the ways in which engines write it: ``file:/x`` and ``file:///x``."""
    return _FILE.sub("/", location.rstrip("/"))


def refuse_another_folder(name: TableName, location: str) -> None:
    """Refuse to delete a folder that is not named after the table in it.

    Raises:
        Refused: It is not.
    """
    if location.rstrip("/").rpartition("/")[2] != name.name:
        raise Refused(f"{name} is in {location}, which is not a folder of its own")


def refuse_shared(name: TableName, location: str, other: str, *, command: str = "janitor") -> None:
    """Refuse to delete a folder in which another table has its files.

    Raises:
        Refused: There is one.
    """
    if other:
        raise Refused(
            f"the folder {location} of {name} also has files of {other}, so none of its files was "
            "deleted",
            advice=f"Copy {other} to another folder, drop it, and run `vde {command}` again.",
        )


def deletion(catalog: PyIcebergCatalog, name: TableName, location: str) -> Callable[[], None]:
    """What deletes the files that are in a folder now: those of a table that is made later stay.

    It raises:
        Refused: They cannot be deleted.
    """
    folder = Folder(location, catalog.properties)
    files = [each.path for each in folder.files()]

    def delete() -> None:
        with deleting(f"files of {name}, which was dropped,", location, "janitor"):
            folder.delete(files)
            folder.remove_empty()

    return delete


_VIEW: Final = "VIEW"
_ROWS: Final = """
    SELECT catalog_name, table_namespace, table_name, iceberg_type, metadata_location
    FROM iceberg_tables
"""
_ROW: Final = f"""{_ROWS}
    WHERE catalog_name = :catalog AND table_namespace = :namespace AND table_name = :name
"""
_INSIDE: Final = f"""{_ROWS}
    WHERE metadata_location LIKE :like0 OR metadata_location LIKE :like1
       OR metadata_location LIKE :like2
"""
"""Those in a folder, and a few more, since names have underscores."""
DELETE: Final = """
    DELETE FROM iceberg_tables
    WHERE catalog_name = :catalog AND table_namespace = :namespace AND table_name = :name
      AND metadata_location = :before
"""


def place_of(name: TableName, catalog: str) -> dict[str, str | None]:
    """The key of a row. The catalog of an environment, as ``lake__dev``, shares our database."""
    key = {"catalog": name.catalog or catalog, "namespace": name.namespace, "name": name.name}
    return {**key}


@contextmanager
def writing(engine: Engine, what: str) -> Iterator[Connection]:
    """One transaction on a catalog's database.

    SQLite's lock for writers is taken at once: waiting for it later would fail. Postgres locks rows
    by itself, and looks at them again when it has waited for a process that changes them.

    Raises:
        Conflict: Another process changed the same; nothing was changed.
        OutcomeUnknown: The answer was lost.
    """
    try:
        with engine.connect() as connection:
            if engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.commit()
    except DBAPIError as error:
        if isinstance(error, OperationalError) or error.connection_invalidated:
            raise OutcomeUnknown(
                f"the answer to {what} was lost ({error.orig})", advice="retrying is safe"
            ) from error
        raise Conflict(
            f"{what} conflicts with a change by another process ({error.orig}); nothing was changed"
        ) from error


class SqlPhysicalLayer:
    """Implements `vde_dagster.ports.physical_layer.PhysicalLayer` in a SQL catalog.

    Args:
        catalog: Loads tables; its properties open the files.
        engine: The database of the catalog.
    """

    def __init__(self, catalog: PyIcebergCatalog, engine: Engine) -> None:
        self._catalog = catalog
        self._engine = engine
        self._files = MetadataFiles(catalog)

    def tables(self) -> Iterator[StoredTable]:
        """All tables and views in the schemas of physical tables, by name."""
        rows = self._rows()
        inside = self._by_folder(rows)
        for row in rows:
            name = self._name_of(row)
            if not name.catalog and name.namespace.startswith(PHYSICAL_PREFIX):
                found = self._described(row)
                if found is not None:
                    shared = beside(name, inside.get(plain(found.location), ()))
                    yield replace(found, beside=shared)

    def stored(self, name: TableName) -> StoredTable | None:
        """A table or view by its name; None if there is none."""
        row = self._row(name)
        found = None if row is None else self._described(row)
        if found is None:
            return None
        return replace(found, beside=self._beside_of(name, found.location))

    def reading_views(self) -> Iterator[StoredTable]:
        """All views elsewhere, of any catalog in this database, that name something there."""
        for row in self._rows():
            elsewhere = not row.table_namespace.startswith(PHYSICAL_PREFIX)
            if elsewhere and row.iceberg_type == _VIEW:
                found = self._described(row)
                if found is not None and PHYSICAL_PREFIX in found.text:
                    yield found

    def metadata_location(self, name: TableName) -> str | None:
        """The metadata file of a table or view; None if there is none of this name."""
        row = self._row(name)
        return None if row is None else str(row.metadata_location)

    def metadata_files(self) -> frozenset[str]:
        """The metadata files of all tables and views in this database, of every catalog."""
        return frozenset(str(row.metadata_location) for row in self._rows())

    def drop(self, name: TableName, *, uuid: str, location: str) -> bool:
        """Drop a table or view with its files; see the port."""
        refuse_another_folder(name, location)
        row = self._row(name)
        found = None if row is None else self._described(row)
        if found is not None and found.uuid != uuid:
            return False
        refuse_shared(name, location, self._beside_of(name, location))
        deleted = deletion(self._catalog, name, location)
        if row is None:
            if self._row(name) is not None:
                return False
        else:
            self._delete_row(name, row)
        deleted()
        return True

    def _beside_of(self, name: TableName, location: str) -> str:
        """The name of another table or view whose files are in a folder; empty for none."""
        folder = plain(location)
        begins = {
            f"like{at}": f"{way}{folder}/%" for at, way in enumerate(("", "file:", "file://"))
        }
        with self._engine.connect() as connection:
            rows = connection.execute(text(_INSIDE), begins).all()
        own = replace(name, catalog="") if name.catalog == self._catalog.name else name
        return beside(own, self._by_folder(rows).get(folder, ()))

    def _by_folder(self, rows: Iterable[Row[Any]]) -> Mapping[str, Sequence[TableName]]:
        return by_folder((self._name_of(row), str(row.metadata_location or "")) for row in rows)

    def _name_of(self, row: Row[Any]) -> TableName:
        catalog = "" if row.catalog_name == self._catalog.name else row.catalog_name
        return TableName(row.table_namespace, row.table_name, catalog)

    def _rows(self) -> list[Row[Any]]:
        with self._engine.connect() as connection:
            rows = connection.execute(text(_ROWS)).all()
        return sorted(rows, key=lambda row: (row.table_namespace, row.table_name))

    def _row(self, name: TableName) -> Row[Any] | None:
        with self._engine.connect() as connection:
            key = place_of(name, self._catalog.name)
            return connection.execute(text(_ROW), key).one_or_none()

    def _described(self, row: Row[Any]) -> StoredTable | None:
        """What the metadata says; None for a row whose table is missing by now."""
        name = self._name_of(row)
        if row.iceberg_type == _VIEW:
            try:
                return stored_view(name, self._files.read(row.metadata_location))
            except FileNotFoundError:  # nobody can read it
                return None
        try:
            table = self._catalog.load_table((name.namespace, name.name))
        except (NoSuchTableError, FileNotFoundError):
            return None
        return stored_table(name, table)

    def _delete_row(self, name: TableName, row: Row[Any]) -> None:
        own = {**place_of(name, self._catalog.name), "before": row.metadata_location}
        with writing(self._engine, f"the drop of {name}") as connection:
            if connection.execute(text(DELETE), own).rowcount != 1:
                raise Conflict(f"another process is changing {name}; nothing was dropped")
