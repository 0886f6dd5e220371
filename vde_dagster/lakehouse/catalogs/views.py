"""Views by metadata alone: JSON files that Spark reads, and one transaction that swaps them all.

Swapping 1,000 views takes about 0.3 s, of which the transaction is 10 ms; Spark's own
`CREATE OR REPLACE VIEW` takes 80 s for them, is not atomic and needs a JVM.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from sqlalchemy import Connection, Engine, Select, and_, column, or_, select, table, text
from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.names import TableName
from vde_dagster.core.sql.errors import SQL_ERRORS
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.table_names import common_table_of
from vde_dagster.lakehouse.catalogs.wanted_views import refused_place, wanted_metadata
from vde_dagster.lakehouse.iceberg.view_metadata import (
    Json,
    MetadataFiles,
    NewestFiles,
    columns_of_fields,
    current_version,
    is_same_view,
    shown_rows,
    target_of,
    view_fields,
)
from vde_dagster.lakehouse.upkeep.physical_layer import DELETE, place_of, writing
from vde_dagster.ports.catalog import ViewDefinition

AT_ONCE: Final = 200
"""Namespaces that are looked at by one statement, so as they are at one moment."""
_TABLES: Final = table(
    "iceberg_tables",
    *map(column, ("catalog_name", "table_namespace", "table_name")),
    *map(column, ("iceberg_type", "metadata_location")),
)


def lookup(keys: Sequence[tuple[str, str]]) -> Select[Any]:
    """All rows of some namespaces, each with its catalog."""
    catalog, namespace = _TABLES.c.catalog_name, _TABLES.c.table_namespace
    return select(_TABLES).where(or_(*(and_(catalog == a, namespace == b) for a, b in keys)))


def spark_query(metadata: Mapping[str, Any]) -> str | None:
    """The query of a view's current version in Spark's dialect.

    None if it has none, or if a table's name is completed by where the view was created.
    """
    current = metadata["current-version-id"]
    (version,) = (each for each in metadata["versions"] if each["version-id"] == current)
    texts = [each["sql"] for each in version["representations"] if each["dialect"] == "spark"]
    return texts[0] if len(texts) == 1 and _names_all(texts[0]) else None


def _names_all(sql: str) -> bool:
    """Whether every table is named with its catalog."""
    try:
        tables = [*read_spark(sql).find_all(exp.Table)]
        return all(each.catalog or common_table_of(each) is not None for each in tables)
    except SQL_ERRORS:
        return False


_VIEW: Final = "VIEW"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A row of the catalog: a table or a view, and the location of its metadata."""

    is_view: bool
    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Write:
    """One row to write: the metadata that is there now (None: no row), and what comes."""

    name: TableName
    before: str | None
    after: str | None


