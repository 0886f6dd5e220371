"""Histories, expiries and stray files, on Iceberg and in memory; and the files on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from tests.lakehouse.catalog_worlds import (
    AT,
    ID,
    ONE,
    IcebergWorld,
    RestWorld,
    World,
    opened,
)
from tests.lakehouse.postgres_worlds import IN_POSTGRES
from vde_dagster.core.clean_up.compaction import DataFile
from vde_dagster.core.clean_up.expiry import TableHistory
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.upkeep import maintenance as expiring
from vde_dagster.lakehouse.upkeep.reachable import Folder
from vde_dagster.ports.catalog import Catalog, ViewDefinition
from vde_dagster.ports.physical_layer import StoredTable

START: Final = datetime(2013, 1, 1, tzinfo=UTC)
HOUR: Final = timedelta(hours=1)
SHOWN: Final = TableName("s", "one")


def _of(*kinds: object) -> Callable[..., Iterator[World]]:
    """A fixture: the table `ONE` in each of these worlds."""

    @pytest.fixture(params=kinds)
    def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
        with opened(request, tmp_path, ONE) as found:
            yield found

    return world


anywhere = _of("memory", "iceberg", "rest", IN_POSTGRES)  # what needs no expiry: REST has none
world = _of("memory", "iceberg", IN_POSTGRES)
on_disk = _of("iceberg", "rest", IN_POSTGRES)
iceberg = _of("iceberg", IN_POSTGRES)  # SQL catalogs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "warehouse" / ONE.namespace / ONE.name


def filled(world: World, count: int = 3) -> list[int]:
    """Iceberg snapshots with one row more each."""
    return [world.append(ONE, [(number, START + number * HOUR)]) for number in range(count)]


def history_of(world: World) -> TableHistory:
    found = world.catalog.table_history(ONE)
    assert found is not None
    return found


def announce(world: World, *ids: int, token: str = "mine") -> None:
    metadata = history_of(world).metadata
    world.catalog.announce_expiry(ONE, ids, token=token, metadata=metadata)


def retained(world: World) -> set[int]:
    return set(history_of(world).snapshots)


def stored(catalog: Catalog, name: TableName = ONE) -> StoredTable:
    found = catalog.stored(name)
    assert found is not None
    return found


def of_data(paths: set[Path]) -> set[Path]:
    """Data files and manifests."""
    return {each for each in paths if each.suffix in (".parquet", ".avro")}


def files_in(folder: Path) -> set[Path]:
    return {each for each in folder.rglob("*") if each.is_file()}


# Histories
@pytest.mark.full
def test_a_history_has_the_line_and_what_branches_and_tags_name(anywhere: World) -> None:
    first, second = filled(anywhere, 2)
    anywhere.branch(ONE, "x", first)
    compacted = anywhere.compact(ONE)
    history = history_of(anywhere)
    assert [each.id for each in history.line(history.head)][:3] == [compacted, second, first]
    assert [each.is_compaction for each in history.line(history.head)][:3] == [True, False, False]
    assert history.branches == {"w_x": first}
    assert history.tags == {}
    assert history.left_at.keys() >= {first, second}
    assert compacted not in history.left_at
    assert history.left_at[first] <= history.left_at[second]
    assert bool(history.never_expires) == isinstance(anywhere, RestWorld)


def test_a_table_that_is_not_there_has_no_history_and_no_files(anywhere: World) -> None:
    nobody = TableName("s", "nobody")
    assert anywhere.catalog.table_history(nobody) is None
    assert list(anywhere.catalog.data_files(nobody)) == []
    assert not anywhere.catalog.stays(nobody, 1)
    assert anywhere.catalog.settle_expiry(nobody).count == 0
    assert anywhere.catalog.stored(nobody) is None


def test_the_tag_of_a_repair_is_dropped_only_where_it_is(anywhere: World) -> None:
    first, second = filled(anywhere, 2)
    anywhere.roll_back(ONE, first)
    anywhere.catalog.restore(ONE, found=first, recorded=second)
    anywhere.roll_back(ONE, first)
    other = anywhere.append(ONE, [(9, START)])
    anywhere.catalog.restore(ONE, found=other, recorded=second)
    tag = f"before_repair_{other}"
    history = history_of(anywhere)
    assert history.tags == {tag: other}
    anywhere.catalog.drop_tag(ONE, tag, second)
    assert anywhere.catalog.table_history(ONE) == history
    anywhere.catalog.drop_tag(ONE, tag, other)
    anywhere.catalog.drop_tag(ONE, tag, other)
    assert history_of(anywhere).tags == {}


# Expiries (rule R3)
@pytest.mark.full
def test_what_is_announced_does_not_stay_and_does_again_when_that_is_taken_back(
    world: World,
) -> None:
    first, second, last = filled(world)
    announce(world, first)
    assert [world.catalog.stays(ONE, each) for each in (first, second, last)] == [
        False,
        True,
        True,
    ]
    assert world.catalog.columns_at(ONE, first) is not None
    assert world.catalog.settle_expiry(ONE).count == 0
    assert world.catalog.stays(ONE, first)
    assert retained(world) >= {first, second, last}


def test_what_was_announced_expires_with_its_files_and_all_else_stays(world: World) -> None:
    first, second, last = filled(world)
    overwritten = world.overwrite(ONE, [(7, START)])
    before = retained(world)
    gone = before - {second, overwritten}
    measured = world.catalog.files_of(ONE, gone)
    announce(world, *gone)
    deleted = world.catalog.expire_announced(ONE, token="mine")
    assert deleted == measured
    assert deleted.count > 0
    assert retained(world) == {second, overwritten}
    assert not world.catalog.stays(ONE, first)
    assert not world.catalog.stays(ONE, last)
    assert history_of(world).head == overwritten
    announce(world, second, token="next")  # so none is announced any more


def test_a_table_that_changed_since_it_was_looked_at_is_not_announced(world: World) -> None:
    first, _ = filled(world, 2)
    history = history_of(world)
    world.append(ONE, [(9, START)])
    with pytest.raises(Conflict, match="changed in the meantime"):
        world.catalog.announce_expiry(ONE, [first], token="mine", metadata=history.metadata)
    assert world.catalog.stays(ONE, first)


@pytest.mark.full
def test_of_two_announcements_the_first_stands(world: World) -> None:
    first, second, _ = filled(world)
    announce(world, first)
    world.append(ONE, [(9, START)])  # other commits do no harm
    with pytest.raises(Conflict):
        announce(world, second, token="other")
    with pytest.raises(Conflict, match="another process has ended"):
        world.catalog.expire_announced(ONE, token="other")
    assert world.catalog.stays(ONE, second)
    world.catalog.expire_announced(ONE, token="mine")
    assert first not in retained(world)


def test_who_sleeps_until_the_announcement_is_taken_back_removes_nothing(world: World) -> None:
    first, second, _ = filled(world)
    announce(world, first)
    world.catalog.settle_expiry(ONE)
    announce(world, first, token="other")
    with pytest.raises(Conflict):
        world.catalog.expire_announced(ONE, token="mine")
    assert {first, second} <= retained(world)


def test_what_a_branch_names_by_now_does_not_expire(world: World) -> None:
    first, _, _ = filled(world)
    announce(world, first)
    world.branch(ONE, "late", first)
    with pytest.raises(Conflict, match="needs"):
        world.catalog.expire_announced(ONE, token="mine")
    assert first in retained(world)


# On disk
def named(world: IcebergWorld) -> set[Path]:
    """What the table names, as pyiceberg's own tables of metadata say it."""
    table = world._load(ONE)
    lists = [each.manifest_list for each in table.metadata.snapshots]
    manifests = table.inspect.all_manifests().column("path").to_pylist()
    files = table.inspect.all_files().column("file_path").to_pylist()
    log = [each.metadata_file for each in table.metadata.metadata_log]
    every = [*lists, *manifests, *files, *log, table.metadata_location]
    return {Path(each.removeprefix("file://")) for each in every}


