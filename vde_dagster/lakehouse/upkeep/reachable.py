"""Which files the Iceberg snapshots of a table name: manifest lists, manifests and rows' files.

A `Folder` says which files of a table or view are in storage, and deletes some. Arrow is imported
by the first folder: it takes as long as all of pyiceberg, and most commands that have a catalog
look into no folder.

Files that are missing from storage are looked for by name, and not read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, TypeVar

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot

from vde_dagster.core.clean_up.compaction import DataFile
from vde_dagster.core.clean_up.expiry import IcebergSnapshot, TableHistory
from vde_dagster.core.errors import Refused
from vde_dagster.core.faults import repair_of
from vde_dagster.core.ledger.damage import SHALLOW_COPY
from vde_dagster.core.time.intervals import EPOCH
from vde_dagster.lakehouse.iceberg.row_changes import entries_of, has_rows

if TYPE_CHECKING:
    from pyarrow import fs as arrow
    from pyiceberg.typedef import Properties

_CHECKSUM: Final = ".crc"
"""Hadoop's local file system keeps one of each file `x` beside it, as `.x.crc`."""


class Folder:
    """A folder that a catalog's properties open.

    Args:
        location: Where it is, as metadata has it.
        properties: The catalog's.
    """

    def __init__(self, location: str, properties: Properties) -> None:
        from pyiceberg.io.pyarrow import PyArrowFileIO

        self._properties = properties
        self._io = PyArrowFileIO(properties)
        scheme, host, self.path = self._io.parse_location(location.rstrip("/"), properties)
        self._system = self._io.fs_by_scheme(scheme, host)

    def files(self) -> list[arrow.FileInfo]:
        """All files in it, also in folders below."""
        from pyarrow import fs as arrow

        chosen = arrow.FileSelector(self.path, recursive=True, allow_not_found=True)
        return [each for each in self._system.get_file_info(chosen) if each.is_file]

    def folders(self) -> list[str]:
        """The names of the folders in it, sorted."""
        from pyarrow import fs as arrow

        chosen = arrow.FileSelector(self.path, allow_not_found=True)
        found = self._system.get_file_info(chosen)
        return sorted(each.base_name for each in found if each.type == arrow.FileType.Directory)

    def path_of(self, location: str) -> str:
        """The path of a file as `files` has it."""
        return self._io.parse_location(location, self._properties)[2]

    def has(self, path: str) -> bool:
        """Whether a path lies in it."""
        return path.startswith(f"{self.path}/") and ".." not in PurePosixPath(path).parts

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files, in order; one that is missing already is not an error.

        Raises:
            OSError: One cannot be deleted.
        """
        for path in paths:
            with suppress(FileNotFoundError):
                self._system.delete_file(path)

    def remove_empty(self) -> None:
        """Remove the folders in it without any file, and itself; only a local system has any."""
        from pyarrow import fs as arrow

        if isinstance(self._system, arrow.LocalFileSystem):
            folders = [each for each in Path(self.path).rglob("*") if each.is_dir()]
            for folder in [*sorted(folders, reverse=True), Path(self.path)]:
                with suppress(OSError):  # something is in it
                    folder.rmdir()


@contextmanager
def deleting(what: str, location: str, command: str) -> Iterator[None]:
    """Deletes files meanwhile.

    Raises:
        Refused: They cannot be deleted; ``command`` goes on.
    """
    try:
        yield
    except OSError as error:
        raise Refused(
            f"{what} cannot be deleted: {error}",
            advice=f"give this user permission to delete the files in {location}, and run "
            f"`vde {command}` again.",
        ) from error


def with_checksums(paths: Iterable[str]) -> Iterator[str]:
    """Files, each followed by its checksum, which may not be there."""
    for path in paths:
        yield path
        at = PurePosixPath(path)
        yield str(at.with_name(f".{at.name}{_CHECKSUM}"))


def without_checksum(path: str) -> str:
    """The file that a checksum is of; any other file is returned as it is."""
    at = PurePosixPath(path)
    if at.name.startswith(".") and at.suffix == _CHECKSUM:
        return str(at.with_name(at.name[1 : -len(_CHECKSUM)]))
    return path


_Found = TypeVar("_Found")


@dataclass(slots=True, kw_only=True)
class Reached:
    """Files by their locations, as metadata has them: in the order in which they may be deleted.

    What is deleted later names what is deleted before, so that a deletion that was cut can be done
    again.
    """

    rows: set[str] = field(default_factory=set)
    manifests: set[str] = field(default_factory=set)
    lists: set[str] = field(default_factory=set)

    def without(self, other: Reached) -> Iterator[str]:
        """The files that another set of Iceberg snapshots does not name, in order."""
        kept = other.rows | other.manifests | other.lists
        for each in (self.rows, self.manifests, self.lists):
            yield from sorted(each - kept)

    @property
    def all(self) -> set[str]:
        """All of them."""
        return self.rows | self.manifests | self.lists


def reached(
    io: FileIO, metadata: TableMetadata, snapshots: Iterable[Snapshot], *, removed: bool = False
) -> Reached:
    """What some Iceberg snapshots of a table name; each manifest is read once.

    Args:
        io: Reads the files.
        metadata: The table's.
        snapshots: Some of its Iceberg snapshots.
        removed: Whether their files may be deleted already in part. Then a manifest list or
            manifest that is missing names nothing: what it named was deleted before it.

    Raises:
        Refused: A manifest list or manifest is missing.
    """
    found = Reached()
    wanted = {each.snapshot_id for each in snapshots}
    for each in metadata.snapshots:
        if each.snapshot_id in wanted:
            found.lists.add(each.manifest_list)
            for manifest in _read(each.manifests, io, removed=removed):
                if manifest.manifest_path not in found.manifests:
                    found.manifests.add(manifest.manifest_path)
                    found.rows.update(_read(partial(_rows, manifest), io, removed=removed))
    for statistics in (*metadata.statistics, *metadata.partition_statistics):
        if statistics.snapshot_id in wanted:
            found.rows.add(statistics.statistics_path)
    return found


def _read(read: Callable[[FileIO], list[_Found]], io: FileIO, *, removed: bool) -> list[_Found]:
    try:
        return read(io)
    except FileNotFoundError as error:
        if removed:
            return []
        raise gone(error) from error


def gone(error: FileNotFoundError) -> Refused:
    """A file of metadata is missing, so that it is not known which files the table has."""
    return Refused(
        f"a metadata file is missing, so its files are not known for certain: {error}",
        advice=f"{repair_of(str(error))} says what is wrong.",
    )


def _rows(manifest: ManifestFile, io: FileIO) -> list[str]:
    entries = manifest.fetch_manifest_entry(io, discard_deleted=True)
    return [entry.data_file.file_path for entry in entries]


def history_of(table: Table) -> TableHistory:
    """The Iceberg snapshots that a table retains."""
    metadata = table.metadata
    refs = {name: each for name, each in metadata.refs.items() if name != MAIN_BRANCH}
    return TableHistory(
        head=metadata.current_snapshot_id,
        snapshots={each.snapshot_id: _described(each) for each in metadata.snapshots},
        branches=_of_type(refs, SnapshotRefType.BRANCH),
        tags=_of_type(refs, SnapshotRefType.TAG),
        left_at=_left_at(metadata),
        metadata=table.metadata_location,
    )


def _of_type(refs: Mapping[str, SnapshotRef], wanted: SnapshotRefType) -> dict[str, int]:
    found = {name: each for name, each in refs.items() if each.snapshot_ref_type is wanted}
    return {name: each.snapshot_id for name, each in found.items()}


def data_files(table: Table) -> Iterator[DataFile]:
    """The data files of a table's current Iceberg snapshot.

    Raises:
        Refused: A manifest is missing.
    """
    snapshot, own = table.metadata.current_snapshot(), f"{table.location()}/"
    shares = SHALLOW_COPY in table.properties
    try:
        for manifest, entry in entries_of(table, snapshot) if snapshot is not None else ():
            file = entry.data_file
            if has_rows(file):
                yield DataFile(
                    partition=f"{manifest.partition_spec_id} {file.partition!r}",
                    size=file.file_size_in_bytes,
                    is_anothers=shares and not file.file_path.startswith(own),
                )
    except FileNotFoundError as error:
        raise gone(error) from error


def _described(snapshot: Snapshot) -> IcebergSnapshot:
    summary = snapshot.summary
    return IcebergSnapshot(
        id=snapshot.snapshot_id,
        parent=snapshot.parent_snapshot_id,
        committed_at=_instant(snapshot.timestamp_ms),
        is_compaction=summary is not None and summary.operation is Operation.REPLACE,
    )


def _left_at(metadata: TableMetadata) -> dict[int, datetime]:
    found: dict[int, datetime] = {}
    for each, after in pairwise(metadata.snapshot_log):
        if each.snapshot_id != after.snapshot_id:
            found[each.snapshot_id] = _instant(after.timestamp_ms)
    return found


def _instant(milliseconds: int) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds)


def missing_files(table: Table, iceberg_snapshot_id: int) -> tuple[str, ...]:
    """The files of a table at an Iceberg snapshot that storage does not have, sorted.

    None are known for an Iceberg snapshot that has expired. If lists of files (Iceberg's manifests)
    are missing, only these are known.
    """
    snapshot = table.metadata.snapshot_by_id(iceberg_snapshot_id)
    if snapshot is None:
        return ()
    lists = _gone(table, {snapshot.manifest_list})
    manifests = () if lists else snapshot.manifests(table.io)
    lists = lists or _gone(table, {each.manifest_path for each in manifests})
    return lists or _gone(
        table, {each.data_file.file_path for _, each in entries_of(table, snapshot)}
    )


def _gone(table: Table, paths: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted(each for each in paths if not table.io.new_input(each).exists()))
