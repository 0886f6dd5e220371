"""Files in the folders of our tables and views that nothing names, found without a JVM.

A folder is listed before the metadata is read, so what is committed meanwhile is not in the list.

Of views that were dropped their metadata files are left. A catalog forgets a view that is dropped.
So the folders of the warehouse in which views lie are listed, and those are taken of whose files
the catalog names none. Each metadata file has a name of its own, which is never used again: what
nothing names, and is not just being written, will never be named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.table import Table

from vde_dagster.core.errors import Refused
from vde_dagster.core.faults import repair_of
from vde_dagster.core.names import PHYSICAL_PREFIX, TableName
from vde_dagster.core.time.intervals import EPOCH
from vde_dagster.lakehouse.iceberg.view_metadata import Json, MetadataFiles, target_of
from vde_dagster.lakehouse.upkeep.physical_layer import plain, refuse_another_folder, refuse_shared
from vde_dagster.lakehouse.upkeep.reachable import (
    Folder,
    deleting,
    reached,
    with_checksums,
    without_checksum,
)
from vde_dagster.ports.physical_layer import STATE, StoredTable, StrayFile

if TYPE_CHECKING:
    from pyarrow import fs as arrow

_NUMBERED: Final = re.compile(r"\d+-.*\.metadata\.json")
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


def strays_of_table(
    catalog: PyIcebergCatalog, stored: StoredTable, load: Callable[[], Table], *, before: datetime
) -> list[StrayFile]:
    """The files of a table that neither its metadata nor its Iceberg snapshots name; see the port.

    Args:
        catalog: Its properties open the files.
        stored: The table.
        load: Reads its metadata as it is now.
        before: Files of this time or later stay.
    """
    folder = own_folder(catalog, stored)
    listed = folder.files()
    table = load()
    metadata = table.metadata
    found = reached(table.io, metadata, metadata.snapshots)
    files = {*map(folder.path_of, found.all)}
    there = {each.path for each in listed}
    missing = sorted(each for each in files if folder.has(each) and each not in there)
    if missing:
        raise Refused(
            f"{stored.name} refers to {len(missing)} files that are missing from its folder, such "
            f"as {missing[0]}; none of its files was deleted",
            advice=f"{repair_of(missing[0])} says what is wrong.",
        )
    locations = [table.metadata_location, *(each.metadata_file for each in metadata.metadata_log)]
    files.update(map(folder.path_of, locations))
    return [
        StrayFile(path=each.path, size=each.size or 0)
        for each in sorted(listed, key=lambda each: str(each.path))
        if without_checksum(each.path) not in files and written_at(each) < before
    ]


def strays_of_view(
    catalog: PyIcebergCatalog,
    stored: StoredTable,
    current: Callable[[], str | None],
    *,
    before: datetime,
) -> list[StrayFile]:
    """The metadata files of a view that it has moved on from or never had; see the port.

    The name of each begins with a number, one higher than that of the file that it replaced. So one
    is replaced for certain once there is a file two numbers higher, of any process: it was made
    from the one between them. One with the number of the current file was written for the same
    change by a process that was killed or came too late: no view ever had it, or can have it any
    more. Files of an earlier view of the name are replaced once there is one of this view. Files of
    tables, and of views of others, stay.

    Args:
        catalog: Its properties open the files.
        stored: The view.
        current: Finds its metadata file as it is now; None if there is no view any more.
        before: Files that were replaced at this time or later stay, and those that no view ever had
            and that were written then.
    """
    folder = own_folder(catalog, stored)
    listed = numbered(folder.files())
    location = current()
    if location is None:
        return []
    beside, now = location.rpartition("/")[0], folder.path_of(location)
    files = MetadataFiles(catalog)
    found = [(each, metadata_in(files, f"{beside}/{each.base_name}")) for each in listed]
    own = [each for each, metadata in found if metadata.get("view-uuid") == stored.uuid]
    former = [
        each
        for each, metadata in found
        if is_view_of_ours(metadata) and metadata["view-uuid"] != stored.uuid
    ]
    numbers = {_number(each) for each in own if each.path == now}
    replaced = [
        *((each, _unused_since(each, own, numbers)) for each in own),
        *((each, _first(own)) for each in former),
    ]
    return [
        StrayFile(path=each.path, size=each.size or 0)
        for each, at in sorted(replaced, key=lambda found: str(found[0].path))
        if each.path != now and at < before
    ]


def delete_files(
    catalog: PyIcebergCatalog, stored: StoredTable, files: Collection[StrayFile]
) -> None:
    """Delete files of a table or view; see the port."""
    folder = own_folder(catalog, stored)
    outside = [each.path for each in files if not folder.has(each.path)]
    if outside:
        raise Refused(f"{outside[0]} is not in the folder of {stored.name}; nothing was deleted")
    with deleting(f"orphan files of {stored.name}", stored.location, "maintain"):
        folder.delete(with_checksums(each.path for each in files))
        if stored.is_dropped:
            folder.remove_empty()


def numbered(files: Iterable[arrow.FileInfo]) -> list[arrow.FileInfo]:
    """Those of these files that are metadata files by their names."""
    return [each for each in files if _NUMBERED.fullmatch(each.base_name)]


def is_view_of_ours(metadata: Json) -> bool:
    """Whether metadata is that of a view of an environment, and no table's or other view's."""
    return metadata.get("view-uuid") is not None and target_of(metadata) is not None


def own_folder(catalog: PyIcebergCatalog, stored: StoredTable) -> Folder:
    """The folder of a table or view.

    Raises:
        Refused: It is not its own, or not its alone.
    """
    refuse_another_folder(stored.name, stored.location)
    refuse_shared(stored.name, stored.location, stored.beside, command="maintain")
    return Folder(stored.location, catalog.properties)


def metadata_in(files: MetadataFiles, location: str) -> Json:
    """The metadata in a file beside that of a view; empty if it is none."""
    try:
        found: object = files.read(location)
    except (FileNotFoundError, json.JSONDecodeError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _number(file: arrow.FileInfo) -> int:
    return int(str(file.base_name).partition("-")[0])


def _first(files: Iterable[arrow.FileInfo], *, after: int = -1) -> datetime:
    """When the first of the files with a higher number was written; never if there is none."""
    return min((written_at(each) for each in files if _number(each) > after), default=_NEVER)


def _unused_since(
    file: arrow.FileInfo, own: Iterable[arrow.FileInfo], current: Collection[int]
) -> datetime:
    """Since when a view certainly does not have one of its files; ``current`` is its number."""
    number = _number(file)
    return written_at(file) if number in current else _first(own, after=number + 1)


def written_at(file: arrow.FileInfo) -> datetime:
    """When a file was written; one of which that is not known counts as new."""
    if file.mtime_ns is None:
        return _NEVER
    return EPOCH + timedelta(microseconds=file.mtime_ns // 1000)


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
