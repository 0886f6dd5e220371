"""Maintaining tables on Spark: files are rewritten, and nothing looks as if rows had changed."""

from __future__ import annotations

from typing import Final

import pytest

from tests.lakehouse.conftest import DAY, Lake
from vde_dagster.core.clean_up.compaction import compaction
from vde_dagster.core.ledger.unit_of_work import Staged
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import AppendRows
from vde_dagster.ports.engine import Sought

pytestmark = pytest.mark.spark

MB: Final = 1_000_000


def appended(lake: Lake, count: int, **more: Storage) -> Staged:
    """As many files: each unit of work appends one. What the last one staged."""
    return [
        lake.publish(f"SELECT {number} AS id, 'a' AS name", write=AppendRows(interval=DAY), **more)
        for number in range(count)
    ][-1]


def test_files_are_rewritten_in_a_commit_that_changes_no_row(lake: Lake) -> None:
    staged = appended(lake, 3)
    name, columns = lake.key.table, staged.columns
    wanted = compaction(lake.catalog.data_files(name), least=3, file_size=128 * MB)
    assert wanted is not None
    before = lake.catalog.table(name)
    assert before is not None
    head = before.iceberg_snapshot_id

    def sums(at: int | None) -> object:
        sought = Sought(table=name, iceberg_snapshot_id=at, columns=columns)
        return lake.engine.sums(sought, algorithm="xxhash64x2")

    recorded = sums(head)
    done = lake.engine.compact(name, wanted)
    assert (done.files, done.files_after) == (3, 1)
    after = lake.catalog.table(name)
    assert after is not None
    assert after.iceberg_snapshot_id != head
    assert after.iceberg_snapshot_id is not None
    assert lake.catalog.origin(name, after.iceberg_snapshot_id) == head
    assert len(lake.files()) == 1
    assert sums(after.iceberg_snapshot_id) == recorded == sums(head)
    assert lake.rows("SELECT id FROM {own} ORDER BY id") == [(0,), (1,), (2,)]
    assert compaction(lake.catalog.data_files(name), least=2, file_size=128 * MB) is None


def test_others_expire_nothing_of_a_table_of_ours(lake: Lake) -> None:
    """Which Iceberg snapshots are needed stands in the state, of which Iceberg knows nothing."""
    appended(lake, 3)
    before = lake.table().snapshots()
    assert len(before) == 4  # the empty table is one, too
    procedure = f"{lake.iceberg.name}.system.expire_snapshots"
    for older in ("", ", older_than => TIMESTAMP '2100-01-01 00:00:00'"):
        lake.spark.sql(f"CALL {procedure}(table => '{lake.key.table}'{older})").collect()
    assert lake.table().snapshots() == before


def test_a_table_whose_files_are_sorted_is_sorted_again(lake: Lake) -> None:
    storage = Storage(clustered_by=("id",))
    for low in (2, 0):
        rows = f"SELECT id, 'a' AS name FROM VALUES ({low + 1}), ({low}) AS t(id)"
        lake.publish(rows, write=AppendRows(interval=DAY), storage=storage)
    name = lake.key.table
    wanted = compaction(lake.catalog.data_files(name), least=2, file_size=128 * MB)
    assert wanted is not None
    lake.engine.compact(name, wanted)
    (path,) = lake.files()
    import pyarrow.parquet as pq

    assert pq.read_table(path.removeprefix("//")).column("id").to_pylist() == [0, 1, 2, 3]
