"""What audits refused, and a person accepted: the contract of the state, on every adapter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.state.builders import KEY, SALES, START, change, day, intent, mark, publication
from tests.state.builders import session as late
from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.unit_of_work import Acceptance, Intent, UnitOfWorkState
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.ports.state import Lease, LeaseLost, State

RESULTS = (AuditResult(name="z_score", failing=2, message="2 rows fail"),)
SAID = Acceptance(
    work_id="w1", audits=("z_score",), reason="näher", author="ann", accepted_at=START
)


def accepting(work_id: str = "w2", **more: object) -> Intent:
    return replace(intent(work_id), accepted=SAID, **more)  # type: ignore[arg-type]


def refuse(state: State, lease: Lease) -> None:
    state.record_intent(intent("w1"), lease=lease)
    state.record_audits("w1", RESULTS, lease=lease)
    state.abandon("w1", reason="bad rows", lease=lease, refused=publication())


@pytest.mark.full
def test_what_was_refused_is_kept_and_is_no_part_of_the_ledger(state: State, lease: Lease) -> None:
    refuse(state, lease)
    work = state.work("w1")
    assert work is not None
    assert (work.state, work.publication) == (UnitOfWorkState.ABANDONED, publication())
    assert state.ledger([KEY]) == {}
    assert state.heads([KEY]) == {}
    assert list(state.open_work(KEY)) == []
    with pytest.raises(Refused, match="is abandoned"):
        state.finalize("w1", lease=lease)


def test_what_is_accepted_is_staged_at_once_with_all_that_is_known_of_it(
    state: State, lease: Lease
) -> None:
    refuse(state, lease)
    for _ in range(2):  # a lost answer: doing it again changes nothing
        state.record_accepted(accepting(), RESULTS, publication(), lease=lease)
    (work,) = state.open_work(KEY)
    assert (work.intent, work.audits) == (accepting(), RESULTS)
    assert (work.state, work.publication) == (UnitOfWorkState.STAGED, publication())
    assert state.accepted([KEY]) == {}, "it is not published yet"
    state.finalize("w2", lease=lease)
    (entry,) = state.ledger([KEY])[KEY]
    assert (entry.interval, entry.work_id) == (day(0), "w2")
    (done,) = state.accepted([KEY, VersionKey(SALES, "b")])[KEY]
    assert done.intent.accepted == SAID


def test_what_is_accepted_of_a_session_moves_its_mark(state: State, lease: Lease) -> None:
    session = accepting(session=late())
    given = publication(change(1), moves=mark(2))
    state.record_accepted(session, RESULTS, given, lease=lease)
    state.finalize("w2", lease=lease)
    assert list(state.marks(KEY).values()) == [mark(2)]
    assert [each.intent.work_id for each in state.sessions(KEY, limit=9)] == ["w2"]


def test_nothing_is_accepted_under_a_lease_that_was_lost(state: State, lease: Lease) -> None:
    refuse(state, lease)
    state.release_lease(lease)
    with pytest.raises(LeaseLost):
        state.record_accepted(accepting(), RESULTS, publication(), lease=lease)
    assert state.work("w2") is None


def test_acceptances_come_oldest_first(state: State, lease: Lease) -> None:
    for number, work_id in enumerate(("w3", "w2")):
        state.record_accepted(accepting(work_id), RESULTS, publication(change(number)), lease=lease)
        state.finalize(work_id, lease=lease)
    assert [each.intent.work_id for each in state.accepted([KEY])[KEY]] == ["w3", "w2"]
