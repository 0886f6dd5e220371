"""What a project's folder held at one time, and how it is put back there.

The metadata of Iceberg has absolute paths, and Spark knows a catalog by its name for as long as its
session lives. So a project that is made once is put back in its own folder, not copied to others.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SQLITE: Final = {".db", ".sqlite"}
"""How the names of SQLite's files end. To look into one would let go of the locks that this process
has on it, so that others remove what its connections need.
"""
_OF_SQLITE: Final = ("-wal", "-shm", "-journal")


@dataclass(frozen=True)
class KeptFolder:
    """A folder as it was: its files, and the contents of its SQLite databases.

    Args:
        folder: The folder.
        files: What each file held.
        databases: A copy of each database, in memory.
    """

    folder: Path
    files: Mapping[Path, bytes]
    databases: Mapping[Path, sqlite3.Connection]

    @classmethod
    def of(cls, folder: Path) -> KeptFolder:
        """Keep what a folder holds now."""
        databases = {path for path in _files(folder) if path.suffix in _SQLITE}
        files = [path for path in _files(folder) if _database(path) not in databases]
        contents = {path: path.read_bytes() for path in files}
        return cls(folder, contents, {path: _copied(path) for path in databases})

    def put_back(self) -> Path:
        """Make the folder what it was; returns it.

        Databases get their contents in the files that they are: Spark and SQLAlchemy keep theirs
        open, and see what was put back in their next transactions.
        """
        for path in _files(self.folder):
            if path not in self.files and _database(path) not in self.databases:
                path.unlink()
        for path, text in self.files.items():
            if not path.is_file() or path.read_bytes() != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text)
        for path, kept in self.databases.items():
            with closing(sqlite3.connect(path, timeout=60)) as target:
                target.execute("PRAGMA synchronous = OFF")
                kept.backup(target)
        self._remove_empty_folders()
        return self.folder

    def _remove_empty_folders(self) -> None:
        known = {parent for path in (*self.files, *self.databases) for parent in path.parents}
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if path.is_dir() and path not in known:
                shutil.rmtree(path)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _database(path: Path) -> Path:
    """The database that a file belongs to, if it is of one."""
    for ending in _OF_SQLITE:
        if path.name.endswith(ending):
            return path.with_name(path.name.removesuffix(ending))
    return path


def _copied(path: Path) -> sqlite3.Connection:
    copied = sqlite3.connect(":memory:")
    with closing(sqlite3.connect(path)) as source:
        source.backup(copied)
    return copied
