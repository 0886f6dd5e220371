"""Maintaining tables in memory. Each snapshot has one file, which is left until its expiry ends."""

from __future__ import annotations

import threading
from collections.abc import Collection
from datetime import datetime

from tests.worlds.tables import Table
from vde_dagster.core.clean_up.compaction import DataFile
from vde_dagster.core.clean_up.expiry import IcebergSnapshot, TableHistory
from vde_dagster.core.errors import Conflict
from vde_dagster.core.ledger.damage import SHALLOW_COPY
from vde_dagster.core.ledger.late.history import SourceOperation
from vde_dagster.core.names import TableName
from vde_dagster.ports.catalog import ViewDefinition
from vde_dagster.ports.physical_layer import StoredFiles, StoredTable, StrayFile

SIZE = 1000
"""The bytes of each file."""


class MemoryMaintenance:
    """Implements `vde_dagster.ports.physical_layer.Maintenance` in memory."""

    lock: threading.RLock
    tables: dict[TableName, Table]
    _views: dict[TableName, ViewDefinition]
    view_files: dict[TableName, datetime]
    """When the file of each view was written, also of those that are dropped."""

    def table_history(self, name: TableName) -> TableHistory | None:
        """The snapshots that a table retains; None if there is no table."""
        with self.lock:
            table = self.tables.get(name)
            if table is None:
                return None
            return TableHistory(
                head=table.head,
                snapshots={
                    each.id: IcebergSnapshot(
                        id=each.id,
                        parent=each.parent,
                        committed_at=each.committed_at,
                        is_compaction=each.operation is SourceOperation.REPLACE,
                    )
                    for each in table.snapshots.values()
                },
                branches={f"w_{name}": at for name, at in table.branches.items()},
                tags=dict(table.tags),
                left_at=dict(table.left_at),
                metadata=_state(table),
            )

    def data_files(self, name: TableName) -> tuple[DataFile, ...]:
        """The files of a table: one for each append since all of it was written."""
        with self.lock:
            table, found = self.tables.get(name), list[DataFile]()
            shares = table is not None and SHALLOW_COPY in table.properties
            for each in table.line(table.head) if table is not None else ():
                found.append(DataFile(partition="", size=SIZE, is_anothers=shares))
                if each.operation is not SourceOperation.APPEND:
                    break
            return tuple(found)

    def stays(self, name: TableName, iceberg_snapshot_id: int) -> bool:
        """Whether a table retains a snapshot, and no expiry of it is announced."""
        with self.lock:
            table = self.tables.get(name)
            if table is None or iceberg_snapshot_id not in table.snapshots:
                return False
            return table.announced is None or iceberg_snapshot_id not in table.announced[1]

    def announce_expiry(
        self, name: TableName, ids: Collection[int], *, token: str, metadata: str
    ) -> None:
        """Announce that some snapshots are about to expire; see the port."""
        with self.lock:
            table = self._there(name)
            if table.announced is not None or _state(table) != metadata:
                raise Conflict(f"{name} was changed in the meantime")
            table.announced = (token, frozenset(ids))

    def expire_announced(self, name: TableName, *, token: str) -> StoredFiles:
        """Remove the announced snapshots with their files; see the port."""
        with self.lock:
            table = self._there(name)
            if table.announced is None or table.announced[0] != token:
                raise Conflict(f"another process has ended the expiry in {name}")
            ids = table.announced[1]
            if ids & {*table.branches.values(), *table.tags.values()}:
                raise Conflict(f"a branch or tag of {name} needs a snapshot of the expiry")
            self.forget(name)
            return self.settle_expiry(name)

    def settle_expiry(self, name: TableName) -> StoredFiles:
        """End what an earlier process announced; see the port."""
        with self.lock:
            table = self.tables.get(name)
            if table is None:
                return StoredFiles()
            count, table.announced, table.expired = len(table.expired), None, frozenset()
            return StoredFiles(count=count, size=SIZE * count)

    def files_of(self, name: TableName, ids: Collection[int]) -> StoredFiles:
        """The files that only these snapshots have."""
        with self.lock:
            return StoredFiles(count=len(ids), size=SIZE * len(ids))

    def drop_tag(self, name: TableName, tag: str, iceberg_snapshot_id: int) -> None:
        """Remove a tag, if it still is at a snapshot."""
        with self.lock:
            if self.tables[name].tags.get(tag) == iceberg_snapshot_id:
                del self.tables[name].tags[tag]

    def dropped_views(self, *, state: str) -> tuple[StoredTable, ...]:
        """The views of which only files are left, as made by any state; see the port."""
        with self.lock:
            return tuple(
                StoredTable(
                    name=name,
                    uuid=f"view {name}",
                    location=f"warehouse/{name.namespace}/{name.name}",
                    is_view=True,
                    state=state,
                    is_dropped=True,
                )
                for name in sorted(self.view_files.keys() - self._views.keys())
            )

    def stray_files(self, stored: StoredTable, *, before: datetime) -> tuple[StrayFile, ...]:
        """The files that nothing names and that are old enough; see the port."""
        with self.lock:
            if stored.is_dropped:
                at = self.view_files.get(stored.name, before)
                is_left = stored.name not in self._views and at < before
                return (StrayFile(path=stored.location, size=SIZE),) if is_left else ()
            table = self.tables.get(stored.name)
            found = sorted(table.strays.items()) if table is not None else []
            return tuple(StrayFile(path=path, size=SIZE) for path, at in found if at < before)

    def delete_files(self, stored: StoredTable, files: Collection[StrayFile]) -> None:
        """Delete files; see the port."""
        with self.lock:
            if stored.is_dropped:
                if stored.name not in self._views:
                    self.view_files.pop(stored.name, None)
                return
            for each in files:
                self.tables[stored.name].strays.pop(each.path, None)

    # What a process does that dies before it has deleted files

    def forget(self, name: TableName) -> None:
        """Remove the announced snapshots, and leave their files."""
        with self.lock:
            table = self._there(name)
            assert table.announced is not None
            table.expired = table.announced[1] & table.snapshots.keys()
            table.snapshots = {
                key: each for key, each in table.snapshots.items() if key not in table.expired
            }

    def _there(self, name: TableName) -> Table:
        if name not in self.tables:
            raise Conflict(f"{name} was dropped in the meantime")
        return self.tables[name]


def _state(table: Table) -> str:
    """What identifies the state of a table."""
    refs = (table.head, sorted(table.branches.items()), sorted(table.tags.items()))
    return repr((sorted(table.snapshots), refs, table.properties, table.announced))
