"""A file that is no state of ours is refused with what to do, and nothing is written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import text

from tests.state.builders import KEY, MINUTE, change, load, many
from vde_dagster.core.errors import Refused
from vde_dagster.state import schema, sqlite_file
from vde_dagster.state.database import Database, open_engine
from vde_dagster.state.sql_state import SqlState


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "_BEING_MADE", 0.0)


def executed(path: Path, *statements: str) -> None:
    """Another program does something with a database."""
    with closing(sqlite3.connect(path)) as connection:
        for each in statements:
            connection.execute(each)
        connection.commit()


def made(path: Path, *, journal: str = "WAL") -> Path:
    """A state with some hundred snapshots."""
    state = SqlState.open(f"sqlite:///{path}")
    state.store_snapshots(many(300), environment="prod")
    state.close()
    executed(path, "PRAGMA wal_checkpoint(TRUNCATE)", f"PRAGMA journal_mode={journal}")
    return path


def overwritten(path: Path) -> None:
    with made(path).open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 4000)


INVOICES = ("CREATE TABLE invoices (number INT)", "CREATE TABLE payments (number INT)")
OURS = "CREATE TABLE iceberg_tables (id INT, title TEXT)"
NEWER = f"INSERT INTO vde_state_version VALUES ({schema.VERSION + 1}, 0)"
DAMAGED = r"is damaged: it was cut off.* Nothing was written\. Restore it from a backup"
REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "zero bytes": (
        lambda path: path.write_bytes(b""),
        r"the state /.*/state\.db is an empty file.* Nothing was written\. Restore it",
    ),
    "no database": (
        lambda path: path.write_text("name: shop\n" * 100),
        r"is not a SQLite database\. Nothing was written\. Correct `state\.url`",
    ),
    "a few bytes": (
        lambda path: path.write_bytes(b"SQLite"),
        r"is not a SQLite database\. Nothing was written\.",
    ),
    "of another program": (
        lambda path: executed(path, *INVOICES),
        r"it has the table invoices and 1 more of another program\. Nothing was",
    ),
    "of another program in WAL": (
        lambda path: executed(path, "PRAGMA journal_mode=WAL", *INVOICES),
        r"it has the table invoices and 1 more of another program\.",
    ),
    "of another program with our catalog's name": (
        lambda path: executed(path, OURS),
        r"it has the table iceberg_tables of another program\. Nothing was written",
    ),
    "cut in half": (
        lambda path: os.truncate(made(path), path.stat().st_size // 2),
        DAMAGED,
    ),
    "overwritten": (overwritten, DAMAGED),
    "without its version": (
        lambda path: executed(made(path), "DROP TABLE vde_state_version"),
        r"but not vde_state_version.* Nothing was written\. Restore it",
    ),
    "a folder": (
        Path.mkdir,
        r"is not a file\. Nothing was written\. Correct `state\.url`",
    ),
    "a pipe": (
        os.mkfifo,
        r"is not a file\. Nothing was written\. Correct `state\.url`",
    ),
    # Its journal is another one than ours, to which opening the file would switch it.
    "of a newer release": (
        lambda path: executed(made(path, journal="DELETE"), NEWER),
        r"has schema version \d+.*install the release that wrote it",
    ),
}


def content(folder: Path) -> dict[str, bytes | None]:
    return {
        each.name: each.read_bytes() if each.is_file() else None
        for each in sorted(folder.iterdir())
    }


@pytest.mark.parametrize("make, said", REFUSED.values(), ids=REFUSED)
def test_what_is_no_state_is_refused_and_left_as_it_is(
    tmp_path: Path, make: Callable[[Path], object], said: str
) -> None:
    path = tmp_path / "state.db"
    make(path)
    before = content(tmp_path)
    with pytest.raises(Refused, match=said):
        SqlState.open(f"sqlite:///{path}")
    assert content(tmp_path) == before


def test_an_empty_database_and_that_of_a_catalog_have_room_for_a_state(tmp_path: Path) -> None:
    for name, statement in {
        "empty.db": "PRAGMA journal_mode=WAL",
        "lake.db": "CREATE TABLE iceberg_tables (catalog_name, table_namespace, table_name)",
    }.items():
        executed(tmp_path / name, statement)
        SqlState.open(f"sqlite:///{tmp_path / name}").close()


def test_who_finds_a_file_that_another_process_makes_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "_BEING_MADE", 60.0)
    path, ready = tmp_path / "state.db", made(tmp_path / "ready.db")
    path.write_bytes(b"")
    waited: list[float] = []

    def write_it(seconds: float) -> None:
        waited.append(seconds)
        shutil.copy(ready, path)

    monkeypatch.setattr("time.sleep", write_it)
    SqlState.open(f"sqlite:///{path}").close()
    assert len(waited) == 1


# While it is used
OTHER: Final = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS seen (by TEXT)")
    connection.execute("INSERT INTO seen VALUES ('other')")
connection.close()
"""


