"""One database: its engine, its short transactions, its clock, and the mapping of its errors."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy import BigInteger, Connection, Engine, Table, create_engine, event, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import QueuePool
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

from vde_dagster.core.errors import Conflict, OutcomeUnknown, Refused, SetupError, as_sentence
from vde_dagster.runtime.secrets import remember, secrets_in, without_secrets
from vde_dagster.runtime.spans import span
from vde_dagster.state.sqlite_file import damaged, path_of, refuse_foreign, whole_at_exit

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

LOCK_TIMEOUT: Final = timedelta(seconds=60)
CHUNK: Final = 100
"""Values per statement: SQLite takes 999 parameters before 3.32."""

_WRITE: Final = "vde_write"
_LOCKED: Final = frozenset({"55P03", "40P01", "40001"})
"""Postgres: lock not available, deadlock, serialization failure."""

T = TypeVar("T")


def sql_function(
    of: TypeEngine[Any], *, on_sqlite: str, on_postgres: str
) -> type[FunctionElement[Any]]:
    """A function that each database writes in its own way; ``{0}`` is its first argument."""

    class Function(FunctionElement[Any]):
        name = "function"
        type = of
        inherit_cache = True

    def compiled(text: str) -> Callable[..., str]:
        def compile_(element: Function, compiler: SQLCompiler, **options: object) -> str:
            arguments = [compiler.process(each, **options) for each in element.clauses]
            return text.format(*arguments)

        return compile_

    compiles(Function, "sqlite")(compiled(on_sqlite))
    compiles(Function, "postgresql")(compiled(on_postgres))
    return Function


DatabaseNow: Final = sql_function(
    BigInteger(),
    # SQLite's clock has milliseconds; a day number as a float is more precise than that.
    on_sqlite="(CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000)",
    # Not now(), which stands still while a transaction waits for a lock.
    on_postgres="CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
)
"""The database's clock, in microseconds since 1970."""


def open_engine(url: str, *, lock_timeout: timedelta = LOCK_TIMEOUT) -> Engine:
    """An engine for the state. A SQLite file and its folder are created if they are missing.

    Raises:
        Refused: It is not a URL, the URL of a database that is not supported, or the path of a file
            that is not a state.
        SetupError: The database's driver is not installed.
    """
    try:
        parsed = make_url(url)
        parsed.get_dialect()
        if "\0" in url:
            raise ValueError  # noqa: TRY301 - as make_url does of other addresses
    except (ArgumentError, ValueError):  # neither has a text that may be shown: see `Secret`
        raise Refused(
            f"the address of the state, {_begin(url)}, is not a database URL",
            advice="Write sqlite:///path/to/file.db or postgresql://user:password@host/database; "
            "in a password, write @ as %40, : as %3A and / as %2F.",
        ) from None
    remember(secrets_in(url))
    match parsed.get_backend_name():
        case "sqlite":
            return _sqlite_engine(parsed, lock_timeout)
        case "postgresql":
            return _postgres_engine(parsed, lock_timeout)
        case other:
            raise Refused(
                f"the state cannot be stored in {other}", advice="use sqlite or postgresql"
            )


def _begin(url: str) -> str:
    """The beginning of an address that cannot be read, which has no password in it."""
    found = re.match(r"[A-Za-z][A-Za-z0-9+._-]{0,30}(?=://)", url)
    return f"{found.group()}://..." if found else "which does not begin like sqlite://"


def _sqlite_engine(url: URL, lock_timeout: timedelta) -> Engine:
    seconds = lock_timeout.total_seconds()
    new_file: Path | None = None
    if url.database and url.database != ":memory:":
        file = Path(url.database)
        _make_folder(file.parent)
        new_file = None if file.exists() else file
        if (path := path_of(url)) is not None:
            refuse_foreign(path)
            whole_at_exit(path)
        # As many connections as there are threads: one that waits for the file's lock has one, too.
        engine = create_engine(
            url, connect_args={"timeout": seconds}, poolclass=QueuePool, max_overflow=-1
        )
    else:  # the database is its only connection, which one thread at a time uses
        engine = create_engine(
            url,
            connect_args={"check_same_thread": False},
            poolclass=QueuePool,
            pool_size=1,
            max_overflow=0,
            pool_timeout=seconds,
        )

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # transactions are started below, not by the driver
        connection.execute("PRAGMA foreign_keys=ON")
        if new_file is not None:
            _keep_from_others(connection, new_file)
        _use_write_ahead_log(connection, seconds)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITE, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"the state cannot be opened: no folder {folder} ({error.strerror})"
        raise Refused(what, advice="Correct `state.url` in vde.yaml.") from error


