"""The tables in which people query sessions and marks: a copy of what the state knows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol

from vde_dagster.core.ledger.late.listed import ListedMark, ListedSession
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import TableName

KEPT: Final = 5
"""So many Iceberg snapshots of each table stay: the newest ones say which sessions they added."""


class LateTables(Protocol):
    """Both tables. They are created when there is something for them; no JVM is started."""

    @property
    def names(self) -> tuple[TableName, ...]:
        """The names of both, whether they exist or not."""
        ...

    def create(self) -> None:
        """Create both tables where there are none yet, for a user who is about to read them.

        Raises:
            Refused: Another program has a table of one of these names.
        """
        ...

    def add_sessions(self, sessions: Sequence[ListedSession]) -> None:
        """Add sessions that the table does not have yet. Adding them again changes nothing.

        Raises:
            Refused: Another program has a table of this name.
            Conflict: Another process changed the table meanwhile; nothing was added.
        """
        ...

    def set_marks(
        self, keys: Collection[VersionKey], read: Callable[[], Sequence[ListedMark]]
    ) -> None:
        """Replace the marks of some versions.

        Args:
            keys: The versions.
            read: Reads all of their marks. It is called once it is known what the table has, so
                that an earlier mark never replaces a later one.

        Raises:
            Refused: Another program has a table of this name.
            Conflict: Another process changed the table meanwhile; nothing was replaced.
        """
        ...
