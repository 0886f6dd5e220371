"""INCREMENTAL_BY_TIME_RANGE (seed 001): each layout, unit and type of time column, row for row.

The expected rows are computed in Python: rows whose time is outside of the interval stay, and the
new ones inside are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as kept
from datetime import UTC, date, datetime, timedelta
from typing import Final

import pytest

from tests.lakehouse.kinds.worlds import (
    START,
    Values,
    Worlds,
    both_worlds,
    days,
    field,
    hours,
    ordered,
)
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model.layout import time_partition
from vde_dagster.core.model.storage import PartitionField
from vde_dagster.core.model.writes import OverwriteIntervals, TimeAxisSpec
from vde_dagster.core.time.formats import TimeFormat
from vde_dagster.core.time.intervals import Interval, IntervalUnit

FIVE, QUARTER = IntervalUnit.FIVE_MINUTE, IntervalUnit.QUARTER_HOUR
HOUR, DAY, MONTH = IntervalUnit.HOUR, IntervalUnit.DAY, IntervalUnit.MONTH


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table of ``type`` and ``unit``, and the hours that are replaced in it.

    Without ``partitioned_by`` it is partitioned by its time column alone. ``whole`` is whether the
    hours are whole partitions, so that files are exchanged and none is written again.
    """

    name: str
    type: str = "timestamp"
    unit: IntervalUnit = HOUR
    format: str = ""
    partitioned_by: tuple[PartitionField, ...] | None = None
    replaced: Interval = kept(default_factory=lambda: hours(24, 25))
    whole: bool = True

    @property
    def axis(self) -> TimeAxisSpec:
        return TimeAxisSpec(column="at", type=self.type, unit=self.unit, format=self.format)

    @property
    def layout(self) -> tuple[PartitionField, ...]:
        if self.partitioned_by is None:
            return (time_partition(self.axis),)
        return self.partitioned_by


DAY_1, HALF = days(1), hours(24, 24.5)
BY_DAY, BY_REGION, BY_BUCKET = field("at", "days"), field("region"), field("id", "bucket", 3)
YEARS = (field("at", "truncate", 4),)
ALL: Final = [
    Case(name="hours"),
    Case(name="five minutes", unit=FIVE, replaced=hours(24, 24 + 1 / 12), whole=False),
    Case(name="half an hour", type="timestamp_ntz", unit=FIVE, replaced=HALF, whole=False),
    Case(name="dates", type="date", unit=DAY, replaced=DAY_1),
    Case(name="texts of hours", type="string", format="%Y-%m-%d %H"),
    Case(name="numbers", type="bigint", unit=DAY, format="%Y%m%d", replaced=DAY_1),
    Case(name="days of hours", partitioned_by=(BY_DAY,), whole=False),
    Case(name="months of hours", partitioned_by=(field("at", "months"),), whole=False),
    Case(name="time and bucket", partitioned_by=(field("at", "hours"), BY_BUCKET)),
    Case(name="column alone", partitioned_by=(BY_REGION,), whole=False),
    Case(name="no partitions", partitioned_by=(), whole=False),
    Case(name="several hours", replaced=hours(24, 27)),
    Case(name="an hour of five minutes", unit=FIVE),
    Case(name="quarter hours", unit=QUARTER, replaced=hours(24.25, 24.75), whole=False),
    Case(name="no zone", type="timestamp_ntz"),
    Case(name="months of dates", type="date", unit=MONTH, replaced=hours(0, 31 * 24)),
    Case(name="days of timestamps", unit=DAY, replaced=DAY_1),
    Case(name="texts", type="string", unit=DAY, replaced=DAY_1),
    Case(name="a day of hours", partitioned_by=(BY_DAY,), replaced=DAY_1),
    Case(name="the time itself", partitioned_by=(field("at"),)),
    Case(name="column and time", partitioned_by=(BY_REGION, BY_DAY), replaced=DAY_1),
    Case(name="bucket alone", partitioned_by=(BY_BUCKET,), whole=False),
    Case(name="bucket of the time", partitioned_by=(field("at", "bucket", 4),), whole=False),
    Case(name="years", type="string", unit=DAY, replaced=DAY_1, whole=False, partitioned_by=YEARS),
]
CASES: Final = both_worlds(
    {each.name: each for each in ALL},
    short=("half an hour",),
)
BEFORE: Final = [0.0, 0.5, 23.99, 24.0, 24.1, 24.3, 24.5, 24.9, 25.0, 26.5, 47.75, 48.0, 24 * 40]
NEW: Final = [-1.0, 23.9, 24.0, 24.02, 24.4, 24.5, 24.98, 25.0, 26.0, 40.0, 48.0, 24 * 31]


