"""Removing Iceberg snapshots of a table, in steps that can each be repeated, without a JVM.

1. The expiry is *announced* in a property of the table (see `vde_dagster.ports.maintenance`).
2. The Iceberg snapshots are removed from the metadata, if the announcement still stands.
3. The files that only they had are deleted. They are found from the metadata file before step 2,
   which the announcement names.
4. The announcement is taken back.

Each commit requires the metadata that it was decided on, so that nobody can add a branch or tag, or
another announcement, in between.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, cast

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    RemovePropertiesUpdate,
    RemoveSnapshotsUpdate,
    SetPropertiesUpdate,
    TableRequirement,
    ValidatableTableRequirement,
)

from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.publish import Change, commit
from vde_dagster.lakehouse.reachable import Folder, reached, with_checksums
from vde_dagster.ports.physical_layer import StoredFiles

_PROPERTY: Final = "vde.expiring"


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What a table says of an expiry: which Iceberg snapshots, and the metadata that has them."""

    token: str
    ids: frozenset[int]
    before: str


def announcement(table: Table) -> Announcement | None:
    """The expiry that is announced in a table."""
    written = table.metadata.properties.get(_PROPERTY)
    if written is None:
        return None
    found = json.loads(written)
    return Announcement(
        token=found["token"], ids=frozenset(map(int, found["ids"])), before=found["before"]
    )


def announce(
    catalog: PyIcebergCatalog, name: TableName, ids: Collection[int], *, token: str, metadata: str
) -> None:
    """Announce an expiry that was decided from a table's metadata file; see the port."""
    written = json.dumps({"token": token, "ids": sorted(ids), "before": metadata})

    def change(table: Table) -> Change | None:
        found = announcement(table)
        if found is not None and found.token == token:
            return None  # the answer was lost
        if table.metadata_location != metadata or found is not None:
            raise Conflict(f"{name} was changed meanwhile; none of its Iceberg snapshots expired")
        return (_as_read(table),), (SetPropertiesUpdate(updates={_PROPERTY: written}),)

    commit(catalog, name, change, what=f"the announcement of an expiry in {name}")


def expire(catalog: PyIcebergCatalog, name: TableName, table: Table, *, token: str) -> StoredFiles:
    """Remove what was announced in a table; see the port."""
    ids = _standing(table, name, token).ids
    if not any(table.metadata.snapshot_by_id(each) is not None for each in ids):
        return settle(catalog, name, table)  # they are removed, and the answer was lost
    files = _only_in(table, ids)  # before anything is removed: this may refuse

    def change(now: Table) -> Change | None:
        _standing(now, name, token)
        there = [each for each in ids if now.metadata.snapshot_by_id(each) is not None]
        if not there:
            return None
        named = [ref for ref, each in now.metadata.refs.items() if each.snapshot_id in ids]
        if named:
            raise Conflict(f"{', '.join(named)} of {name} needs an Iceberg snapshot of the expiry")
        removal = RemoveSnapshotsUpdate.model_validate({"snapshot-ids": there})
        return (_as_read(now),), (removal,)

    commit(catalog, name, change, what=f"the expiry in {name}")
    deleted = _delete(catalog, table, files)
    _take_back(catalog, name, token)
    return deleted


def settle(catalog: PyIcebergCatalog, name: TableName, table: Table) -> StoredFiles:
    """End an announced expiry: delete the files of what is removed, else take it back."""
    found = announcement(table)
    if found is None:
        return StoredFiles()
    is_removed = not any(table.metadata.snapshot_by_id(each) is not None for each in found.ids)
    deleted = _delete(catalog, table, _removed(table, found)) if is_removed else StoredFiles()
    _take_back(catalog, name, found.token)
    return deleted


def files_of(catalog: PyIcebergCatalog, table: Table, ids: Collection[int]) -> StoredFiles:
    """The files that only some Iceberg snapshots of a table have."""
    folder = Folder(table.metadata.location, catalog.properties)
    return _measured(folder, map(folder.path_of, _only_in(table, ids)))


def _standing(table: Table, name: TableName, token: str) -> Announcement:
    found = announcement(table)
    if found is None or found.token != token:
        raise Conflict(f"another process has ended the expiry in {name}; nothing was removed")
    return found


def _take_back(catalog: PyIcebergCatalog, name: TableName, token: str) -> None:
    def change(now: Table) -> Change | None:
        there = announcement(now)
        if there is None or there.token != token:
            return None
        return (_as_read(now),), (RemovePropertiesUpdate(removals=[_PROPERTY]),)

    commit(catalog, name, change, what=f"the end of an expiry in {name}")


def _only_in(table: Table, ids: Collection[int]) -> list[str]:
    """The files that only some Iceberg snapshots have, in the order in which they may go."""
    metadata = table.metadata
    kept = reached(
        table.io, metadata, [each for each in metadata.snapshots if each.snapshot_id not in ids]
    )
    found = reached(
        table.io, metadata, [each for each in metadata.snapshots if each.snapshot_id in ids]
    )
    return list(found.without(kept))


def _removed(table: Table, found: Announcement) -> list[str]:
    """The files that only Iceberg snapshots had which are removed already."""
    try:
        before = FromInputFile.table_metadata(table.io.new_input(found.before))
    except FileNotFoundError:  # fifty commits later; what is left is found as files of nobody
        return []
    gone = [each for each in before.snapshots if each.snapshot_id in found.ids]
    kept = reached(table.io, table.metadata, table.metadata.snapshots)
    return list(reached(table.io, before, gone, removed=True).without(kept))


def _delete(catalog: PyIcebergCatalog, table: Table, files: Iterable[str]) -> StoredFiles:
    """Delete files, as far as they are in the table's folder."""
    folder = Folder(table.metadata.location, catalog.properties)
    own = [path for path in map(folder.path_of, files) if folder.has(path)]
    deleted = _measured(folder, own)
    try:
        folder.delete(with_checksums(own))
    except OSError as error:
        raise Refused(
            f"files of expired Iceberg snapshots of {'.'.join(table.name())} cannot be deleted: "
            f"{error}",
            advice=f"let this user delete what is in {table.metadata.location}, and run "
            "`vde maintain` again.",
        ) from error
    return deleted


def _measured(folder: Folder, paths: Iterable[str]) -> StoredFiles:
    """How many of these files are there, and their bytes."""
    sizes = {each.path: each.size or 0 for each in folder.files()}
    found = [sizes[path] for path in with_checksums(paths) if path in sizes]
    return StoredFiles(count=len(found), size=sum(found))


class _AsRead(ValidatableTableRequirement):
    """The table has exactly the metadata that was read. Only a SQL catalog checks this itself."""

    type: str = "vde-as-read"
    metadata: Any

    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]
        """See pyiceberg: raises if the requirement is not met."""
        if base_metadata != self.metadata:
            raise CommitFailedException("the table was changed meanwhile")


def _as_read(table: Table) -> TableRequirement:
    return cast("TableRequirement", _AsRead(metadata=table.metadata))
