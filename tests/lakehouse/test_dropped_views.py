"""Metadata of views that were dropped: found, deleted once it is old, and never that of others."""

from __future__ import annotations

import json
import os
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.lakehouse.catalog_worlds import (
    AT,
    ID,
    ONE,
    STATE_ID,
    IcebergWorld,
    MemoryWorld,
    World,
)
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.iceberg.view_metadata import MetadataFiles
from vde_dagster.ports.catalog import ViewDefinition
from vde_dagster.ports.physical_layer import STATE, StoredTable, StrayFile
from vde_dagster.project.machine import SystemClock

SHOWN: Final = TableName("s__dev", "one")
OTHER: Final = TableName("s__dev", "other")
APART: Final = TableName("s", "one", "lake__dev")


@pytest.fixture
def world(world: World) -> World:
    if isinstance(world, MemoryWorld):
        world.catalog.clock = SystemClock()  # files on disk have the machine's time, too
    return world


def show(world: World, *names: TableName, drop: tuple[TableName, ...] = ()) -> None:
    """Make views, and drop others."""
    views = [ViewDefinition(name=each, target=ONE, columns=(ID, AT)) for each in names]
    world.catalog.swap_views(views, drop)


def dropped(world: World, *names: TableName) -> list[StoredTable]:
    """Make views and drop them; what is left of all that were."""
    show(world, *names)
    show(world, drop=names)
    return left(world)


def left(world: World, state: str = STATE_ID) -> list[StoredTable]:
    return [*world.catalog.dropped_views(state=state)]


def strays(world: World, stored: StoredTable, days: float = 3) -> list[StrayFile]:
    """What is stray of files that are older than some days."""
    before = datetime.now(UTC) - timedelta(days=days)
    return [*world.catalog.stray_files(stored, before=before)]


def files(tmp_path: Path, name: TableName = SHOWN) -> list[Path]:
    parts = [part for part in (name.catalog, name.namespace, name.name) if part]
    folder = tmp_path.joinpath("warehouse", *parts)
    return sorted(each for each in folder.rglob("*") if each.is_file())


def aged(*paths: Path) -> None:
    at = (datetime.now(UTC) - timedelta(days=30)).timestamp()
    for each in paths:
        os.utime(each, (at, at))


def rewritten(path: Path, **properties: str | None) -> Path:
    """Change properties in a metadata file; None removes one."""
    metadata = json.loads(path.read_text("utf-8"))
    every = {**metadata["properties"], **properties}
    metadata["properties"] = {key: value for key, value in every.items() if value is not None}
    path.write_text(json.dumps(metadata), encoding="utf-8")
    return path


# On both
def test_a_view_that_is_dropped_is_found_until_it_is_made_again(world: World) -> None:
    show(world, SHOWN, OTHER)
    assert left(world) == []
    show(world, drop=(SHOWN,))
    (found,) = left(world)
    assert (found.name, found.is_view, found.is_dropped) == (SHOWN, True, True)
    assert found.state == STATE_ID
    show(world, SHOWN)
    assert left(world) == []
    show(world, drop=(SHOWN, OTHER))
    assert [each.name for each in left(world)] == [SHOWN, OTHER]


def test_files_that_are_young_or_of_a_view_that_was_made_again_stay(world: World) -> None:
    (found,) = dropped(world, SHOWN)
    assert strays(world, found) == []
    assert len(strays(world, found, days=-1)) == 1
    show(world, SHOWN)
    assert strays(world, found, days=-1) == []


def test_once_they_are_deleted_nothing_is_left_and_again_is_no_error(world: World) -> None:
    first, second = dropped(world, SHOWN, OTHER)
    for _ in range(2):
        world.catalog.delete_files(first, strays(world, first, days=-1))
        assert left(world) == [second]
    show(world, SHOWN)
    assert world.catalog.view(SHOWN) is not None


# On disk
def test_all_files_of_a_dropped_view_go_with_their_folder_and_no_other(
    iceberg: IcebergWorld, tmp_path: Path
) -> None:
    show(iceberg, SHOWN, OTHER)
    narrow = ViewDefinition(name=SHOWN, target=ONE, columns=(ID,))
    iceberg.catalog.swap_views([narrow], [])
    show(iceberg, drop=(SHOWN,))
    show(iceberg, SHOWN)
    (found,) = dropped(iceberg, SHOWN)
    mine, kept = files(tmp_path), files(tmp_path, OTHER)
    assert len(mine) == 3
    aged(*mine, *kept)
    everything = sum(each.stat().st_size for each in mine)
    gone = strays(iceberg, found)
    assert {Path(each.path) for each in gone} == {*mine}
    assert sum(each.size for each in gone) == everything
    iceberg.catalog.delete_files(found, gone)
    assert not (tmp_path / "warehouse" / SHOWN.namespace / SHOWN.name).exists()
    assert files(tmp_path, OTHER) == kept
    assert iceberg.catalog.view(OTHER) is not None


def test_none_goes_while_the_newest_is_young(iceberg: IcebergWorld, tmp_path: Path) -> None:
    show(iceberg, SHOWN)
    show(iceberg, drop=(SHOWN,))
    aged(*files(tmp_path))
    (found,) = dropped(iceberg, SHOWN)
    assert strays(iceberg, found) == []
    aged(*files(tmp_path))
    assert len(strays(iceberg, found)) == 2


