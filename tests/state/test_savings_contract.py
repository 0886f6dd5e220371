"""What was not computed, recorded and summed up, on every adapter."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import sleep

import pytest
from sqlalchemy import event

from tests.state.builders import (
    KEY,
    MINUTE,
    RAW,
    ROWS,
    SALES,
    change,
    intent,
    publication,
    snapshot,
)
from tests.state.conftest import Store
from tests.worlds.clock import ManualClock
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import EntryStatus, LedgerChange, Trace
from vde_dagster.core.ledger.savings import Saved, Saving, SavingKind, SavingTotal
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.ports.state import State, version_resource
from vde_dagster.state.sql_state import SqlState

ORDERS = ModelName("shop", "orders")
HOUR = timedelta(hours=1)
LONG_AGO = datetime(1999, 1, 1, tzinfo=UTC)
TICK = timedelta(seconds=0.05)
"""More than the milliseconds that SQLite's clock has."""


@pytest.fixture
def state(store: Store) -> State:
    return store.state


def saving(
    occasion: str = "e1",
    saved: Saved | None = None,
    *,
    key: VersionKey = KEY,
    environment: str = "prod",
    kind: SavingKind = SavingKind.REUSED,
) -> Saving:
    some = Saved(intervals=2, time=2 * HOUR, rows=30, seconds=1.5)
    return Saving(
        occasion=occasion, key=key, environment=environment, kind=kind, saved=saved or some
    )


def total(
    saved: Saved,
    *,
    environment: str = "prod",
    model: ModelName = SALES,
    kind: SavingKind = SavingKind.REUSED,
) -> SavingTotal:
    return SavingTotal(environment=environment, model=model, kind=kind, saved=saved)


def test_what_was_never_recorded_is_no_saving(state: State) -> None:
    assert list(state.savings()) == []
    assert list(state.savings(environment="prod", since=LONG_AGO)) == []


@pytest.mark.full
def test_what_versions_hold_is_summed_up_apart_from_what_some_work_wrote(state: State) -> None:
    trace = Trace(key="k", inputs={}, seconds=1.5)
    lease = state.acquire_lease(version_resource(KEY), holder="w", ttl=MINUTE)
    for work_id, days in (("w1", (0, 1, 2)), ("w2", (2, 3))):
        changes = [replace(change(each, rows=RowSum(rows=each + 1)), trace=trace) for each in days]
        if work_id == "w2":
            changes[0] = replace(changes[0], trace=None)
        state.record_intent(intent(work_id), lease=lease)
        state.record_staged(work_id, publication(*changes), lease=lease)
        state.finalize(work_id, lease=lease)
    other = VersionKey(ORDERS, "b" * 32)
    # the first day has one row, the second two, and so on
    everything = Saved(intervals=4, time=96 * HOUR, rows=1 + 2 + 3 + 4, seconds=4.5, untimed=1)
    assert state.totals([KEY, other]) == {KEY: everything}
    first = Saved(intervals=2, time=48 * HOUR, rows=1 + 2, seconds=3.0)
    assert state.totals([KEY, other], without=["w2", *map(str, range(40_000))]) == {KEY: first}
    assert state.totals([KEY], without=["w1", "w2"]) == {}


def test_savings_add_up_by_environment_model_and_kind(state: State) -> None:
    more = Saved(intervals=1, time=HOUR / 4, rows=2**40, seconds=0.25)
    orders = VersionKey(ORDERS, "b" * 32)
    state.record_saving(saving("e1"))
    state.record_saving(saving("e2", more, key=replace(KEY, version="c" * 32)))
    state.record_saving(saving("e3", more, key=orders, kind=SavingKind.ADOPTED))
    state.record_saving(saving("e4", more, environment="dev"))
    both = Saved(intervals=3, time=2.25 * HOUR, rows=2**40 + 30, seconds=1.75)
    adopted = total(more, model=ORDERS, kind=SavingKind.ADOPTED)
    assert list(state.savings()) == [total(more, environment="dev"), adopted, total(both)]
    assert list(state.savings(environment="dev")) == [total(more, environment="dev")]
    assert list(state.savings(environment="none")) == []


