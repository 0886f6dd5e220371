"""Projects that are made once, and that each test finds as they were made.

A table knows the folder that it is in, so a project is put back where it was made. An open session
of Spark may have its database open, which therefore stays the same file.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

DATABASE: Final = Path(".vde", "lake.db")


class Template:
    """A project's folder as it is now.

    Args:
        folder: The project, which has a database.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept = folder.with_name(f"{folder.name} as it was made")
        shutil.copytree(folder, self._kept, ignore=_database_files)
        _copy_database(folder, self._kept)

    def restored(self) -> Path:
        """The folder with the files and the database that it had, and no others."""
        for each in self._folder.iterdir():
            if each.name != DATABASE.parent.name:
                _remove(each)
        for each in (self._folder / DATABASE.parent).iterdir():
            if not each.name.startswith(DATABASE.name):
                _remove(each)
        shutil.copytree(self._kept, self._folder, ignore=_database_files, dirs_exist_ok=True)
        _copy_database(self._kept, self._folder)
        return self._folder


def _database_files(_: str, names: list[str]) -> list[str]:
    """The database with what SQLite keeps beside it."""
    return [each for each in names if each.startswith(DATABASE.name)]


def _copy_database(source: Path, target: Path) -> None:
    with (
        closing(sqlite3.connect(source / DATABASE)) as read,
        closing(sqlite3.connect(target / DATABASE)) as written,
    ):
        written.execute("PRAGMA synchronous = OFF")
        read.backup(written)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
