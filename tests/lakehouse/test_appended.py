"""What many appends added is the same read at once and one by one, also from merged manifests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, LongType, NestedField, TimestamptzType

from vde_dagster.core.names import ModelName
from vde_dagster.lakehouse.iceberg import row_changes, source_changes
from vde_dagster.lakehouse.iceberg.row_changes import appended, line

NAME = ModelName("raw", "t")
COLUMNS = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "at", TimestamptzType()),
    NestedField(3, "part", IntegerType()),
)
MERGES = {
    "format-version": "2",
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "3",
}


@pytest.fixture(params=[{}, MERGES], ids=["as written", "merged"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/wh")
    catalog.create_namespace("raw")
    spec = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "part"))
    made = catalog.create_table("raw.t", COLUMNS, partition_spec=spec, properties=request.param)
    for number in range(9):
        append(made, number)
    return made


def append(table: Table, number: int) -> None:
    """Three files, of the hours that follow the number."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    rows = [
        {"id": number, "at": start + timedelta(hours=number + part), "part": part}
        for part in range(3)
    ]
    table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))


@pytest.mark.full
def test_both_ways_find_the_same(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    oldest = list(line(table))[-1]
    mark = source_changes.source_history(NAME, table, None).head
    assert mark is not None
    for number in range(9, 12):
        append(table, number)
    since = source_changes.source_history(NAME, table, mark)
    times = row_changes.row_changes(table, after=oldest.snapshot_id, column="at")
    assert [sum(uri.rows for uri in each.added) for each in since.changes] == [3, 3, 3]
    assert all(each.times is not None and len(each.times) == 3 for each in times)
    for module in (source_changes, row_changes):
        monkeypatch.setattr(module, "appended", lambda *_: None)
    assert source_changes.source_history(NAME, table, mark) == since
    assert row_changes.row_changes(table, after=oldest.snapshot_id, column="at") == times


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read."""
    found: list[str] = []
    new_input = PyArrowFileIO.new_input

    def noted(self: PyArrowFileIO, location: str) -> PyArrowFile:
        found.append(Path(location).name)
        return new_input(self, location)

    monkeypatch.setattr(PyArrowFileIO, "new_input", noted)
    return found


@pytest.mark.full
@pytest.mark.parametrize("older", [0, 20])
def test_what_is_new_is_found_in_few_files_however_many_are_older(
    table: Table, opened: list[str], older: int
) -> None:
    first = source_changes.source_history(NAME, table, None).head
    for number in range(9, 9 + older):
        append(table, number)
    mark = source_changes.source_history(NAME, table, None).head
    append(table, 99)
    opened.clear()
    newest = source_changes.source_history(NAME, table, mark)
    assert [sum(uri.rows for uri in each.added) for each in newest.changes] == [3]
    assert len(opened) <= 2, "the newest manifest list, and the manifest that has the new files"
    opened.clear()
    every = source_changes.source_history(NAME, table, first)
    assert len(every.changes) == older + 1
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert len(opened) <= 1 + len(snapshot.manifests(table.io)), "each manifest once, and one list"


@pytest.mark.full
def test_anything_but_appends_is_read_one_by_one(table: Table) -> None:
    before = list(line(table))[::-1]
    assert appended(table, before) is not None
    assert appended(table, before[:1]) is None
    table.delete("part = 1")
    append(table, 20)
    assert appended(table, list(line(table))[::-1]) is None


def test_a_commit_of_several_files_touches_the_times_of_each_and_nothing_between(
    table: Table,
) -> None:
    start = datetime(2024, 2, 1, tzinfo=UTC)
    rows = [
        {"id": part, "at": start + timedelta(hours=5 * part), "part": part} for part in range(2)
    ]
    table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
    newest = row_changes.row_changes(table, after=None, column="at")[0]
    assert newest.times is not None
    assert [each.start for each in newest.times] == [start, start + timedelta(hours=5)]