def _keep_from_others(connection: sqlite3.Connection, file: Path) -> None:
    """Let only its owner read a new database, while there is nothing in it yet."""
    connection.execute("SELECT 1 FROM sqlite_master").fetchone()  # which makes the file
    with suppress(OSError):  # another process was faster
        file.chmod(0o600)


def _use_write_ahead_log(connection: sqlite3.Connection, seconds: float) -> None:
    """Switch the file to WAL once. SQLite does not wait for others that use the file; we do."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _postgres_engine(url: URL, lock_timeout: timedelta) -> Engine:
    milliseconds = lock_timeout // timedelta(milliseconds=1)
    # Those of the address would be lost behind ours, such as a search_path.
    given = url.normalized_query.get("options", ())
    options = " ".join([*given, f"-c lock_timeout={milliseconds}"])
    if url.drivername == "postgresql":  # SQLAlchemy's default driver is not the same in 2.0 and 2.1
        url = url.set(drivername="postgresql+psycopg2")
    try:
        # Whatever the database's own default is: after waiting for a lock, a transaction that
        # writes has to see what was committed meanwhile.
        return create_engine(
            url,
            connect_args={"options": options},
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            pool_timeout=lock_timeout.total_seconds(),  # those that have one may wait so long
        )
    except ModuleNotFoundError as error:
        raise SetupError(
            f"the driver for Postgres is missing ({error.name})",
            advice="install it with: pip install 'vde-dagster[postgres]'",
        ) from error


def place_of(url: URL) -> str:
    """Where a state is, for people: a path, or an address without its password and tokens."""
    path = path_of(url)
    if path is not None:
        return str(path)
    return without_secrets(url.render_as_string(hide_password=True))


class Database:
    """Short transactions over an engine of ``open_engine``.

    A transaction of ``write`` sees all that was committed before it, and no other process writes
    the rows that it locked until it ends: SQLite lets one writer in at a time, Postgres locks rows.

    Args:
        engine: To the database.
        before_writing: What each transaction that writes begins with. It may refuse.
    """

    def __init__(
        self, engine: Engine, *, before_writing: Callable[[Connection], None] | None = None
    ) -> None:
        self.engine = engine
        self._before_writing = before_writing

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view of the database.

        Raises:
            Conflict: The database stayed locked for the whole lock time-out.
            Refused: It cannot be reached or read.
        """
        is_postgres = self.engine.dialect.name == "postgresql"
        options = {"isolation_level": "REPEATABLE READ"} if is_postgres else {}
        with self._transaction(options) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction, committed at the end, rolled back by an exception.

        Raises:
            Conflict: The lock was not free in time; nothing was written.
            OutcomeUnknown: The connection or the disk broke during the commit.
            Refused: It cannot be reached, read or written; nothing was written.
        """
        with self._transaction({_WRITE: True}) as connection:
            if self._before_writing is not None:
                self._before_writing(connection)
            yield connection

    @contextmanager
    def _transaction(self, options: dict[str, Any]) -> Iterator[Connection]:
        committing = False
        try:
            with (
                span("state"),
                self.engine.connect().execution_options(**options) as connection,
                connection.begin(),
            ):
                yield connection
                committing = _WRITE in options
        except NoConnection as error:  # this thread has done nothing
            raise Conflict(
                "all connections of this process to the state's database were in use for too long",
                advice="nothing was written; retry",
            ) from error
        except (DBAPIError, sqlite3.Error) as error:
            _raise_named(error, place_of(self.engine.url), committing=committing)
            raise


def _raise_named(error: DBAPIError | sqlite3.Error, place: str, *, committing: bool) -> None:
    """Raise the error of ours that a database's error means; return where it means none."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    invalidated = isinstance(error, DBAPIError) and error.connection_invalidated
    if committing and (invalidated or _sqlite_code(cause) == sqlite3.SQLITE_IOERR):
        raise OutcomeUnknown(
            "the connection to the state's database broke during a commit",
            advice="read the state again before you retry",
        ) from error
    busy = isinstance(cause, sqlite3.Error) and _is_busy(cause)
    # psycopg2 and psycopg name it differently
    code = getattr(cause, "pgcode", None) or getattr(cause, "sqlstate", None)
    if busy or code in _LOCKED:
        raise Conflict(
            "the state's database is locked by another process",
            advice="nothing was written; retry",
        ) from error
    if invalidated or (isinstance(error, OperationalError) and _sqlite_code(cause) is None):
        raise Refused(
            f"the state at {place} cannot be opened: {as_sentence(str(cause).strip())}",
            advice="Nothing was written. Check that the database runs and can be reached, then "
            "retry.",
        ) from error
    _raise_of_file(cause, place)


