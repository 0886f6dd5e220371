"""The current state of many tables, from their metadata files as JSON.

Only what is compared with records is read of a file: pyiceberg would check all of it, which takes a
hundred times as long. A file never changes, so a process reads that of a table once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from vde_dagster.core.ledger.damage import (
    Fields,
    LostMetadata,
    Original,
    RetainedSnapshot,
    TableHead,
)
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.iceberg.view_metadata import Json

if TYPE_CHECKING:
    from pyiceberg.catalog.rest import RestCatalog
    from pyiceberg.table import Table

_NO_SNAPSHOT: Final = -1
"""What some writers have for an empty table (Iceberg's specification, *Table Metadata*)."""
_COMPACTION: Final = "replace"
_VERSION: Final = "vde.version"


def rest_table_heads(
    catalog: RestCatalog, names: Collection[TableName]
) -> dict[TableName, TableHead | LostMetadata]:
    """The states of the tables of a REST catalog: it lists no metadata files, so each is asked for.

    Where it does not have one, its names say whether there is no such table, or only its file is
    lost.

    Raises:
        RESTError: The server does not say.
        RequestException: There was no answer.
    """
    from vde_dagster.lakehouse.catalogs.rest_requests import RestRequests, at_once

    requests = RestRequests(catalog)
    asked = [each for each in names if not each.catalog]
    answers = dict(zip(asked, at_once(requests.whole_table, asked), strict=True))
    places = sorted({name.namespace for name, each in answers.items() if isinstance(each, str)})
    listed = dict(zip(places, at_once(partial(requests.names, views=False), places), strict=True))
    return {
        name: LostMetadata(said=each) if isinstance(each, str) else table_head(each["metadata"])
        for name, each in answers.items()
        if not isinstance(each, str) or name.name in listed[name.namespace]
    }


def table_head(metadata: Json) -> TableHead:
    """The state of a table, by its metadata."""
    current_schema = metadata["current-schema-id"]
    schemas = _schemas(metadata)
    columns = {each["schema-id"]: each["fields"] for each in metadata["schemas"]}[current_schema]
    current = metadata.get("current-snapshot-id")
    properties = metadata.get("properties", {})
    return TableHead(
        iceberg_snapshot_id=None if current in (None, _NO_SNAPSHOT) else int(current),
        fields=schemas[current_schema],
        columns=frozenset(each["name"].lower() for each in columns),
        snapshots={
            each["snapshot-id"]: _snapshot(each, schemas) for each in metadata.get("snapshots", ())
        },
        version=properties.get(_VERSION, ""),
        original=Original.read(properties),
    )


def schema_of_recorded(table: Table, recorded: int) -> int | None:
    """The schema that has a recorded Iceberg snapshot's columns again; None if the present one has.

    It is the newest one that has all of them as they were.
    """
    metadata = table.metadata.model_dump(mode="json", by_alias=True)
    head = table_head(metadata)
    if not head.lost_columns(recorded):
        return None
    schemas = _schemas(metadata)
    return next(
        schema
        for schema in sorted(schemas, reverse=True)
        if not replace(head, fields=schemas[schema]).lost_columns(recorded)
    )


def _snapshot(snapshot: Json, schemas: Mapping[int, Fields]) -> RetainedSnapshot:
    return RetainedSnapshot(
        parent=snapshot.get("parent-snapshot-id"),
        is_compaction=snapshot.get("summary", {}).get("operation") == _COMPACTION,
        fields=schemas.get(snapshot.get("schema-id", _NO_SNAPSHOT), {}),
    )


def _schemas(metadata: Json) -> dict[int, Fields]:
    return {each["schema-id"]: dict(_fields(each)) for each in metadata["schemas"]}


def _fields(of: object) -> Iterator[tuple[int, str]]:
    """The ids and names of all fields of a type, as the specification writes it."""
    if not isinstance(of, dict):
        return
    for each in of.get("fields", ()):
        yield each["id"], each["name"]
        yield from _fields(each["type"])
    for inside in ("element", "key", "value"):
        yield from _fields(of.get(inside))
