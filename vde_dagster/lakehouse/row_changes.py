"""Which times of a table each of its Iceberg snapshots touched, from the bounds of its files.

Only the manifest list of each Iceberg snapshot is read, with the manifests that it wrote itself:
about 8 ms for each. Nothing is read for a compaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final

from pyiceberg.conversions import from_bytes
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, DataFileContent, ManifestEntry, ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.types import DateType, NestedField, StringType, TimestampType, TimestamptzType

from vde_dagster.core.time.formats import iso_day
from vde_dagster.core.time.intervals import END_OF_TIME, EPOCH, Interval, merge
from vde_dagster.lakehouse.appended import Added, appended
from vde_dagster.lakehouse.footer_bounds import footer_bounds
from vde_dagster.ports.catalog import RowChange

_TIMELY: Final = (DateType, TimestampType, TimestamptzType, StringType)
"""Types of columns that may contain times. Texts do if they begin with an ISO date."""
_TOUCHED: Final = (ManifestEntryStatus.ADDED, ManifestEntryStatus.DELETED)


def line(table: Table) -> Iterator[Snapshot]:
    """The current Iceberg snapshot of a table and its retained ancestors, newest first."""
    known = {each.snapshot_id: each for each in table.metadata.snapshots}
    current = table.metadata.current_snapshot_id
    while current is not None and current in known:
        yield known[current]
        current = known[current].parent_snapshot_id


def row_changes(table: Table, *, after: int | None, column: str) -> list[RowChange]:
    """What the Iceberg snapshots of a table's line after one did, newest first."""
    field = _time_field(table, column)
    newer = list(takewhile(lambda each: each.snapshot_id != after, line(table)))
    at_once = appended(table, newer[::-1]) or {} if field is not None else {}
    return [
        RowChange(
            iceberg_snapshot_id=each.snapshot_id,
            committed_at=EPOCH + timedelta(milliseconds=each.timestamp_ms),
            times=_times(table, each, field, at_once.get(each.snapshot_id)),
        )
        for each in newer
    ]


def earliest(table: Table, column: str) -> datetime | None:
    """The first time of a column among a table's rows; None where its files do not say.

    All manifests of the current Iceberg snapshot are read.
    """
    found = _held(table, column)
    return None if found is None else min((each.start for each in found), default=END_OF_TIME)


def latest(table: Table, column: str) -> datetime | None:
    """The instant after the last time of a column among a table's rows; None if it is not known.

    All manifests of the current Iceberg snapshot are read.
    """
    return max((each.end for each in _held(table, column) or ()), default=None)


def _held(table: Table, column: str) -> tuple[Interval, ...] | None:
    """The times of all rows of a table; None where its files do not say."""
    field, snapshot = _time_field(table, column), table.metadata.current_snapshot()
    if snapshot is None:
        return ()
    if field is None:
        return None
    entries = (
        entry
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
    )
    return _covered(entries, field, table.io)


def _time_field(table: Table, column: str) -> NestedField | None:
    for field in table.schema().fields:
        timely = isinstance(field.field_type, _TIMELY)
        if field.name.lower() == column.lower() and timely:
            return field
    return None


def _times(
    table: Table, snapshot: Snapshot, field: NestedField | None, added: Sequence[Added] | None
) -> tuple[Interval, ...] | None:
    """The times of all rows that a snapshot added or removed; None where that is not known.

    ``added`` is what an append added; None if its manifests are to be read.
    """
    summary = snapshot.summary
    if summary is not None and summary.operation is Operation.REPLACE:
        return ()
    if summary is None or field is None:
        return None
    if added is not None:
        return _covered([entry for _, entry in added], field, table.io)
    own = [
        entry
        for manifest in snapshot.manifests(table.io)
        if manifest.added_snapshot_id == snapshot.snapshot_id
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
        # A merged manifest repeats the entries of older snapshots.
        if entry.status in _TOUCHED and entry.snapshot_id in (None, snapshot.snapshot_id)
    ]
    for status, counted in (
        (ManifestEntryStatus.ADDED, "added-data-files"),
        (ManifestEntryStatus.DELETED, "deleted-data-files"),
    ):
        rows_counted = int(summary.additional_properties.get(counted, "0"))
        if rows_counted != sum(1 for each in own if each.status is status):
            return None  # a writer that leaves out what it removed
    return _covered(own, field, table.io)


def _covered(
    entries: Iterable[ManifestEntry], field: NestedField, io: FileIO
) -> tuple[Interval, ...] | None:
    """From the first to the last time in each of these files; None where one does not say.

    What the table's metadata leaves out (columns behind the hundredth, or all of them, by the
    table's metrics) is read from the end of the file.
    """
    bounds: list[Interval] = []
    for entry in entries:
        file = entry.data_file
        if file.content is not DataFileContent.DATA:
            return None  # rows are removed by their places
        if file.record_count:
            found = _bounds(file, field, io)
            if found is None:
                return None
            bounds.append(found)
    return merge(bounds)


def _bounds(file: DataFile, field: NestedField, io: FileIO) -> Interval | None:
    low = (file.lower_bounds or {}).get(field.field_id)
    high = (file.upper_bounds or {}).get(field.field_id)
    nulls = (file.null_value_counts or {}).get(field.field_id)
    assert isinstance(field.field_type, _TIMELY), "see `_time_field`"
    kind, found = field.field_type, None
    if low is None or high is None or nulls is None:
        found = footer_bounds(io, file, field.field_id)
    elif not nulls:
        found = from_bytes(kind, low), from_bytes(kind, high)
    try:
        return None if found is None else _between(field, *found)
    except (OverflowError, ValueError):
        return None  # a time that no calendar has


def _between(field: NestedField, low: object, high: object) -> Interval:
    """The time from a column's least to its greatest value, as Iceberg stores them.

    Raises:
        ValueError: A text that begins with no date.
        OverflowError: A time that no calendar has.
    """
    if isinstance(field.field_type, DateType):
        first, last = (timedelta(days=int(str(each))) for each in (low, high))
        return Interval(EPOCH + first, EPOCH + last + timedelta(days=1))
    if isinstance(field.field_type, StringType):
        days = [iso_day(str(each)) for each in (low, high)]
        if days[0] is None or days[1] is None:
            raise ValueError("a text that begins with no date")
        return Interval(days[0], days[1] + timedelta(days=1))
    assert isinstance(field.field_type, TimestampType | TimestamptzType), "see `_time_field`"
    first, last = (timedelta(microseconds=int(str(each))) for each in (low, high))
    return Interval(EPOCH + first, EPOCH + last + timedelta(microseconds=1))
