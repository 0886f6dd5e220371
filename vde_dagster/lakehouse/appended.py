"""The files that appends added to a table, read at once from the newest of its manifests.

Each append has a manifest list of its own with all manifests so far, so that reading one list for
each append is quadratic in them. If nothing but appends came, the newest list has everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyiceberg.manifest import ManifestEntry, ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

Added = tuple[int, ManifestEntry]
"""An entry of a file, with the partition spec of its manifest."""
_THERE = (ManifestEntryStatus.ADDED, ManifestEntryStatus.EXISTING)


def added_files(table: Table, snapshot: Snapshot) -> Iterator[Added]:
    """The entries of the files that one Iceberg snapshot added, from its own manifests."""
    for manifest in snapshot.manifests(table.io):
        if manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            ours = entry.status == ManifestEntryStatus.ADDED
            # A merged manifest repeats the entries of older snapshots as EXISTING.
            if ours and entry.snapshot_id in (None, snapshot.snapshot_id):
                yield manifest.partition_spec_id, entry


def appended(table: Table, snapshots: Sequence[Snapshot]) -> Mapping[int, list[Added]] | None:
    """What each of some consecutive appends added, by its id; None if they are to be read singly.

    Args:
        table: The table.
        snapshots: Consecutive Iceberg snapshots of its line, oldest first.
    """
    if len(snapshots) < 2 or not all(map(_is_append, snapshots)):
        return None
    found: dict[int, list[Added]] = {each.snapshot_id: [] for each in snapshots}
    for manifest in snapshots[-1].manifests(table.io):
        if manifest.added_snapshot_id not in found:
            continue
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            by = entry.snapshot_id if entry.snapshot_id is not None else manifest.added_snapshot_id
            if entry.status in _THERE and by in found:
                found[by].append((manifest.partition_spec_id, entry))
    counted = all(len(found[each.snapshot_id]) == _added_count(each) for each in snapshots)
    return found if counted else None


def _is_append(snapshot: Snapshot) -> bool:
    return snapshot.summary is not None and snapshot.summary.operation is Operation.APPEND


def _added_count(snapshot: Snapshot) -> int:
    """How many files an append says that it added; -1 if it does not."""
    summary = snapshot.summary
    counted = summary.additional_properties.get("added-data-files") if summary else None
    return int(counted) if counted is not None else -1
