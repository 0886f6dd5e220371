"""The database of a state, which the first write makes: what only looks at it makes nothing.

Its schema is created once, and moved forward, never backward. `reading` and `writing` make methods
of a state out of functions of one transaction each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar
from uuid import uuid4

from sqlalchemy import Connection, Engine, func, insert, inspect, select

from vde_dagster.state import schema
from vde_dagster.state.database import Database, now, open_engine
from vde_dagster.state.sqlite_file import (
    LOCK,
    path_of,
    refuse_earlier,
    refuse_moved,
    refuse_newer,
    take_lock,
)

Step = Callable[[Connection], None]

STEPS: Final[dict[int, Step]] = {}
"""How to reach each version from the one before it; version 1 is created, not reached."""


def migrate(database: Database, *, moves: bool = True) -> None:
    """Bring the schema to ``schema.VERSION`` in one transaction. Cheap if it is there already.

    Safe in any number of processes concurrently: the first one writes, the others find it done.

    Args:
        database: The state's.
        moves: Whether a state of an earlier release is moved forward; else only a new one is made.

    Raises:
        Refused: The state was written by a newer release, or by an earlier one and is not to be
            moved; nothing was written.
    """
    with database.read() as connection:
        found = checked_version(connection)
    if found == schema.VERSION:
        return
    if not moves:
        refuse_earlier(found)
    with database.write() as connection:
        bring_forward(connection)


def bring_forward(connection: Connection) -> None:
    """Create the schema, or move it forward, in a transaction.

    Raises:
        Refused: The state was written by a newer release.
    """
    take_lock(connection, LOCK)
    found = checked_version(connection)
    if found == schema.VERSION:
        return
    if found == 0:
        schema.metadata.create_all(connection)
        connection.execute(insert(schema.identity).values(state_id=uuid4().hex))
    else:
        for version in range(found + 1, schema.VERSION + 1):
            STEPS[version](connection)
    reached = insert(schema.state_version)
    connection.execute(reached.values(version=schema.VERSION, applied_at=now(connection)))


def checked_version(connection: Connection) -> int:
    """The schema's version, 0 if there is none.

    Raises:
        Refused: The state was written by a newer release.
    """
    table = schema.state_version
    if not inspect(connection).has_table(table.name):
        return 0
    found = connection.execute(select(func.max(table.c.version))).scalar_one() or 0
    refuse_newer(found)
    return int(found)


class StateDatabase(Database):
    """As long as there is no state, reads see an empty one.

    Args:
        engine: To the database.
        moves: Whether a state is made and moved forward now; else the first write makes a new one.

    Raises:
        Refused: The state was written by a newer release, or an earlier one and is not moved.
    """

    def __init__(self, engine: Engine, *, moves: bool) -> None:
        super().__init__(engine, before_writing=refuse_moved)
        self._own = Database(engine)
        self._empty: Database | None = None
        if moves or found_version(self._own):
            migrate(self._own, moves=moves)
        else:
            self._empty = Database(open_engine("sqlite://"))
            migrate(self._empty)

    def make(self) -> None:
        """Make the state if there is none."""
        if self._empty is not None:
            migrate(self._own, moves=False)
            self._empty = None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view of the state, see `Database.read`."""
        if self._empty is not None and found_version(self._own):  # others made it meanwhile
            self.make()
        with (self._empty or self._own).read() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction on the state, see `Database.write`."""
        self.make()
        with super().write() as connection:
            yield connection


def found_version(database: Database) -> int:
    """The version of a state's schema; 0 if there is no state yet.

    Raises:
        Refused: It is the state of a newer release, or it cannot be reached or read.
    """
    path = path_of(database.engine.url)
    if path is not None and not path.exists():
        return 0
    with database.read() as connection:
        return checked_version(connection)


P = ParamSpec("P")
T = TypeVar("T")


class InDatabase(Protocol):
    """What is kept in a database."""

    _database: StateDatabase


def reading(
    ask: Callable[Concatenate[Connection, P], T],
) -> Callable[Concatenate[InDatabase, P], T]:
    """A method that reads, of one consistent view of the state."""

    @wraps(ask)
    def method(state: InDatabase, /, *args: P.args, **named: P.kwargs) -> T:
        with state._database.read() as connection:  # noqa: SLF001 - a method of it
            return ask(connection, *args, **named)

    return method


def writing(
    do: Callable[Concatenate[Connection, P], T],
) -> Callable[Concatenate[InDatabase, P], T]:
    """A method that writes, all or nothing."""

    @wraps(do)
    def method(state: InDatabase, /, *args: P.args, **named: P.kwargs) -> T:
        with state._database.write() as connection:  # noqa: SLF001 - a method of it
            return do(connection, *args, **named)

    return method
