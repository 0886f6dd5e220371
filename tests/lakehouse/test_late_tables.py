"""The tables of sessions and high-water marks, in a catalog of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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
from vde_dagster.lakehouse import late_tables
from vde_dagster.lakehouse.iceberg_catalog import open_iceberg_catalog
from vde_dagster.lakehouse.late_tables import IcebergLateTables

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


@pytest.fixture
def catalog(tmp_path: Path) -> PyIcebergCatalog:
    place = {"uri": f"sqlite:///{tmp_path}/lake.db", "warehouse": f"file://{tmp_path}/warehouse"}
    return open_iceberg_catalog("lake", {"type": "sql", **place})


@pytest.fixture
def tables(catalog: PyIcebergCatalog) -> IcebergLateTables:
    return IcebergLateTables(lambda: catalog, sessions=SESSIONS, marks=MARKS)


def table(catalog: PyIcebergCatalog, name: TableName) -> Table:
    return catalog.load_table((name.namespace, name.name))


def rows(catalog: PyIcebergCatalog, name: TableName) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table(catalog, name).scan().to_arrow().to_pylist()
    return found


def ids(catalog: PyIcebergCatalog) -> list[str]:
    return sorted(each["session_id"] for each in rows(catalog, SESSIONS))


def versions(catalog: PyIcebergCatalog) -> Mapping[str, int]:
    return {each["version"]: each["latest_snapshot_id"] for each in rows(catalog, MARKS)}


@pytest.mark.full
def test_a_session_is_a_row_with_its_partitions_and_sources_as_lists(
    catalog: PyIcebergCatalog, tables: IcebergLateTables
) -> None:
    tables.add_sessions([SESSION])
    (row,) = rows(catalog, SESSIONS)
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


def test_each_table_is_partitioned_by_process_name(
    catalog: PyIcebergCatalog, tables: IcebergLateTables
) -> None:
    tables.create()
    tables.create()  # again, as by another process
    for name in (SESSIONS, MARKS):
        found = table(catalog, name)
        first = found.spec().fields[0]
        assert found.schema().find_column_name(first.source_id) == "process_name"
        assert rows(catalog, name) == []


def test_a_session_that_is_added_again_is_there_once(
    catalog: PyIcebergCatalog, tables: IcebergLateTables
) -> None:
    second = replace(SESSION, session_id="w2")
    tables.add_sessions([SESSION])
    tables.add_sessions([SESSION, second])
    tables.add_sessions([second])
    assert ids(catalog) == ["w1", "w2"]


@pytest.mark.full
def test_a_process_that_looked_before_another_one_added_adds_nothing(
    catalog: PyIcebergCatalog, tables: IcebergLateTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.create()
    looked = late_tables._added_before

    def paused(found: Table) -> frozenset[str]:
        known = looked(found)
        monkeypatch.undo()
        tables.add_sessions([SESSION])  # the other process, while this one is paused
        return known

    monkeypatch.setattr(late_tables, "_added_before", paused)
    with pytest.raises(Conflict, match=r"vde_meta\.late_sessions"):
        tables.add_sessions([SESSION])
    assert ids(catalog) == ["w1"]


@pytest.mark.full
def test_marks_of_a_version_are_replaced_and_those_of_others_stay(
    catalog: PyIcebergCatalog, tables: IcebergLateTables
) -> None:
    other = replace(MARK, version=OTHER.version)
    tables.set_marks([KEY, OTHER], lambda: [MARK, other])
    moved = replace(MARK, latest_snapshot_id=9, previous_snapshot_id=2**62, session_id="w2")
    tables.set_marks([KEY], lambda: [moved])
    assert versions(catalog) == {KEY.version: 9, OTHER.version: 2**62}
    tables.set_marks([KEY], lambda: [moved])
    assert len(rows(catalog, MARKS)) == 2


def test_a_mark_that_is_gone_is_gone_from_the_table(
    catalog: PyIcebergCatalog, tables: IcebergLateTables
) -> None:
    tables.set_marks([KEY], list)
    assert rows(catalog, MARKS) == []
    tables.set_marks([KEY], lambda: [MARK])
    tables.set_marks([KEY], list)
    assert rows(catalog, MARKS) == []


def test_an_earlier_mark_never_replaces_a_later_one(
    catalog: PyIcebergCatalog, tables: IcebergLateTables
) -> None:
    tables.create()

    def paused() -> list[ListedMark]:
        tables.set_marks([KEY], lambda: [replace(MARK, latest_snapshot_id=9)])
        return [MARK]

    with pytest.raises(Conflict, match=r"vde_meta\.high_watermarks"):
        tables.set_marks([KEY], paused)
    assert versions(catalog) == {KEY.version: 9}


def test_a_table_of_another_program_is_left_alone(
    catalog: PyIcebergCatalog, tables: IcebergLateTables
) -> None:
    catalog.create_namespace("vde_meta")
    theirs = catalog.create_table(
        ("vde_meta", "late_sessions"), pa.schema([pa.field("n", pa.int64())])
    )
    with pytest.raises(Refused, match="a table of another program") as refused:
        tables.add_sessions([SESSION])
    assert "vde.yaml" in str(refused.value)
    assert theirs.refresh().current_snapshot() is None


@pytest.mark.full
def test_old_iceberg_snapshots_go_and_rows_stay(
    catalog: PyIcebergCatalog, tables: IcebergLateTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_tables, "KEPT", 3)
    names = [f"w{number}" for number in range(9)]
    for each in names:
        tables.add_sessions([replace(SESSION, session_id=each)])
        tables.add_sessions([replace(SESSION, session_id=each)])
    assert ids(catalog) == names
    assert len(table(catalog, SESSIONS).metadata.snapshots) <= 6
