"""A folder that was put back is what it was, also for those who have its databases open."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.kept_folder import KeptFolder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project: a model, a file of data, and a database."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models/day.sql").write_text("SELECT 1")
    (tmp_path / "warehouse/raw").mkdir(parents=True)
    (tmp_path / "warehouse/raw/data.parquet").write_bytes(b"\0\1")
    with closing(sqlite3.connect(tmp_path / "lake.db")) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("CREATE TABLE tables (name TEXT)")
        made.execute("INSERT INTO tables VALUES ('raw')")
        made.commit()
    return tmp_path


@pytest.fixture
def reader(folder: Path) -> Iterator[sqlite3.Connection]:
    """A connection that stays open."""
    with closing(sqlite3.connect(folder / "lake.db", isolation_level=None)) as opened:
        yield opened


def found(folder: Path) -> dict[str, bytes | None]:
    """All folders and files, without those that SQLite manages."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if not path.name.startswith("lake.db")
    }


def test_what_was_changed_removed_or_added_is_as_it_was(
    folder: Path, reader: sqlite3.Connection
) -> None:
    before, kept = found(folder), KeptFolder.of(folder)
    (folder / "models/day.sql").write_text("SELECT 2")
    (folder / "models/new.sql").write_text("SELECT 3")
    shutil.rmtree(folder / "warehouse")
    (folder / "home/runs").mkdir(parents=True)
    (folder / "home/runs/log").touch()
    with closing(sqlite3.connect(folder / "home/runs.db")) as another:
        another.execute("PRAGMA journal_mode=WAL")
        another.execute("CREATE TABLE runs (id TEXT)")
        kept.put_back()
    assert found(folder) == before


def test_an_open_connection_sees_what_was_put_back_and_goes_on_writing(
    folder: Path, reader: sqlite3.Connection
) -> None:
    kept = KeptFolder.of(folder)
    for name in ("mart", "core"):
        reader.execute("INSERT INTO tables VALUES (?)", [name])
        reader.execute(f"CREATE TABLE {name} (x INTEGER)")
        kept.put_back()
        assert reader.execute("SELECT name FROM tables").fetchall() == [("raw",)]
        assert reader.execute("SELECT name FROM sqlite_master").fetchall() == [("tables",)]


def test_a_database_that_was_deleted_is_made_again(folder: Path) -> None:
    kept = KeptFolder.of(folder)
    (folder / "lake.db").unlink()
    kept.put_back()
    with closing(sqlite3.connect(folder / "lake.db")) as opened:
        assert opened.execute("SELECT name FROM tables").fetchall() == [("raw",)]
        assert opened.execute("PRAGMA journal_mode").fetchone() == ("wal",)
