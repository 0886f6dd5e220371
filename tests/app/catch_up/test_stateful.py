"""Stateful sessions over several sources, in memory: the seed's example, and what is pending."""

from __future__ import annotations

from functools import cache

import pytest

from tests.app.catch_up.lifecycle import (
    CANCELS,
    MODELS,
    PLANS,
    REQUESTS,
    SIGNUPS,
    STATE,
    Lifecycle,
    hours,
    span,
)
from tests.app.memory_world import bound, hour_of
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.core.ledger.late.decision import Load, NothingToLoad
from vde_dagster.core.ledger.late.pending import PendingReason
from vde_dagster.core.names import TableName


def loaded_to_hour_five() -> Lifecycle:
    found = _loaded_to_hour_five()
    return Lifecycle(world=found.world.copied(), graph=found.graph, made=True)


@cache
def _loaded_to_hour_five() -> Lifecycle:
    life = Lifecycle()
    life.at(6)
    for hour in range(6):
        life.land("signups", (hour, hour + 0.1), until=6)
        life.land("plans", (hour, hour + 0.3), until=6)
        life.land("requests", (hour, hour + 0.4), until=6)
        life.land("cancels", (hour, hour + 0.5), until=6)
    life.build()
    return life


def late_data_comes(life: Lifecycle) -> None:
    """Signups and plans of the hours 2, 3 and 6; cancels of the hours 5, 6 and 7."""
    life.at(8)
    for name in ("signups", "plans"):
        life.land(name, (20, 2.2), (30, 3.2), (60, 6.2), until=7)
    life.land("requests", until=8)
    life.land("cancels", (50, 5.6), (60, 6.6), (70, 7.6), until=8)


def test_the_seeds_example_is_decided_as_the_seed_says() -> None:
    life = loaded_to_hour_five()
    late_data_comes(life)
    for name in (SIGNUPS, PLANS, REQUESTS, CANCELS):
        life.catch_up(name)
    cancels = life.services().state.sessions(bound(life.services()).key(CANCELS), limit=1)
    assert cancels[0].intent.session is not None
    assert cancels[0].intent.session.fill == (span(5, 7),)
    found = life.decided(STATE)
    assert isinstance(found, Load)
    assert found.fill == (span(2, 3), span(5, 6))
    assert [(each.interval, each.sources, each.reason) for each in found.pending] == [
        (hours(7)[0], (CANCELS,), PendingReason.INCOMPLETE)
    ]
    done = life.catch_up(STATE)
    assert isinstance(done, Evaluated)
    assert sorted(life.rows(STATE)) == sorted(expected(life))


def expected(life: Lifecycle) -> list[tuple[object, ...]]:
    """What has landed of the hours to 6, put together by hand."""
    return [
        (account, at, number)
        for number, name in ((1, "signups"), (2, "plans"), (3, "cancels"))
        for account, at in life.landed(name)
        if at < span(0, 6).end
    ]


@pytest.mark.full
def test_what_is_pending_is_loaded_once_the_other_sources_are_there() -> None:
    life = loaded_to_hour_five()
    late_data_comes(life)
    for name in MODELS:
        life.catch_up(name)
    services = life.services()
    key = bound(services).key(STATE)
    assert [each.interval for each in services.state.pending([key])[key]] == [*hours(7)]
    assert isinstance(life.decided(STATE), NothingToLoad)
    for raw, fact in (("signups", SIGNUPS), ("plans", PLANS)):
        life.land(raw, until=8)
        life.catch_up(fact)
    found = life.decided(STATE)
    assert isinstance(found, Load)
    assert found.fill == hours(7)
    life.catch_up(STATE)
    assert services.state.pending([key]) == {}


def test_a_changed_model_is_loaded_where_another_source_has_lost_rows() -> None:
    life = loaded_to_hour_five()
    table = TableName("raw", "cancels")
    found = life.world.catalog.tables[table]
    life.land("cancels", (2, 2.9))
    life.catch_up(CANCELS)
    rows = [row for row in found.rows_at(found.head) if row[1] != hour_of(2.9)]
    life.world.catalog.delete(table, rows)
    life.catch_up(CANCELS)
    services = life.services()
    key = bound(services).key(CANCELS)
    assert [each.reason for each in services.state.pending([key])[key]] == [PendingReason.REMOVED]
    life.land("requests", (2, 2.1))
    life.catch_up(REQUESTS)
    decision = life.decided(CANCELS)
    assert isinstance(decision, Load)
    assert decision.fill == hours(2)