@pytest.mark.full
def test_exactly_the_files_that_only_expired_ones_had_are_deleted(
    iceberg: IcebergWorld, folder: Path
) -> None:
    _, second, _ = filled(iceberg)
    iceberg.overwrite(ONE, [(7, START)])
    last = iceberg.append(ONE, [(8, START)])
    assert files_in(folder) >= named(iceberg)
    before = files_in(folder)
    gone = retained(iceberg) - {second, last}
    announce(iceberg, *gone)
    deleted = iceberg.catalog.expire_announced(ONE, token="mine")
    after = files_in(folder)
    assert named(iceberg) <= after
    assert len(before - after) == deleted.count
    assert of_data(after) == of_data(named(iceberg))
    rows = iceberg._load(ONE).scan().to_arrow().column("id").to_pylist()
    assert sorted(rows) == [7, 8]
    earlier = iceberg._load(ONE).scan(snapshot_id=second).to_arrow().column("id").to_pylist()
    assert sorted(earlier) == [0, 1]


def test_files_whose_deletion_was_cut_are_deleted_by_whoever_comes_next(
    iceberg: IcebergWorld, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(iceberg)
    last = iceberg.overwrite(ONE, [(7, START)])
    wanted = {each for each in named(iceberg) if each.suffix == ".parquet"}
    delete, done = Folder.delete, list[str]()

    def cut(self: Folder, paths: Iterator[str]) -> None:
        for path in paths:
            if len(done) == 4:
                raise PermissionError(13, "Permission denied")
            delete(self, [path])
            done.append(path)

    announce(iceberg, *retained(iceberg) - {last})
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "delete", cut)
        with pytest.raises(Refused, match="cannot be deleted"):
            iceberg.catalog.expire_announced(ONE, token="mine")
    assert retained(iceberg) == {last}
    assert iceberg.catalog.settle_expiry(ONE).count > 0
    left = of_data(files_in(folder))
    assert left == of_data(named(iceberg))
    assert len(left & wanted) == 1
    assert iceberg.catalog.settle_expiry(ONE).count == 0


