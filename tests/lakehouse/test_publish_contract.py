"""Publishing when others commit meanwhile, when answers are lost, and when the file is locked."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from sqlalchemy.exc import OperationalError

from tests.lakehouse.catalog_worlds import fail
from tests.lakehouse.postgres_worlds import IN_POSTGRES, emptied
from tests.worlds.rest_server import LoseAnswer, LoseRequest, Page, RestServer, rest_server
from vde_dagster.core.errors import Conflict, OutcomeUnknown
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog, open_iceberg_catalog
from vde_dagster.lakehouse.iceberg import publish as publish_module
from vde_dagster.ports.catalog import TableMoved, TableText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyiceberg.table import CommitTableResponse, Table

TABLE = TableName("raw", "t")


class Interrupted(Catalog):
    """A catalog to whose next commits something happens."""

    before: list[Callable[[], None]]
    after: list[Callable[[], None]]

    def commit_table(self, table, requirements, updates) -> CommitTableResponse:  # type: ignore[no-untyped-def]
        if self.before:
            self.before.pop(0)()
        answer = super().commit_table(table, requirements, updates)  # type: ignore[safe-super]
        if self.after:
            self.after.pop(0)()
        return answer


class InterruptedSql(Interrupted, SqlCatalog):
    """One in a SQLite file, or in Postgres."""


class InterruptedRest(Interrupted, RestCatalog):
    """One behind a server."""


@pytest.fixture(params=["sql", "rest", IN_POSTGRES])
def catalog(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Interrupted]:
    monkeypatch.setattr(publish_module, "_PAUSE", 0.0)
    if request.param == "rest":
        with rest_server(tmp_path) as server:
            yield filled(InterruptedRest("lake", **server.properties))
        return
    is_there = request.param == "postgres"
    uri = emptied(request.getfixturevalue("postgres")) if is_there else sqlite(tmp_path)
    opened = in_sql(uri, tmp_path)
    yield filled(opened)
    opened.engine.dispose()


def sqlite(folder: Path) -> str:
    return f"sqlite:///{folder}/lake.db?timeout=0"


def in_sql(uri: str, folder: Path) -> InterruptedSql:
    properties = {"uri": uri, "warehouse": f"{folder}/warehouse"}
    open_iceberg_catalog("lake", {"type": "sql", **properties})
    return InterruptedSql("lake", **properties)


def filled(found: Interrupted) -> Interrupted:
    found.before, found.after = [], []
    found.create_namespace("raw")
    found.create_table("raw.t", pa.schema([("id", pa.int64())]))
    return found


def append(catalog: Catalog, value: int) -> Table:
    table = catalog.load_table("raw.t")
    table.append(pa.table({"id": [value]}))
    return table


def staged(catalog: Interrupted) -> tuple[int, int]:
    """A head, and a snapshot that is staged on top of it."""
    base = append(catalog, 1).metadata.current_snapshot_id
    following = append(catalog, 2).metadata.current_snapshot_id
    assert base is not None
    assert following is not None
    catalog.load_table("raw.t").manage_snapshots().rollback_to_snapshot(base).commit()
    catalog.load_table("raw.t").manage_snapshots().create_branch(following, "w_ab").commit()
    return base, following


def head(catalog: Catalog) -> int | None:
    return catalog.load_table("raw.t").metadata.current_snapshot_id


def lost() -> None:
    """What a SQL catalog raises; `test_over_rest_a_lost_answer_is_looked_up` has the other one."""
    raise OperationalError("commit", None, sqlite3.OperationalError("the answer was lost"))


@pytest.mark.full
def test_a_commit_outside_of_main_does_not_stop_a_publication(catalog: Interrupted) -> None:
    base, following = staged(catalog)

    def set_property() -> None:
        with catalog.load_table("raw.t").transaction() as transaction:
            transaction.set_properties({"a": "b"})

    catalog.before.append(set_property)
    IcebergCatalog(catalog).publish(TABLE, base=base, staged=following)
    table = catalog.load_table("raw.t")
    assert table.metadata.current_snapshot_id == following
    assert table.properties["a"] == "b"


@pytest.mark.full
def test_a_commit_to_main_in_the_last_moment_is_a_conflict(catalog: Interrupted) -> None:
    base, following = staged(catalog)

    def commit() -> None:
        append(catalog, 3)

    catalog.before.append(commit)
    with pytest.raises(Conflict, match="moved"):
        IcebergCatalog(catalog).publish(TABLE, base=base, staged=following)
    rows = catalog.load_table("raw.t").scan().to_arrow()["id"].to_pylist()
    assert sorted(rows) == [1, 3]


def test_a_publication_removes_the_branch_in_its_own_commit(catalog: Interrupted) -> None:
    base, following = staged(catalog)
    before = len(catalog.load_table("raw.t").metadata.metadata_log)
    for _ in ("once", "again"):
        IcebergCatalog(catalog).publish(TABLE, base=base, staged=following)
        metadata = catalog.load_table("raw.t").metadata
        assert {*metadata.refs} == {"main"}
        assert (metadata.current_snapshot_id, len(metadata.metadata_log)) == (following, before + 1)


@pytest.mark.full
def test_who_drops_the_branch_in_the_last_moment_stops_a_publication(catalog: Interrupted) -> None:
    base, following = staged(catalog)
    catalog.before.append(lambda: IcebergCatalog(catalog).drop_branch(TABLE, "ab"))
    with pytest.raises(TableMoved, match="given up"):
        IcebergCatalog(catalog).publish(TABLE, base=base, staged=following)
    assert head(catalog) == base


def test_a_table_that_is_always_changed_is_busy_and_has_not_moved(catalog: Interrupted) -> None:
    base, following = staged(catalog)

    def somebody_was_faster() -> None:
        raise CommitFailedException("the metadata is another one by now")

    catalog.before.extend([somebody_was_faster] * 20)
    with pytest.raises(Conflict, match="other processes keep changing") as busy:
        IcebergCatalog(catalog).publish(TABLE, base=base, staged=following)
    assert not isinstance(busy.value, TableMoved), "so a recovery does not give it up"
    catalog.before.clear()
    IcebergCatalog(catalog).publish(TABLE, base=base, staged=following)
    assert head(catalog) == following


@pytest.mark.full
def test_a_lost_answer_is_looked_up(catalog: Interrupted) -> None:
    base, following = staged(catalog)
    before = len(catalog.load_table("raw.t").metadata.snapshot_log)
    catalog.after.append(lost)
    IcebergCatalog(catalog).publish(TABLE, base=base, staged=following)
    assert head(catalog) == following
    assert len(catalog.load_table("raw.t").metadata.snapshot_log) == before + 1


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RestServer]:
    monkeypatch.setattr(publish_module, "_PAUSE", 0.0)
    with rest_server(tmp_path) as found:
        yield found


@pytest.fixture
def rest(server: RestServer) -> Interrupted:
    return filled(InterruptedRest("lake", **server.properties))


@pytest.mark.full
@pytest.mark.parametrize("error", [LoseRequest, LoseAnswer])
def test_over_rest_a_lost_answer_is_looked_up(
    server: RestServer, rest: Interrupted, error: type[Exception]
) -> None:
    base, following = staged(rest)
    lost = fail(server, error(), methods=["POST"], times=1, after=error is LoseAnswer)
    IcebergCatalog(rest).publish(TABLE, base=base, staged=following)
    assert head(rest) == following
    assert len(lost) == 1


def untouched(server: RestServer) -> None:
    server.before = server.after = lambda _method, _path: None


@pytest.mark.full
def test_over_rest_a_404_of_something_on_the_way_does_not_give_up_what_was_published(
    server: RestServer, rest: Interrupted
) -> None:
    base, following = staged(rest)
    is_lost = False

    def lose(method: str, _path: str) -> None:
        nonlocal is_lost
        if method == "POST":
            is_lost = True
            raise LoseAnswer

    def page(_method: str, path: str) -> None:
        if is_lost and "/tables/" in path:
            raise Page(404)

    server.before, server.after = page, lose
    with pytest.raises(OutcomeUnknown, match="check the table"):
        IcebergCatalog(rest).publish(TABLE, base=base, staged=following)
    untouched(server)
    assert head(rest) == following
    IcebergCatalog(rest).publish(TABLE, base=base, staged=following)


def test_over_rest_a_404_of_something_on_the_way_is_not_a_table_that_is_gone(
    server: RestServer, rest: Interrupted
) -> None:
    base, following = staged(rest)
    fail(server, Page(404), methods=["GET"], end="/t")
    catalog = IcebergCatalog(rest)
    changes: tuple[Callable[[], object], ...] = (
        lambda: catalog.publish(TABLE, base=base, staged=following),
        lambda: catalog.drop_branch(TABLE, "ab"),
        lambda: catalog.describe(TABLE, TableText(comment="who")),
    )
    for change in changes:
        with pytest.raises(OutcomeUnknown, match="no answer of a catalog"):
            change()
    untouched(server)
    IcebergCatalog(rest).publish(TABLE, base=base, staged=following)
    assert head(rest) == following


@pytest.mark.full
@pytest.mark.parametrize("status", [200, 409, 501, 502])
def test_over_rest_a_page_that_answers_a_commit_says_nothing_of_it(
    server: RestServer, rest: Interrupted, status: int
) -> None:
    base, following = staged(rest)
    failed = fail(server, Page(status), methods=["POST"], times=2, after=True)
    IcebergCatalog(rest).publish(TABLE, base=base, staged=following)
    IcebergCatalog(rest).describe(TABLE, TableText(comment="who"))
    table = rest.load_table("raw.t")
    assert (table.metadata.current_snapshot_id, table.properties["comment"]) == (following, "who")
    assert len(failed) == 2


def test_over_rest_a_table_that_was_dropped_after_a_lost_answer_is_known_the_next_time(
    server: RestServer, rest: Interrupted
) -> None:
    base, following = staged(rest)

    def lose(method: str, _path: str) -> None:
        if method == "POST":
            server.tables.drop_table("raw.t")
            raise LoseAnswer

    server.after = lose
    with pytest.raises(OutcomeUnknown, match="was lost"):
        IcebergCatalog(rest).publish(TABLE, base=base, staged=following)
    untouched(server)
    with pytest.raises(TableMoved, match="no longer exists"):
        IcebergCatalog(rest).publish(TABLE, base=base, staged=following)
    with pytest.raises(Conflict, match="no longer exists"):
        IcebergCatalog(rest).describe(TABLE, TableText(comment="who"))


@pytest.mark.full
def test_answers_that_stay_lost_are_an_unknown_outcome(catalog: Interrupted) -> None:
    base, following = staged(catalog)
    catalog.before.extend([lost] * 10)
    with pytest.raises(OutcomeUnknown, match="check the table"):
        IcebergCatalog(catalog).publish(TABLE, base=base, staged=following)
    catalog.before.clear()
    IcebergCatalog(catalog).publish(TABLE, base=base, staged=following)
    assert head(catalog) == following


def test_a_locked_file_is_an_unknown_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish_module, "_PAUSE", 0.0)
    catalog = filled(in_sql(sqlite(tmp_path), tmp_path))
    base, following = staged(catalog)
    with sqlite3.connect(tmp_path / "lake.db") as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(OutcomeUnknown):
            IcebergCatalog(catalog).publish(TABLE, base=base, staged=following)
        connection.rollback()
    assert head(catalog) == base


@pytest.mark.full
def test_a_branch_is_dropped_for_good(catalog: Interrupted) -> None:
    main = append(catalog, 1).metadata.current_snapshot_id
    assert main is not None
    catalog.load_table("raw.t").manage_snapshots().create_branch(main, "w_ab").commit()
    catalog.after.append(lost)
    IcebergCatalog(catalog).drop_branch(TABLE, "ab")
    assert head(catalog) == main
    assert set(catalog.load_table("raw.t").metadata.refs) == {"main"}


def test_a_commit_deletes_metadata_that_the_properties_do_not_keep(tmp_path: Path) -> None:
    """Each commit would leave one orphan file otherwise."""
    catalog = in_sql(sqlite(tmp_path), tmp_path)
    filled(catalog)
    kept = {"delete-after-commit.enabled": "true", "previous-versions-max": "3"}
    properties = {f"write.metadata.{name}": value for name, value in kept.items()}
    with catalog.load_table("raw.t").transaction() as change:
        change.set_properties(properties)
    _, following = staged(catalog)
    for number in range(4):
        publish_module.put_branch(catalog.load_table("raw.t"), TABLE, f"{number}", following)
    table = catalog.load_table("raw.t")
    named = {each.metadata_file for each in table.metadata.metadata_log} | {table.metadata_location}
    there = (tmp_path / "warehouse").rglob("*.metadata.json")
    assert {each.name for each in there} == {Path(each).name for each in named}
    catalog.engine.dispose()
