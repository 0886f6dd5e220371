"""What is compacted once it is old, and what stays: totals, and all that something still needs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from tests.state.builders import KEY, MINUTE, change, intent, mark, publication, session
from tests.state.conftest import Store
from tests.state.test_listing_contract import STATELESS
from tests.state.test_savings_contract import saving
from vde_dagster.core.ledger.savings import Saved, SavingKind
from vde_dagster.ports.state import State, version_resource
from vde_dagster.state import old_detail, schema
from vde_dagster.state.sql_state import SqlState

NOW = timedelta(0)
DAY = 24 * 60 * 60 * 1_000_000


@pytest.fixture
def state(store: Store) -> State:
    return store.state


def load(state: State, work_id: str, number: int, *, late: bool = False) -> None:
    """One unit of work that wrote a day; a session moves the mark, too."""
    lease = state.acquire_lease(version_resource(KEY), holder="w", ttl=MINUTE)
    asked = replace(session(), question=STATELESS)
    state.record_intent(intent(work_id, late=asked if late else None), lease=lease)
    moved = mark(number) if late else None
    state.record_staged(work_id, publication(change(number), moves=moved), lease=lease)
    state.finalize(work_id, lease=lease)
    state.release_lease(lease)


def published(state: State, *work_ids: str) -> list[bool]:
    """Whether it is stored of these units of work what they published."""
    found = state.works(work_ids)
    return [found[each].publication is not None for each in work_ids]


def test_what_old_work_published_is_stored_once_and_that_is_in_the_ledger(state: State) -> None:
    for number in range(3):
        load(state, f"w{number}", number)
    before = state.ledger([KEY])
    intents = {each: work.intent for each, work in state.works(["w0", "w1", "w2"]).items()}
    assert state.prune(timedelta(days=1)) == 0
    assert published(state, "w0", "w1", "w2") == [True, True, True]
    named = state.named_snapshots()
    state.prune(NOW)
    assert published(state, "w0", "w1", "w2") == [False, False, True], "the last one stays"
    assert state.ledger([KEY]) == before
    assert {each: work.intent for each, work in state.works(intents).items()} == intents
    assert state.heads([KEY]) == {KEY: 2**62}
    assert state.named_snapshots() == named, "the same Iceberg snapshots are kept"


def test_an_old_session_keeps_what_it_loaded_and_not_what_it_was_decided_from(state: State) -> None:
    for number in range(2):
        load(state, f"s{number}", number, late=True)
    assert state.question("s0") == STATELESS
    assert state.prune(timedelta(days=1)) == 0
    assert state.prune(NOW) == 1
    assert published(state, "s0", "s1") == [True, True]
    assert state.question("s0") is None
    assert state.question("s1") == STATELESS, "the last one can be explained and decided again"


def test_savings_of_a_day_are_one_row_and_add_up_to_the_same(state: State) -> None:
    for number in range(5):
        state.record_saving(saving(f"e{number}"))
    state.record_saving(saving("dev", environment="dev"))
    state.record_saving(saving("unknown", Saved(intervals=1, rows=5, untimed=1)))
    state.record_saving(saving("adopted", kind=SavingKind.ADOPTED))
    before = state.savings()
    assert isinstance(state, SqlState)
    with state._database.write() as connection:
        last = connection.execute(select(schema.savings.c.saved_at)).scalars().first()
        assert last is not None
        assert old_detail.merge_savings(connection, last) == 0, "that day is not over"
        assert old_detail.merge_savings(connection, last + 2 * DAY) == 5
        assert old_detail.merge_savings(connection, last + 2 * DAY) == 0
    assert state.savings() == before
    state.record_saving(saving("later"))
    assert sum(each.saved.rows for each in state.savings()) == 30 + sum(
        each.saved.rows for each in before
    )


def test_each_day_has_a_row_of_its_own(state: State) -> None:
    assert isinstance(state, SqlState)
    savings = schema.savings
    for number in range(6):
        state.record_saving(saving(f"e{number}"))
    with state._database.write() as connection:
        for number in range(6):
            at = (100 + number // 2) * DAY + number
            connection.execute(
                update(savings).where(savings.c.occasion == f"e{number}").values(saved_at=at)
            )
        assert old_detail.merge_savings(connection, 102 * DAY + 7) == 2
        found = connection.execute(
            select(savings.c.saved_at, savings.c.intervals).order_by(savings.c.saved_at)
        )
        third = [(102 * DAY + 4, 2), (102 * DAY + 5, 2)]
        assert [tuple(row) for row in found] == [(100 * DAY + 1, 4), (101 * DAY + 3, 4), *third]
