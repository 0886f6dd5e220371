"""Maintaining tables and views of a catalog: histories, expiries and orphan files.

Iceberg snapshots of a table are removed in steps that can each be repeated, without a JVM:

1. The expiry is *announced* in a property of the table (see `vde_dagster.ports.physical_layer`).
2. The Iceberg snapshots are removed from the metadata, if the announcement is still there.
3. The files that only they had are deleted. They are found from the metadata file before step 2,
   which the announcement names.
4. The announcement is taken back.

Each commit requires the metadata that it was decided on, so that no process can add a branch or
tag, or another announcement, in between.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar, cast

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
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

from vde_dagster.core.clean_up.compaction import DataFile
from vde_dagster.core.clean_up.expiry import TableHistory
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.iceberg.publish import Change, commit, drop_tag, load
from vde_dagster.lakehouse.upkeep import stray_files
from vde_dagster.lakehouse.upkeep.physical_layer import SqlPhysicalLayer
from vde_dagster.lakehouse.upkeep.reachable import (
    Folder,
    data_files,
    deleting,
    history_of,
    reached,
    with_checksums,
)
from vde_dagster.lakehouse.upkeep.stray_files import dropped_views, files_of_dropped
from vde_dagster.ports.physical_layer import StoredFiles, StoredTable, StrayFile

if TYPE_CHECKING:
    from vde_dagster.lakehouse.upkeep.rest_physical_layer import RestPhysicalLayer

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


def announce_in(
    catalog: PyIcebergCatalog, name: TableName, ids: Collection[int], *, token: str, metadata: str
) -> None:
    """Announce an expiry that was decided from a table's metadata file; see the port."""
    written = json.dumps({"token": token, "ids": sorted(ids), "before": metadata})

    def change(table: Table) -> Change | None:
        found = announcement(table)
        if found is not None and found.token == token:
            return None  # the answer was lost
        if table.metadata_location != metadata or found is not None:
            raise Conflict(
                f"{name} was changed in the meantime; none of its Iceberg snapshots expired"
            )
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
            raise Conflict(
                f"{', '.join(named)} of {name} needs an Iceberg snapshot that was about to expire"
            )
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
    except FileNotFoundError:  # fifty commits later; what is left is found as orphan files
        return []
    gone = [each for each in before.snapshots if each.snapshot_id in found.ids]
    kept = reached(table.io, table.metadata, table.metadata.snapshots)
    return list(reached(table.io, before, gone, removed=True).without(kept))


def _delete(catalog: PyIcebergCatalog, table: Table, files: Iterable[str]) -> StoredFiles:
    """Delete files, as far as they are in the table's folder."""
    folder = Folder(table.metadata.location, catalog.properties)
    own = [path for path in map(folder.path_of, files) if folder.has(path)]
    deleted = _measured(folder, own)
    what = f"files of expired Iceberg snapshots of {'.'.join(table.name())}"
    with deleting(what, table.metadata.location, "maintain"):
        folder.delete(with_checksums(own))
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
            raise CommitFailedException("the table was changed in the meantime")


def _as_read(table: Table) -> TableRequirement:
    return cast("TableRequirement", _AsRead(metadata=table.metadata))


P = ParamSpec("P")
T = TypeVar("T")
_NEVER: Final = "a commit over REST cannot check whether it was referenced in the meantime"


def in_catalog(
    do: Callable[Concatenate[PyIcebergCatalog, P], T],
) -> Callable[Concatenate[IcebergMaintenance, P], T]:
    """A method that does something in the catalog."""

    @wraps(do)
    def method(self: IcebergMaintenance, /, *args: P.args, **named: P.kwargs) -> T:
        return do(self._catalog, *args, **named)

    return method


