"""What every state promises about work that was given up and not begun again."""

from __future__ import annotations

import sqlite3

import pytest
from sqlalchemy import event

from tests.state.builders import KEY, MINUTE, OTHER, SALES, intent, publication, publish, session
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


def test_no_work_that_was_done_is_read(sqlite_url: str) -> None:
    state = SqlState.open(sqlite_url)
    lease = state.acquire_lease("r", holder="me", ttl=MINUTE)
    give_up(state, lease, "w1")
    asked: list[str] = []
    engine = state._database.engine

    def explain(_c: object, cursor: object, statement: str, parameters: object, *_: object) -> None:
        assert isinstance(cursor, sqlite3.Cursor)
        assert isinstance(parameters, tuple)
        if "later" in statement:
            plan = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            asked.extend(row[3] for row in plan)

    event.listen(engine, "after_cursor_execute", explain)
    state.failed([KEY, OTHER])
    assert not any(step.startswith("SCAN vde_work") for step in asked), asked
    assert any("vde_work_newest (model=? AND version=? AND state=?)" in e for e in asked), asked
    (later,) = [each for each in asked if "later" in each]
    assert "(model=? AND version=? AND is_session=? AND number>?)" in later
    state.close()
