"""What can be wrong between what was recorded of a version's table and the table itself.

Each kind of damage says for people what it is and which command ends it; a test carries each of
them out (`tests/app/recover/test_repairing.py`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from vde_dagster.core.listing import plural, some
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import TableName, env_option

MOST_FILES: Final = 3
"""How many missing files a text names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadMoved:
    """Another program moved the table from the recorded Iceberg snapshot, which it still has."""

    found: int | None
    recorded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsChanged:
    """Another program renamed or dropped columns; ``changes`` say which, for people.

    ``found`` is the current Iceberg snapshot: the recorded one, one with its rows, or another one.
    """

    found: int | None
    recorded: int
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsGone:
    """The table has the recorded rows, as far as is known, and lacks recorded columns.

    What became of them is not known, since the recorded Iceberg snapshot has expired.
    """

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadExpired:
    """The table has other rows than were recorded, and the recorded ones have expired."""

    found: int | None
    recorded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverRecorded:
    """The table has rows, and none were ever recorded."""

    found: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDropped:
    """The table does not exist any more, and rows of it were recorded."""

    recorded: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherTable:
    """A table under the name of the version's that was not made for it, and lacks its rows."""

    recorded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataGone:
    """The table's metadata cannot be read, so the table is unreadable; see `LostMetadata`."""

    file: str
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesGone:
    """Data files of the recorded Iceberg snapshot are not in storage any more."""

    recorded: int
    files: tuple[str, ...]


Restorable = HeadMoved | ColumnsChanged
"""What `vde repair` ends by itself: the table still has everything that was recorded."""
Unreadable = MetadataGone | FilesGone
"""What has unreadable rows."""
Damage = (
    Restorable | ColumnsGone | HeadExpired | OtherTable | NeverRecorded | TableDropped | Unreadable
)


def damage_of(
    key: VersionKey,
    recorded: int | None,
    table: TableHead | LostMetadata | None,
    columns: Collection[str],
) -> Damage | None:
    """What is wrong with a version's table; None if readers see the rows that were recorded.

    Args:
        key: The version.
        recorded: The Iceberg snapshot that was recorded last; None if none ever was.
        table: The table as the catalog has it now; None if there is none.
        columns: The columns that were recorded last. They need only be known if the recorded
            Iceberg snapshot has expired.
    """
    if isinstance(table, LostMetadata):
        return MetadataGone(file=table.file, said=table.said)
    if recorded is None:
        found = None if table is None else table.iceberg_snapshot_id
        return None if found is None else NeverRecorded(found=found)
    if table is None:
        return TableDropped(recorded=recorded)
    moved = _moved(key, recorded, table)
    gone = tuple(each for each in columns if each.lower() not in table.columns)
    return ColumnsGone(columns=gone) if moved is None and gone else moved


def files_gone(recorded: int, files: Sequence[str]) -> MetadataGone | FilesGone | None:
    """What is wrong with a table of which these files are not in storage any more.

    Without Iceberg's own lists of files, nothing can be written to it either.
    """
    lists = [each for each in files if "/metadata/" in each]
    if lists:
        return MetadataGone(file=lists[0])
    return FilesGone(recorded=recorded, files=tuple(files)) if files else None


def _moved(key: VersionKey, recorded: int, table: TableHead) -> Damage | None:
    """What is wrong with a table that is there, and of which rows were recorded."""
    found, is_same = table.iceberg_snapshot_id, table.has_rows_of(recorded)
    if changes := table.lost_columns(recorded):
        return ColumnsChanged(found=found, recorded=recorded, changes=changes)
    if is_same:
        return None
    if recorded in table.snapshots:
        return HeadMoved(found=found, recorded=recorded)
    if table.version != key.version:
        return OtherTable(recorded=recorded)
    return HeadExpired(found=found, recorded=recorded)