class SqlViews:
    """The views of a SQL catalog, in the tables that Iceberg's JdbcCatalog and pyiceberg share.

    Args:
        catalog: Loads tables; its name is the key of the rows, its properties open the files.
        engine: The database of the catalog.
        state: Gives the id of the state, which the views that it makes carry; empty for none.
    """

    def __init__(
        self, catalog: PyIcebergCatalog, engine: Engine, state: Callable[[], str] = str
    ) -> None:
        self._catalog = catalog
        self._engine = engine
        self._state = state
        self._files = MetadataFiles(catalog)
        self._shown = NewestFiles(self._files, _definition)

    def views(self, names: Collection[TableName]) -> dict[TableName, ViewDefinition]:
        """The views among these names that `swap` made."""
        found = self._definitions(self._entries([*names]))
        return {name: each for name, each in found.items() if each is not None}

    def _definitions(
        self, entries: Mapping[TableName, _Entry]
    ) -> dict[TableName, ViewDefinition | None]:
        """What views show, None for those of other programs, without those whose file is lost."""
        return self._shown.of({n: each.location for n, each in entries.items() if each.is_view})

    def query(self, name: TableName) -> tuple[str, tuple[Column, ...]] | None:
        """The query and columns of a view that an engine created; see the port."""
        entry = self._entries([name]).get(name)
        if entry is None or not entry.is_view:
            return None
        metadata = self._files.read(entry.location)
        sql = None if target_of(metadata) else spark_query(metadata)
        return None if sql is None else (sql, columns_of_fields(view_fields(metadata)))

    def tables(self, names: Collection[TableName]) -> dict[TableName, str]:
        """The metadata files of those of these names that are tables; none is read."""
        entries = self._entries([*names]) if names else {}
        return {name: each.location for name, each in entries.items() if not each.is_view}

    def present(self, names: Collection[TableName]) -> frozenset[TableName]:
        """Those of these names that are tables or views; no file is read for it.

        A view whose file should be on this machine and is missing is none: it is unreadable.
        """
        entries = self._entries([*names]) if names else {}
        return frozenset(
            name
            for name, each in entries.items()
            if not (each.is_view and self._files.is_missing(each.location))
        )

    def taken(self, names: Collection[TableName]) -> tuple[TableName, ...]:
        """Those of these names that are tables, or views of other programs."""
        entries = self._entries([*names])
        shown = self._definitions(entries)
        lost = {
            name
            for name, each in entries.items()
            if each.is_view and name not in shown and self._is_at_its_place(name, each)
        }
        return tuple(name for name in entries if not (name in lost or shown.get(name)))

    def _ours(self, entries: Mapping[TableName, _Entry]) -> dict[TableName, Json]:
        """The metadata of those of these entries that are views of ours; empty where it is lost.

        A view whose file is lost is ours if that was in a folder of ours: it is unreadable.
        """
        ours: dict[TableName, Json] = {}
        for name, each in entries.items():
            metadata = self._read(each) if each.is_view else None
            if metadata is not None and target_of(metadata) is not None:
                ours[name] = metadata
            elif each.is_view and metadata is None and self._is_at_its_place(name, each):
                ours[name] = {}
        return ours

    def _read(self, entry: _Entry) -> Json | None:
        """The metadata of a view; None where its file is lost."""
        try:
            return self._files.read(entry.location)
        except FileNotFoundError:
            return None

    def _is_at_its_place(self, name: TableName, entry: _Entry) -> bool:
        return entry.location.startswith(f"{self._location(name)}/metadata/")

    def swap(self, views: Sequence[ViewDefinition], drops: Sequence[TableName]) -> None:
        """Make all views and drop the others in one transaction; see the port."""
        wanted = dict.fromkeys(each.name for each in views)
        entries = self._entries([*wanted, *drops, *(each.target for each in views)])
        shown = self._ours({name: entries[name] for name in (*wanted, *drops) if name in entries})
        for name in wanted:
            if name in entries and name not in shown:
                raise refused_place(name, is_view=entries[name].is_view)
        staged = (self._staged(view, entries, shown.get(view.name) or None) for view in views)
        writes = [each for each in staged if each is not None] + [
            _Write(name=name, before=entries[name].location, after=None)
            for name in dict.fromkeys(drops)
            if name in shown and name not in wanted
        ]
        if writes:
            self._commit(writes)

    def _staged(
        self, view: ViewDefinition, entries: Mapping[TableName, _Entry], before: Json | None
    ) -> _Write | None:
        """Write the metadata file of a view; None if the view is up to date."""
        entry = entries.get(view.target)
        target = None if entry is None else self._read(entry)
        metadata = wanted_metadata(
            view,
            None if entry is None or target is None else (entry.is_view, target),
            before,
            None if before is None else target_of(before),
            catalog=self._catalog.name,
            location=self._location(view.name),
            state=self._made_by,
        )
        if before is not None and is_same_view(before, metadata):
            return None
        version = metadata["current-version-id"]
        file = f"{metadata['location']}/metadata/{version:05d}-{uuid.uuid4()}.metadata.json"
        self._files.write(file, metadata)
        there = entries.get(view.name)
        return _Write(name=view.name, before=there.location if there else None, after=file)

    @cached_property
    def _made_by(self) -> str:
        return self._state()

    def _commit(self, writes: Sequence[_Write]) -> None:
        made = {(self._key(each.name), each.name.namespace) for each in writes if each.after}
        with writing(self._engine, f"the swap of {len(writes)} views") as connection:
            for catalog, namespace in sorted(made):
                key = {"catalog": catalog, "namespace": namespace}
                if connection.execute(text(_NAMESPACE), key).first() is None:
                    connection.execute(text(_NEW_NAMESPACE), key)
            self._apply(connection, writes)

    def _apply(self, connection: Connection, writes: Sequence[_Write]) -> None:
        """Write rows and check them: one that another process changed is not written.

        Each statement takes its rows by name, so that two equal swaps wait for each other in line.
        """
        rows: dict[str, list[dict[str, str | None]]] = {}
        for write in sorted(writes, key=lambda each: each.name):
            row = {**place_of(write.name, self._catalog.name), "before": write.before}
            row["after"] = write.after
            rows.setdefault(_statement(write), []).append(row)
        for statement, every in rows.items():
            connection.execute(text(statement), every)
        found = self._read_entries(connection, [each.name for each in writes])
        for write in writes:
            entry = found.get(write.name)
            if (None if entry is None else entry.location) != write.after:
                raise Conflict(
                    f"another process changed the view {write.name} in the meantime; nothing was "
                    "changed"
                )

    def _entries(self, names: Sequence[TableName]) -> dict[TableName, _Entry]:
        with self._engine.connect() as connection:
            return self._read_entries(connection, names)

    def _read_entries(
        self, connection: Connection, names: Sequence[TableName]
    ) -> dict[TableName, _Entry]:
        places: dict[tuple[str, str], dict[str, TableName]] = {}
        for name in names:
            places.setdefault((self._key(name), name.namespace), {})[name.name] = name
        found: dict[TableName, _Entry] = {}
        keys = sorted(places)
        for first in range(0, len(keys), AT_ONCE):
            rows = connection.execute(lookup(keys[first : first + AT_ONCE])).all()
            for catalog, namespace, stored, kind, location in rows:
                name_of = places[catalog, namespace]
                if stored in name_of:
                    found[name_of[stored]] = _Entry(is_view=kind == _VIEW, location=location)
        return found

    def _key(self, name: TableName) -> str:
        """The catalog of a row."""
        return name.catalog or self._catalog.name

    def _location(self, name: TableName) -> str:
        warehouse = self._catalog.properties.get("warehouse")
        if not warehouse:
            raise Refused("the catalog has no property `warehouse`, which views need")
        parts = (name.catalog, name.namespace, name.name)
        return "/".join([warehouse.rstrip("/"), *(part for part in parts if part)])


