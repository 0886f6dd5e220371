"""What is in a SQLite file before it is used as a state: nothing is written while looking.

A driver makes a database of whatever is at a path. So a file that lost its content would be a new,
empty state, for which all that was ever built is missing.

The file is opened by SQLite alone. A process that opens and closes it by other means lets go of all
locks that SQLite has on it in this process (POSIX), and others then remove the log that it writes
to.

In front is which versions of the schema a release works with.
"""

from __future__ import annotations

import atexit
import sqlite3
import stat
import time
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import Connection, func, select, text
from sqlalchemy.engine import URL

from vde_dagster.core.errors import Refused
from vde_dagster.core.listing import some
from vde_dagster.state import schema

LOCK: Final = 0x7664655F73746174
"""Postgres cannot lock a schema that does not exist yet, so this is the number of an advisory lock.

A process that creates the schema or migrates it holds it alone; those that write share it.
"""
_NEWEST: Final = select(func.max(schema.state_version.c.version))


def take_lock(connection: Connection, number: int, *, shared: bool = False) -> None:
    """Hold an advisory lock of Postgres until the transaction ends; SQLite has one writer."""
    if connection.dialect.name == "postgresql":
        how = "_shared" if shared else ""
        connection.execute(text(f"SELECT pg_advisory_xact_lock{how}(:lock)"), {"lock": number})


def refuse_moved(connection: Connection) -> None:
    """Refuse to write a state that was moved forward after it was opened.

    Until the transaction ends no other moves it: SQLite has one writer at a time.

    Raises:
        Refused: A newer release has moved it.
    """
    take_lock(connection, LOCK, shared=True)
    refuse_newer(connection.execute(_NEWEST).scalar_one())


def refuse_newer(found: int) -> None:
    """Refuse a state that this release cannot read.

    Raises:
        Refused: It was written by a newer release.
    """
    if found > schema.VERSION:
        raise Refused(
            f"the state has schema version {found}, this release of vde_dagster reads up to "
            f"{schema.VERSION}",
            advice="install the release that wrote it, or a newer one",
        )


def refuse_earlier(found: int) -> None:
    """Refuse a state that has to be moved forward before this release can use it.

    Raises:
        Refused: It was written by an earlier release.
    """
    if 0 < found < schema.VERSION:
        raise Refused(
            f"the state has schema version {found}, and this release of vde_dagster works with "
            f"{schema.VERSION}. Nothing was written",
            advice="Stop every process of the earlier release, then run `vde state migrate`. The "
            "earlier release refuses the state from then on.",
        )


_PREFIX: Final = "vde_"
_OF_THE_CATALOG: Final = frozenset({"iceberg_tables", "iceberg_namespace_properties"})
"""Tables that pyiceberg makes, for which a state has room in the same file."""
_THEIR_COLUMNS: Final = frozenset({"catalog_name", "table_namespace", "table_name"})
"""Columns of pyiceberg's `iceberg_tables`, which tell it from a table of another program."""
_BEING_MADE: Final = 3.0
"""Seconds in which another process that makes a new database may have written nothing yet."""
_SAFE: Final = "Nothing was written."


def path_of(url: URL) -> Path | None:
    """The file of a SQLite database; None for one in memory, or in another database."""
    name = url.database or ""
    is_file = url.get_backend_name() == "sqlite" and name not in ("", ":memory:")
    return Path(name) if is_file and not name.startswith("file:") else None


def refuse_foreign(path: Path) -> None:
    """Refuse a file that is not a state, and none in the making. Nothing is written.

    Raises:
        Refused: It is empty, no SQLite database, damaged, has tables of something else alone, or
            is the state of a newer release.
    """
    size = _size(path)
    if size is None:
        return
    if size == 0:
        raise Refused(
            f"the state {path} is an empty file: its content was lost, or it never was a state. "
            f"{_SAFE}",
            advice="Restore it from a backup; if nothing was ever built here, delete the file.",
        )
    tables = _tables(path)
    if tables is None or schema.state_version.name in tables:
        refuse_newer(_version(path) if tables else 0)
        return
    ours = sorted(each for each in tables if each.startswith(_PREFIX))
    others = sorted(tables - _of_a_catalog(path, tables))
    if ours:
        raise Refused(
            f"the state {path} has the table {ours[0]}, but not {schema.state_version.name}, so "
            f"its version is unknown. {_SAFE}",
            advice="Restore it from a backup.",
        )
    if others:
        raise Refused(
            f"the database {path} is not a state: it has the table {some(others, 1)} of another "
            f"program. {_SAFE}",
            advice="Correct `state.url` in vde.yaml: a state needs a file of its own.",
        )


