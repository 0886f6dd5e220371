"""Which Iceberg snapshots the state names (rule R3), in every adapter of the state."""

from __future__ import annotations

from dataclasses import replace

from tests.state.builders import KEY, MINUTE, RAW, SALES, change, intent, mark, publication
from tests.state.conftest import Store
from vde_dagster.core.clean_up.pinning import Named, NamedWork
from vde_dagster.core.ledger.entries import Trace
from vde_dagster.core.ledger.unit_of_work import Publication
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.ports.state import Lease, State, version_resource

OTHER = VersionKey(ModelName("shop", "other"), "b" * 32)


def lease_on(state: State, key: VersionKey = KEY) -> Lease:
    return state.acquire_lease(version_resource(key), holder="me", ttl=MINUTE)


def staged(at: int, day: int = 0, trace: Trace | None = None) -> Publication:
    found = replace(publication(replace(change(day), trace=trace)), iceberg_snapshot_id=at)
    return replace(found, marks=(mark(3),))


def begin(state: State, work_id: str, lease: Lease, key: VersionKey = KEY, base: int = 1) -> None:
    begun = replace(intent(work_id, key=key), base=base, inputs={RAW: 7, SALES: None}, beside=(8,))
    state.record_intent(begun, lease=lease)


def finish(state: State, work_id: str, lease: Lease, found: Publication) -> None:
    state.record_staged(work_id, found, lease=lease)
    state.finalize(work_id, lease=lease)


def works(named: Named) -> dict[str, NamedWork]:
    return {each.work_id: each for each in named.works}


def test_a_state_with_nothing_names_nothing(store: Store) -> None:
    assert store.state.named_snapshots() == Named(number=0)
    assert store.state.named_since(0, KEY) == Named(number=0)


def test_heads_entries_work_and_marks_are_named(store: Store) -> None:
    state, trace = store.state, Trace(key="k", inputs={RAW: "token"})
    lease = lease_on(state)
    for number, (work_id, at) in enumerate([("w1", 21), ("w2", 22)]):
        begin(state, work_id, lease)
        finish(state, work_id, lease, staged(at, number, trace if number else None))
    found = state.named_snapshots()
    assert found.heads == {KEY: 22}
    assert {(each.work_id, each.told) for each in found.entries} == {
        ("w1", frozenset()),
        ("w2", frozenset({RAW})),
    }
    assert [(each.key, each.iceberg_snapshot_id) for each in found.marks] == [
        (KEY, mark(3).iceberg_snapshot_id)
    ]
    assert works(found)["w1"] == NamedWork(
        work_id="w1", key=KEY, may_publish=False, own=(1, 21), inputs={RAW: 7}, beside=(8,)
    )


def test_work_that_nothing_names_any_more_names_nothing(store: Store) -> None:
    state = store.state
    lease = lease_on(state)
    for work_id, at in (("w1", 21), ("w2", 22)):
        begin(state, work_id, lease)
        finish(state, work_id, lease, staged(at))
    begin(state, "w3", lease)
    state.abandon("w3", reason="it failed", lease=lease)
    assert works(state.named_snapshots()).keys() == {"w2"}


def test_open_and_refused_work_may_publish(store: Store) -> None:
    state = store.state
    lease = lease_on(state)
    begin(state, "refused", lease)
    state.abandon("refused", reason="an audit failed", lease=lease, refused=staged(31))
    begin(state, "intended", lease)
    begin(state, "staged", lease)
    state.record_staged("staged", staged(32), lease=lease)
    found = works(state.named_snapshots())
    assert {name: (each.may_publish, each.own) for name, each in found.items()} == {
        "refused": (True, (1, 31)),
        "intended": (True, (1,)),
        "staged": (True, (1, 32)),
    }


def test_what_began_and_ended_since_is_named_as_if_it_ran(store: Store) -> None:
    state = store.state
    lease, other = lease_on(state), lease_on(state, OTHER)
    begin(state, "before", lease)
    number = state.named_snapshots().number
    assert works(state.named_since(number)).keys() == {"before"}
    finish(state, "before", lease, staged(21))
    begin(state, "after", other, OTHER, base=5)
    finish(state, "after", other, staged(41))
    found = state.named_since(number)
    assert works(found).keys() == {"after"}
    assert works(found)["after"].may_publish
    assert (found.heads, found.entries) == ({}, ())


def test_of_the_version_whose_lease_is_held_head_and_entries_are_read_again(store: Store) -> None:
    state = store.state
    lease = lease_on(state)
    begin(state, "before", lease)
    number = state.named_snapshots().number
    finish(state, "before", lease, staged(21))
    found = state.named_since(number, KEY)
    assert found.heads == {KEY: 21}
    assert [each.work_id for each in found.entries] == ["before"]
    assert state.named_since(number, OTHER).heads == {}
