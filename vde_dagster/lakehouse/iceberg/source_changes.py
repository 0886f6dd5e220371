"""What happened to a source table since a mark, from Iceberg metadata alone.

Only the manifests that the Iceberg snapshots after the mark added are opened. If these are appends,
the newest manifest list is enough (`vde_dagster.lakehouse.iceberg.row_changes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.transforms import DayTransform, HourTransform, MonthTransform, YearTransform
from pyiceberg.types import DateType, TimestampType, TimestamptzType

from vde_dagster.core.ledger.earlier_schemas import EarlierSchemas, uuid_of
from vde_dagster.core.ledger.late.history import (
    ProcessingUri,
    SourceChange,
    SourceHistory,
    SourceOperation,
    SourceStatus,
)
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import EPOCH, parse_instant
from vde_dagster.lakehouse.iceberg.iceberg_types import schemas_of
from vde_dagster.lakehouse.iceberg.row_changes import Added, added_files, appended, has_rows

VALID_TO = "vde.valid-to"
"""The table property with which a source declares up to when it is complete (ISO-8601)."""

PartitionValue = str | int | None

_TIME_TRANSFORMS = (HourTransform, DayTransform, MonthTransform, YearTransform)
_TIME_TYPES = (DateType, TimestampType, TimestamptzType)


def source_history(
    source: ModelName, table: Table | None, since: HighWaterMark | None
) -> SourceHistory:
    """A source's head and its changes after a mark, oldest first.

    Args:
        source: The name that the mark carries.
        table: The source with its newest metadata, None where it does not exist.
        since: The mark, None for the head alone.
    """
    if table is None:
        return SourceHistory(status=SourceStatus.MISSING, head=None)
    snapshot = table.metadata.current_snapshot()
    schemas = schemas_of(table)
    head = None if snapshot is None else _mark(source, table, snapshot, schemas)
    if since is None:
        return SourceHistory(status=SourceStatus.INITIAL, head=head)
    uuid = str(table.metadata.table_uuid)
    if uuid != uuid_of(since.table_uuid):
        return SourceHistory(status=SourceStatus.RECREATED, head=head)
    if snapshot is None:
        return SourceHistory(status=SourceStatus.ROLLED_BACK, head=None)
    found = _snapshots_after(table, snapshot, since)
    if schemas.identity(uuid, since.iceberg_snapshot_id) != since.table_uuid:
        found = found if isinstance(found, SourceStatus) else SourceStatus.OTHER_COLUMNS
    if isinstance(found, SourceStatus):
        return SourceHistory(status=found, head=head)
    changes = tuple(_changes(table, found))
    return SourceHistory(
        status=SourceStatus.CHANGED if changes else SourceStatus.UNCHANGED,
        head=head,
        changes=changes,
    )


def origin(table: Table | None, snapshot_id: int) -> int:
    """The Iceberg snapshot that a chain of compactions started from, as far as that is known."""
    known = {each.snapshot_id: each for each in table.metadata.snapshots} if table else {}
    while (snapshot := known.get(snapshot_id)) is not None:
        parent = snapshot.parent_snapshot_id
        replaces = snapshot.summary is not None and snapshot.summary.operation is Operation.REPLACE
        if not replaces or parent is None:
            break
        snapshot_id = parent
    return snapshot_id


def _mark(
    source: ModelName, table: Table, snapshot: Snapshot, schemas: EarlierSchemas
) -> HighWaterMark:
    declared = table.metadata.properties.get(VALID_TO)
    return HighWaterMark(
        source=source,
        table_uuid=schemas.identity(str(table.metadata.table_uuid), snapshot.snapshot_id),
        iceberg_snapshot_id=snapshot.snapshot_id,
        sequence_number=snapshot.sequence_number or 0,
        committed_at=EPOCH + timedelta(milliseconds=snapshot.timestamp_ms),
        complete_to=parse_instant(declared) if declared else None,
    )


def _snapshots_after(
    table: Table, head: Snapshot, since: HighWaterMark
) -> list[Snapshot] | SourceStatus:
    """The ancestors of the head back to the mark, oldest first, or why they are not known."""
    known = {each.snapshot_id: each for each in table.metadata.snapshots}
    found: list[Snapshot] = []
    current: int | None = head.snapshot_id
    while current != since.iceberg_snapshot_id:
        snapshot = None if current is None else known.get(current)
        if snapshot is None:
            # The walk left what is retained (some writers forget the parent's id with the parent).
            # A mark that is retained, but was not met, is on another line.
            retained = since.iceberg_snapshot_id in known
            return SourceStatus.ROLLED_BACK if retained else SourceStatus.EXPIRED
        if (snapshot.sequence_number or 0) < since.sequence_number:
            return SourceStatus.ROLLED_BACK  # older than the mark, which was not met
        found.append(snapshot)
        current = snapshot.parent_snapshot_id
    return found[::-1]


def _changes(table: Table, snapshots: Sequence[Snapshot]) -> Iterator[SourceChange]:
    at_once = appended(table, snapshots) or {}
    for each in snapshots:
        operation = _operation(each)
        if operation is SourceOperation.REPLACE:
            added: Iterable[Added] = ()
        else:
            added = at_once.get(each.snapshot_id) or added_files(table, each)
        yield SourceChange(
            iceberg_snapshot_id=each.snapshot_id,
            operation=operation,
            added=tuple(_by_partition(table, added)),
        )


def _operation(snapshot: Snapshot) -> SourceOperation:
    """What a snapshot did; rows that were deleted one by one were changed, and not whole files.

    Position deletes, equality deletes and deletion vectors are all committed as ``delete`` if no
    data file comes with them (Iceberg's spec, *Snapshots*).
    """
    summary = snapshot.summary
    if summary is None:
        return SourceOperation.OVERWRITE
    found = SourceOperation(summary.operation.value)
    by_row = int(summary["added-delete-files"] or 0) > 0
    is_compaction = found is SourceOperation.REPLACE  # it writes deletes again, too
    return SourceOperation.OVERWRITE if by_row and not is_compaction else found


def _by_partition(table: Table, added: Iterable[Added]) -> Iterator[ProcessingUri]:
    """Data files by their partitions."""
    files: dict[tuple[tuple[str, PartitionValue], ...], tuple[int, int]] = {}
    for spec_id, entry in added:
        file = entry.data_file
        if not has_rows(file):
            continue
        partition = _partition(table, table.specs()[spec_id], file)
        count, rows = files.get(partition, (0, 0))
        files[partition] = (count + 1, rows + file.record_count)
    for partition, (count, rows) in files.items():
        yield ProcessingUri(partition=partition, files=count, rows=rows)


def _partition(
    table: Table, spec: PartitionSpec, file: DataFile
) -> tuple[tuple[str, PartitionValue], ...]:
    """A file's partition tuple by the names of its fields, with values that JSON has."""
    values: list[tuple[str, PartitionValue]] = []
    for position, field in enumerate(spec.fields):
        value = file.partition[position]
        source_type = table.schema().find_type(field.source_id)
        timely = isinstance(field.transform, _TIME_TRANSFORMS) or isinstance(
            source_type, _TIME_TYPES
        )
        if value is not None and (timely or not isinstance(value, int | str)):
            value = field.transform.to_human_string(source_type, value)
        values.append((field.name, value))
    return tuple(values)
