"""A stateful dimension whose hours read the hour before is repaired in order, and no further."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.app.catch_up.lifecycle import (
    CANCELS,
    PLANS,
    REQUESTS,
    SIGNUPS,
    STATE,
    Lifecycle,
    hours,
    sequential,
    span,
)
from tests.app.memory_world import bound, hour_of, mismatches
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.inputs.completeness import Due, due_of
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.late.decision import Load, NothingToLoad
from vde_dagster.core.time.intervals import Interval, subtract

FACTS = (SIGNUPS, PLANS, REQUESTS, CANCELS)


def loaded(graph: Graph | None = None) -> Lifecycle:
    """One account signs up in each hour to 5; the first one gets a plan in hour 4."""
    life = Lifecycle(graph=graph or sequential())
    life.at(6)
    for name in ("signups", "plans", "requests", "cancels"):
        life.land(name, until=6)
    life.land("signups", *((each, each + 0.1) for each in range(6)))
    life.land("plans", (0, 4.5))
    life.land("cancels", (5, 5.5))
    life.land("requests", (5, 4.2))
    life.build()
    return life


def from_scratch(life: Lifecycle, until: int) -> list[tuple[object, ...]]:
    """The states of all accounts at the end of each hour, from what has landed, by hand."""
    events = [
        (at, state, account)
        for state, name in ((1, "signups"), (2, "plans"), (3, "cancels"))
        for account, at in life.landed(name)
    ]
    states: dict[int, int] = {}
    rows: list[tuple[object, ...]] = []
    for hour in range(until):
        start, end = hour_of(hour), hour_of(hour + 1)
        found = sorted((state, who) for at, state, who in events if start <= at < end)
        states |= {who: state for state, who in found}
        rows += [(who, start, state) for who, state in states.items()]
    return sorted(rows)


def computed(life: Lifecycle) -> tuple[Interval, ...]:
    """The hours that the last session of the dimension wrote."""
    state = life.services().state
    (last,) = state.sessions(bound(life.services()).key(STATE), limit=1)
    assert last.publication is not None
    return tuple(each.interval for each in last.publication.changes)


@pytest.mark.full
def test_late_events_of_the_hours_two_and_three_are_carried_to_the_last_hour() -> None:
    life = loaded()
    life.at(8)
    for table in ("signups", "plans"):
        life.land(table, (20, 2.2), (30, 3.2), (60, 6.2), until=7)
    life.land("requests", until=8)
    life.land("cancels", (50, 5.6), (60, 6.6), (70, 7.6), until=8)
    for fact in FACTS:
        life.catch_up(fact)
    found = life.catch_up(STATE)
    assert isinstance(found, Evaluated)
    assert computed(life) == hours(2, 3, 4, 5, 6)
    assert life.rows(STATE) == from_scratch(life, 7)
    assert mismatches(life.services(), STATE) == []
    assert isinstance(life.decided(STATE), NothingToLoad)


@pytest.mark.full
def test_the_repair_stops_where_an_hour_comes_out_as_it_was_and_jumps_to_the_next_change() -> None:
    life = loaded()
    life.at(7)
    # A late plan in hour 3 of whoever got another one in hour 4: from there on nothing differs.
    life.land("plans", (0, 3.5), until=7)
    life.land("signups", (9, 6.1), until=7)
    for table in ("requests", "cancels"):
        life.land(table, until=7)
    for fact in FACTS:
        life.catch_up(fact)
    services = life.services()
    before = {
        each.interval: each.digest
        for each in services.state.ledger([bound(services).key(STATE)])[bound(services).key(STATE)]
    }
    decision = life.decided(STATE)
    assert isinstance(decision, Load)
    assert decision.fill == (*hours(3), *hours(6))
    life.catch_up(STATE)
    assert computed(life) == hours(3, 4, 6)
    assert life.rows(STATE) == from_scratch(life, 7)
    key = bound(services).key(STATE)
    after = {each.interval: each.digest for each in services.state.ledger([key])[key]}
    assert {each for each in before if before[each] != after[each]} == set(hours(3))


@pytest.mark.full
def test_an_hour_that_a_person_evaluates_again_is_followed_by_what_reads_it() -> None:
    life = loaded()
    life.land("signups", (8, 1.5))
    life.catch_up(SIGNUPS)
    services = life.services()
    evaluate_range(services, bound(services), STATE, span(1, 1))
    assert life.rows(STATE) == from_scratch(life, 6)
    assert mismatches(life.services(), STATE) == []


def test_an_hour_behind_one_that_is_held_back_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = loaded()
    life.at(9)
    for table in ("signups", "plans", "requests", "cancels"):
        life.land(table, until=9)
    for fact in FACTS:
        life.catch_up(fact)

    def without_hour_seven(*arguments: Any, **options: Any) -> Due:
        found = due_of(*arguments, **options)
        return replace(found, missing=subtract(found.missing, hours(7)))

    with monkeypatch.context() as patched:
        patched.setattr("vde_dagster.app.catch_up.stateful.due_of", without_hour_seven)
        found = life.decided(STATE)
        assert isinstance(found, Load)
        assert found.fill == hours(6)
        services = life.services()
        with pytest.raises(Refused, match="own rows of the previous interval, which is not loaded"):
            evaluate_range(services, bound(services), STATE, span(8, 8))
    life.catch_up(STATE)
    assert life.rows(STATE) == from_scratch(life, 9)
