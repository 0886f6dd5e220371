"""What is kept of the states of tables that were read."""

from __future__ import annotations

import gc
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema

from vde_dagster.core.ledger.damage import TableHead
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.iceberg.table_heads import table_head
from vde_dagster.lakehouse.iceberg.view_metadata import MetadataFiles, NewestFiles

NAME = TableName("raw", "events")


def kept() -> int:
    gc.collect()
    return sum(isinstance(each, TableHead) for each in gc.get_objects())


def test_only_the_newest_state_of_a_table_is_kept_and_read_once(tmp_path: Path) -> None:
    catalog = SqlCatalog("lake", uri="sqlite://", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("raw")
    table = catalog.create_table("raw.events", Schema())
    heads = NewestFiles(MetadataFiles(catalog), lambda _, metadata: table_head(metadata))
    before = kept()
    for number in range(20):
        with table.transaction() as changes:
            changes.set_properties({"vde.version": str(number)})
        first, again = (heads.of({NAME: table.metadata_location})[NAME] for _ in range(2))
        assert isinstance(first, TableHead)
        assert first.version == str(number)
        assert again is first
    assert kept() == before + 1
    Path(table.metadata_location.removeprefix("file://")).unlink()
    assert heads.of({NAME: table.metadata_location}) == {}