def value(case: Case, hour: float) -> object:
    """The value of the time column for an hour after the start."""
    at = START + timedelta(seconds=round(hour * 3600))
    match case.type:
        case "timestamp":
            return at
        case "timestamp_ntz":
            return at.replace(tzinfo=None)
        case "date":
            return at.date()
        case "bigint":
            return int(TimeFormat(case.format).write(at))
        case _:
            return TimeFormat(case.format or "%Y-%m-%d").write(at)


def instant(case: Case, found: object) -> datetime:
    """The instant that a value of the time column stands for."""
    match found:
        case datetime():
            return found.replace(tzinfo=UTC)
        case date():
            return datetime(found.year, found.month, found.day, tzinfo=UTC)
        case _:
            return datetime.strptime(str(found), case.format or "%Y-%m-%d").replace(tzinfo=UTC)


def rows(case: Case, hours_of_rows: list[float], first: int) -> list[Values]:
    return [
        (first + number, value(case, hour), ("north", "south")[number % 2])
        for number, hour in enumerate(hours_of_rows)
    ]


def units(case: Case, interval: Interval) -> list[Interval]:
    found, start = [], interval.start
    while start < interval.end:
        found.append(Interval(start, case.unit.following(start)))
        start = found[-1].end
    return found


@pytest.mark.full
@pytest.mark.parametrize("worlds,case", CASES, indirect=["worlds"])
def test_exactly_the_interval_is_replaced_in_every_layout(worlds: Worlds, case: Case) -> None:
    def inside(row: Values, interval: Interval = case.replaced) -> bool:
        return interval.start <= instant(case, row[1]) < interval.end

    table = worlds.table({"id": "bigint", "at": case.type, "region": "string"}, *case.layout)
    first, new = rows(case, BEFORE, 0), rows(case, NEW, 100)
    no_time = (999, None, "north")  # NULL is in no interval
    whole = Interval(START, START + timedelta(days=60))
    months = Interval(START, datetime(2024, 3, 1, tzinfo=UTC))
    filled = months if case.unit is MONTH else whole
    table.write([*first, no_time], OverwriteIntervals(intervals=(filled,), axis=case.axis))
    files = table.files() if table.iceberg else {}

    write = OverwriteIntervals(intervals=(case.replaced,), axis=case.axis)
    sums = table.write([*new, no_time], write).sums[0]

    expected = [row for row in first if not inside(row)] + [row for row in new if inside(row)]
    assert table.rows() == ordered(expected)
    counted = dict.fromkeys(units(case, case.replaced), 0)
    for row in filter(inside, new):
        at = instant(case, row[1])
        counted[next(each for each in counted if each.start <= at < each.end)] += 1
    assert {each: found.rows for each, found in sums.items()} == counted
    if table.iceberg:
        after = table.files()
        of_others = {path for path, found in files.items() if not any(map(inside, found))}
        assert of_others <= set(after)
        mixed = [found for found in files.values() if any(map(inside, found))]
        assert case.whole is all(all(map(inside, found)) for found in mixed)


@pytest.mark.parametrize(
    "worlds,text",
    both_worlds(
        {each: each for each in ("2024-01-02x", "2024-01-02 10:00")}, short=["2024-01-02 10:00"]
    ),
    indirect=["worlds"],
)
def test_a_text_inside_the_interval_that_is_no_time_is_refused(worlds: Worlds, text: str) -> None:
    case = Case(name="", type="string", unit=DAY)
    table = worlds.table({"id": "bigint", "at": case.type, "region": "string"}, *case.layout)
    with pytest.raises(EvaluationFailed, match="rows without a time in at"):
        table.write([(1, text, "x")], OverwriteIntervals(intervals=(days(1),), axis=case.axis))
    assert table.head() is None


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize("layout", [(), (BY_REGION,)], ids=["none", "another column"])
def test_files_of_other_times_are_not_touched_where_time_is_no_partition(
    on_spark: Worlds, layout: tuple[PartitionField, ...]
) -> None:
    axis = TimeAxisSpec(column="at", type="timestamp", unit=HOUR)
    table = on_spark.table({"id": "bigint", "at": "timestamp", "region": "string"}, *layout)
    case = Case(name="")
    loaded = [rows(case, [24 * day + hour for hour in (0, 1, 2, 3)], 10 * day) for day in range(3)]
    table.write(loaded[0], OverwriteIntervals(intervals=(days(0),), axis=axis))
    for each in loaded[1:]:  # files of their own, as later loads write them
        table.append(each)
    before = table.files()
    table.write(rows(case, [25], 100), OverwriteIntervals(intervals=(hours(25, 26),), axis=axis))
    touched = {path for path, found in before.items() if path not in table.files()}
    assert touched
    assert {row[0] for path in touched for row in before[path]} <= {10, 11, 12, 13}
    ids = {row[0] for row in table.rows()}
    assert ids == {0, 1, 2, 3, 10, 100, 12, 13, 20, 21, 22, 23}
