"""Views by metadata alone: JSON files that Spark reads, and one transaction that swaps them all.

Swapping 1,000 views takes about 0.3 s, of which the transaction is 10 ms; Spark's own
`CREATE OR REPLACE VIEW` takes 80 s for them, is not atomic and needs a JVM.
"""

from __future__ import annotations

import gzip
import json
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict, OutcomeUnknown, Refused
from vde_dagster.core.ledger.schema_changes import is_widening
from vde_dagster.core.names import TableName, is_another_models
from vde_dagster.lakehouse.iceberg_types import columns_of, iceberg_type, spark_type
from vde_dagster.lakehouse.view_queries import AT_ONCE, lookup, spark_query
from vde_dagster.ports.catalog import ViewDefinition

_TARGET: Final = "vde.target"
_VIEW: Final = "VIEW"
_ENGINE: Final = "Spark 4.1"

Json = dict[str, Any]


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
    """

    def __init__(self, catalog: PyIcebergCatalog, engine: Engine) -> None:
        self._catalog = catalog
        self._engine = engine

    def view(self, name: TableName) -> ViewDefinition | None:
        """A view that `swap` made; None for none, and for a view of somebody else's."""
        return self.views([name]).get(name)

    def views(self, names: Collection[TableName]) -> dict[TableName, ViewDefinition]:
        """The views among these names that `swap` made."""
        found: dict[TableName, ViewDefinition] = {}
        for name, entry in self._entries([*names]).items():
            metadata = self._read(entry.location) if entry.is_view else {}
            target = _target(metadata) if entry.is_view else None
            if target is not None:
                columns = columns_of(_schema(metadata))
                found[name] = ViewDefinition(name=name, target=target, columns=columns)
        return found

    def query(self, name: TableName) -> tuple[str, tuple[Column, ...]] | None:
        """The query and columns of a view that an engine created; see the port."""
        entry = self._entries([name]).get(name)
        if entry is None or not entry.is_view:
            return None
        metadata = self._read(entry.location)
        sql = None if _target(metadata) else spark_query(metadata)
        return None if sql is None else (sql, columns_of(_schema(metadata)))

    def present(self, names: Collection[TableName]) -> frozenset[TableName]:
        """Those of these names that are tables or views; no file is read for it."""
        return frozenset(self._entries([*names])) if names else frozenset()

    def taken(self, names: Collection[TableName]) -> tuple[TableName, ...]:
        """Those of these names that are tables, or views of somebody else."""
        entries = self._entries([*names])
        return tuple(name for name, entry in entries.items() if not self._is_ours(entry))

    def _is_ours(self, entry: _Entry) -> bool:
        return entry.is_view and _target(self._read(entry.location)) is not None

    def swap(self, views: Sequence[ViewDefinition], drops: Sequence[TableName]) -> None:
        """Make all views and drop the others in one transaction; see the port."""
        wanted = [each.name for each in views]
        entries = self._entries([*wanted, *drops, *(each.target for each in views)])
        for name in wanted:
            if name in entries and not self._is_ours(entries[name]):
                kind = "view of somebody else's" if entries[name].is_view else "table"
                raise Refused(
                    f"{name} is a {kind}, so no view can be put there; nothing was changed",
                    advice="Rename the model, or move what stands there away.",
                )
        writes = [write for view in views if (write := self._staged(view, entries)) is not None] + [
            _Write(name=name, before=entries[name].location, after=None)
            for name in drops
            if name in entries and name not in wanted and self._is_ours(entries[name])
        ]
        if writes:
            self._commit(writes)

    def _staged(self, view: ViewDefinition, entries: Mapping[TableName, _Entry]) -> _Write | None:
        """Write the metadata file of a view; None if the view is up to date."""
        schema, comment = self._target_schema(view, entries)
        entry = entries.get(view.name)
        before = None if entry is None else self._read(entry.location)
        shown = None if before is None else _target(before)
        if shown is not None and is_another_models(shown, view.target):
            raise Refused(f"{view.name} shows {shown}, another model's; nothing was changed")
        metadata = _metadata(
            view, schema, comment, before, catalog=self._catalog.name, location=self._location(view)
        )
        if before is not None and _same(before, metadata):
            return None
        version = metadata["current-version-id"]
        file = f"{metadata['location']}/metadata/{version:05d}-{uuid.uuid4()}.metadata.json"
        with self._io(file).new_output(file).create() as stream:
            stream.write(json.dumps(metadata).encode())
        return _Write(name=view.name, before=entry.location if entry else None, after=file)

    def _target_schema(
        self, view: ViewDefinition, entries: Mapping[TableName, _Entry]
    ) -> tuple[Schema, str]:
        """The schema of what a view selects, its columns only, and the target's comment."""
        target = entries.get(view.target)
        if target is None:
            raise Refused(
                f"the view {view.name} selects from {view.target}, which does not exist; "
                "nothing was changed"
            )
        try:
            metadata = self._read(target.location)
        except FileNotFoundError as error:
            raise Refused(f"{view.target} was dropped; nothing was changed") from error
        whole = _schema(metadata) if target.is_view else _table_schema(metadata)
        properties = metadata.get("properties", {})
        by_name = {field.name.lower(): field for field in whole.fields}
        missing = [each.name for each in view.columns if each.name.lower() not in by_name]
        if missing or not view.columns:
            raise Refused(
                f"the view {view.name} wants {', '.join(missing) or 'no column at all'}; "
                f"{view.target} has {', '.join(each.name for each in whole.fields)}; "
                "nothing was changed"
            )
        fields = [_shown(by_name[each.name.lower()], each) for each in view.columns]
        comment_text = properties.get("comment", "") if view.comment is None else view.comment
        return Schema(*fields), str(comment_text)

    def _commit(self, writes: Sequence[_Write]) -> None:
        try:
            with self._engine.connect() as connection:
                self._begin(connection)
                made = {
                    (self._key(each.name), each.name.namespace) for each in writes if each.after
                }
                for catalog, namespace in sorted(made):
                    self._ensure_namespace(connection, catalog, namespace)
                for write in writes:
                    self._apply(connection, write)
                connection.commit()
        except OperationalError as error:
            raise OutcomeUnknown(
                f"the answer to the swap of {len(writes)} views was lost ({error.orig})",
                advice="doing it again is safe",
            ) from error
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise Conflict(
                    f"somebody else changed one of the views meanwhile ({error.orig}); "
                    "nothing was changed"
                ) from error
            raise OutcomeUnknown(f"the answer to the swap of views was lost: {error}") from error

    def _begin(self, connection: Connection) -> None:
        if self._engine.dialect.name == "sqlite":
            # The write lock from the start: waiting for it later would fail at once.
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    def _ensure_namespace(self, connection: Connection, catalog: str, namespace: str) -> None:
        key = {"catalog": catalog, "namespace": namespace}
        found = connection.execute(
            text(
                "SELECT 1 FROM iceberg_namespace_properties "
                "WHERE catalog_name = :catalog AND namespace = :namespace"
            ),
            key,
        ).first()
        if found is None:
            connection.execute(
                text(
                    "INSERT INTO iceberg_namespace_properties "
                    "(catalog_name, namespace, property_key, property_value) "
                    "VALUES (:catalog, :namespace, 'exists', 'true')"
                ),
                key,
            )

    def _apply(self, connection: Connection, write: _Write) -> None:
        parameters = {
            "catalog": self._key(write.name),
            "namespace": write.name.namespace,
            "name": write.name.name,
            "before": write.before,
            "after": write.after,
        }
        if write.before is None:
            done = connection.execute(text(_INSERT), parameters)
        elif write.after is None:
            done = connection.execute(text(_DELETE), parameters)
        else:
            done = connection.execute(text(_UPDATE), parameters)
        if done.rowcount != 1:
            raise Conflict(
                f"somebody else changed the view {write.name} meanwhile; nothing was changed"
            )

    def _entries(self, names: Sequence[TableName]) -> dict[TableName, _Entry]:
        places: dict[tuple[str, str], dict[str, TableName]] = {}
        for name in names:
            places.setdefault((self._key(name), name.namespace), {})[name.name] = name
        found: dict[TableName, _Entry] = {}
        keys = sorted(places)
        with self._engine.connect() as connection:
            for first in range(0, len(keys), AT_ONCE):
                for row in connection.execute(lookup(keys[first : first + AT_ONCE])):
                    wanted = places[row.catalog_name, row.table_namespace]
                    if row.table_name in wanted:
                        found[wanted[row.table_name]] = _Entry(
                            is_view=row.iceberg_type == _VIEW, location=row.metadata_location
                        )
        return found

    def _key(self, name: TableName) -> str:
        """The catalog of a row. An environment's own, as ``lake__dev``, shares our database."""
        return name.catalog or self._catalog.name

    def _location(self, view: ViewDefinition) -> str:
        warehouse = self._catalog.properties.get("warehouse")
        if not warehouse:
            raise Refused("the catalog has no property `warehouse`, where views could be kept")
        parts = (view.name.catalog, view.name.namespace, view.name.name)
        return "/".join([warehouse.rstrip("/"), *(part for part in parts if part)])

    def _io(self, location: str) -> FileIO:
        return load_file_io(properties=self._catalog.properties, location=location)

    def _read(self, location: str) -> Json:
        return metadata_at(self._catalog, location)


