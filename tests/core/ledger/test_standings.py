"""The status of an interval's rows, and which models would show less than they do."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.ledger.ledger_entries import entry_of
from tests.core.time.scheduled_models import model, spans
from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import (
    EntryStatus,
    LedgerEntry,
    loaded_intervals,
    outdate,
    written_intervals,
)
from vde_dagster.core.model.kinds import Full, View
from vde_dagster.core.planning.workload import lost_intervals
from vde_dagster.core.time.intervals import END_OF_TIME, EPOCH, Interval, common, merge, subtract

COLUMNS = (Column(name="a", type="int"),)
ALWAYS = Interval(EPOCH, END_OF_TIME)


def hour(number: int, length: int = 1) -> Interval:
    start = EPOCH + timedelta(hours=number)
    return Interval(start, start + timedelta(hours=length))


def entry(number: int, status: EntryStatus = EntryStatus.COMPUTED) -> LedgerEntry:
    rows = RowSum(rows=number)
    return entry_of(hour(number), rows, columns=COLUMNS, digest="d", status=status)


ENTRIES = (entry(0), entry(1, EntryStatus.OUTDATED), entry(2, EntryStatus.EMPTY), entry(3))


def test_only_computed_intervals_are_loaded() -> None:
    assert loaded_intervals(ENTRIES) == (hour(0), hour(3))
    assert loaded_intervals(ENTRIES, EntryStatus.EMPTY) == (hour(0), hour(2, 2))
    assert written_intervals(ENTRIES) == (hour(0, 2), hour(3))


@given(
    st.sets(st.integers(0, 30)),
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), max_size=4),
)
def test_exactly_the_entries_that_overlap_are_outdated(
    numbers: set[int], times: list[tuple[int, int]]
) -> None:
    before = tuple(entry(number) for number in sorted(numbers))
    wanted = [hour(first, length) for first, length in times]
    after = outdate(before, wanted, reason="why")
    assert [each.interval for each in after] == [each.interval for each in before]
    for old, new in zip(before, after, strict=True):
        if common([old.interval], wanted):
            assert (new.status, new.reason) == (EntryStatus.OUTDATED, "why")
            assert (new.rows, new.digest) == (old.rows, old.digest)
        else:
            assert new == old
    assert loaded_intervals(after) == subtract([each.interval for each in before], wanted)


def test_an_entry_is_outdated_where_any_of_it_is() -> None:
    half = Interval(hour(0).start + timedelta(minutes=30), hour(1).start + timedelta(minutes=30))
    found = outdate((entry(0), entry(1), entry(2)), [half], reason="why")
    assert [each.status is EntryStatus.OUTDATED for each in found] == [True, True, False]


@pytest.mark.parametrize(
    "shown,loaded,lost",
    [
        ("2024-01-01 2024-01-05", "2024-01-01 2024-01-05", ""),
        ("2024-01-01 2024-01-05", "2024-01-01 2024-01-09", ""),
        ("2024-01-01 2024-01-05", "", "2024-01-01 2024-01-05"),
        ("2024-01-01 2024-01-05", "2024-01-02 2024-01-04",
         "2024-01-01 2024-01-02,2024-01-04 2024-01-05"),
        ("", "2024-01-01 2024-01-05", ""),
        ("2023-01-01 2023-02-01,2024-01-01 2024-01-05", "2024-01-01 2024-01-05", ""),
    ],
)  # fmt: skip
def test_what_is_shown_from_the_start_on_must_be_loaded(shown: str, loaded: str, lost: str) -> None:
    for kind in (None, Full()):
        given_ = model() if kind is None else model(kind)
        assert given_.start.year == 2024
        assert lost_intervals(given_, spans(shown), spans(loaded)) == spans(lost)


def test_what_has_no_time_is_lost_only_as_a_whole() -> None:
    assert lost_intervals(model(View()), [ALWAYS], [ALWAYS]) == ()
    assert lost_intervals(model(View()), [ALWAYS], []) == (ALWAYS,)
    assert lost_intervals(model(Full()), [ALWAYS], spans("2024-01-01 2024-01-05")) == ()
    assert lost_intervals(model(View()), spans("2024-01-01 2024-01-05"), merge([ALWAYS])) == ()