_UNWRITABLE: Final = (
    "its file cannot be written",
    "Check the permissions of the file and its folder.",
)
_OF_FILES: Final = {
    sqlite3.SQLITE_FULL: ("the disk is full", "Free some space, then retry."),
    sqlite3.SQLITE_READONLY: _UNWRITABLE,
    sqlite3.SQLITE_CANTOPEN: _UNWRITABLE,
    sqlite3.SQLITE_PERM: _UNWRITABLE,
    sqlite3.SQLITE_IOERR: ("the disk failed", "Check whether it is full or broken, then retry."),
}


def _raise_of_file(cause: BaseException | None, place: str) -> None:
    """Name what the machine below SQLite refused."""
    code = _sqlite_code(cause)
    if cause is not None and code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        raise damaged(place, cause) from cause
    if code not in _OF_FILES:
        return
    what, advice = _OF_FILES[code]
    raise Refused(
        f"the state {place} cannot be used, since {what} ({cause}). Nothing was written",
        advice=advice,
    ) from cause


def _sqlite_code(error: BaseException | None) -> int | None:
    """The primary code of an error of SQLite; None for one of another database."""
    if not isinstance(error, sqlite3.Error):
        return None
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def _is_busy(error: sqlite3.Error) -> bool:
    return _sqlite_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


_NOW: Final = select(DatabaseNow())


def now(connection: Connection) -> int:
    """The database's clock, in microseconds since 1970."""
    return int(connection.execute(_NOW).scalar_one())


def chunks(values: Iterable[T]) -> Iterator[Sequence[T]]:
    """The distinct values, as many at a time as one statement takes."""
    unique = list(dict.fromkeys(values))
    for first in range(0, len(unique), CHUNK):
        yield unique[first : first + CHUNK]


def insert_absent(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]
) -> None:
    """Insert the rows whose primary key is missing yet."""
    if rows:
        statement = _insert_absent(table, connection.dialect.name)
        connection.execute(statement, _in_key_order(table, rows))


def upsert(connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert rows, or set all columns of those whose primary key is there already."""
    if rows:
        statement = _upsert(table, connection.dialect.name)
        connection.execute(statement, _in_key_order(table, rows))


@cache
def _insert_absent(table: Table, dialect: str) -> sqlite.Insert | postgresql.Insert:
    return _insert(table, dialect).on_conflict_do_nothing(index_elements=list(table.primary_key))


@cache
def _upsert(table: Table, dialect: str) -> sqlite.Insert | postgresql.Insert:
    statement = _insert(table, dialect)
    changed = {
        column.key: statement.excluded[column.key]
        for column in table.columns
        if not column.primary_key
    }
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=changed)


def _insert(table: Table, dialect: str) -> sqlite.Insert | postgresql.Insert:
    if dialect != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)


def _in_key_order(table: Table, rows: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Rows in one order for all writers, so that two of them never deadlock."""
    names = [column.name for column in table.primary_key]
    return sorted(rows, key=lambda row: [str(row[name]) for name in names])
