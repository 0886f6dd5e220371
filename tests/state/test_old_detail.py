"""What is compacted once it is old, and what stays: totals, and all that something still needs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from tests.state.builders import KEY, MINUTE, change, intent, mark, publication, session
from tests.state.conftest import Store
from tests.state.test_listing_contract import STATELESS
from tests.state.test_savings_contract import saving
from vde_dagster.core.clean_up.pinning import Named
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.savings import Saved, SavingKind
from vde_dagster.ports.state import State, version_resource
from vde_dagster.state import old_detail, schema
from vde_dagster.state.sql_state import SqlState

NOW = timedelta(0)
HOUR = 60 * 60 * 1_000_000
DAY = 24 * HOUR


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


def snapshots(state: State) -> Named:
    """What names Iceberg snapshots."""
    found = state.named_snapshots()
    return replace(found, works=tuple(sorted(found.works, key=lambda each: each.work_id)))


@pytest.mark.full
def test_what_old_work_published_is_stored_once_and_that_is_in_the_ledger(state: State) -> None:
    for number in range(3):
        load(state, f"w{number}", number)
    before = state.ledger([KEY])
    intents = {each: work.intent for each, work in state.works(["w0", "w1", "w2"]).items()}
    assert state.prune(timedelta(days=1)) == 0
    assert published(state, "w0", "w1", "w2") == [True, True, True]
    named = snapshots(state)
    state.prune(NOW)
    assert published(state, "w0", "w1", "w2") == [False, False, True], "the last one stays"
    assert state.ledger([KEY]) == before
    assert {each: work.intent for each, work in state.works(intents).items()} == intents
    assert state.heads([KEY]) == {KEY: 2**62}
    assert snapshots(state) == named, "the same Iceberg snapshots are kept"


def test_an_old_session_keeps_what_it_loaded_and_not_what_it_was_decided_from(state: State) -> None:
    for number in range(2):
        load(state, f"s{number}", number, late=True)
    assert state.question("s0") == STATELESS
    assert state.prune(timedelta(days=1)) == 0
    assert state.prune(NOW) == 1
    assert published(state, "s0", "s1") == [True, True]
    assert state.question("s0") is None
    assert state.question("s1") == STATELESS, "the last one can be explained and decided again"


def test_a_session_that_audits_refused_keeps_what_it_was_decided_from(state: State) -> None:
    """A person may still accept it, and then the same has to be pending."""
    refused = replace(session(), question=STATELESS)
    for work_id in ("s0", "s1"):
        lease = state.acquire_lease(version_resource(KEY), holder="w", ttl=MINUTE)
        state.record_intent(intent(work_id, late=refused), lease=lease)
        state.abandon(work_id, reason="bad", lease=lease, refused=publication())
        state.release_lease(lease)
    load(state, "s2", 2, late=True)
    load(state, "s3", 3, late=True)
    state.prune(NOW, branches=["s0"])
    found = {each: state.question(each) for each in ("s0", "s1", "s2", "s3")}
    assert found == {"s0": STATELESS, "s1": STATELESS, "s2": None, "s3": STATELESS}
    assert published(state, "s0", "s1", "s2", "s3") == [True] * 4


def test_what_was_recorded_long_ago_can_be_recorded_again(state: State) -> None:
    """By a process that was frozen in between; it changes nothing."""
    for number in range(3):
        load(state, f"w{number}", number)
    state.prune(NOW)
    before = state.ledger([KEY])[KEY]
    lease = state.acquire_lease(version_resource(KEY), holder="w", ttl=MINUTE)
    assert state.finalize("w0", lease=lease) == before[:1]
    assert state.finalize("w2", lease=lease) == before[2:]
    for number in (0, 2):
        state.record_staged(f"w{number}", publication(change(number)), lease=lease)
    assert state.finalize("w0", lease=lease) == before[:1]
    other = replace(publication(change(0)), iceberg_snapshot_id=7)
    for work_id in ("w0", "w2"):
        with pytest.raises(Refused, match=f"{work_id} is done"):
            state.record_staged(work_id, other, lease=lease)
    assert state.ledger([KEY])[KEY] == before


def test_all_units_of_work_are_looked_at_a_part_at_a_time(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_detail, "_SPAN", 2)
    for number in range(5):
        load(state, f"w{number}", number)
    state.prune(NOW)
    assert published(state, *(f"w{number}" for number in range(5))) == [False] * 4 + [True]


def test_nothing_is_compacted_where_nothing_is_recorded(state: State) -> None:
    assert state.prune(NOW) == 0


def days(state: State) -> list[tuple[int, int, int]]:
    """The rows of what was reused: the day, when in it, and how many intervals."""
    assert isinstance(state, SqlState)
    table = schema.savings
    query = select(table.c.saved_at, table.c.intervals).order_by(table.c.saved_at)
    with state._database.read() as connection:
        return [(*divmod(int(at), DAY), n) for at, n in connection.execute(query)]


def save(state: State, occasion: str, at: int, **more: Any) -> None:
    """What was reused at an instant in microseconds since 1970: two intervals."""
    assert isinstance(state, SqlState)
    state.record_saving(saving(occasion, **more))
    table = schema.savings
    with state._database.write() as connection:
        named = update(table).where(table.c.occasion == occasion)
        connection.execute(named.values(saved_at=at))


def merge(state: State, until: int) -> int:
    assert isinstance(state, SqlState)
    with state._database.write() as connection:
        every = old_detail.days_to_merge(connection, until)
        return sum(old_detail.merge_savings(connection, each) for each in every)


def test_savings_of_a_day_are_one_row_and_add_up_to_the_same(state: State) -> None:
    for number in range(5):
        save(state, f"e{number}", 7 * DAY + number)
    save(state, "dev", 7 * DAY, environment="dev")
    save(state, "unknown", 7 * DAY, saved=Saved(intervals=1, rows=5, untimed=1))
    save(state, "adopted", 7 * DAY, kind=SavingKind.ADOPTED)
    before = state.savings()
    assert merge(state, 8 * DAY) == 0, "what was begun on that day may still be recorded"
    assert merge(state, 8 * DAY + HOUR) == 5
    assert state.savings() == before
    assert merge(state, 9 * DAY) == 0
    save(state, "later", 8 * DAY)
    assert sum(each.saved.rows for each in state.savings()) == 30 + sum(
        each.saved.rows for each in before
    )


def test_each_day_has_a_row_of_its_own(state: State) -> None:
    for number in range(6):
        save(state, f"e{number}", (100 + number // 2) * DAY + number)
    assert merge(state, 102 * DAY + HOUR) == 2
    assert days(state) == [(100, 1, 4), (101, 3, 4), (102, 4, 2), (102, 5, 2)]


def test_what_comes_to_a_day_that_is_merged_is_merged_with_it(state: State) -> None:
    """As after a database's clock was set back."""
    for number in range(2):
        save(state, f"e{number}", DAY + number)
    assert merge(state, 3 * DAY) == 1
    save(state, "late", DAY)
    assert merge(state, 3 * DAY) == 1
    assert days(state) == [(1, 1, 6)]


def test_an_adoption_counts_once_for_each_plan_however_late_that_is_applied_again(
    state: State,
) -> None:
    save(state, "plan", DAY, kind=SavingKind.ADOPTED)
    before = state.savings()
    merge(state, 9 * DAY)
    state.record_saving(saving("plan", kind=SavingKind.ADOPTED))
    assert state.savings() == before


def test_the_janitor_merges_the_days_of_which_history_is_over(state: State) -> None:
    """By the database's clock, which is years after these."""
    for number in range(3):
        save(state, f"e{number}", DAY + number)
    state.record_saving(saving("today"))
    before = state.savings()
    assert state.prune(timedelta(days=7)) == 2
    assert state.savings() == before
    assert len(days(state)) == 2
