"""The sums that were recorded while rows were written are those of the stored rows.

The sums of a write are taken while writing, read again by unit, or derived from the files that a
commit exchanged. `Engine.sums` reads the published table again, as `vde verify` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from tests.lakehouse.kinds.worlds import (
    START,
    Values,
    World,
    Worlds,
    days,
    field,
    hours,
)
from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import MURMUR3_128, XXHASH64X2, RowSum, total
from vde_dagster.core.ledger.schema_changes import ColumnAdded, ColumnWidened
from vde_dagster.core.model.history import History
from vde_dagster.core.model.writes import (
    AppendToIntervals,
    KeepHistory,
    OverwriteIntervals,
    TimeAxisSpec,
    Write,
)
from vde_dagster.core.time.intervals import Interval, IntervalUnit
from vde_dagster.ports.engine import Sought

TYPES = {"id": "int", "at": "timestamp", "region": "string"}
AXIS = TimeAxisSpec(column="at", type="timestamp", unit=IntervalUnit.HOUR)

MOSTLY_NATIVE: Final = [XXHASH64X2, pytest.param(MURMUR3_128, marks=pytest.mark.full)]


def row(number: int, region: str = "a") -> Values:
    return (number, START + timedelta(hours=number), region)


def sums(
    table: World, algorithm: str, axis: TimeAxisSpec | None = None
) -> Mapping[Interval | None, RowSum]:
    state = table.catalog.table(table.key.table)
    assert state is not None
    sought = Sought(
        table=table.key.table,
        iceberg_snapshot_id=state.iceberg_snapshot_id,
        columns=state.columns,
        axis=axis,
    )
    return table.engine.sums(sought, algorithm=algorithm)


def write(
    table: World, algorithm: str, rows: Sequence[Values], how: Write
) -> Mapping[Interval, RowSum]:
    staging = replace(table.staging(table.part(rows, how)), algorithm=algorithm)
    return table.publish(staging).sums[0]


@pytest.mark.full
@pytest.mark.parametrize("algorithm", MOSTLY_NATIVE)
def test_the_sums_of_intervals_are_those_of_the_rows_that_lie_there(
    worlds: Worlds, algorithm: str
) -> None:
    table = worlds.table(TYPES, field("at", "hours"))
    several = OverwriteIntervals(intervals=(hours(0, 3),), axis=AXIS)
    recorded = dict(write(table, algorithm, [row(0), row(1), row(1, "b"), row(2)], several))
    one = OverwriteIntervals(intervals=(hours(1, 2),), axis=AXIS)
    recorded |= write(table, algorithm, [row(1, "c")], one)
    late = AppendToIntervals(intervals=(hours(2, 3),), axis=AXIS)
    recorded[hours(2, 3)] += write(table, algorithm, [row(2), row(2, "d")], late)[hours(2, 3)]
    assert sums(table, algorithm, AXIS) == recorded
    assert sums(table, algorithm) == {None: total(recorded.values())}


@pytest.mark.parametrize("algorithm", MOSTLY_NATIVE)
def test_the_changes_of_a_history_add_up_also_where_its_times_are_cut_to_days(
    on_spark: Worlds, algorithm: str
) -> None:
    """An edit keeps the table, and so the types that its columns have there (rule R11)."""
    table = on_spark.table(TYPES, field("ended", "years"))
    looks = [([row(0), row(1)], "timestamp"), ([row(0), row(5)], "date"), ([row(1, "b")], "date")]
    recorded = [
        write(table, algorithm, rows, history(number, time_type))
        for number, (rows, time_type) in enumerate(looks)
    ]
    assert sums(table, algorithm) == {
        None: total(each for one in recorded for each in one.values())
    }
    state = table.catalog.table(table.key.table)
    assert state is not None
    assert [(each.name, each.type) for each in state.columns] == [
        *TYPES.items(),
        ("began", "timestamp"),
        ("ended", "timestamp"),
    ]


def history(number: int, time_type: str) -> KeepHistory:
    kept = History(
        key=("id",),
        updated_at=None,
        compared=("region",),
        from_epoch=False,
        closes_missing=True,
        valid_from=Column(name="began", type=time_type),
        valid_to=Column(name="ended", type=time_type),
    )
    at = START + timedelta(days=number, hours=7)
    return KeepHistory(interval=days(number), history=kept, execution_time=at, is_first=not number)


@pytest.mark.full
@pytest.mark.parametrize(
    "kind,unit,whole,zone",
    [
        ("date", IntervalUnit.DAY, days(0, 2), "Europe/Berlin"),
        ("timestamp_ntz", IntervalUnit.DAY, days(0, 2), "America/New_York"),
        ("timestamp_ntz", IntervalUnit.HOUR, hours(0, 48), "Asia/Kolkata"),
        ("timestamp", IntervalUnit.MONTH, days(0, 60), "America/New_York"),
    ],
)
def test_rows_belong_to_their_units_whatever_zone_a_statement_sets(
    on_spark: Worlds, kind: str, unit: IntervalUnit, whole: Interval, zone: str
) -> None:
    """By the seed, time columns are in UTC: a row of midnight is the first of its day or month."""
    axis = TimeAxisSpec(column="at", type=kind, unit=unit)
    table = on_spark.table({"id": "int", "at": kind})
    times = (hours(0, 1).start, hours(23, 24).start, hours(24, 25).start, days(31).start)
    inside = [each for each in times if each < whole.end]
    rows = [(number, each.date() if kind == "date" else each) for number, each in enumerate(inside)]
    asked = OverwriteIntervals(intervals=(whole,), axis=axis)
    staging = replace(table.staging(table.part(rows, asked)), before=(f"SET TIME ZONE '{zone}'",))
    expected = Counter(unit.floor(each) for each in inside)
    found = table.publish(staging).sums[0]
    assert {each.start: found[each].rows for each in found if found[each].rows} == expected


@pytest.mark.full
@pytest.mark.parametrize("algorithm", MOSTLY_NATIVE)
def test_rows_are_summed_as_they_were_before_columns_came_and_types_widened(
    on_spark: Worlds, algorithm: str
) -> None:
    """Rule R11: a sum is kept with the schema that it was computed under."""
    table = on_spark.table(TYPES, field("at", "hours"))
    first = OverwriteIntervals(intervals=(hours(0, 1),), axis=AXIS)
    recorded = write(table, algorithm, [row(0), row(0, "b")], first)
    before = table.catalog.table(table.key.table)
    assert before is not None
    growth = (
        ColumnWidened(column="id", before="int", after="bigint"),
        ColumnAdded(column="note", type="string"),
    )
    table.catalog.evolve(table.key.table, growth)
    wider = replace(table, types={**TYPES, "id": "bigint", "note": "string"})
    second = OverwriteIntervals(intervals=(hours(1, 2),), axis=AXIS)
    later = write(wider, algorithm, [(*row(1), "new")], second)

    then = Sought(
        table=table.key.table,
        iceberg_snapshot_id=table.head(),
        columns=before.columns,
        axis=AXIS,
        intervals=(hours(0, 1),),
    )
    assert table.engine.sums(then, algorithm=algorithm) == recorded
    now = sums(table, algorithm, AXIS)
    assert now[hours(1, 2)] == later[hours(1, 2)]
    assert (now[hours(0, 1)].rows, now[hours(0, 1)] == recorded[hours(0, 1)]) == (2, False)
