"""Which intervals are whole partitions, so that exchanging files takes no other row away."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from vde_dagster.core.model.layout import are_whole_partitions
from vde_dagster.core.model.storage import PartitionField, Transform
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.time.intervals import Interval, IntervalUnit

FIRST = datetime(2024, 1, 1, tzinfo=UTC)
HOUR, DAY, JANUARY = (Interval(FIRST, FIRST + timedelta(hours=hours)) for hours in (1, 24, 31 * 24))
AT_NIGHT = Interval(FIRST + timedelta(hours=23), FIRST + timedelta(hours=25))
NEXT = Interval(FIRST + timedelta(hours=1), FIRST + timedelta(hours=2))
AT = TimeAxisSpec(column="at", type="timestamp", unit=IntervalUnit.HOUR)
ON = TimeAxisSpec(column="at", type="date", unit=IntervalUnit.DAY)
TEXT = TimeAxisSpec(column="at", type="string", unit=IntervalUnit.DAY)
BY_HOUR, BY_DAY, BY_MONTH = (
    PartitionField(column="at", transform=each)
    for each in (Transform.HOURS, Transform.DAYS, Transform.MONTHS)
)
BY_BUCKET = PartitionField(column="at", transform=Transform.BUCKET, argument=4)
ITSELF, OTHER = PartitionField(column="at"), PartitionField(column="region")


@pytest.mark.parametrize(
    "partitions, axis, intervals, whole",
    [
        ([BY_HOUR], AT, [HOUR], True),
        ([BY_HOUR], AT, [AT_NIGHT], True),
        ([BY_DAY], AT, [DAY], True),
        ([BY_DAY], AT, [HOUR], False),
        ([BY_DAY], AT, [AT_NIGHT], False),
        ([BY_DAY], AT, [DAY, Interval(AT_NIGHT.end, AT_NIGHT.end + timedelta(hours=1))], False),
        ([BY_DAY], AT, [HOUR, Interval(NEXT.start, DAY.end)], True),  # together they are a day
        ([BY_MONTH], AT, [DAY], False),
        ([BY_MONTH], AT, [JANUARY], True),
        ([BY_MONTH, BY_HOUR], AT, [HOUR], True),  # the hours tell them apart
        ([OTHER, BY_HOUR], AT, [HOUR], True),
        ([OTHER], AT, [DAY], False),
        ([BY_BUCKET], AT, [DAY], False),
        ([], AT, [DAY], False),
        ([ITSELF], ON, [DAY], True),
        ([ITSELF], AT, [HOUR], True),
        ([ITSELF], TEXT, [DAY], True),
        ([ITSELF], TEXT, [HOUR], False),
    ],
)
def test_no_partition_has_rows_both_in_and_outside_of_whole_ones(
    partitions: list[PartitionField], axis: TimeAxisSpec, intervals: list[Interval], *, whole: bool
) -> None:
    assert are_whole_partitions(partitions, axis, intervals) is whole
