"""Late rows and whole intervals of one unit of work: rows, sums and audits, in one commit."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest
from sqlglot import parse_one

from tests.lakehouse.kinds.test_sums_from_storage import AXIS, TYPES, sums
from tests.lakehouse.kinds.worlds import (
    START,
    Values,
    World,
    Worlds,
    both_worlds,
    days,
    field,
    hours,
    ordered,
)
from vde_dagster.core.audits.values import Audit, EachRow
from vde_dagster.core.ledger.dsha import XXHASH64X2, RowSum
from vde_dagster.core.model.storage import PartitionField
from vde_dagster.core.model.writes import AppendToIntervals, OverwriteIntervals, ReplaceTable

HAS_KEY: Final = Audit(name="key", check=EachRow(fails=parse_one("id IS NULL", dialect="spark")))


def row(hour: float, number: int | None = None, region: str = "a") -> Values:
    return (number, START + timedelta(hours=hour), region)


BEFORE: Final = (row(0, 1), row(1), row(1.5, 2, "b"), row(3, 3), row(4, 4), row(4.5, 5, "b"))
LATE_1, LATE_3 = (row(1.2, 6), row(1.7), row(2, 99)), (row(3.1, 7, "b"), row(3.1, 7, "b"))
AGAIN_4, DUE = (row(4.1, 8), row(5, 98)), (row(6, 9), row(6.5, 10, "b"), row(7.5, 11))
"""What queries return for the hours 1, 3, 4, and 6 to 7; rows of other hours are left out."""

AFTER: Final = (
    *(row(0, 1), row(1), row(1.2, 6), row(1.5, 2, "b"), row(1.7)),
    *(row(3, 3), row(3.1, 7, "b"), row(3.1, 7, "b"), row(4.1, 8)),
    *(row(6, 9), row(6.5, 10, "b"), row(7.5, 11)),
)
LAYOUTS: Final[dict[str, tuple[PartitionField, ...]]] = {
    "hours": (field("at", "hours"),),
    "regions": (field("region"),),
    "days": (field("at", "days"),),
    "none": (),
}


def added(*parts: float) -> AppendToIntervals:
    return AppendToIntervals(intervals=(hours(*parts),), axis=AXIS)


def replaced(*parts: float) -> OverwriteIntervals:
    return OverwriteIntervals(intervals=(hours(*parts),), axis=AXIS)


def commits(table: World) -> int:
    """How many Iceberg snapshots lead to what is published."""
    return len(table.catalog.line(table.key.table))


@pytest.mark.parametrize(
    "worlds, case", both_worlds(LAYOUTS, short=("hours", "regions")), indirect=["worlds"]
)
def test_late_and_whole_hours_of_one_unit_of_work(
    worlds: Worlds, case: tuple[PartitionField, ...]
) -> None:
    table = worlds.table(TYPES, *case)
    table.write(BEFORE, ReplaceTable(interval=days(0)))
    earlier, count = sums(table, XXHASH64X2, AXIS), commits(table)
    staged = table.publish(
        table.staging(
            table.part(LATE_1, added(1, 2)),
            table.part(LATE_3, added(3, 4)),
            table.part(AGAIN_4, replaced(4, 5)),
            table.part(DUE, replaced(6, 8)),
            audits=(HAS_KEY,),
        )
    )
    assert table.rows() == ordered(AFTER)
    now = sums(table, XXHASH64X2, AXIS)
    assert list(staged.sums) == [
        {hours(1, 2): now[hours(1, 2)] - earlier[hours(1, 2)]},
        {hours(3, 4): now[hours(3, 4)] - earlier[hours(3, 4)]},
        {hours(4, 5): now[hours(4, 5)]},
        {hours(6, 7): now[hours(6, 7)], hours(7, 8): now[hours(7, 8)]},
    ]
    assert [each.rows for part in staged.sums for each in part.values()] == [2, 2, 1, 2, 1]
    (audit,) = staged.audits
    assert audit.failing == 1, "the row without a key that was there before is not looked at"
    if worlds.spark is not None:
        deletes = case != LAYOUTS["hours"]
        assert commits(table) == count + 1 + deletes


@pytest.mark.parametrize(
    "source_rows",
    [pytest.param(None, marks=pytest.mark.full), 4, pytest.param(10**9, marks=pytest.mark.full)],
    ids=["unknown", "few", "many"],
)
@pytest.mark.parametrize(
    "worlds", ["memory", pytest.param("spark", marks=pytest.mark.spark)], indirect=True
)
def test_late_rows_of_several_hours_are_recorded_by_hour(
    worlds: Worlds, source_rows: int | None
) -> None:
    """Few rows are summed while they are written; others are read again."""
    table = worlds.table(TYPES, field("at", "hours"))
    table.write(BEFORE, ReplaceTable(interval=days(0)))
    earlier = sums(table, XXHASH64X2, AXIS)
    late = replace(added(1, 4), source_rows=source_rows)
    staged = table.publish(
        table.staging(table.part([*LATE_3, *LATE_1], late), table.part(DUE, replaced(6, 7)))
    )
    now = sums(table, XXHASH64X2, AXIS)
    assert list(staged.sums) == [
        {
            unit: now[unit] - earlier.get(unit, RowSum())
            for unit in (hours(1, 2), hours(2, 3), hours(3, 4))
        },
        {hours(6, 7): now[hours(6, 7)]},
    ]
    assert [each.rows for each in staged.sums[0].values()] == [2, 1, 2]


@pytest.mark.parametrize(
    "worlds", ["memory", pytest.param("spark", marks=pytest.mark.spark)], indirect=True
)
def test_hours_that_come_without_rows_have_the_sum_of_none(worlds: Worlds) -> None:
    table = worlds.table(TYPES, field("at", "hours"))
    table.write(BEFORE, ReplaceTable(interval=days(0)))
    parts = [
        table.part((), replaced(4, 5)),
        table.part(DUE, replaced(6, 7)),
        table.part((), added(1, 2)),
    ]
    staged = table.publish(table.staging(*parts))
    now = sums(table, XXHASH64X2, AXIS)
    assert list(staged.sums) == [
        {hours(4, 5): RowSum()},
        {hours(6, 7): now[hours(6, 7)]},
        {hours(1, 2): RowSum()},
    ]
    assert table.rows() == ordered([*BEFORE[:4], *DUE[:2]])


@pytest.mark.full
@pytest.mark.parametrize(
    "worlds", ["memory", pytest.param("spark", marks=pytest.mark.spark)], indirect=True
)
def test_rows_that_two_parts_add_to_one_hour_both_count(worlds: Worlds) -> None:
    table = worlds.table(TYPES, field("at", "hours"))
    table.write(BEFORE, ReplaceTable(interval=days(0)))
    earlier = sums(table, XXHASH64X2, AXIS)
    parts = [table.part([each], added(1, 2)) for each in LATE_1[:2]]
    staged = table.publish(table.staging(*parts))
    one, other = (each[hours(1, 2)] for each in staged.sums)
    assert (one.rows, other.rows) == (1, 1)
    assert one + other == sums(table, XXHASH64X2, AXIS)[hours(1, 2)] - earlier[hours(1, 2)]