def _size(path: Path) -> int | None:
    """The size of a file, after waiting for a process that creates it now; None if there is none.

    Raises:
        Refused: It is not a file.
    """
    deadline = time.monotonic() + _BEING_MADE
    while True:
        try:
            found = path.stat()
        except OSError:  # it is missing, or opening it will say why it cannot be used
            return None
        if not stat.S_ISREG(found.st_mode):
            raise Refused(
                f"the state {path} is not a file. {_SAFE}",
                advice="Correct `state.url` in vde.yaml.",
            )
        if found.st_size or time.monotonic() > deadline:
            return found.st_size
        time.sleep(0.05)


def _tables(path: Path) -> frozenset[str] | None:
    """The names of all tables; None if they cannot be read now, which opening the file reports."""
    found = _read(path, "SELECT name FROM sqlite_schema WHERE type = 'table'")
    if found is None:
        return None
    return frozenset(str(name) for (name,) in found if not str(name).startswith("sqlite_"))


def _of_a_catalog(path: Path, tables: frozenset[str]) -> frozenset[str]:
    """The tables that a catalog has in the same file; none where another program made them."""
    found = _read(path, "SELECT name FROM pragma_table_info('iceberg_tables')")
    columns = {str(name).lower() for (name,) in found or ()}
    is_theirs = "iceberg_tables" in tables and columns and not columns >= _THEIR_COLUMNS
    return frozenset() if is_theirs else _OF_THE_CATALOG


def _version(path: Path) -> int:
    """The version of a state; 0 if it cannot be read now."""
    found = _read(path, str(select(func.max(schema.state_version.c.version))))
    return int(found[0][0] or 0) if found else 0


def _read(path: Path, query: str) -> list[tuple[Any, ...]] | None:
    """The rows of a query; None if SQLite cannot open the file now, which opening it reports.

    Raises:
        Refused: The file is not a database, or damaged.
    """
    is_used = _has_log(path)
    # Without a log nobody uses the file, and SQLite would make one to read it.
    mode = "mode=ro" if is_used else "mode=ro&immutable=1"
    try:
        uri = f"file:{quote(str(path.absolute()))}?{mode}"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            return connection.execute(query).fetchall()
    except sqlite3.OperationalError:
        return None
    except sqlite3.DatabaseError as error:
        if not is_used and _has_log(path):  # another process began to use it meanwhile
            return _read(path, query)
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            raise Refused(
                f"the state {path} is not a SQLite database. {_SAFE}",
                advice="Correct `state.url` in vde.yaml, or restore the file from a backup.",
            ) from error
        raise damaged(str(path), error) from error


def _has_log(path: Path) -> bool:
    """Whether a file has a write-ahead log, which processes that use it keep."""
    return path.with_name(f"{path.name}-wal").exists()


@cache
def whole_at_exit(path: Path) -> None:
    """Move all that is in the log of a SQLite file into it when this process ends, if it can be.

    Then a copy of the file alone has everything. SQLite does so by itself when the last connection
    is closed, which connections of threads and of Spark's JVM are not.
    """
    atexit.register(_move_log, path.absolute())


def _move_log(path: Path) -> None:
    if not (path.exists() and _has_log(path)):
        return
    # If somebody else uses it, or the disk is full, the log stays, where every reader finds it.
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=1)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def damaged(place: str, error: BaseException) -> Refused:
    """What a person sees about a database whose pages cannot be read."""
    return Refused(
        f"the state {place} is damaged: it was cut off, or something else wrote to it ({error}). "
        f"{_SAFE}",
        advice="Restore it from a backup, and keep the damaged file until that has worked.",
    )
