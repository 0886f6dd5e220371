"""The database of a state, which the first write makes: what only looks at it makes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine

from vde_dagster.state.database import Database, open_engine
from vde_dagster.state.migrations import checked_version, migrate
from vde_dagster.state.sqlite_file import path_of
from vde_dagster.state.versions import refuse_moved


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