def metadata_at(catalog: PyIcebergCatalog, location: str) -> Json:
    """The metadata of a view in a file of a catalog.

    Raises:
        FileNotFoundError: There is no such file.
    """
    io = load_file_io(properties=catalog.properties, location=location)
    with io.new_input(location).open() as stream:
        content = stream.read()
    if location.endswith(".gz.metadata.json"):
        content = gzip.decompress(content)
    return cast(Json, json.loads(content))


def _shown(field: NestedField, wanted: Column) -> NestedField:
    """A target's column in a view's schema: Spark casts it to a wider type, never to another."""
    wider = is_widening(spark_type(field.field_type), wanted.type)
    return field.model_copy(
        update={
            "doc": wanted.description or field.doc,
            "field_type": iceberg_type(wanted.type) if wider else field.field_type,
        }
    )


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
_DELETE = """
    DELETE FROM iceberg_tables
    WHERE catalog_name = :catalog AND table_namespace = :namespace AND table_name = :name
      AND iceberg_type = 'VIEW' AND metadata_location = :before
"""


def _metadata(
    view: ViewDefinition,
    schema: Schema,
    comment: str,
    before: Json | None,
    *,
    catalog: str,
    location: str,
) -> Json:
    """The metadata of a view (Iceberg's view spec, format version 1), with one version."""
    names = [field.name for field in schema.fields]
    table = exp.table_(view.target.name, db=view.target.namespace, catalog=catalog, quoted=True)
    query = exp.select(*[exp.column(name, quoted=True) for name in names]).from_(table)
    version = before["current-version-id"] + 1 if before else 1
    now = int(time.time() * 1000)
    return {
        "view-uuid": before["view-uuid"] if before else str(uuid.uuid4()),
        "format-version": 1,
        "location": before["location"] if before else location,
        "properties": {
            "provider": "iceberg",
            "create_engine_version": _ENGINE,
            "engine_version": _ENGINE,
            "spark.query-column-names": ",".join(names),
            **({"comment": comment} if comment else {}),
        },
        "schemas": [{**json.loads(schema.model_dump_json()), "schema-id": 0}],
        "current-version-id": version,
        "versions": [
            {
                "version-id": version,
                "timestamp-ms": now,
                "schema-id": 0,
                "summary": {
                    "engine-name": "spark",
                    "engine-version": _ENGINE,
                    _TARGET: str(view.target),
                },
                "default-catalog": catalog,
                "default-namespace": [view.name.namespace],
                "representations": [
                    {"type": "sql", "sql": query.sql(dialect="spark"), "dialect": "spark"}
                ],
            }
        ],
        "version-log": [{"version-id": version, "timestamp-ms": now}],
    }