class IcebergMaintenance:
    """Implements `vde_dagster.ports.physical_layer.Maintenance` over pyiceberg.

    ``_layer`` is None for a catalog that is neither a SQL nor a REST catalog.
    """

    _catalog: PyIcebergCatalog
    _layer: SqlPhysicalLayer | RestPhysicalLayer | None

    def table_history(self, name: TableName) -> TableHistory | None:
        """The Iceberg snapshots that a table retains; None if there is no table."""
        table = self._load(name)
        if table is None:
            return None
        found = history_of(table)
        is_sql = isinstance(self._layer, SqlPhysicalLayer)
        return found if is_sql or self._layer is None else replace(found, never_expires=_NEVER)

    def data_files(self, name: TableName) -> Sequence[DataFile]:
        """The data files of a table's current Iceberg snapshot, from metadata alone."""
        return self._of(name, (), lambda table: tuple(data_files(table)))

    def stays(self, name: TableName, iceberg_snapshot_id: int) -> bool:
        """Whether a table retains an Iceberg snapshot, and no expiry of it is announced."""
        table = self._load(name)
        if table is None or table.snapshot_by_id(iceberg_snapshot_id) is None:
            return False
        announced = announcement(table)
        return announced is None or iceberg_snapshot_id not in announced.ids

    def announce_expiry(
        self, name: TableName, ids: Collection[int], *, token: str, metadata: str
    ) -> None:
        """Announce that some Iceberg snapshots are about to expire; see the port."""
        if not isinstance(self._known_layer(), SqlPhysicalLayer):
            raise Refused(
                f"no Iceberg snapshot of {name} was expired: {_NEVER}",
                advice="They stay, and nothing is lost.",
            )
        announce_in(self._catalog, name, ids, token=token, metadata=metadata)

    def expire_announced(self, name: TableName, *, token: str) -> StoredFiles:
        """Remove the announced Iceberg snapshots with their files; see the port."""
        return expire(self._catalog, name, self._loaded(name), token=token)

    def settle_expiry(self, name: TableName) -> StoredFiles:
        """End what an earlier process announced; see the port."""
        return self._of(name, StoredFiles(), lambda table: settle(self._catalog, name, table))

    def files_of(self, name: TableName, ids: Collection[int]) -> StoredFiles:
        """The files that only these of a table's Iceberg snapshots have."""
        return self._of(name, StoredFiles(), lambda table: files_of(self._catalog, table, ids))

    drop_tag = in_catalog(drop_tag)

    def dropped_views(self, *, state: str) -> Sequence[StoredTable]:
        """The views that a state made and of which only files are left; see the port.

        A REST catalog does not tell the metadata files of all that it has, so there what is left
        of a view is not looked for: whether it removes it is its own affair.
        """
        if not isinstance(self._layer, SqlPhysicalLayer):
            return ()
        return tuple(dropped_views(self._catalog, self._layer.metadata_files(), state=state))

    def stray_files(self, stored: StoredTable, *, before: datetime) -> Sequence[StrayFile]:
        """The files in the folder of a table or view that nothing names; see the port."""
        name, layer = stored.name, self._known_layer()
        if stored.is_dropped:
            there = layer.metadata_location(name) is not None
            return () if there else files_of_dropped(self._catalog, stored, before=before)
        if stored.is_view:
            return stray_files.strays_of_view(
                self._catalog, stored, lambda: layer.metadata_location(name), before=before
            )
        return stray_files.strays_of_table(
            self._catalog, stored, lambda: self._loaded(name), before=before
        )

    def delete_files(self, stored: StoredTable, files: Collection[StrayFile]) -> None:
        """Delete files in the folder of a table or view; see the port."""
        stray_files.delete_files(self._catalog, stored, files)

    def _loaded(self, name: TableName) -> Table:
        try:
            return load(self._catalog, name)
        except NoSuchTableError as error:
            raise Conflict(f"{name} was dropped in the meantime") from error

    def _of(self, name: TableName, absent: T, ask: Callable[[Table], T]) -> T:
        """What is asked of a table; ``absent`` where there is none of this name."""
        table = self._load(name)
        return absent if table is None else ask(table)

    def _load(self, name: TableName) -> Table | None:
        if name.catalog not in ("", self._catalog.name):
            return None  # the catalog of an environment has views alone
        try:
            return load(self._catalog, name)
        except NoSuchTableError:
            return None

    def _known_layer(self) -> SqlPhysicalLayer | RestPhysicalLayer:
        if self._layer is None:
            raise self._unsupported()
        return self._layer

    def _unsupported(self) -> Refused:
        return Refused(
            f"the catalog {self._catalog.name!r} is a {type(self._catalog).__name__}, which "
            "cannot replace views, and environments need that",
            advice="use a SQL catalog (SQLite or Postgres) or a REST catalog",
        )
