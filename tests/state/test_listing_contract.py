"""What every state promises about what sessions were decided from, and what is to be listed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.state.builders import (
    KEY,
    RAW,
    START,
    change,
    day,
    intent,
    mark,
    publication,
    publish,
    session,
    stage,
)
from vde_dagster.core.ledger.late.history import (
    ProcessingUri,
    SourceChange,
    SourceHistory,
    SourceOperation,
    SourceStatus,
)
from vde_dagster.core.ledger.late.pending import Pending, PendingReason
from vde_dagster.core.ledger.late.question import (
    LateRows,
    Question,
    StatefulQuestion,
    StatelessQuestion,
    TrackedHistory,
)
from vde_dagster.core.model.late_data import LateDataMode, LateDataPolicy, TrackedSource
from vde_dagster.core.time.intervals import IntervalUnit
from vde_dagster.ports.state import Lease, State

ADDED = SourceChange(
    iceberg_snapshot_id=2**62 + 2,
    operation=SourceOperation.APPEND,
    added=(ProcessingUri(partition=(("day", 19723), ("shop", None)), files=2, rows=9),),
)
HISTORY = SourceHistory(status=SourceStatus.CHANGED, head=mark(2), changes=(ADDED,))
STATELESS = StatelessQuestion(
    policy=LateDataPolicy(
        mode=LateDataMode.STATELESS,
        tracked=(TrackedSource(name=RAW),),
        catchup_threshold=timedelta(days=2, microseconds=1),
    ),
    mark=mark(1),
    history=HISTORY,
    loaded=(day(0),),
    touched=(day(0),),
    pending=(Pending(interval=day(0), sources=(RAW,), reason=PendingReason.BEYOND_THRESHOLD),),
    start=START,
    now=day(2).end,
    unit=IntervalUnit.DAY,
    held_back=(day(1),),
)
STATEFUL = StatefulQuestion(
    policy=LateDataPolicy(
        mode=LateDataMode.STATEFUL,
        tracked=(
            TrackedSource(name=RAW, offset=timedelta(hours=1), idle_after=timedelta(hours=6)),
        ),
    ),
    sources=(TrackedHistory(name=RAW, mark=None, history=HISTORY, complete_to=day(1).end),),
    late=(LateRows(interval=day(0), sources=(RAW,), removed=True),),
    missing=(day(1),),
    loaded=(day(0),),
    unit=IntervalUnit.DAY,
    start=START,
    now=day(2).end,
    limit=day(1).end,
)


def run_session(state: State, lease: Lease, work_id: str, number: int) -> None:
    """A recorded session that moves the mark to a number."""
    publish(state, lease, intent(work_id, late=session()), publication(moves=mark(number)))


def noted(state: State) -> list[str | None]:
    """The sessions that are to be listed, with None for marks that have moved."""
    return [each.session_id for each in state.unlisted(limit=99)]


@pytest.mark.parametrize("question", [STATELESS, STATEFUL], ids=["stateless", "stateful"])
def test_what_a_session_is_decided_from_is_stored_with_its_intent(
    state: State, lease: Lease, question: Question
) -> None:
    late = replace(session(), question=question)
    state.record_intent(intent(late=late), lease=lease)
    assert state.question("w1") == question
    state.record_intent(intent(late=late), lease=lease)  # again, as after a lost answer
    assert state.question("w1") == question
    found = state.work("w1")
    assert found is not None
    assert found.intent.session == late


def test_of_a_session_of_an_earlier_release_it_is_not_known(state: State, lease: Lease) -> None:
    state.record_intent(intent(late=session()), lease=lease)
    assert (state.question("w1"), state.question("other")) == (None, None)


def test_a_mark_knows_where_it_came_from_and_which_session_moved_it(
    state: State, lease: Lease
) -> None:
    run_session(state, lease, "w1", 2)
    (first,) = state.mark_moves(KEY)
    assert (first.previous, first.latest, first.session_id) == (None, mark(2), "w1")
    run_session(state, lease, "w2", 3)
    (second,) = state.mark_moves(KEY)
    assert (second.previous, second.latest, second.session_id) == (mark(2), mark(3), "w2")
    assert first.moved_at is not None
    assert second.moved_at is not None
    assert first.moved_at <= second.moved_at


def test_a_session_after_which_the_mark_is_where_it_was_has_not_moved_it(
    state: State, lease: Lease
) -> None:
    run_session(state, lease, "w1", 2)
    run_session(state, lease, "w2", 2)
    (found,) = state.mark_moves(KEY)
    assert (found.previous, found.session_id) == (None, "w1")


def test_a_look_that_found_nothing_to_load_moves_a_mark_without_a_session(
    state: State, lease: Lease
) -> None:
    run_session(state, lease, "w1", 2)
    state.record_detected(KEY, [mark(3)], (), lease=lease)
    (found,) = state.mark_moves(KEY)
    assert (found.previous, found.latest, found.session_id) == (mark(2), mark(3), "")


def test_a_session_is_to_be_listed_once_it_has_ended(state: State, lease: Lease) -> None:
    stage(state, lease, intent("w1", late=session()), publication(moves=mark(2)))
    assert noted(state) == []
    state.finalize("w1", lease=lease)
    state.finalize("w1", lease=lease)  # again, as after a lost answer
    assert sorted(map(str, noted(state))) == ["None", "w1"]


def test_a_session_that_is_given_up_is_to_be_listed_too(state: State, lease: Lease) -> None:
    state.record_intent(intent("w1", late=session()), lease=lease)
    state.abandon("w1", reason="an audit refused its rows", lease=lease)
    state.abandon("w1", reason="an audit refused its rows", lease=lease)
    assert noted(state) == ["w1"]


def test_other_work_is_not_listed_but_marks_that_it_takes_away_are(
    state: State, lease: Lease
) -> None:
    publish(state, lease, intent("w1"), publication())
    assert noted(state) == []
    run_session(state, lease, "w2", 2)
    state.record_listed([each.number for each in state.unlisted(limit=99)])
    publish(state, lease, intent("w3"), publication(change(0)))  # read the source at 7
    assert (noted(state), state.marks(KEY)) == ([None], {})


def test_what_is_listed_is_forgotten_and_what_came_meanwhile_is_not(
    state: State, lease: Lease
) -> None:
    run_session(state, lease, "w1", 2)
    seen = state.unlisted(limit=99)
    run_session(state, lease, "w2", 3)
    state.record_listed([each.number for each in seen])
    state.record_listed([each.number for each in seen])
    assert sorted(map(str, noted(state))) == ["None", "w2"]
    assert [each.key for each in state.unlisted(limit=1)] == [KEY]
