"""Tables and views of a catalog as clean-up sees them, whatever sort of catalog it is."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from pyiceberg.table import Table

from vde_dagster.core.errors import Refused
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.publish import branches
from vde_dagster.lakehouse.view_metadata import Json, current_version
from vde_dagster.ports.physical_layer import STATE, StoredTable

_FILE: Final = re.compile("^file:/*")


class Entry(Protocol):
    """A table or view in a catalog, with the location of its metadata."""

    @property
    def table_namespace(self) -> str:
        """Its namespace."""
        ...

    @property
    def table_name(self) -> str:
        """Its name in the namespace."""
        ...

    @property
    def metadata_location(self) -> str | None:
        """Where its metadata is."""
        ...


E = TypeVar("E", bound=Entry)


def stored_table(name: TableName, table: Table) -> StoredTable:
    """A table as its metadata describes it."""
    return StoredTable(
        name=name,
        uuid=str(table.metadata.table_uuid),
        location=table.metadata.location,
        is_view=False,
        state=table.properties.get(STATE, ""),
        branches=branches(table),
    )


def stored_view(name: TableName, metadata: Json) -> StoredTable:
    """A view as its metadata describes it."""
    representations = current_version(metadata)["representations"]
    return StoredTable(
        name=name,
        uuid=str(metadata["view-uuid"]),
        location=str(metadata["location"]),
        is_view=True,
        state=str(metadata.get("properties", {}).get(STATE, "")),
        text="\n".join(str(each.get("sql", "")) for each in representations),
    )


def by_folder(entries: Iterable[E]) -> Mapping[str, Sequence[E]]:
    """The tables and views whose metadata is in each folder, or below it."""
    found: dict[str, list[E]] = defaultdict(list)
    for each in entries:
        folder = plain(each.metadata_location or "")
        while folder:
            folder = folder.rpartition("/")[0]
            found[folder].append(each)
    return found


def beside(own: E | None, inside: Iterable[E]) -> str:
    """The name of another table or view among these; empty if there is none."""
    names = [f"{each.table_namespace}.{each.table_name}" for each in inside if each != own]
    return min(names, default="")


def plain(location: str) -> str:
    """A location in one of the ways in which engines write it: ``file:/x`` and ``file:///x``."""
    return _FILE.sub("/", location.rstrip("/"))


def refuse_another_folder(name: TableName, location: str) -> None:
    """Refuse to delete a folder that is not named after the table in it.

    Raises:
        Refused: It is not.
    """
    if location.rstrip("/").rpartition("/")[2] != name.name:
        raise Refused(f"{name} is in {location}, which is no folder of its own")


def refuse_shared(name: TableName, location: str, other: str) -> None:
    """Refuse to delete a folder in which another table has its files.

    Raises:
        Refused: There is one.
    """
    if other:
        raise Refused(
            f"the folder {location} of {name} has the files of {other}, too, so none of its "
            "files was deleted",
            advice=f"Copy {other} to another folder, drop it, and run `vde janitor` again.",
        )


def files_stayed(name: TableName, location: str, error: OSError) -> Refused:
    """A table is dropped, and its files cannot be deleted."""
    return Refused(
        f"files of {name}, which is dropped, cannot be deleted: {error}",
        advice=f"let this user delete what is in {location}, and run `vde janitor` again.",
    )
