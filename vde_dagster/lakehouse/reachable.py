"""Which files the Iceberg snapshots of a table name: manifest lists, manifests and rows' files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import TypeVar

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFileContent, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot

from vde_dagster.core.clean_up.compaction import DataFile
from vde_dagster.core.clean_up.expiry import IcebergSnapshot, TableHistory
from vde_dagster.core.errors import Refused
from vde_dagster.core.faults import repair_of
from vde_dagster.core.time.intervals import EPOCH

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
            manifest that is gone names nothing: what it named was deleted before it.

    Raises:
        Refused: A manifest list or manifest is gone.
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
    """A file of metadata is gone, so that it is not known which files the table has."""
    return Refused(
        f"metadata of it is gone, so that nothing is known for certain: {error}",
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
        branches={
            name: each.snapshot_id
            for name, each in refs.items()
            if each.snapshot_ref_type is SnapshotRefType.BRANCH
        },
        tags={
            name: each.snapshot_id
            for name, each in refs.items()
            if each.snapshot_ref_type is SnapshotRefType.TAG
        },
        left_at=_left_at(metadata),
        metadata=table.metadata_location,
    )


def data_files(table: Table) -> Iterator[DataFile]:
    """The data files of a table's current Iceberg snapshot.

    Raises:
        Refused: A manifest is gone.
    """
    snapshot = table.metadata.current_snapshot()
    try:
        for manifest in snapshot.manifests(table.io) if snapshot is not None else ():
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
                file = entry.data_file
                if file.content is DataFileContent.DATA:
                    partition = f"{manifest.partition_spec_id} {file.partition!r}"
                    yield DataFile(partition=partition, size=file.file_size_in_bytes)
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
