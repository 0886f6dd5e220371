"""A state as a file: JSON lines with a digest, to move it to another database or to keep it.

The first line says what the file is, the last one how many rows of each table there are and the
SHA-256 of all lines before it; in between each line is a row. Leases are left out: they belong to
processes that use the database. Rows are as they are stored, so nothing is lost by reading them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, Final
from uuid import uuid4

from sqlalchemy import Connection, delete, exists, func, insert, select, text
from sqlalchemy.exc import StatementError

from vde_dagster.core.errors import Refused
from vde_dagster.state import schema
from vde_dagster.state.state_database import bring_forward
from vde_dagster.version import __version__

FORMAT: Final = 1
"""The version of the file's form. Raise it when an earlier release could not read it."""
_WHAT: Final = "vde_dagster state"
_BATCH: Final = 500
_NO_JSON: Final = (ValueError, RecursionError)
_NO_ROW: Final = (StatementError, KeyError, TypeError, ValueError, OverflowError)
"""What a row of other types or names raises here, in SQLAlchemy and in the database's driver."""
_TABLES: Final = tuple(
    table for table in schema.metadata.sorted_tables if table is not schema.leases
)
"""In an order in which each table comes after those that it refers to."""
_MADE: Final = (schema.state_version, schema.identity)
"""Tables of which a new state has a row. What is imported has its own, also the state's id, by
which its tables in the catalog are known (rule R12)."""
_NUMBERED: Final = (schema.work, schema.unlisted)
"""Tables whose ``number`` the database counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """What was exported or imported: rows by table, and the digest in the last line."""

    rows: Mapping[str, int]
    digest: str

    @property
    def total(self) -> int:
        """How many rows there are."""
        return sum(self.rows.values())


def export(connection: Connection, path: Path) -> Archived:
    """Write a state to a file that only its owner may read; the file is whole, or it is missing.

    Args:
        connection: One read transaction, on a state of this release's version.
        path: The file, which must not be there yet.

    Raises:
        Refused: It is there, or cannot be written.
    """
    scratch = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        if path.exists():
            raise Refused(f"{path} already exists", advice="Name a file that does not exist yet.")
        with open(scratch, "xb", opener=partial(os.open, mode=0o600)) as file:
            archived = _write(file, connection)
            file.flush()
            os.fsync(file.fileno())
        scratch.rename(path)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            scratch.unlink()
    return archived


def _write(file: IO[bytes], connection: Connection) -> Archived:
    digest, rows = hashlib.sha256(), Counter({table.name: 0 for table in _TABLES})

    def put(value: object) -> None:
        line = _line(value)
        digest.update(line)
        file.write(line)

    put({"what": _WHAT, "format": FORMAT, "schema": schema.VERSION, "release": __version__})
    for table in _TABLES:
        query = select(table).order_by(*table.primary_key)
        names = [column.name for column in table.columns]
        for row in connection.execute(query, execution_options={"yield_per": _BATCH}):
            put({"table": table.name, "row": dict(zip(names, row, strict=True))})
            rows[table.name] += 1
    found = Archived(rows=dict(rows), digest=digest.hexdigest())
    file.write(_line({"rows": found.rows, "sha256": found.digest}))
    return found


def _line(value: object) -> bytes:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def look(path: Path) -> Archived:
    """What a file has, if all of it is as it was exported, by this release's version.

    Raises:
        Refused: It is damaged, cut off, none of ours, or of another version.
    """
    with _opened(path) as file:
        return _checked(file, path)


def restore(connection: Connection, path: Path, archived: Archived) -> None:
    """Put what a file has into a state without any rows, in one transaction.

    Args:
        connection: One transaction that writes. The schema is created if there is none.
        path: A file of `export`.
        archived: What `look` found in it.

    Raises:
        Refused: The state is not empty, or the file was changed since. Nothing may be committed.
    """
    _refuse_used(connection)
    with _opened(path) as file:
        _insert(connection, file, path, archived)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        if path.exists() and not path.is_file():
            raise Refused(
                f"{path} is not a regular file", advice="Name a file of `vde state export`."
            )
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from error


def _checked(file: IO[bytes], path: Path) -> Archived:
    digest, rows = hashlib.sha256(), Counter({table.name: 0 for table in _TABLES})
    before = file.readline()
    _refuse_foreign(before, path)
    for line in file:
        digest.update(before)
        before = line
        found = _read(line, path)
        if "table" in found:
            rows[str(found["table"])] += 1
    last = _read(before, path)
    if "sha256" not in last:
        raise _damaged(path, "cut off")
    archived = Archived(rows=dict(rows), digest=digest.hexdigest())
    if last != {"rows": archived.rows, "sha256": archived.digest}:
        raise _damaged(path)
    return archived


def _damaged(path: Path, how: str = "damaged: its content is not what was exported") -> Refused:
    return Refused(f"{path} is {how}. Nothing was written", advice="Export the state again.")


def _refuse_foreign(line: bytes, path: Path) -> None:
    """Refuse what is not an export, or none that this release can read.

    Raises:
        Refused: It is not.
    """
    try:
        head = json.loads(line)
    except _NO_JSON:
        head = None
    if not isinstance(head, dict) or head.get("what") != _WHAT:
        raise Refused(
            f"{path} is not an export of a state. Nothing was written",
            advice="Create one with `vde state export`.",
        )
    written, found = head.get("release"), head.get("schema")
    if head.get("format") != FORMAT or not isinstance(found, int) or found > schema.VERSION:
        raise Refused(
            f"{path} was written by release {written}, which is newer. Nothing was written",
            advice="Import it with that release.",
        )
    if found < schema.VERSION:
        raise Refused(
            f"{path} has schema version {found}, and this release works with {schema.VERSION}. "
            "Nothing was written",
            advice=f"Import it with release {written}, which wrote it, and move that state forward "
            "with `vde state migrate`.",
        )


def _read(line: bytes, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except _NO_JSON as error:
        whole = line.endswith(b"\n")
        raise _damaged(path) if whole else _damaged(path, "cut off") from error
    if not isinstance(found, dict):
        raise _damaged(path)
    return found


def _refuse_used(connection: Connection) -> None:
    """Create the schema where there is none, and refuse a state that has rows.

    Raises:
        Refused: It has some, or is not a state of this release.
    """
    bring_forward(connection)
    for table in schema.metadata.sorted_tables:
        if table not in _MADE and connection.scalar(
            select(exists(select(text("1")).select_from(table)))
        ):
            raise Refused(
                f"this state is not empty: {table.name} has rows. Nothing was written",
                advice="Set `state.url` in vde.yaml to a new database.",
            )
    for table in _MADE:
        connection.execute(delete(table))


def _insert(connection: Connection, file: IO[bytes], path: Path, archived: Archived) -> None:
    digest = hashlib.sha256()
    try:
        records = _records(file, digest.update, path)
        for name, found in groupby(records, key=itemgetter("table")):
            table = schema.metadata.tables[name]
            while some := [each["row"] for each in islice(found, _BATCH)]:
                rows = [{own.key: row[own.name] for own in table.columns} for row in some]
                connection.execute(insert(table), rows)
    except _NO_ROW as error:
        raise _damaged(path) from error
    if digest.hexdigest() != archived.digest:
        raise _damaged(path)  # another program wrote to it since it was looked at
    if connection.dialect.name == "postgresql":
        for table in _NUMBERED:
            # The database counts on after the rows that were given with their numbers.
            sequence = func.pg_get_serial_sequence(table.name, "number")
            highest = connection.scalar(select(func.max(table.c.number)))
            if highest is not None:
                connection.execute(select(func.setval(sequence, highest)))


def _records(
    file: IO[bytes], hashed: Callable[[bytes], None], path: Path
) -> Iterator[dict[str, Any]]:
    """The lines with rows; all but the last line are hashed."""
    for line in file:
        found = _read(line, path)
        if "sha256" in found:
            return
        hashed(line)
        if "table" in found:
            yield found
