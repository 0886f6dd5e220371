"""The file of a cache: entries by their keys, each with a checksum.

A damaged file is never an error. What cannot be read is a miss, what cannot be written is not
kept, and a broken file is rebuilt.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Final

Parts = Sequence[bytes]
"""The value of one key: some pieces of bytes."""

MOST_BYTES: Final = 256 * 1024 * 1024
"""How large a file may become. A model takes about 3 KB."""

_PATIENCE: Final = 0.5
"""How many seconds another process may keep the file locked until it is not used."""

_CHECK_BYTES: Final = 16
_LAYOUT: Final = """
CREATE TABLE IF NOT EXISTS entries (
  key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL, used INTEGER NOT NULL
)
"""
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@dataclass(slots=True, kw_only=True)
class Entries:
    """One session with a cache file: values are read when asked for, and written at the end."""

    connection: sqlite3.Connection | None = None
    is_damaged: bool = False
    used: set[str] = field(default_factory=set)
    new: dict[str, bytes] = field(default_factory=dict)

    def get(self, key: str) -> Parts | None:
        """What is kept under a key; None if there is nothing, or the checksum is wrong."""
        if self.connection is None:
            return None
        try:
            row = self.connection.execute("SELECT value FROM entries WHERE key = ?", [key])
            found = row.fetchone()
        except sqlite3.Error as error:
            self.connection, self.is_damaged = None, _code(error) in _DAMAGED
            return None
        parts = _unsealed(key, found[0]) if found is not None else None
        if parts is not None:
            self.used.add(key)
        return parts

    def put(self, key: str, parts: Parts) -> None:
        """Keep something under a key; it is written when this session ends."""
        self.new[key] = _sealed(key, parts)


@contextmanager
def opened(path: Path, most_bytes: int = MOST_BYTES) -> Iterator[Entries]:
    """Open a cache file, which may be missing.

    Args:
        path: The file. It is created, with its folder, by the first session that has something to
            keep and ends without an error: a project that cannot be read leaves nothing behind.
        most_bytes: How large it may become. The least recently used entries are dropped first,
            never those of this session.
    """
    connection = _connected(path) if _is_there(path) else None
    entries = Entries(connection=connection)
    may_make = False
    try:
        yield entries
        may_make = True
    finally:
        if connection is not None:
            connection.close()
        if entries.new and (may_make or _is_there(path)):
            _write(path, entries, most_bytes)


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _connected(path: Path) -> sqlite3.Connection | None:
    try:
        connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    except sqlite3.Error:
        return None
    with suppress(sqlite3.Error):  # reading or writing reports it again
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def _write(path: Path, entries: Entries, most_bytes: int) -> None:
    """Write what is new. A file that is damaged, or has other tables, is rebuilt, once."""
    if entries.is_damaged:
        _remove(path)
    try:
        _add(path, entries, most_bytes)
    except sqlite3.Error as error:
        if _code(error) not in (*_DAMAGED, sqlite3.SQLITE_ERROR):
            return
        _remove(path)
        with suppress(sqlite3.Error, OSError):
            _add(path, entries, most_bytes)
    except OSError:
        return


def _add(path: Path, entries: Entries, most_bytes: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = _connected(path)
    if connection is None:
        return
    with closing(connection):
        connection.execute("BEGIN IMMEDIATE")
        path.chmod(0o600)  # earlier releases kept values of environment variables in it
        connection.execute(_LAYOUT)
        (look,) = connection.execute("SELECT COALESCE(MAX(used), 0) + 1 FROM entries").fetchone()
        connection.executemany(
            "UPDATE entries SET used = ? WHERE key = ?", [(look, key) for key in entries.used]
        )
        connection.executemany(
            "INSERT OR REPLACE INTO entries (key, value, used) VALUES (?, ?, ?)",
            [(key, value, look) for key, value in entries.new.items()],
        )
        _drop_old(connection, look, most_bytes)
        connection.execute("COMMIT")


def _drop_old(connection: sqlite3.Connection, look: int, most_bytes: int) -> None:
    """Drop the entries of whole sessions, the oldest first, until the rest fits half the space."""
    rows = connection.execute(
        "SELECT used, SUM(LENGTH(value)) FROM entries GROUP BY used"
    ).fetchall()
    sizes: Mapping[int, int] = dict(rows)
    total = sum(sizes.values())
    if total <= most_bytes:
        return
    for used in sorted(sizes):
        if used == look or total <= most_bytes // 2:
            return
        connection.execute("DELETE FROM entries WHERE used = ?", [used])
        total -= sizes[used]


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            path.with_name(f"{path.name}{suffix}").unlink()


def _code(error: sqlite3.Error) -> int | None:
    return getattr(error, "sqlite_errorcode", None)


def _sealed(key: str, parts: Parts) -> bytes:
    sizes = b",".join(b"%d" % len(each) for each in parts)
    content = b"\n".join([sizes, b"".join(parts)])
    return _check(key, content) + content


def _unsealed(key: str, value: object) -> Parts | None:
    """The pieces of a sealed value; None if it is not what was written for this key."""
    if not isinstance(value, bytes):
        return None
    check, content = value[:_CHECK_BYTES], value[_CHECK_BYTES:]
    if check != _check(key, content):
        return None
    sizes, _, rest = content.partition(b"\n")
    ends = accumulate(map(int, sizes.split(b",")), initial=0)
    return [rest[start:end] for start, end in pairwise(ends)]


def _check(key: str, content: bytes) -> bytes:
    return blake2b(key.encode() + content, digest_size=_CHECK_BYTES).digest()