def test_a_view_that_is_made_again_while_its_files_are_deleted_is_there(
    iceberg: IcebergWorld, tmp_path: Path
) -> None:
    (found,) = dropped(iceberg, SHOWN)
    aged(*files(tmp_path))
    gone = strays(iceberg, found)
    show(iceberg, SHOWN)
    iceberg.catalog.delete_files(found, gone)
    assert iceberg.catalog.view(SHOWN) is not None
    assert len(files(tmp_path)) == 1


def test_a_file_whose_folder_is_removed_just_then_is_written_all_the_same(
    iceberg: IcebergWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, calls = MetadataFiles._create, list[str]()

    def removed_at_first(files: MetadataFiles, location: str, content: bytes) -> None:
        calls.append(location)
        if len(calls) == 1:
            raise FileNotFoundError(location)
        create(files, location, content)

    monkeypatch.setattr(MetadataFiles, "_create", removed_at_first)
    show(iceberg, SHOWN)
    assert calls[0] == calls[1]
    assert iceberg.catalog.view(SHOWN) is not None


@pytest.mark.parametrize("state", ["another", None], ids=["of another state", "of none"])
def test_r12_what_another_state_made_or_does_not_say_whose_it_is_stays(
    iceberg: IcebergWorld, tmp_path: Path, state: str | None
) -> None:
    dropped(iceberg, SHOWN)
    (file,) = files(tmp_path)
    aged(rewritten(file, **{STATE: state}))
    assert left(iceberg) == []


def test_r12_files_of_others_in_the_folder_of_a_dropped_view_stay(
    iceberg: IcebergWorld, tmp_path: Path
) -> None:
    dropped(iceberg, SHOWN)
    show(iceberg, SHOWN)
    (found,) = dropped(iceberg, SHOWN)
    one, two = files(tmp_path)
    text = one.read_text("utf-8")
    theirs = one.with_name("00001-theirs.metadata.json")
    theirs.write_text(text.replace("vde.target", "other"), encoding="utf-8")
    table = one.with_name("00002-table.metadata.json")
    table.write_text('{"table-uuid": "x", "current-snapshot-id": 1}', encoding="utf-8")
    broken, plain = one.with_name("00003-x.metadata.json"), one.with_name("notes.txt")
    broken.write_text("{", encoding="utf-8")
    plain.write_text("mine", encoding="utf-8")
    foreign = one.with_name("00001-foreign.metadata.json")
    foreign.write_text(text, encoding="utf-8")
    rewritten(foreign, **{STATE: "another"})
    every = (theirs, table, broken, plain, foreign)
    aged(one, *every)
    aged(two)
    os.utime(two, (two.stat().st_atime, two.stat().st_mtime + 60))
    (found,) = left(iceberg)
    gone = strays(iceberg, found)
    assert {Path(each.path) for each in gone} == {one, two}
    iceberg.catalog.delete_files(found, gone)
    assert files(tmp_path) == sorted(every)


@pytest.mark.parametrize(
    "spelled",
    ["file:{folder}", "file://{folder}", "s3a://bucket/elsewhere"],
    ids=["file", "url", "another scheme"],
)
def test_a_view_of_which_the_catalog_names_a_file_in_any_way_is_not_dropped(
    iceberg: IcebergWorld, tmp_path: Path, spelled: str
) -> None:
    """Also one that another catalog of the database has, whatever its name is there."""
    show(iceberg, SHOWN)
    (file,) = files(tmp_path)
    named = f"{spelled.format(folder=file.parent.parent)}/metadata/{file.name}"
    with sqlite3.connect(tmp_path / "folder" / "lake.db") as connection:
        done = connection.execute(
            "UPDATE iceberg_tables SET metadata_location = ?, catalog_name = 'others' "
            "WHERE table_name = 'one' AND table_namespace = ?",
            (named, SHOWN.namespace),
        )
        assert done.rowcount == 1
    aged(file)
    assert left(iceberg) == []


def test_views_in_an_environments_catalog_are_found_one_folder_deeper(
    iceberg: IcebergWorld, tmp_path: Path
) -> None:
    show(iceberg, APART, TableName("s", "one"))
    show(iceberg, drop=(APART,))
    (found,) = left(iceberg)
    assert found.name == APART
    aged(*files(tmp_path, APART))
    gone = strays(iceberg, found)
    assert {Path(each.path) for each in gone} == {*files(tmp_path, APART)}
    iceberg.catalog.delete_files(found, gone)
    assert left(iceberg) == []
    assert len(files(tmp_path, TableName("s", "one"))) == 1


def test_folders_in_which_the_catalog_names_a_file_are_not_listed(
    iceberg: IcebergWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking for what is left costs one listing for each schema, and no file of what is there."""
    show(iceberg, SHOWN, OTHER)
    read: list[Any] = []
    monkeypatch.setattr("vde_dagster.lakehouse.upkeep.stray_files._metadata_files", read.append)
    assert left(iceberg) == []
    assert read == []
