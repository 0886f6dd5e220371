"""How a version's table is partitioned, and which intervals are whole partitions of it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from vde_dagster.core.model.storage import PartitionField, Transform
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.time.formats import ISO_DATE, TimeFormat
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.intervals import Interval, merge

_TRANSFORMS: Final = {
    Grain.HOUR: Transform.HOURS,
    Grain.DAY: Transform.DAYS,
    Grain.MONTH: Transform.MONTHS,
    Grain.YEAR: Transform.YEARS,
}
_GRAINS: Final = {transform: grain for grain, transform in _TRANSFORMS.items()}


def time_partition(axis: TimeAxisSpec) -> PartitionField:
    """The partitioning that a time column gives by itself (seed 001, *Partitioning*).

    A partition is an interval unit, but never less than an hour, or a day of a DATE: smaller ones
    would be files of a few rows. What is not time to Iceberg (text, numbers) is taken as it is.
    """
    if axis.is_formatted:
        return PartitionField(column=axis.column)
    is_date = axis.type == "date"
    transform = _TRANSFORMS[max(axis.unit.grain, Grain.DAY if is_date else Grain.HOUR)]
    if is_date and transform is Transform.DAYS:
        transform = Transform.IDENTITY
    return PartitionField(column=axis.column, transform=transform)


def are_whole_partitions(
    partitions: Iterable[PartitionField], axis: TimeAxisSpec, intervals: Iterable[Interval]
) -> bool:
    """Whether no partition has rows both in these intervals and outside of them.

    Then Iceberg replaces the intervals by exchanging whole files, whatever else partitions them.
    """
    grains = [
        grain
        for each in partitions
        if each.column == axis.column and (grain := grain_of_partition(each, axis)) is not None
    ]
    borders = [border for each in merge(intervals) for border in (each.start, each.end)]
    return any(all(_is_border(grain, border) for border in borders) for grain in grains)


def grain_of_partition(field: PartitionField, axis: TimeAxisSpec) -> Grain | None:
    """The time that one partition covers; None where it is not a contiguous time."""
    if field.transform is not Transform.IDENTITY:
        return _GRAINS.get(field.transform)
    if axis.is_formatted:
        return TimeFormat(axis.format or ISO_DATE).grain
    return Grain.DAY if axis.type == "date" else Grain.MICROSECOND


def _is_border(grain: Grain, instant: datetime) -> bool:
    return grain.floor(instant) == instant
