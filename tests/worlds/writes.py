"""What each write does to the rows of a table in memory; the same as on Iceberg, row for row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import compress
from typing import assert_never

from tests.worlds.frames import Frame, sum_of
from tests.worlds.histories import kept
from tests.worlds.merging import merged
from tests.worlds.partitions import partitions_of
from tests.worlds.sequencing import history_of, in_order, is_hidden
from tests.worlds.tables import Row, instant_of
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.model.hidden_rows import HiddenRows
from vde_dagster.core.model.storage import PartitionField
from vde_dagster.core.model.writes import (
    AppendRows,
    AppendToIntervals,
    ChangeOrder,
    KeepHistory,
    MergeRows,
    OverwriteIntervals,
    ReplacePartitions,
    ReplaceTable,
    TimeAxisSpec,
    Write,
    hidden_by,
)
from vde_dagster.core.time.formats import ISO_DATE, TimeFormat
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.engine import TableRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The table's rows after a write, those that were processed, and the intervals' sums.

    ``only_adds`` is whether all earlier rows are still there, unchanged.
    """

    rows: tuple[Row, ...]
    processed: tuple[Row, ...]
    sums: Mapping[Interval, RowSum]
    only_adds: bool = False


def written(  # noqa: PLR0911 - one for each write
    loaded: Frame, new: Frame, write: Write, *, layout: Sequence[PartitionField]
) -> Written:
    """What a write does to a table.

    Args:
        loaded: The table's rows.
        new: The rows to write, in the table's columns.
        write: How.
        layout: How the table is partitioned.

    Raises:
        EvaluationFailed: The rows do not fit the write, such as two rows of one key.
    """
    match write:
        case ReplaceTable():
            sums = {write.interval: sum_of(new.rows)}
            return Written(rows=new.rows, processed=new.rows, sums=sums)
        case OverwriteIntervals():
            return _overwritten(loaded, new, write)
        case AppendToIntervals():
            return _appended(loaded, new, write)
        case AppendRows():
            sums = {write.interval: sum_of(new.rows)}
            return Written(
                rows=(*loaded.rows, *new.rows), processed=new.rows, sums=sums, only_adds=True
            )
        case MergeRows(order=ChangeOrder() as order):
            rows, processed = in_order(loaded, new, write.key, order)
            return _seen(loaded, rows, processed, write)
        case MergeRows():
            rows, processed = merged(loaded, new, write)
            return _changed(loaded, rows, processed, write.interval)
        case ReplacePartitions():
            return _partitions_replaced(loaded, new, write, layout)
        case KeepHistory(order=ChangeOrder() as order):
            rows, processed = history_of(loaded, new, write.history, order)
            return _seen(loaded, rows, processed, write)
        case KeepHistory():
            rows, processed = kept(loaded, new, write)
            return _changed(loaded, rows, processed, write.interval)
        case _:
            assert_never(write)


def _overwritten(loaded: Frame, new: Frame, write: OverwriteIntervals) -> Written:
    kept = compress(loaded.rows, (not each for each in _are_inside(loaded, write)))
    rows, sums = _of_intervals(new, write)
    return Written(rows=(*kept, *rows), processed=rows, sums=sums)


def _appended(loaded: Frame, new: Frame, write: AppendToIntervals) -> Written:
    rows, sums = _of_intervals(new, write)
    return Written(rows=(*loaded.rows, *rows), processed=rows, sums=sums, only_adds=True)


def _partitions_replaced(
    loaded: Frame, new: Frame, write: ReplacePartitions, layout: Sequence[PartitionField]
) -> Written:
    replaced = set(partitions_of(new, layout))
    stays = (each not in replaced for each in partitions_of(loaded, layout))
    rows = (*compress(loaded.rows, stays), *new.rows)
    return _changed(loaded, rows, new.rows, write.interval)


def _changed(
    loaded: Frame, rows: tuple[Row, ...], processed: tuple[Row, ...], interval: Interval
) -> Written:
    """The change of a table's sum, which is recorded for the interval."""
    sums = {interval: sum_of(rows) - sum_of(loaded.rows)}
    return Written(rows=rows, processed=processed, sums=sums)


