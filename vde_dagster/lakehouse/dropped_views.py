"""What is left in storage of views that were dropped: their metadata files, found without a JVM.

A catalog forgets a view that is dropped. So the folders of the warehouse in which views lie are
listed, and those are taken of whose files the catalog names none. Each metadata file has a name of
its own, which is never used again: what nothing names, and is not just being written, will never be
named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from pyiceberg.catalog import Catalog as PyIcebergCatalog

from vde_dagster.core.names import PHYSICAL_PREFIX, TableName
from vde_dagster.lakehouse.folders import Folder
from vde_dagster.lakehouse.stored_tables import plain
from vde_dagster.lakehouse.stray_files import (
    is_view_of_ours,
    metadata_in,
    numbered,
    own_folder,
    written_at,
)
from vde_dagster.lakehouse.view_metadata import Json, MetadataFiles
from vde_dagster.ports.maintenance import StrayFile
from vde_dagster.ports.physical_layer import STATE, StoredTable

if TYPE_CHECKING:
    from pyarrow import fs as arrow


def dropped_views(
    catalog: PyIcebergCatalog, named: Collection[str], *, state: str
) -> Iterator[StoredTable]:
    """The views that a state made and of which only files are left, by name.

    Args:
        catalog: Its property ``warehouse`` is where views are, its properties open the files.
        named: The metadata files that the catalog's database names.
        state: The id of the state; the newest file of a view says whose it is.
    """
    warehouse = catalog.properties.get("warehouse", "").rstrip("/")
    if not warehouse:
        return
    # By their names, too, since one place may be written in several ways (s3, s3a).
    names = {each.rpartition("/")[2] for each in named}
    used = {plain(each.rpartition("/metadata/")[0]) for each in named}
    files = MetadataFiles(catalog)
    for place in _places(catalog, warehouse):
        location = _location(warehouse, place)
        if plain(location) in used:
            continue
        found = _metadata_files(catalog, location)
        if not found or any(each.base_name in names for each in found):
            continue
        newest = max(found, key=lambda each: (written_at(each), str(each.base_name)))
        metadata = metadata_in(files, f"{location}/metadata/{newest.base_name}")
        is_theirs = not is_view_of_ours(metadata) or _made_by(metadata) != state
        if is_theirs or str(metadata["location"]).rstrip("/") != location:
            continue
        yield StoredTable(
            name=place,
            uuid=str(metadata["view-uuid"]),
            location=location,
            is_view=True,
            state=state,
            is_dropped=True,
        )


def files_of_dropped(
    catalog: PyIcebergCatalog, stored: StoredTable, *, before: datetime
) -> list[StrayFile]:
    """The metadata files of a view that was dropped; none if one was written since a time.

    Files of others in its folder stay.

    Args:
        catalog: Its properties open the files.
        stored: The view.
        before: A file of this time or later may belong to a view that is just being made.

    Raises:
        Refused: Its folder is not its own.
    """
    own_folder(catalog, stored)
    listed = _metadata_files(catalog, stored.location)
    if any(written_at(each) >= before for each in listed):
        return []
    files = MetadataFiles(catalog)
    found = [
        (each, metadata_in(files, f"{stored.location}/metadata/{each.base_name}"))
        for each in listed
    ]
    return [
        StrayFile(path=each.path, size=each.size or 0)
        for each, metadata in sorted(found, key=lambda found: str(found[0].path))
        if is_view_of_ours(metadata) and _made_by(metadata) in ("", stored.state)
    ]


def _places(catalog: PyIcebergCatalog, warehouse: str) -> Iterator[TableName]:
    """Where views of environments may be; those of an environment's catalog lie one deeper."""
    for namespace in _folders(catalog, warehouse):
        for name in _folders(catalog, f"{warehouse}/{namespace}"):
            yield TableName(namespace, name)
            if namespace.startswith(f"{catalog.name}__"):
                for deeper in _folders(catalog, f"{warehouse}/{namespace}/{name}"):
                    yield TableName(name, deeper, namespace)


def _folders(catalog: PyIcebergCatalog, location: str) -> list[str]:
    found = Folder(location, catalog.properties).folders()
    return [name for name in found if not name.startswith(PHYSICAL_PREFIX)]


def _location(warehouse: str, name: TableName) -> str:
    parts = (name.catalog, name.namespace, name.name)
    return "/".join([warehouse, *(part for part in parts if part)])


def _metadata_files(catalog: PyIcebergCatalog, location: str) -> list[arrow.FileInfo]:
    return numbered(Folder(f"{location}/metadata", catalog.properties).files())


def _made_by(metadata: Json) -> str:
    """The id of the state that made a view; empty for one of an earlier release."""
    return str(metadata.get("properties", {}).get(STATE, ""))
