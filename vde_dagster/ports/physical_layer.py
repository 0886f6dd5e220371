"""The parts of the catalog for all physical tables: looking at them, dropping and maintaining them.

An expiry of Iceberg snapshots is announced in the table before it is decided, and a process that
begins to read one looks for announcements after it has recorded what it reads. So of two processes
that do not wait for each other at least one sees the other (rule R3; docs/how-to/clean-up.md).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from vde_dagster.core.clean_up.compaction import DataFile
from vde_dagster.core.clean_up.expiry import TableHistory
from vde_dagster.core.names import TableName

STATE: Final = "vde.state"
"""The property of a physical table or view that has the id of the state that made it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTable:
    """A table or view as its metadata describes it.

    ``state`` is the id of the state that made it, empty where it has none. ``text`` is what a view
    selects, and ``branches`` are the units of work that have a branch of it. ``beside`` is another
    table whose files are in its folder, such as one that a person has renamed; empty where there is
    none. ``is_dropped`` is set for a view of which the catalog has nothing any more, and only files
    are left.
    """

    name: TableName
    uuid: str
    location: str
    is_view: bool
    state: str = ""
    text: str = ""
    branches: tuple[str, ...] = ()
    beside: str = ""
    is_dropped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFiles:
    """How many files there are in the folder of a table or view, and their bytes."""

    count: int = 0
    size: int = 0


class PhysicalLayer(Protocol):
    """A part of the catalog; see `vde_dagster.ports.catalog.Catalog`."""

    def physical_layer(self) -> Sequence[StoredTable]:
        """All tables and views in the schemas of physical tables, of any program, by name."""
        ...

    def stored(self, name: TableName) -> StoredTable | None:
        """A table or view by its name, wherever it is; None if there is none."""
        ...

    def reading_views(self) -> Sequence[StoredTable]:
        """All views elsewhere whose text names something in these schemas, by name."""
        ...

    def files(self, stored: StoredTable) -> StoredFiles:
        """The files in the folder of a table or view."""
        ...

    def drop_physical(self, name: TableName, *, uuid: str, location: str) -> bool:
        """Drop a physical table or view with all of its files.

        Doing it again goes on with what was left. One of this name with another uuid stays, with
        its files. Returns whether nothing is left of it.

        Args:
            name: Its name.
            uuid: That of what is dropped.
            location: Its folder, which has to be named after it.

        Raises:
            Conflict: Another process changes it right now; nothing was dropped.
            OutcomeUnknown: The answer was lost.
            Refused: Its files cannot be deleted, or its folder is not its own, or not its alone.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StrayFile:
    """A file that nothing names: its path, as storage has it, and its bytes."""

    path: str
    size: int


class Maintenance(Protocol):
    """A part of the catalog; see `vde_dagster.ports.catalog.Catalog`."""

    def table_history(self, name: TableName) -> TableHistory | None:
        """The Iceberg snapshots that a table retains; None if there is no table."""
        ...

    def data_files(self, name: TableName) -> Sequence[DataFile]:
        """The data files of a table's current Iceberg snapshot, from metadata alone."""
        ...

    def stays(self, name: TableName, iceberg_snapshot_id: int) -> bool:
        """Whether a table retains an Iceberg snapshot, and no expiry of it is announced."""
        ...

    def announce_expiry(
        self, name: TableName, ids: Collection[int], *, token: str, metadata: str
    ) -> None:
        """Announce in a table that some of its Iceberg snapshots are about to expire.

        Args:
            name: The table.
            ids: The Iceberg snapshots.
            token: Names this announcement; no other one has it.
            metadata: The state of the table (`TableHistory.metadata`) that this was decided from.

        Raises:
            Conflict: The table has changed since, or another expiry is announced; nothing was
                changed.
            OutcomeUnknown: The answer was lost.
            Refused: Nothing can expire in this catalog; nothing was changed.
        """
        ...

    def expire_announced(self, name: TableName, *, token: str) -> StoredFiles:
        """Remove the announced Iceberg snapshots, and delete the files that only they had.

        Doing it again goes on with what was left. Returns the deleted files.

        Raises:
            Conflict: This announcement was taken back, or a branch or tag names one of them by now;
                nothing was changed.
            OutcomeUnknown: The answer was lost.
            Refused: A file cannot be deleted.
        """
        ...

    def settle_expiry(self, name: TableName) -> StoredFiles:
        """End what an earlier process announced; nothing is done if nothing is announced.

        If its Iceberg snapshots are removed already, the files that only they had are deleted;
        otherwise the announcement is taken back, so that its author can remove nothing any
        more. Returns the deleted files.

        Raises:
            Conflict: Other commits kept getting in first.
            OutcomeUnknown: The answer was lost.
            Refused: A file cannot be deleted.
        """
        ...

    def files_of(self, name: TableName, ids: Collection[int]) -> StoredFiles:
        """The files that only these of a table's Iceberg snapshots have."""
        ...

    def drop_tag(self, name: TableName, tag: str, iceberg_snapshot_id: int) -> None:
        """Remove a tag, if it still is at an Iceberg snapshot.

        Raises:
            Conflict: Other commits kept getting in first.
            OutcomeUnknown: The answer was lost.
        """
        ...

    def dropped_views(self, *, state: str) -> Sequence[StoredTable]:
        """The views of environments that a state made and of which only files are left, by name.

        Nothing in the catalog names any of these files. Nothing ever will, once they are old: each
        change of a view, and each new view of a name, has a new file.

        Args:
            state: The id of the state. What another one made, or does not say whose it is, stays.
        """
        ...

    def stray_files(self, stored: StoredTable, *, before: datetime) -> Sequence[StrayFile]:
        """The files in the folder of a table or view that nothing names and that are old enough.

        Of a table they are those that no Iceberg snapshot and no metadata file that it still names
        has, written before the given time. Of a view they are its own earlier metadata files, from
        which it had moved on before that time, and those that were written before that time for a
        change that another file was written for as well; of one that is dropped all of them, if
        the newest was written before that time and there still is not a view of its name.

        Raises:
            Refused: Its folder is not its own, or lacks files that the table names: then it is not
                certain which files are whose.
        """
        ...

    def delete_files(self, stored: StoredTable, files: Collection[StrayFile]) -> None:
        """Delete files in the folder of a table or view; no error if one is missing already.

        Raises:
            Refused: A file is not in its folder, or cannot be deleted.
        """
        ...