def _definition(name: TableName, metadata: Json) -> ViewDefinition | None:
    """What a view of ours shows; None for one of another program."""
    target, columns = target_of(metadata), columns_of_fields(view_fields(metadata))
    if target is None:
        return None
    catalog = current_version(metadata)["default-catalog"]
    visible = shown_rows(metadata, target, catalog) or ""
    return ViewDefinition(name=name, target=target, columns=columns, visible=visible)


_INSERT = """
    INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location,
                                previous_metadata_location, iceberg_type)
    VALUES (:catalog, :namespace, :name, :after, NULL, 'VIEW')
"""
_UPDATE = """
    UPDATE iceberg_tables SET metadata_location = :after, previous_metadata_location = :before
    WHERE catalog_name = :catalog AND table_namespace = :namespace AND table_name = :name
      AND iceberg_type = 'VIEW' AND metadata_location = :before
"""
_NAMESPACE = """
    SELECT 1 FROM iceberg_namespace_properties
    WHERE catalog_name = :catalog AND namespace = :namespace
"""
_NEW_NAMESPACE = """
    INSERT INTO iceberg_namespace_properties
        (catalog_name, namespace, property_key, property_value)
    VALUES (:catalog, :namespace, 'exists', 'true')
"""


def _statement(write: _Write) -> str:
    if write.before is None:
        return _INSERT
    return DELETE if write.after is None else _UPDATE
