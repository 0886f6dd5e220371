"""A state that is made by the first write, whoever looks at it before."""

from __future__ import annotations

from datetime import timedelta

from vde_dagster.state import schema
from vde_dagster.state.sql_state import SqlState
from vde_dagster.state.stored_state import StoredState

A_MINUTE = timedelta(minutes=1)


def test_what_is_read_is_an_empty_state_until_somebody_writes(sql_url: str) -> None:
    state = SqlState.open(sql_url, moves=False)
    assert (state.environments(), state.revision("prod")) == ((), 0)
    assert StoredState(sql_url).found_version() == 0
    state.acquire_lease("one", holder="me", ttl=A_MINUTE)
    assert StoredState(sql_url).version() == schema.VERSION
    assert [each.resource for each in state.leases()] == ["one"]


def test_who_opened_it_before_sees_what_others_wrote_into_it(sql_url: str) -> None:
    early, other = (SqlState.open(sql_url, moves=False) for _ in range(2))
    assert early.leases() == ()
    lease = other.acquire_lease("one", holder="other", ttl=A_MINUTE)
    assert [each.holder for each in early.leases()] == ["other"]
    early.acquire_lease("two", holder="early", ttl=A_MINUTE)
    assert {each.resource for each in other.leases()} == {lease.resource, "two"}


def test_its_id_is_the_one_that_it_keeps(sql_url: str) -> None:
    first, second = (SqlState.open(sql_url, moves=False) for _ in range(2))
    identity = first.identity()
    assert second.identity() == first.identity() == identity
    assert StoredState(sql_url).version() == schema.VERSION