def _same(before: Json, after: Json) -> bool:
    """Whether two views' metadata are equal apart from their time and version number."""
    old, new = _current_version(before), _current_version(after)
    return (
        old["representations"] == new["representations"]
        and _target(before) == _target(after)
        and _schema(before).fields == _schema(after).fields
        and before["properties"].get("comment") == after["properties"].get("comment")
    )


def _target(metadata: Json) -> TableName | None:
    """What a view shows; None for a view of somebody else's."""
    written = _current_version(metadata)["summary"].get(_TARGET)
    return None if written is None else TableName(*written.split("."))


def _current_version(metadata: Json) -> Json:
    current = metadata["current-version-id"]
    return next(each for each in metadata["versions"] if each["version-id"] == current)


def _schema(metadata: Json) -> Schema:
    """The schema of a view."""
    return _schema_of_id(metadata, _current_version(metadata)["schema-id"])


def _table_schema(metadata: Json) -> Schema:
    """The schema of a table; pyiceberg would read all of its Iceberg snapshots, too."""
    return _schema_of_id(metadata, metadata["current-schema-id"])


def _schema_of_id(metadata: Json, wanted: int) -> Schema:
    found = next(each for each in metadata["schemas"] if each.get("schema-id", 0) == wanted)
    return Schema.model_validate(found)
