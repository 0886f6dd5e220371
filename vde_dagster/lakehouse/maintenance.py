"""Maintaining tables and views of a catalog: histories, expiries and files of nobody."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from vde_dagster.core.clean_up.compaction import DataFile
from vde_dagster.core.clean_up.expiry import TableHistory
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse import expiring, stray_files
from vde_dagster.lakehouse.physical_layer import SqlPhysicalLayer
from vde_dagster.lakehouse.publish import drop_tag, load
from vde_dagster.lakehouse.reachable import data_files, history_of
from vde_dagster.lakehouse.stray_files import dropped_views, files_of_dropped
from vde_dagster.ports.maintenance import StrayFile
from vde_dagster.ports.physical_layer import StoredFiles, StoredTable

if TYPE_CHECKING:
    from vde_dagster.lakehouse.rest_physical_layer import RestPhysicalLayer


P = ParamSpec("P")
T = TypeVar("T")
_NEVER: Final = "a commit over REST cannot require that nobody named it meanwhile"


def in_catalog(
    do: Callable[Concatenate[PyIcebergCatalog, P], T],
) -> Callable[Concatenate[IcebergMaintenance, P], T]:
    """A method that does something in the catalog."""

    @wraps(do)
    def method(self: IcebergMaintenance, /, *args: P.args, **named: P.kwargs) -> T:
        return do(self._catalog, *args, **named)

    return method


class IcebergMaintenance:
    """Implements `vde_dagster.ports.maintenance.Maintenance` over pyiceberg.

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
        announced = expiring.announcement(table)
        return announced is None or iceberg_snapshot_id not in announced.ids

    def announce_expiry(
        self, name: TableName, ids: Collection[int], *, token: str, metadata: str
    ) -> None:
        """Announce that some Iceberg snapshots are about to expire; see the port."""
        if not isinstance(self._known_layer(), SqlPhysicalLayer):
            raise Refused(
                f"no Iceberg snapshot of {name} expires by this: {_NEVER}",
                advice="They stay, and nothing is lost.",
            )
        expiring.announce(self._catalog, name, ids, token=token, metadata=metadata)

    def expire_announced(self, name: TableName, *, token: str) -> StoredFiles:
        """Remove the announced Iceberg snapshots with their files; see the port."""
        return expiring.expire(self._catalog, name, self._loaded(name), token=token)

    def settle_expiry(self, name: TableName) -> StoredFiles:
        """End what an earlier process announced; see the port."""
        return self._of(
            name, StoredFiles(), lambda table: expiring.settle(self._catalog, name, table)
        )

    def files_of(self, name: TableName, ids: Collection[int]) -> StoredFiles:
        """The files that only these of a table's Iceberg snapshots have."""
        return self._of(
            name, StoredFiles(), lambda table: expiring.files_of(self._catalog, table, ids)
        )

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
            raise Conflict(f"{name} was dropped meanwhile") from error

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
            f"the catalog {self._catalog.name!r} is a {type(self._catalog).__name__}, whose views "
            "cannot be replaced, and environments are views",
            advice="use a SQL catalog (SQLite or Postgres) or a REST catalog",
        )
