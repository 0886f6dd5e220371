"""What every state promises about work that was given up and not begun again."""

from __future__ import annotations

import pytest

from tests.state.builders import KEY, MINUTE, OTHER, SALES, intent, publication, publish, session
from tests.state.conftest import steps_of
from vde_dagster.core.ledger.late.decision import Load
from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.ports.state import Lease, State
from vde_dagster.state.sql_state import SqlState


def give_up(state: State, lease: Lease, work_id: str, *, key: VersionKey = KEY) -> None:
    state.record_intent(intent(work_id, key=key), lease=lease)
    state.abandon(work_id, reason=f"{work_id} failed", lease=lease)


def failed(state: State) -> dict[VersionKey, str]:
    found = state.failed([KEY, OTHER])
    assert {each.state for each in found.values()} <= {UnitOfWorkState.ABANDONED}
    return {key: work.reason for key, work in found.items()}


def test_the_newest_work_counts_of_each_version_for_itself(state: State, lease: Lease) -> None:
    assert failed(state) == {}
    give_up(state, lease, "w1")
    give_up(state, lease, "w2", key=OTHER)
    give_up(state, lease, "w3")
    assert failed(state) == {KEY: "w3 failed", OTHER: "w2 failed"}
    assert state.failed([OTHER])[OTHER].intent == intent("w2", key=OTHER)
    assert state.failed([VersionKey(SALES, "c" * 32)]) == {}
    assert state.failed([]) == {}


@pytest.mark.parametrize("late", [None, session()], ids=["by a run", "by a session"])
def test_what_was_done_since_has_not_failed(state: State, lease: Lease, late: Load | None) -> None:
    give_up(state, lease, "w1")
    publish(state, lease, intent("w2", late=late), publication())
    assert failed(state) == {}
    give_up(state, lease, "w3")
    assert failed(state) == {KEY: "w3 failed"}


def test_what_is_tried_again_right_now_has_not_failed(state: State, lease: Lease) -> None:
    give_up(state, lease, "w1")
    state.record_intent(intent("w2"), lease=lease)
    assert failed(state) == {}
    state.record_staged("w2", publication(), lease=lease)
    assert failed(state) == {}
    state.abandon("w2", reason="w2 failed", lease=lease)
    assert failed(state) == {KEY: "w2 failed"}


@pytest.mark.full
def test_the_work_of_hundreds_of_versions_is_found(state: State, lease: Lease) -> None:
    keys = [VersionKey(ModelName("shop", f"m{number}"), "v") for number in range(250)]
    for number, key in enumerate(keys):
        give_up(state, lease, f"w{number}", key=key)
    assert state.failed(keys).keys() == set(keys)


def test_no_work_that_was_done_is_read(sqlite_state: SqlState) -> None:
    lease = sqlite_state.acquire_lease("r", holder="me", ttl=MINUTE)
    give_up(sqlite_state, lease, "w1")
    with steps_of(sqlite_state, "later") as steps:
        sqlite_state.failed([KEY, OTHER])
    assert not any(step.startswith("SCAN vde_work") for step in steps), steps
    assert any("vde_work_newest (model=? AND version=? AND state=?)" in e for e in steps), steps
    (later,) = [each for each in steps if "later" in each]
    assert "(model=? AND version=? AND is_session=? AND number>?)" in later
