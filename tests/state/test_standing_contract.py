"""The status of entries, and which models have a view, on every adapter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.depth import is_full
from tests.state.builders import (
    COLUMNS,
    KEY,
    MINUTE,
    OTHER,
    ROWS,
    SALES,
    change,
    day,
    intent,
    publication,
    record,
    shown,
    snapshot,
    stage,
)
from tests.state.conftest import Store
from vde_dagster.core.errors import Conflict
from vde_dagster.core.ledger.dsha import RowSum, dsha
from vde_dagster.core.ledger.entries import (
    EntryStatus,
    LedgerChange,
    LedgerOperation,
    Trace,
    loaded_intervals,
    written_intervals,
)
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import merge
from vde_dagster.ports.state import Lease, LeaseLost, State, version_resource


def test_outdated_intervals_keep_their_rows_and_say_why(state: State, environment: Lease) -> None:
    record(state, "w1", change(0), change(1), change(2))
    before = state.ledger([KEY])[KEY]
    state.outdate({KEY: [day(1)]}, reason="restated by plan p", lease=environment)
    after = state.ledger([KEY])[KEY]
    assert (after[0], after[2]) == (before[0], before[2])
    assert (after[1].status, after[1].reason) == (EntryStatus.OUTDATED, "restated by plan p")
    assert (after[1].rows, after[1].digest, after[1].work_id) == (ROWS, before[1].digest, "w1")
    assert loaded_intervals(after) == (day(0), day(2))
    assert written_intervals(after) == merge(each.interval for each in before)


def test_what_is_to_be_computed_again_loses_its_trace_and_what_is_only_looked_at_keeps_it(
    state: State, environment: Lease
) -> None:
    trace = Trace(key="k", inputs={})
    for work_id, key in (("w1", KEY), ("w2", OTHER)):
        record(state, work_id, replace(change(0), trace=trace), key=key)
    times = {KEY: [day(0)], OTHER: [day(0)]}
    state.outdate(times, reason="restated", lease=environment, rebuilt={KEY})
    found = {key: entry.trace for key, (entry,) in state.ledger([KEY, OTHER]).items()}
    assert found == {KEY: None, OTHER: trace}


def test_of_several_versions_all_are_outdated_or_none(state: State, environment: Lease) -> None:
    record(state, "w1", change(0))
    record(state, "w2", change(0), key=OTHER)
    before = state.ledger([KEY, OTHER])
    writer = state.acquire_lease(version_resource(OTHER), holder="a run", ttl=MINUTE)
    with pytest.raises(Conflict, match="held by a run"):
        state.outdate({KEY: [day(0)], OTHER: [day(0)]}, reason="r", lease=environment)
    assert state.ledger([KEY, OTHER]) == before
    state.renew_lease(writer, ttl=MINUTE)
    state.release_lease(writer)
    state.outdate({KEY: [day(0)], OTHER: [day(0)]}, reason="r", lease=environment)
    found = state.ledger([KEY, OTHER])
    assert {each.status for entries in found.values() for each in entries} == {EntryStatus.OUTDATED}


def test_work_that_read_what_is_outdated_since_records_nothing_any_more(store: Store) -> None:
    state = store.state
    writer = state.acquire_lease(version_resource(KEY), holder="a run", ttl=MINUTE)
    stage(state, writer, intent("w1"), publication())
    store.pass_time(2 * MINUTE)
    environment = state.acquire_lease("environment:prod", holder="plan p", ttl=MINUTE)
    state.outdate({KEY: [day(0)]}, reason="r", lease=environment)
    with pytest.raises(LeaseLost):
        state.finalize("w1", lease=writer)
    assert state.ledger([KEY]) == {}


def test_outdating_needs_its_lease(store: Store) -> None:
    state = store.state
    record(state, "w1", change(0))
    lease = state.acquire_lease("environment:prod", holder="plan p", ttl=MINUTE)
    store.pass_time(2 * MINUTE)
    state.acquire_lease("environment:prod", holder="plan q", ttl=MINUTE)
    with pytest.raises(LeaseLost):
        state.outdate({KEY: [day(0)]}, reason="r", lease=lease)
    assert loaded_intervals(state.ledger([KEY])[KEY]) == (day(0),)


@pytest.mark.full
def test_thousands_of_intervals_of_hundreds_of_versions_are_outdated_at_once(
    state: State, environment: Lease
) -> None:
    count, late = (1000, day(500)) if is_full() else (300, day(200))
    keys = [VersionKey(SALES, f"{number:032x}") for number in range(600)]
    for number, key in enumerate(keys[:3]):
        record(state, f"w{number}", *(change(each) for each in range(count)), key=key)
    state.outdate(dict.fromkeys(keys, (day(0), late)), reason="r", lease=environment)
    for entries in state.ledger(keys).values():
        outdated = [each.interval for each in entries if each.status is EntryStatus.OUTDATED]
        assert outdated == [day(0), late]


def test_an_empty_interval_is_distinguished_from_one_without_rows(state: State) -> None:
    nothing = LedgerChange(
        operation=LedgerOperation.REPLACE,
        interval=day(0),
        rows=RowSum(),
        status=EntryStatus.EMPTY,
        reason="recorded as empty by plan p of dev",
    )
    record(state, "w1", nothing, change(1, rows=RowSum()))
    empty, computed = state.ledger([KEY])[KEY]
    assert (empty.status, empty.reason) == (EntryStatus.EMPTY, "recorded as empty by plan p of dev")
    assert empty.digest == computed.digest == dsha(RowSum(), COLUMNS)
    assert computed.status is EntryStatus.COMPUTED
    assert loaded_intervals((empty, computed)) == (day(1),)
    assert (empty.interval, computed.interval) == (day(0), day(1))


def test_hidden_models_are_kept_with_the_revision_that_hides_them(state: State) -> None:
    one, two = snapshot(), snapshot(ModelName("shop", "orders"))
    state.store_snapshots([one, two], environment="dev")
    lease = state.acquire_lease("environment:dev", holder="plan p", ttl=MINUTE)
    begun = state.begin_promotion(
        "dev",
        expected_revision=0,
        plan_id="p",
        snapshots=[one, two],
        lease=lease,
        hidden=[two.name],
    )
    assert begun.snapshots.keys() == {one.name, two.name}
    assert set(begun.hidden) == {two.name}
    state.finish_promotion("dev", plan_id="p")
    state.begin_promotion(
        "dev", expected_revision=1, plan_id="q", snapshots=[one, two], lease=lease
    )
    now, then = shown(state, "dev"), shown(state, "dev", revision=1)
    assert (set(now.hidden), set(then.hidden)) == (set(), {two.name})


def test_only_models_of_the_environment_are_hidden(state: State) -> None:
    state.store_snapshots([snapshot()], environment="dev")
    lease = state.acquire_lease("environment:dev", holder="plan p", ttl=MINUTE)
    begun = state.begin_promotion(
        "dev",
        expected_revision=0,
        plan_id="p",
        snapshots=[snapshot()],
        lease=lease,
        hidden=[ModelName("shop", "unknown")],
    )
    assert begun.hidden == frozenset()
