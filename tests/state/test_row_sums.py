"""What all entries of a ledger add up to, by the database and by reading them."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import update

from tests.state.builders import COLUMNS, KEY, OTHER, ROWS, change, record
from vde_dagster.core.ledger.dsha import MODULUS, MURMUR3_128, RowSum
from vde_dagster.core.ledger.entries import (
    EntryStatus,
    LedgerDigests,
    loaded_dsha,
)
from vde_dagster.ports.state import State
from vde_dagster.state import schema
from vde_dagster.state.sql_state import SqlState

SUMS = [0, 1, 999_999_999, 10**9, 2**63, 2**64 - 1, 2**64, 10**18 << 64, MODULUS - 1, ROWS.sum]


def test_the_database_sums_up_what_reading_all_entries_gives(state: State) -> None:
    rows = [RowSum(rows=2**40 + each, sum=sum_) for each, sum_ in enumerate(SUMS)]
    record(state, "w1", *(change(each, rows=found) for each, found in enumerate(rows)))
    record(state, "w2", change(len(rows)), columns=COLUMNS[:1])
    entries = state.ledger([KEY])[KEY]
    (found,) = state.sums([KEY, OTHER]).values()
    assert found.entries == len(SUMS) + 1
    assert found.rows == sum(each.rows.rows for each in entries)
    assert found.last == entries[-1]
    assert found.dsha == loaded_dsha(entries)
    digests = LedgerDigests(digests=tuple(each.digest for each in entries), last=entries[-1])
    assert state.digests([KEY, OTHER]) == {KEY: digests}


def test_sums_of_two_algorithms_are_combined_and_not_added(state: State) -> None:
    record(state, "w1", *(change(each) for each in range(3)))
    assert isinstance(state, SqlState)
    ledger = schema.ledger
    with state._database.write() as connection:
        second = ledger.c.interval_start == 1_704_153_600_000_000
        connection.execute(update(ledger).where(second).values(algorithm=MURMUR3_128))
    entries = state.ledger([KEY])[KEY]
    assert len({each.algorithm for each in entries}) == 2
    assert state.sums([KEY])[KEY].dsha == loaded_dsha(entries)


def test_a_version_without_entries_has_no_sum(state: State) -> None:
    assert state.sums([KEY]) == {}
    assert state.sums([]) == {}
    assert state.digests([KEY]) == {}


def test_the_newest_computed_entries_are_given_in_the_order_of_their_times(state: State) -> None:
    empty = replace(change(3), status=EntryStatus.EMPTY)
    record(state, "w1", change(0), change(1), change(2), empty)
    every = state.ledger([KEY])[KEY]
    assert state.newest_computed(KEY, limit=2) == every[1:3]
    assert state.newest_computed(KEY, limit=9) == every[:3]
    assert state.newest_computed(OTHER, limit=9) == ()
