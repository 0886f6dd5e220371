"""Tables whose metadata has no totals of rows, and loads that change nothing."""

from __future__ import annotations

from typing import Final

import pytest

from tests.lakehouse.catalog_worlds import compact
from tests.lakehouse.kinds.models import write_of
from tests.lakehouse.kinds.worlds import Values, World, Worlds, days, field, hours, ordered
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.model.writes import Write

TYPES: Final = {"id": "int", "at": "timestamp", "amount": "int"}
HELD: Final[list[Values]] = [
    (1, hours(1, 2).start, 10),
    (2, hours(2, 3).start, 20),
]
NEW: Final[list[Values]] = [(2, hours(2, 3).start, 25), (3, hours(3, 4).start, 30)]
BUILT: Final = {
    "by key": ("INCREMENTAL_BY_UNIQUE_KEY (unique_key id)", [HELD[0], *NEW]),
    "by partition": ("INCREMENTAL_BY_PARTITION", [HELD[0], *NEW]),
    "appended": ("INCREMENTAL_UNMANAGED", [*HELD, *NEW]),
}
REPLACED: Final = {
    "by time": ("INCREMENTAL_BY_TIME_RANGE (time_column at)", NEW),
    "whole": ("FULL", NEW),
}


def write(kind: str, day: int) -> Write:
    by = "id" if kind == "INCREMENTAL_BY_PARTITION" else ""
    return write_of(kind, TYPES, days(day), partitioned_by=by)


def made(worlds: Worlds, kind: str) -> World:
    """A table without rows, in whose partitions no day is whole."""
    return worlds.table(TYPES, *([field("id")] if kind == "INCREMENTAL_BY_PARTITION" else []))


def forget_totals(table: World) -> None:
    assert table.iceberg is not None
    name = table.key.table
    compact(table.iceberg, table.iceberg.load_table((name.namespace, name.name)))


@pytest.mark.full
@pytest.mark.parametrize("case", [*BUILT.values(), *REPLACED.values()], ids=[*BUILT, *REPLACED])
def test_no_row_is_doubled_where_others_left_out_how_many_there_are(
    on_spark: Worlds, case: tuple[str, list[Values]]
) -> None:
    kind, expected = case
    table = made(on_spark, kind)
    table.write(HELD, write(kind, 0))
    forget_totals(table)
    builds_on_itself = case in BUILT.values()
    before = table.sum_of_all() if builds_on_itself else RowSum()
    staged = table.write(NEW, write(kind, 1 if builds_on_itself else 0))
    assert table.rows() == ordered(expected)
    assert before + total(staged.sums[0].values()) == table.sum_of_all()


def test_a_table_is_rebuilt_if_others_left_out_how_many_rows_there_are(
    on_spark: Worlds,
) -> None:
    kind, _ = BUILT["by key"]
    table = made(on_spark, kind)
    table.write(HELD, write(kind, 0))
    forget_totals(table)
    staged = table.publish(table.staging(table.part(NEW, write(kind, 0)), rebuilds=True))
    assert table.rows() == ordered(NEW)
    assert total(staged.sums[0].values()) == table.sum_of_all()
