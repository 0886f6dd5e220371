"""Intervals as Dagster partitions, both ways, and which partitions of a parent a model reads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import dagster as dg

from vde_dagster import kinds
from vde_dagster.app.binding import Binding
from vde_dagster.app.reading import rendered
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph import Node
from vde_dagster.core.input_ranges import TimeAxis, WholeTable, input_ranges
from vde_dagster.core.intervals import Interval, IntervalUnit, merge
from vde_dagster.core.model import Query
from vde_dagster.core.names import ModelName

_DAYS: Final = "%Y-%m-%d"
_MINUTES: Final = "%Y-%m-%d-%H:%M"
_FORMATS: Final = {
    IntervalUnit.FIVE_MINUTE: _MINUTES,
    IntervalUnit.QUARTER_HOUR: _MINUTES,
    IntervalUnit.HALF_HOUR: _MINUTES,
    IntervalUnit.HOUR: _MINUTES,
    IntervalUnit.DAY: _DAYS,
    IntervalUnit.MONTH: _DAYS,
    IntervalUnit.YEAR: _DAYS,
}
_CRONS: Final = {
    IntervalUnit.FIVE_MINUTE: "*/5 * * * *",
    IntervalUnit.QUARTER_HOUR: "*/15 * * * *",
    IntervalUnit.HALF_HOUR: "*/30 * * * *",
    IntervalUnit.YEAR: "0 0 1 1 *",
}


def is_partitioned(node: Node) -> bool:
    """Whether a model's intervals are shown as partitions."""
    return kinds.of(node.model).is_partitioned


def partitions_of(node: Node, end: datetime | None) -> dg.TimeWindowPartitionsDefinition | None:
    """The partitions of a model, from its start to its end; None for kinds without intervals.

    Args:
        node: The model.
        end: The project's clock where it is not the wall clock (which Dagster knows itself): later
            intervals are not due, so they are no partitions.
    """
    if not is_partitioned(node):
        return None
    unit = node.model.unit
    start = unit.ceil(node.model.start)
    ends = [unit.floor(each) for each in (end, node.model.end) if each is not None]
    last = max(min(ends), start) if ends else None
    match unit:
        case IntervalUnit.HOUR:
            return dg.HourlyPartitionsDefinition(start_date=start, end_date=last)
        case IntervalUnit.DAY:
            return dg.DailyPartitionsDefinition(start_date=start, end_date=last)
        case IntervalUnit.MONTH:
            return dg.MonthlyPartitionsDefinition(start_date=start, end_date=last)
        case _:
            return dg.TimeWindowPartitionsDefinition(
                cron_schedule=_CRONS[unit], start=start, end=last, fmt=_FORMATS[unit]
            )


def partition_key(unit: IntervalUnit, interval: Interval) -> str:
    """The key of the partition that starts where ``interval`` starts."""
    return interval.start.strftime(_FORMATS[unit])


def interval_of(unit: IntervalUnit, key: str) -> Interval:
    """The interval of one partition."""
    start = datetime.strptime(key, _FORMATS[unit]).replace(tzinfo=UTC)
    return Interval(start, unit.following(start))


def contiguous(unit: IntervalUnit, keys: Sequence[str]) -> Interval:
    """The interval that a run's partitions make.

    Raises:
        Refused: There are none, or there are holes between them.
    """
    if not keys:
        raise Refused("this model is evaluated by partitions; name those that the run is for.")
    found = merge(interval_of(unit, key) for key in keys)
    if len(found) != 1:
        raise Refused(
            f"a run evaluates one contiguous range of partitions; these are {len(found)} ranges. "
            "Launch one run for each, or a backfill, which does."
        )
    return found[0]


def parent_mapping(binding: Binding, node: Node, parent: Node) -> dg.PartitionMapping | None:
    """Which partitions of a parent a model's partition reads; None leaves it to Dagster.

    It is taken from what the rendered query reads of the parent for the model's first interval:
    the same windows shifted by whole units, or else all of it.
    """
    if not (is_partitioned(node) and is_partitioned(parent)):
        return None
    if not isinstance(node.model.body, Query):
        return dg.AllPartitionMapping()
    unit = node.model.unit
    start = unit.ceil(node.model.start)
    cell = Interval(start, unit.following(start))
    read = _read_of(binding, node, parent, cell)
    if read is None:
        return dg.AllPartitionMapping()
    lacks_start = parent.model.unit.ceil(parent.model.start) > parent.model.unit.floor(read.start)
    lacks_some = lacks_start or parent.model.end is not None
    if read == parent.model.unit.widen(cell):
        return dg.TimeWindowPartitionMapping(allow_nonexistent_upstream_partitions=lacks_some)
    if unit is parent.model.unit:
        return dg.TimeWindowPartitionMapping(
            start_offset=_steps(unit, cell.start, read.start),
            end_offset=_steps(unit, cell.end, read.end),
            allow_nonexistent_upstream_partitions=True,
        )
    return dg.AllPartitionMapping()


def _read_of(binding: Binding, node: Node, parent: Node, cell: Interval) -> Interval | None:
    """The one range of a parent that is read for an interval; None for all of it, or several."""
    query = rendered(binding, node, cell, cell.end)
    axes: dict[ModelName, TimeAxis | None] = {parent.name: _axis(parent)}
    found = input_ranges(query, axes=axes).get(parent.name)
    if found is None or isinstance(found, WholeTable) or len(found) != 1:
        return None
    return found[0]


def _axis(node: Node) -> TimeAxis | None:
    column = node.model.time_column
    return TimeAxis(column=column, unit=node.model.unit) if column is not None else None


def _steps(unit: IntervalUnit, border: datetime, other: datetime) -> int:
    """How many units ``other`` lies after ``border``; negative where it lies before."""
    if other == border:
        return 0
    low, high = min(border, other), max(border, other)
    count = sum(1 for _ in unit.cells(Interval(low, high)))
    return count if other > border else -count
