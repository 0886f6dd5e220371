"""Intervals as Dagster partitions, both ways, and which partitions of a parent a model reads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.staleness import source_times
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import window
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.intervals import Interval, IntervalUnit, merge
from vde_dagster.core.time.windows import Window

_DAYS: Final = "%Y-%m-%d"
_MINUTES: Final = "%Y-%m-%d-%H:%M"
_FORMATS: Final = {unit: _MINUTES if unit.grain < Grain.DAY else _DAYS for unit in IntervalUnit}
_CRONS: Final = {
    IntervalUnit.FIVE_MINUTE: "*/5 * * * *",
    IntervalUnit.QUARTER_HOUR: "*/15 * * * *",
    IntervalUnit.HALF_HOUR: "*/30 * * * *",
    IntervalUnit.YEAR: "0 0 1 1 *",
}


def is_partitioned(node: Node) -> bool:
    """Whether a model's intervals are shown as partitions."""
    return node.model.kind.is_partitioned


def partitions_of(node: Node, end: datetime | None) -> dg.TimeWindowPartitionsDefinition | None:
    """The partitions of a model, from start to end; None for kinds without intervals.

    Args:
        node: The model.
        end: The project's clock if it is not the wall clock (which Dagster knows itself): later
            intervals are not due, so they are not partitions.
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
        raise Refused("this model is partitioned", advice="Choose the partitions for the run.")
    found = merge(interval_of(unit, key) for key in keys)
    if len(found) != 1:
        raise Refused(
            f"a run evaluates one contiguous range of partitions; {len(found)} were chosen",
            advice="Launch one run for each, or a backfill, which does that.",
        )
    return found[0]


def parent_mapping(binding: Binding, node: Node, parent: Node) -> dg.PartitionMapping | None:
    """Which partitions of a parent a model's partition reads; None leaves it to Dagster.

    It is derived from a window that covers what every interval of the model reads of the parent:
    the same number of units before and after it for each, or else all of the parent.
    """
    if not (is_partitioned(node) and is_partitioned(parent)):
        return None
    unit, other = node.model.unit, parent.model
    read = window(reads_of(binding.graph, node.name), parent.name, unit)
    begins = other.unit.floor(unit.ceil(node.model.start)) < other.unit.ceil(other.start)
    may_lack = begins or other.end is not None
    return _mapping(unit, read, may_lack=may_lack, is_alike=unit is other.unit)


def source_mapping(
    binding: Binding, node: Node, source: ModelName, own: dg.PartitionsDefinition | None
) -> dg.PartitionMapping | None:
    """Which partitions of a user's own asset a model's partition reads, where it writes a source.

    The own asset's partitions are taken to be those of the time by which the model bounds what it
    reads of the source. If it does not, or they are not windows of time in UTC, it reads all.

    Args:
        binding: The models.
        node: One that reads the source.
        source: The source.
        own: The partitions of the own asset; None if it has none.
    """
    partitions = partitions_of(node, None)
    if own is None or partitions is None:
        return None
    if not isinstance(own, dg.TimeWindowPartitionsDefinition) or own.timezone != "UTC":
        return dg.AllPartitionMapping()
    by_time = source_times(binding.graph, node)
    reads = by_time[source].reads if source in by_time else reads_of(binding.graph, node.name)
    unit = node.model.unit
    is_alike = own.cron_schedule == partitions.cron_schedule
    return _mapping(unit, window(reads, source, unit), may_lack=True, is_alike=is_alike)


def _mapping(
    unit: IntervalUnit, read: Window | None, *, may_lack: bool, is_alike: bool
) -> dg.PartitionMapping:
    """What is read around an interval; all, where that is not known or is in other units."""
    if read == Window():
        return dg.TimeWindowPartitionMapping(allow_nonexistent_upstream_partitions=may_lack)
    if read is None or not is_alike:
        return dg.AllPartitionMapping()
    return dg.TimeWindowPartitionMapping(
        start_offset=-_units(unit, read.before),
        end_offset=_units(unit, read.after),
        allow_nonexistent_upstream_partitions=True,
    )


def _units(unit: IntervalUnit, length: timedelta) -> int:
    """The least number of whole units that are certainly not shorter than a length of time.

    It is negative where the length is: then so many units are certainly not longer.
    """
    return -((-length) // (unit.shortest if length > timedelta(0) else unit.longest))
