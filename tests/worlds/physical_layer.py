"""Physical tables and views in memory, and dropping one. A snapshot counts as a file."""

from __future__ import annotations

import threading
import uuid

from tests.worlds.tables import Table
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import PHYSICAL_PREFIX, TableName
from vde_dagster.ports.catalog import ViewDefinition
from vde_dagster.ports.physical_layer import STATE, StoredFiles, StoredTable


class MemoryPhysicalLayer:
    """Implements `vde_dagster.ports.physical_layer.PhysicalLayer` in memory."""

    lock: threading.RLock
    tables: dict[TableName, Table]
    queries: dict[TableName, str]
    made: dict[TableName, tuple[str, str]]
    """Physical views: their uuid, and the id of the state that made them."""
    _views: dict[TableName, ViewDefinition]

    def create_physical_view(self, name: TableName, sql: str, *, state: str = "") -> None:
        """Create or replace a physical view."""
        with self.lock:
            before = self.made.get(name) if name in self.queries else None
            self.queries[name] = sql
            self.made[name] = (before[0] if before else str(uuid.uuid4()), state)

    def physical_layer(self) -> tuple[StoredTable, ...]:
        """All tables and views in the schemas of physical tables; see the port."""
        with self.lock:
            names = sorted(self.tables.keys() | self.queries.keys())
            return tuple(
                self._stored(name) for name in names if name.namespace.startswith(PHYSICAL_PREFIX)
            )

    def stored(self, name: TableName) -> StoredTable | None:
        """A table or view by its name, wherever it is; see the port."""
        with self.lock:
            if name in self._views:
                return self._stored(name, str(self._views[name].target))
            there = name in self.tables or name in self.queries
            return self._stored(name) if there else None

    def reading_views(self) -> tuple[StoredTable, ...]:
        """All views elsewhere whose text names something in these schemas; see the port."""
        with self.lock:
            shown = {name: str(each.target) for name, each in self._views.items()}
            texts = {**self.queries, **shown}
            return tuple(
                self._stored(name, texts[name])
                for name in sorted(texts)
                if not name.namespace.startswith(PHYSICAL_PREFIX) and PHYSICAL_PREFIX in texts[name]
            )

    def files(self, stored: StoredTable) -> StoredFiles:
        """The files of a table or view."""
        with self.lock:
            table = self.tables.get(stored.name)
            count = 1
            if table is not None:
                count = len(table.snapshots) + len(table.expired) + len(table.strays)
            return StoredFiles(count=count, size=1000 * count)

    def drop_physical(self, name: TableName, *, uuid: str, location: str) -> bool:
        """Drop a physical table or view; see the port."""
        with self.lock:
            if location.rpartition("/")[2] != name.name:
                raise Refused(f"{name} is in {location}, which is not a folder of its own")
            if name not in self.tables and name not in self.queries:
                return True
            if self._stored(name).uuid != uuid:
                return False
            self.tables.pop(name, None)
            self.queries.pop(name, None)
            return True

    def _stored(self, name: TableName, text: str = "") -> StoredTable:
        table = self.tables.get(name)
        location = f"warehouse/{name.namespace}/{name.name}"
        if table is None:
            made, state = self.made.get(name, (f"view {name}", ""))
            text = text or self.queries[name]
            return StoredTable(
                name=name, uuid=made, location=location, is_view=True, state=state, text=text
            )
        return StoredTable(
            name=name,
            uuid=table.uuid,
            location=location,
            is_view=False,
            state=table.properties.get(STATE, ""),
            branches=tuple(table.branches),
        )
