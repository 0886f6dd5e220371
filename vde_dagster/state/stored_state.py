"""A state as a thing of its own: which version it has, moving it forward, checking and copying it.

Unlike `vde_dagster.state.sql_state.SqlState` it may have an earlier version, or be damaged.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import Refused
from vde_dagster.state import archive, checking, leases, schema
from vde_dagster.state.archive import Archived
from vde_dagster.state.checking import StateReport
from vde_dagster.state.codec import decode_instant
from vde_dagster.state.database import Database, now, open_engine, place_of
from vde_dagster.state.sqlite_file import path_of, refuse_earlier
from vde_dagster.state.state_database import found_version, migrate

_TRIAL: Final = timedelta(minutes=1)
_NAMED: Final = 3
"""How many of the things that are wrong are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The versions of a state before and after it was moved forward; equal if it was not."""

    before: int
    after: int


class StoredState:
    """The state at an address.

    Args:
        url: A SQLAlchemy URL, ``sqlite:///path`` or ``postgresql://...``.

    ``place`` is where it is, for people, and ``file`` its file; None if it has none of its own.

    Raises:
        Refused: It is not a URL of a state, or the path of a file that is none.
    """

    def __init__(self, url: str) -> None:
        engine = open_engine(url)
        self.file = path_of(engine.url)
        self.place = place_of(engine.url)
        self._database = Database(engine)

    def version(self) -> int:
        """The version of its schema.

        Raises:
            Refused: There is no state, or that of a newer release.
        """
        found = self.found_version()
        if not found:
            raise Refused(
                f"there is no state at {self.place}",
                advice="Correct `state.url` in vde.yaml; the first plan creates a new state.",
            )
        return found

    def found_version(self) -> int:
        """The version of its schema; 0 if there is no state yet.

        Raises:
            Refused: It is the state of a newer release, or it cannot be reached or read.
        """
        return found_version(self._database)

    def try_writing(self, token: str) -> None:
        """Write a row of this trial alone, and remove it again, in a transaction each.

        Args:
            token: What no other trial is called.

        Raises:
            Refused: There is no state of this release's version, or it cannot be written.
            Conflict: Others kept it locked.
        """
        refuse_earlier(self.version())
        with self._database.write() as connection:
            lease = leases.acquire(connection, f"trial {token}", holder=token, ttl=_TRIAL)
        with self._database.write() as connection:
            leases.forget(connection, lease)

    def clock(self) -> datetime:
        """What the database's clock says, in UTC."""
        with self._database.read() as connection:
            return decode_instant(now(connection))

    def migrate(self) -> Moved:
        """Move it forward to this release's version, in one transaction.

        Raises:
            Refused: There is no state, or that of a newer release.
        """
        before = self.version()
        migrate(self._database)
        return Moved(before=before, after=schema.VERSION)

    def check(self) -> StateReport:
        """Look at every row; nothing is written.

        Raises:
            Refused: There is no state of this release's version, or its file is damaged.
        """
        refuse_earlier(self.version())
        with self._database.read() as connection:
            return checking.check(connection)

    def export(self, path: Path) -> Archived:
        """Write all but leases to a file, as of one moment.

        Raises:
            Refused: There is no state of this release's version, or the file cannot be written.
        """
        refuse_earlier(self.version())
        with self._database.read() as connection:
            return archive.export(connection, path)

    def restore(self, path: Path) -> Archived:
        """Put what a file has here: all of it, or nothing.

        Raises:
            Refused: This state is not empty, the file is not as it was exported, or what it has is
                incomplete.
        """
        archived = archive.look(path)
        with self._database.write() as connection:
            archive.restore(connection, path, archived)
            if wrong := checking.check(connection).findings:
                raise Refused(
                    f"the state in {path} is inconsistent: {'; '.join(map(str, wrong[:_NAMED]))}. "
                    "Nothing was written",
                    advice="Run `vde state check` on the state that was exported.",
                )
        return archived

    def close(self) -> None:
        """Close the connections that are idle."""
        self._database.engine.dispose()
