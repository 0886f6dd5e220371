"""What was computed, by whom and when, summed up by the database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from time import sleep
from typing import Any

import pytest
from sqlalchemy import event

from tests.state.builders import KEY, MINUTE, OTHER, RAW, change, intent, publication, publish
from tests.state.conftest import Store, steps_of
from tests.worlds.clock import ManualClock
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import EntryStatus, LedgerChange, Trace
from vde_dagster.core.ledger.savings import Saved
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.ports.state import State, version_resource
from vde_dagster.state.sql_state import SqlState

DAY = timedelta(days=1)
TICK = timedelta(seconds=0.05)
"""More than the milliseconds that SQLite's clock has."""


def computes(
    state: State, environment: str, work_id: str, *changes: LedgerChange, key: VersionKey = KEY
) -> None:
    lease = state.acquire_lease(version_resource(key), holder=work_id, ttl=MINUTE)
    work = replace(intent(work_id, key=key), environment=environment)
    publish(state, lease, work, publication(*changes))
    state.release_lease(lease)


def took(number: int, seconds: float) -> LedgerChange:
    return replace(change(number), trace=Trace(key="k", inputs={RAW: "t"}, seconds=seconds))


def saved(days: int, rows: int, seconds: float | None) -> Saved:
    return Saved(intervals=days, time=days * DAY, rows=rows, seconds=seconds)


def test_what_versions_hold_is_summed_up_by_the_environment_that_computed_it(
    state: State,
) -> None:
    computes(state, "prod", "w1", took(0, 1.5), took(1, 2.0), change(2))
    computes(state, "dev", "w2", replace(took(1, 9.0), rows=RowSum(rows=2**40)))
    computes(state, "dev", "w3", change(0), key=OTHER)
    assert state.loaded([KEY, OTHER, replace(KEY, version="c" * 32)]) == {
        KEY: {"prod": saved(2, 6, 1.5), "dev": saved(1, 2**40, 9.0)},
        OTHER: {"dev": saved(1, 3, None)},  # nobody knows how long it took, which is not 0
    }


def test_only_what_counts_as_computed_is_summed_up(state: State) -> None:
    empty = replace(took(0, 1.0), rows=RowSum(), status=EntryStatus.EMPTY, reason="asked for")
    computes(state, "prod", "w1", empty, took(1, 4.0))
    assert state.loaded([KEY]) == {KEY: {"prod": saved(1, 3, 4.0)}}


def test_what_was_computed_later_is_left_out(store: Store, state: State) -> None:
    computes(state, "prod", "w1", took(0, 1.0), took(1, 2.0))
    pause(store)
    between = store.clock.now()
    pause(store)
    computes(state, "prod", "w2", took(1, 3.0))
    assert state.loaded([KEY], before=between) == {KEY: {"prod": saved(1, 3, 1.0)}}
    assert state.loaded([KEY], before=between - DAY) == {}


@pytest.mark.full
def test_sums_are_read_and_not_the_rows_that_they_are_made_of(sqlite_state: SqlState) -> None:
    computes(sqlite_state, "prod", "w1", *(took(number, 0.5) for number in range(2000)))
    fetched: list[int] = []

    def fetch(_c: object, cursor: Any, statement: str, parameters: object, *_: object) -> None:
        if statement.startswith("SELECT"):
            fetched.append(len(cursor.connection.execute(statement, parameters).fetchall()))

    event.listen(sqlite_state._database.engine, "after_cursor_execute", fetch)
    with steps_of(sqlite_state, "SELECT") as steps:
        assert sqlite_state.loaded([KEY])[KEY]["prod"].seconds == 1000.0
    assert fetched == [1]
    assert not any(step.startswith("SCAN vde_") for step in steps), steps


def pause(store: Store) -> None:
    """Let what is recorded from now on have a later time."""
    if isinstance(store.clock, ManualClock):
        store.clock.advance(TICK)
    else:
        sleep(TICK.total_seconds())
