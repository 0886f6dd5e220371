"""What is reported of a table whose rows are not those that were recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.core.ledger.ledger_entries import entry_of
from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import DEFAULT_ALGORITHM, MURMUR3_128, RowSum, total
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.verification import (
    Mismatch,
    compare_intervals,
    compare_whole,
    portions,
)
from vde_dagster.core.time.intervals import Interval

START = datetime(2024, 1, 1, tzinfo=UTC)
ID = (Column(name="id", type="bigint"),)
WIDER = (*ID, Column(name="note", type="string"))


def day(number: int) -> Interval:
    start = START + timedelta(days=number)
    return Interval(start, start + timedelta(days=1))


def entry(number: int, rows: RowSum, columns: tuple[Column, ...] = ID, **more: Any) -> LedgerEntry:
    return entry_of(day(number), rows, columns=columns, **more)


ENTRIES = (entry(0, RowSum(rows=2, sum=20)), entry(1, RowSum(rows=1, sum=7)))


def test_rows_as_recorded_are_no_mismatch() -> None:
    found = {day(0): RowSum(rows=2, sum=20), day(1): RowSum(rows=1, sum=7)}
    assert compare_intervals(ENTRIES, found) == ()
    assert compare_whole(ENTRIES, total(found.values())) == ()


def test_other_rows_of_the_same_number_are_reported_with_their_interval() -> None:
    found = {day(0): RowSum(rows=2, sum=21), day(1): RowSum(rows=1, sum=7)}
    (mismatch,) = compare_intervals(ENTRIES, found)
    assert mismatch == Mismatch(
        interval=day(0), recorded=RowSum(rows=2, sum=20), found=RowSum(rows=2, sum=21)
    )
    assert "but not the same ones" in str(mismatch)


def test_rows_that_are_gone_are_reported_with_both_numbers() -> None:
    (mismatch,) = compare_intervals(ENTRIES, {day(0): RowSum(rows=2, sum=20)})
    assert str(mismatch) == f"{day(1)} has 0 rows, 1 were recorded"


def test_what_two_rows_swapped_between_intervals_is_found_though_the_table_adds_up() -> None:
    found = {day(0): RowSum(rows=2, sum=7), day(1): RowSum(rows=1, sum=20)}
    assert compare_whole(ENTRIES, total(found.values())) == ()
    assert len(compare_intervals(ENTRIES, found)) == 2


def test_changes_of_a_sum_add_up_to_the_whole_table() -> None:
    """An entry of a kind without rows of its own has what it changed, so it may be negative."""
    before, after = RowSum(rows=3, sum=30), RowSum(rows=2, sum=9)
    entries = (entry(0, before), entry(1, after - before))
    assert compare_whole(entries, after) == ()
    assert compare_whole(entries, before) != ()


def test_entries_are_compared_under_the_schema_and_algorithm_they_were_hashed_with() -> None:
    old, new = entry(0, RowSum()), entry(1, RowSum(), columns=WIDER)
    other = entry(2, RowSum(), algorithm=MURMUR3_128)
    found = portions((old, new, other))
    assert [(each.algorithm, each.columns, each.intervals) for each in found] == [
        (DEFAULT_ALGORITHM, ID, (day(0),)),
        (DEFAULT_ALGORITHM, WIDER, (day(1),)),
        (MURMUR3_128, ID, (day(2),)),
    ]