def test_an_expiry_whose_answer_was_lost_is_ended(iceberg: IcebergWorld, folder: Path) -> None:
    first, _, _ = filled(iceberg)
    iceberg.overwrite(ONE, [(7, START)])
    announce(iceberg, first)
    iceberg._load(ONE).maintenance.expire_snapshots().by_ids([first]).commit()
    before = files_in(folder)
    assert iceberg.catalog.expire_announced(ONE, token="mine").count > 0
    assert before - files_in(folder)
    assert expiring.announcement(iceberg._load(ONE)) is None


def test_nothing_expires_where_metadata_of_what_stays_is_gone(
    iceberg: IcebergWorld, folder: Path
) -> None:
    first, _, _ = filled(iceberg)
    announce(iceberg, first)
    table = iceberg._load(ONE)
    last = table.current_snapshot()
    assert last is not None
    newest = last.manifests(table.io)[0].manifest_path
    Path(newest.removeprefix("file://")).unlink()
    with pytest.raises(Refused, match="not known for certain"):
        iceberg.catalog.expire_announced(ONE, token="mine")
    assert first in retained(iceberg)


@pytest.mark.full
def test_data_files_are_told_by_partition_and_size(on_disk: IcebergWorld, folder: Path) -> None:
    filled(on_disk, 2)
    on_disk.append(ONE, [(9, START)])
    found = on_disk.catalog.data_files(ONE)
    sizes = sorted(each.stat().st_size for each in folder.rglob("*.parquet"))
    assert sorted(each.size for each in found) == sizes
    partitions = sorted(each.partition for each in found)
    assert (len(partitions), len(set(partitions))) == (3, 2)
    assert all(isinstance(each, DataFile) for each in found)


# Stray files
def aged(path: Path, days: float) -> Path:
    at = (datetime.now(UTC) - timedelta(days=days)).timestamp()
    os.utime(path, (at, at))
    return path


def three_days_ago() -> datetime:
    return datetime.now(UTC) - timedelta(days=3)


@pytest.mark.full
def test_old_files_that_nothing_names_are_found_and_deleted_and_no_other(
    on_disk: IcebergWorld, folder: Path
) -> None:
    filled(on_disk)
    on_disk.overwrite(ONE, [(7, START)])
    for each in files_in(folder):
        aged(each, 30)
        checksum = each.with_name(f".{each.name}.crc")
        checksum.write_bytes(b"c")
        aged(checksum, 30)
    kept = files_in(folder)
    strays = [folder / "data" / "stray.parquet", folder / "metadata" / "stray-m0.avro"]
    strays.append(folder / "data" / ".stray.parquet.crc")
    for each in strays:
        each.write_bytes(b"xy")
        aged(each, 3.1)
    young = folder / "data" / "young.parquet"
    young.write_bytes(b"x")
    aged(young, 2.9)
    table = stored(on_disk.catalog)
    found = on_disk.catalog.stray_files(table, before=three_days_ago())
    assert {Path(each.path) for each in found} == set(strays)
    assert {each.size for each in found} == {2}
    on_disk.catalog.delete_files(table, found)
    on_disk.catalog.delete_files(table, found)
    assert files_in(folder) == kept | {young}
    assert on_disk._load(ONE).scan().to_arrow().column("id").to_pylist() == [7]


def test_nothing_is_stray_in_a_folder_with_a_table_that_a_person_has_renamed(
    on_disk: IcebergWorld, folder: Path
) -> None:
    """It keeps its folder, in which the table is that is made again under its old name."""
    filled(on_disk)
    catalog = on_disk.catalog._catalog
    catalog.create_namespace("backup")
    catalog.rename_table((ONE.namespace, ONE.name), ("backup", "one"))
    on_disk.create(ONE)
    kept = {aged(each, 30) for each in files_in(folder)}
    with pytest.raises(Refused, match=r"also has files of backup\.one"):
        on_disk.catalog.stray_files(stored(on_disk.catalog), before=three_days_ago())
    assert files_in(folder) == kept
    assert on_disk._load(TableName("backup", "one")).scan().to_arrow().num_rows == 3