def described(key: VersionKey, damage: Damage) -> str:
    """What is wrong, for people; it ends without a full stop."""
    what = f"{key.model}: its table {key.table}"
    match damage:
        case HeadMoved(found=found, recorded=recorded):
            at = f"is at the Iceberg snapshot {found}" if found is not None else "has no rows"
            said = (
                f"{what} {at}, but {recorded} was recorded. Another program wrote to it or "
                "rolled it back, or this state is an older copy; nothing is built on unknown "
                "rows"
            )
        case ColumnsChanged(changes=changes):
            named = ", ".join(changes)
            said = (
                f"{what} was changed by another program, and its columns differ from the "
                f"recorded ones: {named}"
            )
        case ColumnsGone(columns=columns):
            said = (
                f"{what} lacks recorded columns: {', '.join(columns)}. Another program renamed "
                "or dropped them"
            )
        case HeadExpired(found=found, recorded=recorded):
            at = f"is at the Iceberg snapshot {found}" if found is not None else "has no rows"
            said = (
                f"{what} {at}, and it no longer has the recorded snapshot {recorded}: another "
                "program wrote to it or recreated it"
            )
        case NeverRecorded(found=found):
            said = (
                f"{what} has rows (Iceberg snapshot {found}) that were never recorded: another "
                "program wrote them, or this state is an older copy, or belongs to another "
                "warehouse"
            )
        case OtherTable(recorded=recorded):
            said = (
                f"{what} is not the recorded one: another program recreated it, without the "
                f"recorded rows (Iceberg snapshot {recorded})"
            )
        case MetadataGone(said=answer) if answer:
            said = f"{what} cannot be read: the catalog answers {answer}"
        case MetadataGone(file=file):
            said = f"{what} cannot be read: its metadata file {file} is missing in storage"
        case TableDropped():
            said = f"{what} does not exist: it was dropped outside vde, with its rows"
        case FilesGone(files=files):
            count = plural(len(files), "file")
            said = f"{what} is missing {count} in storage: {some(files, MOST_FILES)}"
        case unreachable:
            assert_never(unreachable)
    return said


def advice_for(
    key: VersionKey, damage: Damage, *, owner: str, shown: str, is_shown: bool, again: str = ""
) -> str:
    """What ends it, for people.

    Args:
        key: The version.
        damage: What is wrong with it.
        owner: The environment that may write it.
        shown: The environment that shows it, which is the owner if that does.
        is_shown: Whether the owner shows it, so that a run computes it; else a plan does.
        again: How its rows are computed again, or why they are not; empty if that is not known.
    """
    plan = f"`vde run {owner}`" if is_shown else f"`vde plan {owner}`"
    match damage:
        case HeadMoved() | ColumnsChanged():
            newer = (
                " If this state is an older copy, restore the newer one instead."
                if isinstance(damage, HeadMoved)
                else ""
            )
            return (
                f"Run `vde repair {key.model}{env_option(shown)}`: it restores the recorded rows "
                "and columns, without Spark, and keeps other rows under a tag of the "
                f"table.{newer}"
            )
        case ColumnsGone():
            return (
                "Rename them back (`ALTER TABLE ... RENAME COLUMN ...` in Spark). If they were "
                f"dropped, drop {key.table}; {plan} then computes its rows again, or reports why "
                "it cannot."
            )
        case HeadExpired() | NeverRecorded() | OtherTable():
            return (
                f"Drop {key.table} if its present rows are not needed; {plan} then computes its "
                "rows again, or reports why it cannot."
            )
        case MetadataGone(said=answer):
            back = "Restore its metadata file" if answer else "Restore it"
            return (
                f"{back}, for example from a backup, or drop {key.table} from the catalog (how-to/"
                f"fix-damage in the docs shows how); {plan} then computes its rows again, or "
                "reports why it cannot."
            )
        case TableDropped():
            return f"The next {plan} computes its rows again, or reports why it cannot."
        case FilesGone():
            again = again or f"compute it again: `{plan[1:-1]} --restate-model {key.model}`."
            return f"Restore them{', or ' if again[0].islower() else '. '}{again}"
        case unreachable:
            assert_never(unreachable)


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


SHALLOW_COPY: Final = "vde.shallow-copy-of"
"""The property of a table that says which other table's files it refers to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """The table whose data files a shallow copy refers to, and the Iceberg snapshot with them."""

    table: TableName
    iceberg_snapshot_id: int

    @property
    def written(self) -> dict[str, str]:
        """The property of the copy that names it."""
        schema, name = self.table.namespace, self.table.name
        said = {"schema": schema, "name": name, "snapshot": self.iceberg_snapshot_id}
        return {SHALLOW_COPY: json.dumps(said)}

    @classmethod
    def read(cls, properties: Mapping[str, str]) -> Original | None:
        """The one that a table's properties name; None where it is not a shallow copy."""
        if SHALLOW_COPY not in properties:
            return None
        said = json.loads(properties[SHALLOW_COPY])
        table = TableName(said["schema"], said["name"])
        return cls(table=table, iceberg_snapshot_id=said["snapshot"])


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHead:
    """The current state of a table: its Iceberg snapshot, None for none, and its columns.

    ``columns`` are the names of the columns alone, in lower case. ``version`` is the version that
    the table says it was made for; empty where it says none. Of a shallow copy there is the
    ``original``.
    """

    iceberg_snapshot_id: int | None
    fields: Fields
    columns: frozenset[str]
    snapshots: Mapping[int, RetainedSnapshot]
    version: str = ""
    original: Original | None = None

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