def test_one_occasion_of_a_model_is_recorded_once(state: State) -> None:
    other = VersionKey(ORDERS, "b" * 32)
    state.record_saving(saving("plan"))
    state.record_saving(saving("plan", Saved(intervals=9, rows=9)))
    state.record_saving(saving("plan", key=other))
    some = saving().saved
    assert list(state.savings()) == [total(some, model=ORDERS), total(some)]


def test_what_is_not_known_is_no_zero_and_hides_nothing_that_is_known(state: State) -> None:
    unknown = Saved(intervals=1, rows=5, untimed=1)
    state.record_saving(saving("e1", unknown))
    assert list(state.savings()) == [total(unknown)]
    state.record_saving(saving("e2", Saved(intervals=2, time=HOUR, rows=1, seconds=3.0)))
    known = Saved(intervals=3, time=HOUR, rows=6, seconds=3.0, untimed=1)
    assert list(state.savings()) == [total(known)]


def test_only_what_was_recorded_since_then_is_summed_up(store: Store, state: State) -> None:
    state.record_saving(saving("e1"))
    pause(store)
    between = store.clock.now()
    pause(store)
    state.record_saving(saving("e2", Saved(intervals=1, rows=1, seconds=1.0)))
    assert list(state.savings(since=between)) == [total(Saved(intervals=1, rows=1, seconds=1.0))]
    assert list(state.savings(environment="prod", since=between)) == list(
        state.savings(since=between)
    )
    assert state.savings(since=LONG_AGO) == state.savings()
    assert list(state.savings(since=store.clock.now() + MINUTE)) == []


def test_a_state_knows_since_when_it_records(store: Store, state: State) -> None:
    since = state.recording_savings_since()
    assert since.tzinfo is UTC
    assert store.clock.now() - MINUTE < since <= store.clock.now()
    pause(store)
    state.record_saving(saving())
    assert state.recording_savings_since() == since


# What others computed
def shows(
    state: State, name: str, *shown: ModelSnapshot, hidden: tuple[ModelName, ...] = ()
) -> None:
    state.store_snapshots(shown, environment=name)
    lease = state.acquire_lease(f"environment:{name}", holder="plan", ttl=MINUTE)
    before = state.environment(name)
    revision = before.revision if before is not None else 0
    plan = f"{name}-{revision + 1}"
    state.begin_promotion(
        name,
        expected_revision=revision,
        plan_id=plan,
        snapshots=shown,
        lease=lease,
        hidden=hidden,
    )
    state.finish_promotion(name, plan_id=plan)
    state.release_lease(lease)


def computes(
    state: State, environment: str, key: VersionKey, work_id: str, *changes: LedgerChange
) -> None:
    lease = state.acquire_lease(version_resource(key), holder=work_id, ttl=MINUTE)
    work = replace(intent(work_id, key=key), environment=environment)
    state.record_intent(work, lease=lease)
    state.record_staged(work_id, publication(*changes), lease=lease)
    state.finalize(work_id, lease=lease)
    state.release_lease(lease)


def took(number: int, seconds: float) -> LedgerChange:
    return replace(change(number), trace=Trace(key="k", inputs={RAW: "t"}, seconds=seconds))


def test_what_another_environment_computed_is_reported_by_version(state: State) -> None:
    sales, orders = snapshot(), snapshot(ORDERS)
    shows(state, "prod", sales, orders)
    computes(state, "prod", sales.key, "w1", took(0, 1.5), took(1, 2.0))
    computes(state, "prod", orders.key, "w2", change(0))
    assert state.computed_elsewhere("prod") == {}
    assert state.computed_elsewhere("dev") == {}
    shows(state, "dev", sales, orders, hidden=(ORDERS,))
    assert state.computed_elsewhere("dev") == {
        sales.key: Saved(intervals=2, time=48 * HOUR, rows=6, seconds=3.5),
        orders.key: Saved(intervals=1, time=24 * HOUR, rows=3, untimed=1),
    }
    computes(state, "dev", sales.key, "w3", took(2, 9.0))
    assert state.computed_elsewhere("dev")[sales.key].intervals == 2
    assert state.computed_elsewhere("prod") == {
        sales.key: Saved(intervals=1, time=24 * HOUR, rows=3, seconds=9.0)
    }