@pytest.mark.full
def test_nothing_is_stray_where_the_table_names_files_that_are_not_there(
    on_disk: IcebergWorld, folder: Path
) -> None:
    """Where names in metadata and in storage do not agree, no file is certain to be of nobody."""
    filled(on_disk)
    stray = folder / "data" / "stray.parquet"
    stray.write_bytes(b"x")
    aged(stray, 30)
    on_disk.lose_file(ONE)
    with pytest.raises(Refused, match="refers to 1 files that are missing from its folder"):
        on_disk.catalog.stray_files(stored(on_disk.catalog), before=three_days_ago())


def test_only_files_in_the_folder_of_a_table_are_deleted(
    on_disk: IcebergWorld, tmp_path: Path
) -> None:
    from vde_dagster.ports.physical_layer import StrayFile

    filled(on_disk)
    outside = tmp_path / "warehouse" / "precious"
    outside.write_bytes(b"x")
    table = stored(on_disk.catalog)
    for path in (str(outside), f"{tmp_path}/warehouse/{ONE.namespace}/{ONE.name}/../../precious"):
        with pytest.raises(Refused, match="is not in the folder"):
            on_disk.catalog.delete_files(table, [StrayFile(path=path, size=1)])
    assert outside.exists()


# Views
def show(world: IcebergWorld, *columns: str) -> None:
    chosen = tuple(each for each in (ID, AT) if each.name in columns)
    world.catalog.swap_views([ViewDefinition(name=SHOWN, target=ONE, columns=chosen)], [])


def view_files(tmp_path: Path) -> list[Path]:
    found = files_in(tmp_path / "warehouse" / "s" / "one" / "metadata")
    return sorted(found, key=lambda each: each.name)


def strays(world: IcebergWorld) -> list[Path]:
    found = world.catalog.stray_files(stored(world.catalog, SHOWN), before=three_days_ago())
    return [Path(each.path) for each in found]


@pytest.mark.full
def test_metadata_files_that_a_view_has_moved_on_from_long_ago_are_found(
    iceberg: IcebergWorld, tmp_path: Path
) -> None:
    """The one before the current one may have been replaced just now, whenever it was written."""
    filled(iceberg)
    for columns in (("id",), ("id", "at"), ("at",), ("id",)):
        show(iceberg, *columns)
    first, second, third, last = view_files(tmp_path)
    assert strays(iceberg) == []
    for each in (first, second, third, last):
        aged(each, 30)
    assert strays(iceberg) == [first, second]
    aged(last, 1)
    assert strays(iceberg) == [first]
    aged(third, 1)
    assert strays(iceberg) == []
    for each in (third, last):
        aged(each, 30)
    view = stored(iceberg.catalog, SHOWN)
    found = iceberg.catalog.stray_files(view, before=three_days_ago())
    iceberg.catalog.delete_files(view, found)
    assert view_files(tmp_path) == [third, last]
    assert iceberg.catalog.view(SHOWN) is not None


@pytest.mark.full
def test_metadata_files_that_a_swap_wrote_and_never_showed_are_found(
    iceberg: IcebergWorld, tmp_path: Path
) -> None:
    """Another one was shown in their place; until then they may be what comes next."""
    filled(iceberg)
    show(iceberg, "id")
    (first,) = view_files(tmp_path)
    unshown = first.with_name(f"{int(first.name.split('-')[0]) + 1:05d}-cut.metadata.json")
    unshown.write_text(first.read_text())
    for each in (first, unshown):
        aged(each, 30)
    assert strays(iceberg) == []
    show(iceberg, "id", "at")
    assert strays(iceberg) == [unshown]
    aged(unshown, 1)
    assert strays(iceberg) == []


def test_files_of_an_earlier_view_of_the_name_go_and_those_of_others_stay(
    iceberg: IcebergWorld, tmp_path: Path
) -> None:
    filled(iceberg)
    show(iceberg, "id")
    (former,) = view_files(tmp_path)
    iceberg.catalog.swap_views([], [SHOWN])
    show(iceberg, "at")
    (current,) = set(view_files(tmp_path)) - {former}
    theirs = former.with_name("00007-theirs.metadata.json")
    theirs.write_text(former.read_text().replace("vde.target", "other"))
    broken = former.with_name("00008-broken.metadata.json")
    broken.write_text("{")
    for each in (former, current, theirs, broken):
        aged(each, 30)
    text = former.read_text().replace('"view-uuid": "', '"view-uuid": "another-')
    theirs.write_text(text.replace("vde.target", "other"))
    aged(theirs, 30)
    assert strays(iceberg) == [former]
    aged(current, 1)
    assert strays(iceberg) == []


def test_no_iceberg_snapshot_of_a_rest_catalog_expires_and_none_is_announced(
    rest: RestWorld,
) -> None:
    first, _ = filled(rest, 2)
    assert "cannot check" in history_of(rest).never_expires
    with pytest.raises(Refused, match="cannot check"):
        announce(rest, first)
    assert rest.catalog.stays(ONE, first)
    assert rest.catalog.settle_expiry(ONE).count == 0
