"""Which data files of a table are gone from storage. They are looked for by name, and not read."""

from __future__ import annotations

from pyiceberg.table import Table


def missing_files(table: Table, iceberg_snapshot_id: int) -> tuple[str, ...]:
    """The files of a table at an Iceberg snapshot that storage does not have, sorted.

    None are known for an Iceberg snapshot that has expired.
    """
    snapshot = table.metadata.snapshot_by_id(iceberg_snapshot_id)
    if snapshot is None:
        return ()
    paths = {
        entry.data_file.file_path
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
    }
    return tuple(sorted(each for each in paths if not table.io.new_input(each).exists()))
