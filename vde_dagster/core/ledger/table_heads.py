"""What a catalog has of a version's table now, as far as it is compared with what was recorded.

All of it is in the table's newest metadata file. Iceberg identifies a column by an id and not by
its name, so that a column that was renamed, or dropped and added again, is known by its id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Fields = Mapping[int, str]
"""The names of a schema's columns, and of the fields inside of them, by their ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedSnapshot:
    """An Iceberg snapshot that a table still has.

    ``is_compaction`` where it has the rows of its ``parent``. ``fields`` are those of the schema
    that it was written with; empty where that is not known.
    """

    parent: int | None
    is_compaction: bool
    fields: Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHead:
    """The current state of a table: its Iceberg snapshot, None for none, and its columns.

    ``columns`` are the names of the columns alone, in lower case. ``version`` is the version that
    the table says it was made for; empty where it says none.
    """

    iceberg_snapshot_id: int | None
    fields: Fields
    columns: frozenset[str]
    snapshots: Mapping[int, RetainedSnapshot]
    version: str = ""

    def origin(self, iceberg_snapshot_id: int) -> int:
        """The Iceberg snapshot that a chain of compactions began at, as far as that is known."""
        while (found := self.snapshots.get(iceberg_snapshot_id)) is not None:
            if not found.is_compaction or found.parent is None:
                break
            iceberg_snapshot_id = found.parent
        return iceberg_snapshot_id

    def has_rows_of(self, recorded: int | None) -> bool:
        """Whether the table has the rows that it had at an Iceberg snapshot, as far as is known.

        If that one has expired, and all retained ones up to the current one are compactions,
        nothing indicates a foreign write: it is the same table after maintenance.
        """
        found = self.iceberg_snapshot_id
        if found == recorded:
            return True
        if found is None or recorded is None:
            return False
        first = self.origin(found)
        if first == self.origin(recorded):
            return True
        begun = self.snapshots.get(first)
        # pyiceberg takes the parent from a compaction when that expires, Spark does not
        return recorded not in self.snapshots and (begun is None or begun.is_compaction)

    def has_expired(self, recorded: int | None) -> bool:
        """Whether an Iceberg snapshot is not retained, so that its columns are not known by ids."""
        return recorded is not None and recorded not in self.snapshots

    def lost_columns(self, recorded: int | None) -> tuple[str, ...]:
        """What became of columns since an Iceberg snapshot was written, for people.

        Columns that were added, and types that were widened, take nothing from its rows.
        """
        snapshot = None if recorded is None else self.snapshots.get(recorded)
        if snapshot is None or snapshot.fields is self.fields:
            return ()
        return tuple(_lost(snapshot.fields, self.fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class LostMetadata:
    """A table that the catalog names, and whose metadata cannot be read.

    The ``file`` is not in storage any more, or the catalog's server ``said`` what is wrong; one of
    them is empty.
    """

    file: str = ""
    said: str = ""


def _lost(before: Fields, now: Fields) -> Iterator[str]:
    names = {name.lower() for name in now.values()}
    for number, name in before.items():
        present = now.get(number)
        if present is None and name.lower() in names:
            yield f"{name} was dropped and added again"
        elif present is None:
            yield f"{name} was dropped"
        elif present.lower() != name.lower():
            yield f"{name} was renamed to {present}"
