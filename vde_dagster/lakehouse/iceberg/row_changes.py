"""Which times of a table each of its Iceberg snapshots touched, from the bounds of its files.

Only the manifest list of each Iceberg snapshot is read, with the manifests that it wrote itself:
about 8 ms for each. Nothing is read for a compaction.

What appends added is read at once from the newest of a table's manifest lists. Each append has a
manifest list of its own with all manifests so far, so that reading one list for each append is
quadratic in them. If nothing but appends came, the newest list has everything.

Bounds that Iceberg was not told are read from the end of a Parquet file. Iceberg's writers record
bounds of the first hundred columns of a table only, and of none with the table property
``write.metadata.metrics.default=none``. Parquet's writers record them in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from pyiceberg.conversions import from_bytes
from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.types import DateType, NestedField, StringType, TimestampType, TimestamptzType

from vde_dagster.core.time.formats import iso_day
from vde_dagster.core.time.intervals import END_OF_TIME, EPOCH, Interval, merge
from vde_dagster.ports.catalog import RowChange

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile


def has_rows(file: DataFile) -> bool:
    """Whether a file has rows, and does not delete those of others.

    pyiceberg gives the content as a number where a manifest does not say it: in the first version
    of Iceberg's format, which has no deletes.
    """
    return file.content == DataFileContent.DATA


Added = tuple[int, ManifestEntry]
"""An entry of a file, with the partition spec of its manifest."""


def entries_of(
    table: Table, snapshot: Snapshot, by: Collection[int] = (), *, with_deleted: bool = False
) -> Iterator[tuple[ManifestFile, ManifestEntry]]:
    """The files of an Iceberg snapshot; of those ``by`` some Iceberg snapshots, if there are any.

    A merged manifest repeats the entries of older Iceberg snapshots.
    """
    for manifest in snapshot.manifests(table.io):
        if by and manifest.added_snapshot_id not in by:
            continue
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=not with_deleted):
            if not by or entry.snapshot_id is None or entry.snapshot_id in by:
                yield manifest, entry


def added_files(table: Table, snapshot: Snapshot) -> Iterator[Added]:
    """The entries of the files that one Iceberg snapshot added, from its own manifests."""
    for manifest, entry in entries_of(table, snapshot, (snapshot.snapshot_id,)):
        if entry.status == ManifestEntryStatus.ADDED:
            yield manifest.partition_spec_id, entry


def appended(table: Table, snapshots: Sequence[Snapshot]) -> Mapping[int, list[Added]] | None:
    """What each of some consecutive appends added, by its id; None if they are to be read singly.

    Args:
        table: The table.
        snapshots: Consecutive Iceberg snapshots of its line, oldest first.
    """
    summaries = [each.summary for each in snapshots if each.summary is not None]
    appends = [each for each in summaries if each.operation is Operation.APPEND]
    if len(snapshots) < 2 or len(appends) < len(snapshots):
        return None
    found: dict[int, list[Added]] = {each.snapshot_id: [] for each in snapshots}
    for manifest, entry in entries_of(table, snapshots[-1], found):
        by = entry.snapshot_id if entry.snapshot_id is not None else manifest.added_snapshot_id
        if by is not None:
            found[by].append((manifest.partition_spec_id, entry))
    counted = [str(len(files)) for files in found.values()]
    said = [each.additional_properties.get("added-data-files") for each in appends]
    return found if counted == said else None


Bounds = tuple[int | str, int | str]
"""The least and the greatest value: days or microseconds since 1970, or texts."""

_FIELD_ID: Final = b"PARQUET:field_id"
_MOST: Final = 100_000
_READ: Final[dict[tuple[str, int], Bounds | None]] = {}
"""What was read already: a data file never changes."""


def footer_bounds(io: FileIO, file: DataFile, field_id: int) -> Bounds | None:
    """The bounds of a column of dates, times or texts; None where the file does not say.

    Nor does one that has a row without a value, or that cannot be read.
    """
    if file.file_format != FileFormat.PARQUET:
        return None
    import pyarrow as pa
    import pyarrow.parquet as pq

    key = (file.file_path, field_id)
    if key not in _READ:
        if len(_READ) >= _MOST:
            _READ.clear()
        try:
            with io.new_input(file.file_path).open() as opened:
                _READ[key] = _read(pq.ParquetFile(opened), field_id)
        except (
            OSError,
            pa.ArrowInvalid,
        ):  # it is missing or damaged: whoever reads its rows says so
            return None
        except (ValueError, OverflowError):  # a time that Python has no date for
            _READ[key] = None
    return _READ[key]


def _read(file: ParquetFile, field_id: int) -> Bounds | None:
    wanted = str(field_id).encode()
    named = [
        each.name for each in file.schema_arrow if (each.metadata or {}).get(_FIELD_ID) == wanted
    ]
    columns = [number for number, each in enumerate(file.schema) if each.path in named]
    if len(columns) != 1:
        return None
    lows: list[int | str] = []
    highs: list[int | str] = []
    for number in range(file.metadata.num_row_groups):
        found = file.metadata.row_group(number).column(columns[0]).statistics
        if found is None or not found.has_min_max or found.null_count != 0:
            return None
        low, high = _stored(found.min), _stored(found.max)
        if low is None or high is None:
            return None
        lows.append(low)
        highs.append(high)
    return (min(lows), max(highs)) if lows else None


def _stored(value: object) -> int | str | None:
    """A value as Iceberg stores it."""
    match value:
        case datetime():
            at = value.replace(tzinfo=UTC) if value.tzinfo is None else value
            return (at - EPOCH) // _MICROSECOND
        case date():
            return (value - EPOCH.date()).days
        case str():
            return value
        case _:
            return None


_MICROSECOND: Final = datetime.resolution


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
            added=_added(each),
        )
        for each in newer
    ]


def _added(snapshot: Snapshot) -> int | None:
    """How many rows an Iceberg snapshot added; None where it took some away, or may have.

    An overwrite of nothing is not an append by its name, and takes no row away.
    """
    summary = snapshot.summary
    if summary is None or summary.operation is Operation.DELETE:
        return None
    if summary.operation is Operation.REPLACE:
        return 0
    counted = summary.additional_properties
    if any(int(counted.get(each, "0")) for each in ("deleted-data-files", "added-delete-files")):
        return None
    found = counted.get("added-records", "0" if "added-data-files" not in counted else None)
    return None if found is None else int(found)


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


def times_of(table: Table, column: str) -> Callable[[DataFile], Interval | None]:
    """Says from when to when the times of a file's rows are; None where it does not say."""
    field = _time_field(table, column)
    return lambda file: None if field is None else _bounds(file, field, table.io)


def _held(table: Table, column: str) -> tuple[Interval, ...] | None:
    """The times of all rows of a table; None where its files do not say."""
    field, snapshot = _time_field(table, column), table.metadata.current_snapshot()
    if snapshot is None:
        return ()
    if field is None:
        return None
    return _covered((entry for _, entry in entries_of(table, snapshot)), field, table.io)


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
        for _, entry in entries_of(table, snapshot, (snapshot.snapshot_id,), with_deleted=True)
        if entry.status in _TOUCHED
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
        if not has_rows(file):
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
            raise ValueError("a text that does not begin with a date")
        return Interval(days[0], days[1] + timedelta(days=1))
    assert isinstance(field.field_type, TimestampType | TimestamptzType), "see `_time_field`"
    first, last = (timedelta(microseconds=int(str(each))) for each in (low, high))
    return Interval(EPOCH + first, EPOCH + last + timedelta(microseconds=1))
