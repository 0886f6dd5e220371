"""The changes that the snapshots of a table in memory made, named as Iceberg names them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from tests.worlds.tables import Row, Snapshot, Table, instant_of
from vde_dagster.core.ledger.late.history import (
    ProcessingUri,
    SourceChange,
    SourceOperation,
    SourceStatus,
)
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.formats import iso_day
from vde_dagster.core.time.intervals import EPOCH, Interval, IntervalUnit, merge, parse_instant

VALID_TO: Final = "vde.valid-to"


def times_of(table: Table, snapshot: Snapshot, column: str) -> tuple[Interval, ...] | None:
    """The times of the rows that a snapshot added or removed; None if one has no time."""
    if snapshot.operation is SourceOperation.REPLACE:
        return ()
    if snapshot.parent is not None and snapshot.parent not in table.snapshots:
        return None
    before, after = (Counter(each) for each in _before_and_after(table, snapshot))
    hulls: list[Interval] = []
    for rows in (after - before, before - after):
        found = instants_of(table, (row for row, _ in rows), column)
        if found is None:
            return None
        if found:
            hulls.append(Interval(min(found), max(found) + timedelta(microseconds=1)))
    return merge(hulls)


def added_to(table: Table, snapshot: Snapshot) -> int | None:
    """How many rows a snapshot added; None if it took some away, or if that is not known."""
    if snapshot.operation is SourceOperation.REPLACE:
        return 0
    if snapshot.parent is not None and snapshot.parent not in table.snapshots:
        return None
    before, after = (Counter(each) for each in _before_and_after(table, snapshot))
    added = (after - before).total()
    replaced = snapshot.operation is SourceOperation.OVERWRITE and before and not added
    return None if replaced or before - after else added


def _before_and_after(table: Table, snapshot: Snapshot) -> Iterator[list[tuple[Row, Row]]]:
    """The rows before a snapshot and at it, each with what it was as its files have it.

    Columns that others dropped since are in the files still: rows that differ in these only have
    changed.
    """
    former = table.before_change.snapshots if table.before_change is not None else {}
    ids = (snapshot.parent, snapshot.id)
    in_files = all(each is None or each in former for each in ids)
    for each in ids:
        rows = table.rows_at(each)
        stored = former[each].rows if in_files and each is not None else rows
        yield list(zip(rows, stored, strict=True))


def instants_of(table: Table, rows: Iterable[Row], column: str) -> list[datetime] | None:
    """The times of a column; None if there is no such column, or a row without a time.

    Also if the table's writers leave out what their files have.
    """
    if table.properties.get("write.metadata.metrics.default") == "none":
        return None
    names = [each.name.lower() for each in table.columns]
    if column.lower() not in names:
        return None
    at = names.index(column.lower())
    values = (row[at] for row in rows)
    found = [iso_day(each) if isinstance(each, str) else instant_of(each) for each in values]
    return None if None in found else [each for each in found if each is not None]


def mark_of(source: ModelName, table: Table) -> HighWaterMark | None:
    """A source's head as a mark; None if the table has no snapshot."""
    if table.head is None:
        return None
    declared = table.properties.get(VALID_TO)
    sequence = table.snapshots[table.head].sequence
    return HighWaterMark(
        source=source,
        table_uuid=table.schemas.identity(table.uuid, table.head),
        iceberg_snapshot_id=table.head,
        sequence_number=sequence,
        committed_at=EPOCH + timedelta(seconds=sequence),
        complete_to=parse_instant(declared) if declared else None,
    )


def snapshots_after(table: Table, mark: HighWaterMark) -> list[Snapshot] | SourceStatus:
    """The head's ancestors back to a mark, oldest first, or why they are not known."""
    newer: list[Snapshot] = []
    current = table.head
    while current != mark.iceberg_snapshot_id:
        snapshot = None if current is None else table.snapshots.get(current)
        if snapshot is None:
            retained = mark.iceberg_snapshot_id in table.snapshots
            return SourceStatus.ROLLED_BACK if retained else SourceStatus.EXPIRED
        if snapshot.sequence < mark.sequence_number:
            return SourceStatus.ROLLED_BACK
        newer.append(snapshot)
        current = snapshot.parent
    return newer[::-1]


def change_of(table: Table, snapshot: Snapshot) -> SourceChange:
    """What a snapshot added, by partition."""
    counted: dict[tuple[tuple[str, str | int | None], ...], int] = {}
    for row in snapshot.added:
        partition = _partition(table, row)
        counted[partition] = counted.get(partition, 0) + 1
    return SourceChange(
        iceberg_snapshot_id=snapshot.id,
        operation=snapshot.operation,
        added=tuple(
            ProcessingUri(partition=partition, files=1, rows=rows)
            for partition, rows in counted.items()
        ),
    )


_FORMS: Final = {
    IntervalUnit.HOUR: "%Y-%m-%d-%H",
    IntervalUnit.DAY: "%Y-%m-%d",
    IntervalUnit.MONTH: "%Y-%m",
    IntervalUnit.YEAR: "%Y",
}


def _partition(table: Table, row: Row) -> tuple[tuple[str, str | int | None], ...]:
    """A row's partition, named and spelled as Iceberg does it."""
    axis = table.partition_by
    if axis is None:
        return ()
    names = [each.name.lower() for each in table.columns]
    instant = instant_of(row[names.index(axis.column.lower())])
    unit = axis.unit if axis.unit in _FORMS else IntervalUnit.HOUR
    by_value = axis.type.lower() == "date" and unit in (IntervalUnit.HOUR, IntervalUnit.DAY)
    if by_value:
        return ((axis.column, None if instant is None else instant.date().isoformat()),)
    text = None if instant is None else instant.strftime(_FORMS[unit])
    return ((f"{axis.column}_{unit.value}", text),)