def _of_intervals(
    frame: Frame, write: OverwriteIntervals | AppendToIntervals
) -> tuple[tuple[Row, ...], dict[Interval, RowSum]]:
    """The rows inside the intervals of a write, and the sum of each of its units."""
    unit = write.axis.unit
    try:
        units = [cell for each in write.intervals for cell in unit.cells(each)]
    except ValueError as error:
        raise EvaluationFailed(str(error)) from error
    inside = _are_inside(frame, write)
    rows = tuple(compress(frame.rows, inside))
    by_unit: dict[Interval, list[Row]] = {each: [] for each in units}
    times = compress(frame.values(write.axis.column), inside)
    for row, value in zip(rows, times, strict=True):
        instant = _instant(value, write.axis)
        if instant is None:
            raise EvaluationFailed(f"rows without a time in {write.axis.column}: 1 or more")
        start = unit.floor(instant)
        by_unit[Interval(start, unit.following(start))].append(row)
    return rows, {each: sum_of(found) for each, found in by_unit.items()}


def requested(frame: Frame, wanted: TableRows) -> Frame:
    """Of a table's rows those that a user's own code asks for."""
    if wanted.axis is not None:
        frame = inside(frame, wanted.axis, wanted.intervals)
    frame = shown(frame, wanted.hidden_rows)
    return frame.selected(wanted.columns) if wanted.columns else frame


def _seen(
    loaded: Frame, rows: tuple[Row, ...], processed: tuple[Row, ...], write: MergeRows | KeepHistory
) -> Written:
    """What changes with an order did, counted by what readers see."""
    hidden = hidden_by(write)
    before, after, written = (
        shown(Frame(loaded.columns, each), hidden).rows for each in (loaded.rows, rows, processed)
    )
    sums = {write.interval: sum_of(after) - sum_of(before)}
    return Written(rows=rows, processed=written, sums=sums)


def shown(frame: Frame, hidden: HiddenRows | None) -> Frame:
    """The rows that are no delete markers."""
    if hidden is None:
        return frame
    are_hidden = (is_hidden(each, hidden) for each in frame.values(hidden.column))
    return Frame(frame.columns, list(compress(frame.rows, (not each for each in are_hidden))))


def inside(frame: Frame, axis: TimeAxisSpec, intervals: Sequence[Interval]) -> Frame:
    """The rows whose time lies in one of some intervals."""
    times = frame.values(axis.column)
    there = (any(_lies_in(value, each, axis) for each in intervals) for value in times)
    return Frame(frame.columns, list(compress(frame.rows, there)))


def unit_sums(frame: Frame, axis: TimeAxisSpec) -> dict[Interval | None, RowSum]:
    """The sums of rows by their units. Those of rows without a time stand under None."""
    by_unit: dict[Interval | None, list[Row]] = {}
    for row, value in zip(frame.rows, frame.values(axis.column), strict=True):
        instant = _instant(value, axis)
        start = axis.unit.floor(instant) if instant is not None else None
        unit = Interval(start, axis.unit.following(start)) if start is not None else None
        by_unit.setdefault(unit, []).append(row)
    return {unit: sum_of(rows) for unit, rows in by_unit.items()}


def _are_inside(frame: Frame, write: OverwriteIntervals | AppendToIntervals) -> list[bool]:
    """Of each row, whether its time lies in one of the intervals."""
    return [
        any(_lies_in(value, each, write.axis) for each in write.intervals)
        for value in frame.values(write.axis.column)
    ]


def _lies_in(value: object, interval: Interval, axis: TimeAxisSpec) -> bool:
    if not axis.is_formatted:
        instant = instant_of(value)
        return instant is not None and interval.start <= instant < interval.end
    written = TimeFormat(axis.format or ISO_DATE)
    low, high = (written.write(written.grain.ceil(each)) for each in (interval.start, interval.end))
    match value:
        case str():
            return low <= value < high
        case int():
            return int(low) <= value < int(high)
        case _:
            return False


def _instant(value: object, axis: TimeAxisSpec) -> datetime | None:
    if not axis.is_formatted:
        return instant_of(value)
    return TimeFormat(axis.format or ISO_DATE).read(str(value))
