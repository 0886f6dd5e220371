"""What is compacted once it is old, and what stays: totals, and all that something still needs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.state.builders import KEY, MINUTE, change, intent, mark, publication, publish, session
from tests.state.test_listing_contract import STATELESS
from vde_dagster.core.errors import Refused
from vde_dagster.ports.state import State, version_resource
from vde_dagster.state import clean_up as old_detail

NOW = timedelta(0)


def load(state: State, work_id: str, number: int, *, late: bool = False) -> None:
    """One unit of work that wrote a day; a session moves the mark, too."""
    lease = state.acquire_lease(version_resource(KEY), holder="w", ttl=MINUTE)
    work = intent(work_id, late=replace(session(), question=STATELESS) if late else None)
    moved = mark(number) if late else None
    publish(state, lease, work, publication(change(number), moves=moved))
    state.release_lease(lease)


def published(state: State, *work_ids: str) -> list[bool]:
    """Whether it is stored of these units of work what they published."""
    found = state.works(work_ids)
    return [found[each].publication is not None for each in work_ids]


def test_an_old_session_keeps_what_it_loaded_and_not_what_it_was_decided_from(state: State) -> None:
    for number in range(2):
        load(state, f"s{number}", number, late=True)
    assert state.question("s0") == STATELESS
    assert state.prune(timedelta(days=1)) == 0
    assert state.prune(NOW) == 1
    assert published(state, "s0", "s1") == [True, True]
    assert state.question("s0") is None
    assert state.question("s1") == STATELESS, "the last one can be explained and decided again"


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
