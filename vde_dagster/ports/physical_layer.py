"""The part of the catalog for looking at all physical tables, and for dropping one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

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
        """All tables and views in the schemas of physical tables, whoever made them, by name."""
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
            Conflict: Somebody else changes it right now; nothing was dropped.
            OutcomeUnknown: The answer was lost.
            Refused: Its files cannot be deleted, or its folder is not its own, or not its alone.
        """
        ...
