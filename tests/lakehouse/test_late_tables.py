"""The tables of sessions and high-water marks, in a catalog of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.table import Table

from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.ledger.late.listed import (
    ListedMark,
    ListedPending,
    ListedSession,
    ListedSource,
    ListedUri,
)
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.lakehouse.catalogs.iceberg_catalog import open_iceberg_catalog
from vde_dagster.lakehouse.iceberg import late_tables
from vde_dagster.lakehouse.iceberg.late_tables import IcebergLateTables

SESSIONS, MARKS = TableName("vde_meta", "late_sessions"), TableName("vde_meta", "high_watermarks")
KEY = VersionKey(ModelName("life", "cancels"), "a" * 32)
OTHER = VersionKey(ModelName("life", "cancels"), "b" * 32)
AT = datetime(2024, 1, 1, 9, 30, tzinfo=UTC)

SESSION = ListedSession(
    process_name="life.cancels",
    version=KEY.version,
    session_id="w1",
    environment="prod",
    mode="stateful",
    outcome="done",
    reason="",
    started_at=AT,
    finished_at=AT,
    processing_uris=(
        ListedUri(source="raw.cancels", partition='{"hour": 5}', files=1, rows=3),
        ListedUri(source="raw.cancels", partition='{"hour": 6}', files=2, rows=4),
    ),
    sources=(
        ListedSource(
            source="raw.cancels",
            table_uuid="u",
            previous_snapshot_id=None,
            latest_snapshot_id=2**62,
            files=3,
            rows=7,
        ),
    ),
    from_event_date=date(2024, 1, 1),
    from_event_hour=5,
    to_event_date=date(2024, 1, 1),
    to_event_hour=6,
    from_processing_date=None,
    from_processing_hour=None,
    to_processing_date=date(2024, 1, 1),
    to_processing_hour=9,
    complete_to=AT,
    rows_written=2**40,
    pending=(
        ListedPending(start=AT, end=AT, reason="incomplete", sources=("raw.cancels", "raw.plans")),
    ),
)
MARK = ListedMark(
    process_name="life.cancels",
    version=KEY.version,
    source="raw.cancels",
    table_uuid="u",
    latest_snapshot_id=2**62,
    latest_sequence_number=2,
    latest_committed_at=AT,
    previous_snapshot_id=None,
    previous_sequence_number=None,
    previous_committed_at=None,
    complete_to=None,
    session_id=None,
    moved_at=AT,
)


@dataclass(frozen=True)
class Late:
    """The two tables of a catalog."""

    catalog: PyIcebergCatalog
    tables: IcebergLateTables

    def table(self, name: TableName) -> Table:
        return self.catalog.load_table((name.namespace, name.name))

    def rows(self, name: TableName) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.table(name).scan().to_arrow().to_pylist()
        return found

    def ids(self) -> list[str]:
        return sorted(each["session_id"] for each in self.rows(SESSIONS))

    def versions(self) -> Mapping[str, int]:
        return {each["version"]: each["latest_snapshot_id"] for each in self.rows(MARKS)}


@pytest.fixture
def late(tmp_path: Path) -> Late:
    place = {"uri": f"sqlite:///{tmp_path}/lake.db", "warehouse": f"file://{tmp_path}/warehouse"}
    catalog = open_iceberg_catalog("lake", {"type": "sql", **place})
    return Late(catalog, IcebergLateTables(lambda: catalog, sessions=SESSIONS, marks=MARKS))


@pytest.mark.full
def test_a_session_is_a_row_with_its_partitions_and_sources_as_lists(late: Late) -> None:
    late.tables.add_sessions([SESSION])
    (row,) = late.rows(SESSIONS)
    assert row["processing_uris"] == [
        {"source": "raw.cancels", "partition": '{"hour": 5}', "files": 1, "rows": 3},
        {"source": "raw.cancels", "partition": '{"hour": 6}', "files": 2, "rows": 4},
    ]
    assert row["sources"][0]["latest_snapshot_id"] == 2**62
    assert (row["from_event_date"], row["from_event_hour"], row["to_event_hour"]) == (
        date(2024, 1, 1),
        5,
        6,
    )
    assert (row["rows_written"], row["from_processing_date"], row["complete_to"]) == (
        2**40,
        None,
        AT,
    )
    assert row["pending"][0]["sources"] == ["raw.cancels", "raw.plans"]


def test_each_table_is_partitioned_by_process_name(late: Late) -> None:
    late.tables.create()
    late.tables.create()  # again, as by another process
    for name in (SESSIONS, MARKS):
        found = late.table(name)
        first = found.spec().fields[0]
        assert found.schema().find_column_name(first.source_id) == "process_name"
        assert late.rows(name) == []


def test_a_session_that_is_added_again_is_there_once(late: Late) -> None:
    second = replace(SESSION, session_id="w2")
    late.tables.add_sessions([SESSION])
    late.tables.add_sessions([SESSION, second])
    late.tables.add_sessions([second])
    assert late.ids() == ["w1", "w2"]


@pytest.mark.full
def test_a_process_that_looked_before_another_one_added_adds_nothing(
    late: Late, monkeypatch: pytest.MonkeyPatch
) -> None:
    late.tables.create()
    looked = late_tables._added_before

    def paused(found: Table) -> frozenset[str]:
        known = looked(found)
        monkeypatch.undo()
        late.tables.add_sessions([SESSION])  # the other process, while this one is paused
        return known

    monkeypatch.setattr(late_tables, "_added_before", paused)
    with pytest.raises(Conflict, match=r"vde_meta\.late_sessions"):
        late.tables.add_sessions([SESSION])
    assert late.ids() == ["w1"]


@pytest.mark.full
def test_marks_of_a_version_are_replaced_and_those_of_others_stay(late: Late) -> None:
    other = replace(MARK, version=OTHER.version)
    late.tables.set_marks([KEY, OTHER], lambda: [MARK, other])
    moved = replace(MARK, latest_snapshot_id=9, previous_snapshot_id=2**62, session_id="w2")
    late.tables.set_marks([KEY], lambda: [moved])
    assert late.versions() == {KEY.version: 9, OTHER.version: 2**62}
    late.tables.set_marks([KEY], lambda: [moved])
    assert len(late.rows(MARKS)) == 2
    late.tables.set_marks([KEY], list)
    assert late.versions() == {OTHER.version: 2**62}, "a mark that is gone is gone from the table"


def test_an_earlier_mark_never_replaces_a_later_one(late: Late) -> None:
    late.tables.create()

    def paused() -> list[ListedMark]:
        late.tables.set_marks([KEY], lambda: [replace(MARK, latest_snapshot_id=9)])
        return [MARK]

    with pytest.raises(Conflict, match=r"vde_meta\.high_watermarks"):
        late.tables.set_marks([KEY], paused)
    assert late.versions() == {KEY.version: 9}


def test_a_table_of_another_program_is_left_alone(late: Late) -> None:
    late.catalog.create_namespace("vde_meta")
    theirs = late.catalog.create_table(
        ("vde_meta", "late_sessions"), pa.schema([pa.field("n", pa.int64())])
    )
    with pytest.raises(Refused, match="a table of another program") as refused:
        late.tables.add_sessions([SESSION])
    assert "vde.yaml" in str(refused.value)
    assert theirs.refresh().current_snapshot() is None


@pytest.mark.full
def test_old_iceberg_snapshots_go_and_rows_stay(
    late: Late, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_tables, "KEPT", 3)
    names = [f"w{number}" for number in range(9)]
    for each in names:
        late.tables.add_sessions([replace(SESSION, session_id=each)])
        late.tables.add_sessions([replace(SESSION, session_id=each)])
    assert late.ids() == names
    assert len(late.table(SESSIONS).metadata.snapshots) <= 6