def test_only_what_counts_as_computed_in_the_versions_of_now_is_shared(state: State) -> None:
    old, new = snapshot(), snapshot(text="SELECT 2")
    shows(state, "prod", old)
    empty = replace(took(0, 1.0), rows=RowSum(), status=EntryStatus.EMPTY, reason="asked for")
    computes(state, "prod", old.key, "w1", empty, took(1, 4.0))
    shows(state, "dev", old)
    assert state.computed_elsewhere("dev") == {
        old.key: Saved(intervals=1, time=24 * HOUR, rows=3, seconds=4.0)
    }
    shows(state, "dev", new)
    assert state.computed_elsewhere("dev") == {}


@pytest.mark.full
def test_what_is_shared_counts_from_when_it_was_computed_or_first_promoted(
    store: Store, state: State
) -> None:
    sales = snapshot()
    shows(state, "prod", sales)
    computes(state, "prod", sales.key, "w1", took(0, 1.0))
    pause(store)
    before = store.clock.now()
    pause(store)
    shows(state, "dev", sales)
    pause(store)
    promoted = store.clock.now()
    pause(store)
    shows(state, "dev", sales)
    assert state.computed_elsewhere("dev", since=before)[sales.key].intervals == 1
    assert state.computed_elsewhere("dev", since=promoted) == {}, "it was shown before"
    computes(state, "prod", sales.key, "w2", took(1, 2.0))
    assert state.computed_elsewhere("dev", since=promoted) == {
        sales.key: Saved(intervals=1, time=24 * HOUR, rows=ROWS.rows, seconds=2.0)
    }
    assert state.computed_elsewhere("dev", since=LONG_AGO) == state.computed_elsewhere("dev")


# The sums are computed by the database
@pytest.mark.full
def test_sums_are_read_and_not_the_rows_that_they_are_made_of(sqlite_url: str) -> None:
    state = SqlState.open(sqlite_url)
    sales = snapshot()
    shows(state, "prod", sales)
    shows(state, "dev", sales)
    computes(state, "prod", sales.key, "w1", *(took(number, 0.5) for number in range(2000)))
    for number in range(50):
        state.record_saving(saving(f"e{number}"))
    fetched, plans = watched(state)
    assert state.savings(environment="prod", since=LONG_AGO)[0].saved.intervals == 100
    assert state.savings(since=LONG_AGO)[0].saved.seconds == 75.0
    assert state.computed_elsewhere("dev")[sales.key].seconds == 1000.0
    assert fetched == [1, 1, 1]
    searched = [each for each in plans if "vde_savings_by_time" in each]
    assert searched == ["SEARCH vde_savings USING INDEX vde_savings_by_time (saved_at>?)"] * 2
    assert not any(each.startswith("SCAN vde_") for each in plans), plans
    state.close()


def watched(state: SqlState) -> tuple[list[int], list[str]]:
    """How many rows each statement gives from now on, and how SQLite finds them."""
    fetched: list[int] = []
    plans: list[str] = []

    def look(_c: object, cursor: object, statement: str, parameters: object, *_: object) -> None:
        if statement.startswith("SELECT"):
            assert isinstance(cursor, sqlite3.Cursor)
            assert isinstance(parameters, tuple)
            again = cursor.connection.execute(statement, parameters).fetchall()
            fetched.append(len(again))
            steps = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans.extend(row[3] for row in steps)

    event.listen(state._database.engine, "after_cursor_execute", look)
    return fetched, plans


def pause(store: Store) -> None:
    """Let what is recorded from now on have a later time."""
    if isinstance(store.clock, ManualClock):
        store.clock.advance(TICK)
    else:
        sleep(TICK.total_seconds())
