"""Looking at physical tables and dropping one, on Iceberg and in memory; and the files on disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.exceptions import RESTError

from tests.lakehouse.catalog_worlds import (
    AT,
    ID,
    KEPT,
    IcebergWorld,
    KeptIceberg,
    RestWorld,
    World,
    fail,
    opened,
)
from tests.lakehouse.postgres_worlds import IN_POSTGRES
from tests.worlds.rest_server import Page
from tests.worlds.rest_views import NotDone
from vde_dagster.core.errors import OutcomeUnknown, Refused
from vde_dagster.core.names import ModelName, TableName, physical_table
from vde_dagster.lakehouse.upkeep.physical_layer import SqlPhysicalLayer
from vde_dagster.lakehouse.upkeep.reachable import Folder
from vde_dagster.ports.catalog import Catalog, ViewDefinition
from vde_dagster.ports.physical_layer import STATE, StoredTable

START = datetime(2013, 1, 1, tzinfo=UTC)
ONE = physical_table(ModelName("s", "one"), "1" * 32)
TWO = physical_table(ModelName("s", "two"), "2" * 32)
ROWS = [(1, START)]
SHOWN = ViewDefinition(name=TableName("dev", "one"), target=ONE, columns=(ID, AT))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> KeptIceberg:
    folder = tmp_path_factory.mktemp("iceberg")
    return KeptIceberg(folder, ONE, TWO, values=ROWS)


@pytest.fixture
def warehouse(iceberg: IcebergWorld) -> Path:
    return iceberg.folder / "warehouse"


@pytest.fixture(params=[KEPT, IN_POSTGRES])
def iceberg(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[IcebergWorld]:
    """A SQL catalog."""
    with opened(request, tmp_path, ONE, TWO, values=ROWS) as found:
        assert isinstance(found, IcebergWorld)
        yield found


@pytest.fixture(params=["memory", KEPT, "rest", IN_POSTGRES])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with opened(request, tmp_path, ONE, TWO, values=ROWS) as found:
        yield found


def stored(catalog: Catalog, name: TableName = ONE) -> StoredTable:
    return next(each for each in catalog.physical_layer() if each.name == name)


def files_in(folder: Path) -> set[Path]:
    return {each for each in folder.rglob("*") if each.is_file()}


def drop(catalog: Catalog, found: StoredTable) -> bool:
    return catalog.drop_physical(found.name, uuid=found.uuid, location=found.location)


@pytest.mark.full
def test_every_physical_table_is_described(world: World) -> None:
    second = world.append(ONE, [(2, START)])
    world.branch(ONE, "w1", second)
    world.set_property(ONE, STATE, "this one")
    world.create(TableName("raw", "theirs"))
    assert [each.name for each in world.catalog.physical_layer()] == [ONE, TWO]
    one, two = world.catalog.physical_layer()
    table = world.catalog.table(ONE)
    assert table is not None
    assert (one.uuid, one.state, one.is_view) == (table.uuid, "this one", False)
    assert one.branches == ("w1",)
    assert (two.state, two.branches) == ("", ())
    assert one.location.endswith(f"/{ONE.namespace}/{ONE.name}")


@pytest.mark.full
def test_views_that_read_physical_tables_are_found_with_what_they_name(world: World) -> None:
    world.catalog.swap_views([SHOWN], [])
    (view,) = world.catalog.reading_views()
    assert (view.name, view.is_view) == (SHOWN.name, True)
    assert ONE.name in view.text
    assert TWO.name not in view.text


def test_a_dropped_table_is_gone_and_all_others_stay(world: World) -> None:
    found = stored(world.catalog)
    assert world.catalog.files(found).count > 0
    assert world.catalog.files(found).size > 0
    assert drop(world.catalog, found)
    assert world.catalog.table(ONE) is None
    assert [each.name for each in world.catalog.physical_layer()] == [TWO]
    assert world.catalog.files(stored(world.catalog, TWO)).count > 0
    assert drop(world.catalog, found), "again is no error"


def test_r12_a_table_that_somebody_made_under_its_name_stays(world: World) -> None:
    found = stored(world.catalog)
    assert drop(world.catalog, found)
    world.create(ONE)
    head = world.append(ONE, [(7, START)])
    assert not drop(world.catalog, found)
    table = world.catalog.table(ONE)
    assert table is not None
    assert table.iceberg_snapshot_id == head
    assert world.catalog.columns_at(ONE, head) is not None


def test_files_in_a_folder_that_is_not_the_tables_own_are_never_deleted(world: World) -> None:
    found = stored(world.catalog)
    shared = found.location.rpartition("/")[0]
    with pytest.raises(Refused, match="not a folder of its own"):
        world.catalog.drop_physical(ONE, uuid=found.uuid, location=shared)
    assert world.catalog.table(ONE) is not None


@pytest.mark.full
def test_all_files_of_a_dropped_table_are_gone_from_disk_and_no_other(
    iceberg: IcebergWorld, warehouse: Path
) -> None:
    iceberg.append(ONE, [(2, START)])
    iceberg.overwrite(ONE, [(3, START)])
    folder = warehouse / ONE.namespace / ONE.name
    stray = folder / "data" / "never_committed.parquet"
    stray.write_bytes(b"x")
    others = files_in(warehouse) - files_in(folder)
    found = stored(iceberg.catalog)
    size = sum(each.stat().st_size for each in files_in(folder))
    measured = iceberg.catalog.files(found)
    assert (measured.count, measured.size) == (len(files_in(folder)), size)
    assert drop(iceberg.catalog, found)
    assert not folder.exists()
    assert files_in(warehouse) == others


def test_a_drop_that_was_cut_after_the_table_left_the_catalog_deletes_its_files_later(
    iceberg: IcebergWorld, warehouse: Path
) -> None:
    found = stored(iceberg.catalog)
    folder = warehouse / ONE.namespace / ONE.name
    iceberg.drop(ONE)
    assert files_in(folder)
    assert drop(iceberg.catalog, found)
    assert not folder.exists()


def test_files_of_a_table_that_was_made_after_the_drop_began_are_not_deleted(
    iceberg: IcebergWorld, warehouse: Path
) -> None:
    """It lies in the same folder: only what was there before the drop is deleted."""
    found = stored(iceberg.catalog)
    catalog = iceberg.catalog
    layer = catalog._layer
    assert isinstance(layer, SqlPhysicalLayer)
    listed = layer._delete_row

    def remade(*args: object) -> None:
        listed(*args)  # type: ignore[arg-type]
        iceberg.create(ONE)
        iceberg.append(ONE, [(9, START)])

    layer._delete_row = remade  # type: ignore[method-assign,assignment]
    assert drop(catalog, found)
    table = iceberg.catalog.table(ONE)
    assert table is not None
    assert iceberg._load(ONE).scan().to_arrow().to_pylist() == [{"id": 9, "at": START}]


def test_r12_files_of_a_table_that_a_person_has_renamed_are_not_deleted(
    iceberg: IcebergWorld, warehouse: Path
) -> None:
    """It keeps its folder, in which the table is that is made again under its old name."""
    assert stored(iceberg.catalog).beside == ""
    found = stored(iceberg.catalog)
    files = files_in(warehouse)
    catalog = iceberg.catalog._catalog
    catalog.create_namespace("backup")
    catalog.rename_table((ONE.namespace, ONE.name), ("backup", "one"))
    with pytest.raises(Refused, match=r"also has files of backup\.one"):
        drop(iceberg.catalog, found)
    iceberg.create(ONE)
    again = stored(iceberg.catalog)
    assert again.beside == "backup.one"
    with pytest.raises(Refused, match=r"also has files of backup\.one"):
        drop(iceberg.catalog, again)
    assert iceberg.catalog.table(ONE) is not None
    assert files <= files_in(warehouse)
    assert iceberg._load(TableName("backup", "one")).scan().to_arrow().num_rows == 1
    iceberg.drop(TableName("backup", "one"))
    assert drop(iceberg.catalog, again)


@pytest.mark.parametrize("away", ["backup", "backup.old"])
def test_r12_over_rest_files_of_a_table_that_a_person_has_renamed_are_not_deleted(
    rest: RestWorld, away: str
) -> None:
    rest.append(ONE, [(1, START)])
    found = stored(rest.catalog)
    files = files_in(rest.folder / "warehouse")
    catalog = rest.catalog._catalog
    catalog.create_namespace(away)
    catalog.rename_table((ONE.namespace, ONE.name), f"{away}.one")
    with pytest.raises(Refused, match=rf"also has files of {re.escape(away)}\.one"):
        drop(rest.catalog, found)
    assert files <= files_in(rest.folder / "warehouse")
    assert catalog.load_table(f"{away}.one").scan().to_arrow().num_rows == 1


def test_r12_over_rest_views_in_namespaces_that_are_in_others_are_seen(rest: RestWorld) -> None:
    rest.catalog.swap_views([SHOWN], [])
    rest.catalog._catalog.create_namespace(("backup", "old"))
    views = rest.server.views
    views["backup.old", "one"] = views.pop(("dev", "one"))
    assert [str(each.name) for each in rest.catalog.reading_views()] == ["backup.old.one"]


def test_r12_over_rest_nothing_is_deleted_where_it_is_not_certain_that_a_table_is_gone(
    rest: RestWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something on the way answers for the catalog, for a moment."""
    found, answer = stored(rest.catalog), rest.server.answer
    files = files_in(rest.folder / "warehouse")
    late = iter([False])  # the first time, which looks who shares the folder

    def lost(method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        is_it = f"tables/{ONE.name}" in path and next(late, True)
        return (404, {}) if is_it else answer(method, path, body)

    monkeypatch.setattr(rest.server, "answer", lost)
    with pytest.raises(OutcomeUnknown, match="nothing was dropped"):
        drop(rest.catalog, found)
    assert files_in(rest.folder / "warehouse") == files


@pytest.mark.parametrize("sort", ["table", "view"])
@pytest.mark.parametrize("status", [403, 500])
def test_r12_over_rest_a_table_of_others_that_cannot_be_read_is_named_with_what_to_do(
    rest: RestWorld, sort: str, status: int
) -> None:
    """Its files may be in the folder of any table, and it may need any table."""
    theirs = TableName("raw", "theirs")
    found = stored(rest.catalog)
    (rest.create_view if sort == "view" else rest.create)(theirs)
    fail(rest.server, NotDone(status, "not yours"), end=f"{sort}s/theirs")
    ways: list[Callable[[], object]] = [
        rest.catalog.physical_layer,
        lambda: drop(rest.catalog, found),
        *([rest.catalog.reading_views] if sort == "view" else []),
    ]
    for look in ways:
        expected = rf"the {sort} raw\.theirs cannot be read.*{status}: not yours"
        with pytest.raises(Refused, match=expected) as raised:
            look()
        assert "drop it from the catalog" in raised.value.advice
    assert files_in(rest.folder / "warehouse" / ONE.namespace)


def test_r12_over_rest_a_404_of_something_on_the_way_hides_no_namespace_in_another(
    rest: RestWorld,
) -> None:
    found, asked = stored(rest.catalog), list[str]()

    def page(method: str, path: str) -> None:
        if (method, path) == ("GET", "/v1/namespaces"):
            asked.append(path)
            if len(asked) > 1:  # what is in the namespaces at the top
                raise Page(404)

    rest.server.before = page
    with pytest.raises(RESTError, match="404: no answer of a catalog"):
        drop(rest.catalog, found)
    assert files_in(rest.folder / "warehouse" / ONE.namespace)


def test_a_view_whose_file_is_gone_names_nothing(iceberg: IcebergWorld, warehouse: Path) -> None:
    iceberg.catalog.swap_views([SHOWN], [])
    for each in files_in(warehouse / "dev"):
        each.unlink()
    assert iceberg.catalog.reading_views() == ()


def test_files_that_cannot_be_deleted_are_named_and_deleted_once_they_can_be(
    iceberg: IcebergWorld, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = stored(iceberg.catalog)
    folder = warehouse / ONE.namespace / ONE.name
    catalog = iceberg.catalog

    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "delete", denied)
        with pytest.raises(Refused, match=r"cannot be deleted: .*Permission denied"):
            drop(catalog, found)
    assert files_in(folder)
    assert drop(catalog, found)
    assert not folder.exists()
