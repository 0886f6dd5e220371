"""Which files of a table are gone from storage. Data files are looked for by name, not read."""

from __future__ import annotations

from collections.abc import Collection

from pyiceberg.table import Table


def missing_files(table: Table, iceberg_snapshot_id: int) -> tuple[str, ...]:
    """The files of a table at an Iceberg snapshot that storage does not have, sorted.

    None are known for an Iceberg snapshot that has expired. If lists of files (Iceberg's manifests)
    are gone, only these are known.
    """
    snapshot = table.metadata.snapshot_by_id(iceberg_snapshot_id)
    if snapshot is None:
        return ()
    lists = _gone(table, {snapshot.manifest_list})
    manifests = () if lists else snapshot.manifests(table.io)
    lists = lists or _gone(table, {each.manifest_path for each in manifests})
    return lists or _gone(
        table,
        {
            entry.data_file.file_path
            for manifest in manifests
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
        },
    )


def _gone(table: Table, paths: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted(each for each in paths if not table.io.new_input(each).exists()))