def test_looking_at_a_file_lets_nobody_remove_the_log_that_this_process_writes_to(
    tmp_path: Path,
) -> None:
    """SQLite removes the log with the last connection, as far as locks tell: other processes' do.

    A file that is opened and closed in any other way takes all locks of its process with it.
    """
    path = made(tmp_path / "state.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT * FROM vde_snapshots LIMIT 1").fetchall()
        sqlite_file.refuse_foreign(path)
        subprocess.run([sys.executable, "-c", OTHER, str(path)], check=True)
        assert path.with_name("state.db-wal").exists()
        connection.execute("INSERT INTO seen VALUES ('this')")
        connection.commit()
        subprocess.run([sys.executable, "-c", OTHER, str(path)], check=True)
        found = connection.execute("SELECT by FROM seen").fetchall()
    assert found == [("other",), ("this",), ("other",)]
    with closing(sqlite3.connect(path)) as reader:
        assert reader.execute("SELECT COUNT(*) FROM seen").fetchone() == (3,)


def test_a_database_that_is_damaged_while_it_is_used_is_named(tmp_path: Path) -> None:
    path = made(tmp_path / "state.db")
    database = Database(open_engine(f"sqlite:///{path}"))
    with path.open("r+b") as file:  # all pages after the first
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with pytest.raises(Refused, match="is damaged"), database.read() as connection:
        connection.execute(text("SELECT COUNT(*) FROM vde_snapshots")).scalar_one()


def test_a_disk_that_is_full_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    state = SqlState.open(f"sqlite:///{path}")
    lease = state.acquire_lease("r", holder="me", ttl=MINUTE)
    with state._database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
    said = r"the disk is full .*Nothing was written\. Free some space"
    with pytest.raises(Refused, match=said):
        state.store_snapshots(many(300), environment="prod")
    assert state.owners([many(1)[0].key]) == {}
    with state._database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    load(state, lease, "after", change())
    assert KEY in state.holdings([KEY])
    state.close()


WRITER: Final = """
import sys, sqlite3
from tests.state.builders import snapshot
from vde_dagster.core.names import ModelName
from vde_dagster.state.sql_state import SqlState

state = SqlState.open(f"sqlite:///{sys.argv[1]}")
state.store_snapshots([snapshot(ModelName("new", f"m{at}")) for at in range(9)], environment="e")
if sys.argv[2] == "fails":
    raise SystemExit(1)
"""


@pytest.mark.parametrize("how", ["ends", pytest.param("fails", marks=pytest.mark.full)])
def test_a_copy_of_the_file_alone_is_whole_when_the_process_has_ended(
    tmp_path: Path, how: str
) -> None:
    path, copied = made(tmp_path / "lake.db"), tmp_path / "copied.db"
    with closing(sqlite3.connect(path)) as idle:  # as Spark's JVM, which ends a moment later
        before = idle.execute("SELECT COUNT(*) FROM vde_snapshots").fetchone()
        done = subprocess.run([sys.executable, "-c", WRITER, str(path), how], check=False)
        assert done.returncode == (1 if how == "fails" else 0)
        shutil.copyfile(path, copied)
    with closing(sqlite3.connect(copied)) as connection:
        after = connection.execute("SELECT COUNT(*) FROM vde_snapshots").fetchone()
        assert (before, after) == ((300,), (309,))
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


CATALOG_WRITER: Final = """
import sys
from pathlib import Path
from vde_dagster.composition import VdeProject

VdeProject.load(Path(sys.argv[1])).iceberg_catalog().create_namespace(sys.argv[2])
"""


@pytest.mark.full  # two new processes, each with all of pyiceberg
def test_a_copy_of_a_catalogs_own_file_is_whole_when_the_process_has_ended(tmp_path: Path) -> None:
    (tmp_path / "vde.yaml").write_text(
        "name: apart\ncatalog:\n  properties: {type: sql, uri: 'sqlite:///c.db', warehouse: w}\n",
        encoding="utf-8",
    )
    write = [sys.executable, "-c", CATALOG_WRITER, str(tmp_path)]
    subprocess.run([*write, "first"], check=True)
    names = "SELECT DISTINCT namespace FROM iceberg_namespace_properties ORDER BY 1"
    with closing(sqlite3.connect(tmp_path / "c.db")) as idle:
        assert idle.execute(names).fetchall() == [("first",)]
        subprocess.run([*write, "second"], check=True)
        shutil.copyfile(tmp_path / "c.db", tmp_path / "copied.db")
    with closing(sqlite3.connect(tmp_path / "copied.db")) as connection:
        assert connection.execute(names).fetchall() == [("first",), ("second",)]
