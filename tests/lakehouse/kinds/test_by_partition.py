"""INCREMENTAL_BY_PARTITION (seed 001): the partitions of new rows are replaced, no others touched.

The partition of a row is computed in Python, by the rules of Iceberg's specification.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import date
from typing import Final

import mmh3
import pytest

from tests.lakehouse.kinds.worlds import (
    Values,
    Worlds,
    both_worlds,
    days,
    field,
    ordered,
)
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.model.storage import PartitionField
from vde_dagster.core.model.writes import ReplacePartitions

STOCK: Final = {"id": "bigint", "region": "string", "department": "string", "day": "date"}
JAN, FEB, MAR = date(2024, 1, 31), date(2024, 2, 1), date(2024, 3, 5)
HELD: Final[list[Values]] = [
    (1, "north", "a", JAN),
    (2, "north", "b", JAN),
    (3, "south", "a", FEB),
    (4, None, "a", FEB),
    (5, None, None, None),
    (34, "southern", "b", MAR),
]
NEW: Final[list[Values]] = [(6, "north", "b", FEB), (3, "west", "c", FEB), (7, None, "a", None)]


def bucket(number: object) -> int:
    """Bucket 3 of a whole number (Iceberg's specification, *Bucket Transform Details*)."""
    assert isinstance(number, int)
    return (mmh3.hash(struct.pack("<q", number)) & 0x7FFFFFFF) % 3


def month(day: object) -> tuple[int, int] | None:
    return (day.year, day.month) if isinstance(day, date) else None


@dataclass(frozen=True, kw_only=True)
class Case:
    """A partitioning, and the partition of a row."""

    name: str
    by: tuple[PartitionField, ...]
    of: Callable[[Values], Hashable]


CASES: Final = [
    Case(name="a column", by=(field("region"),), of=lambda row: row[1]),
    Case(
        name="two columns",
        by=(field("region"), field("department")),
        of=lambda row: (row[1], row[2]),
    ),
    Case(name="months", by=(field("day", "months"),), of=lambda row: month(row[3])),
    Case(name="buckets", by=(field("id", "bucket", 3),), of=lambda row: bucket(row[0])),
    Case(
        name="the first letters, and years",
        by=(field("region", "truncate", 5), field("day", "years")),
        of=lambda row: (
            row[1][:5] if isinstance(row[1], str) else None,
            row[3].year if isinstance(row[3], date) else None,
        ),
    ),
]


@pytest.mark.full
@pytest.mark.parametrize(
    "worlds,case",
    both_worlds({case.name: case for case in CASES}, short=["the first letters, and years"]),
    indirect=["worlds"],
)
def test_the_partitions_of_new_rows_are_replaced_and_no_others(worlds: Worlds, case: Case) -> None:
    table = worlds.table(STOCK, *case.by)
    write = ReplacePartitions(interval=days(1))
    sums = [table.write(HELD, write).sums[0][days(1)]]
    files = table.files() if table.iceberg else {}
    sums.append(table.write(NEW, write).sums[0][days(1)])

    replaced = {case.of(row) for row in NEW}
    left = [row for row in HELD if case.of(row) not in replaced]
    assert 0 < len(left) < len(HELD)
    assert table.rows() == ordered([*left, *NEW])
    assert total(sums) == table.sum_of_all()
    if table.iceberg:
        absent = {path for path, rows in files.items() if case.of(rows[0]) not in replaced}
        assert len({case.of(row) for row in left}) == len(absent)
        assert absent <= set(table.files())


def test_an_empty_result_changes_nothing(worlds: Worlds) -> None:
    table = worlds.table(STOCK, field("region"))
    write = ReplacePartitions(interval=days(1))
    assert table.write([], write).sums == ({days(1): RowSum()},)
    assert table.rows() == []
    table.write(HELD, write)
    files = table.files() if table.iceberg else {}
    assert table.write([], write).sums == ({days(1): RowSum()},)
    assert table.rows() == ordered(HELD)
    if table.iceberg:
        assert table.files() == files
