"""Tables in memory, and views in a catalog of pyiceberg's, where each target is a table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import pyarrow as pa
from pyiceberg.catalog import Catalog

from tests.worlds.catalog import MemoryCatalog
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog
from vde_dagster.ports.catalog import ViewDefinition

_TYPES: Final = {
    "bigint": pa.int64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
}


class IcebergViews(MemoryCatalog):
    """Tables in memory; views in a catalog, where each target is a table.

    Args:
        views: The catalog of the views, as pyiceberg opened it.
        tables: Where targets are made: the same catalog, or another way to it.
    """

    def __init__(self, views: Catalog, tables: Catalog) -> None:
        super().__init__()
        self.tables_of_views = tables
        self._iceberg = IcebergCatalog(views)

    @property
    def swaps_at_once(self) -> bool:
        return self._iceberg.swaps_at_once

    def view(self, name: TableName) -> ViewDefinition | None:
        return self._iceberg.view(name)

    def views(self, names: Collection[TableName]) -> dict[TableName, ViewDefinition]:
        return dict(self._iceberg.views(names))

    def present(self, names: Collection[TableName]) -> frozenset[TableName]:
        return super().present(names).union(self._iceberg.present(names))

    def taken(self, names: Collection[TableName]) -> tuple[TableName, ...]:
        return tuple(self._iceberg.taken(names))

    def swap_views(
        self,
        views: Sequence[ViewDefinition],
        drops: Sequence[TableName],
        *,
        number: int = 0,
        again: bool = False,
    ) -> None:
        for view in views:
            self._create_target(view)
        self._iceberg.swap_views(views, drops, number=number, again=again)

    def _create_target(self, view: ViewDefinition) -> None:
        tables, at = self.tables_of_views, (view.target.namespace, view.target.name)
        if not tables.table_exists(at):
            tables.create_namespace_if_not_exists(at[0])
            fields = [(each.name, _TYPES.get(each.type, pa.float64())) for each in view.columns]
            tables.create_table(at, pa.schema(fields))
