"""Which Iceberg snapshots are pinned (rules R3 and R12): by tables, and against a naive model."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.core.clean_up.pinning import (
    Named,
    NamedEntry,
    NamedMark,
    NamedWork,
    Pins,
    both,
    pins,
)
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName

SALES, TOTAL = ModelName("mart", "sales"), ModelName("mart", "total")
V, W = VersionKey(SALES, "a" * 32), VersionKey(TOTAL, "b" * 32)


def entry(*told: ModelName, work_id: str = "w") -> NamedEntry:
    return NamedEntry(key=W, work_id=work_id, told=frozenset(told))


def work(
    inputs: Mapping[ModelName, int], *own: int, may_publish: bool = False, beside: int | None = None
) -> NamedWork:
    return NamedWork(
        work_id="w",
        key=W,
        may_publish=may_publish,
        own=own,
        inputs=inputs,
        beside=() if beside is None else (beside,),
    )


@pytest.mark.parametrize(
    "named,at,since",
    [
        (Named(number=1), set(), set()),
        (Named(number=1, heads={V: 7}), {7}, set()),
        (Named(number=1, entries=(entry(),)), set(), set()),
        (Named(number=1, marks=(NamedMark(key=V, iceberg_snapshot_id=7),)), set(), {7}),
        (Named(number=1, works=(work({SALES: 7}, 8, 9, beside=6),)), set(), set()),
        (
            Named(number=1, works=(work({SALES: 7}, 8, 9, may_publish=True, beside=6),)),
            {6, 8, 9},
            {7},
        ),
        # An entry without a token of what it read is compared with what became of that since.
        (Named(number=1, entries=(entry(),), works=(work({SALES: 7}),)), set(), {7}),
        (Named(number=1, entries=(entry(SALES),), works=(work({SALES: 7}),)), set(), set()),
        (Named(number=1, entries=(entry(work_id="x"),), works=(work({SALES: 7}),)), set(), set()),
    ],
)
def test_what_is_pinned(named: Named, at: set[int], since: set[int]) -> None:
    found = pins(named, by_history=())
    assert (set(found.at), set(found.since)) == (at, since)
    assert all(found.at.values())
    assert all(found.since.values())


def test_what_is_loaded_in_parts_without_times_is_kept_for_every_reader() -> None:
    named = Named(number=1, entries=(entry(SALES),), works=(work({SALES: 7}),))
    assert set(pins(named, by_history=()).since) == set()
    assert set(pins(named, by_history={SALES}).since) == {7}


names = st.sampled_from([SALES, TOTAL, ModelName("raw", "events")])
keys = st.builds(VersionKey, names, st.sampled_from(["a" * 32, "b" * 32]))
ids = st.integers(1, 12)
work_ids = st.sampled_from(["w1", "w2", "w3"])
works = st.builds(
    NamedWork,
    work_id=work_ids,
    key=keys,
    may_publish=st.booleans(),
    own=st.lists(ids, max_size=2).map(tuple),
    inputs=st.dictionaries(names, ids, max_size=3),
    beside=st.lists(ids, max_size=1).map(tuple),
)
facts = st.builds(
    Named,
    number=st.just(1),
    heads=st.dictionaries(keys, ids, max_size=2),
    entries=st.lists(
        st.builds(
            NamedEntry,
            key=keys,
            work_id=work_ids,
            told=st.frozensets(names, max_size=2),
        ),
        max_size=4,
    ).map(tuple),
    works=st.lists(works, max_size=3, unique_by=lambda each: each.work_id).map(tuple),
    marks=st.lists(st.builds(NamedMark, key=keys, iceberg_snapshot_id=ids), max_size=2).map(tuple),
)
histories = st.frozensets(names, max_size=2)


def is_at(named: Named, each: int) -> bool:
    return each in named.heads.values() or any(
        work.may_publish and each in (*work.own, *work.beside) for work in named.works
    )


def is_since(named: Named, each: int, by_history: Collection[ModelName]) -> bool:
    return (
        any(mark.iceberg_snapshot_id == each for mark in named.marks)
        or any(work.may_publish and each in work.inputs.values() for work in named.works)
        or any(
            work.inputs[name] == each and (name not in entry.told or name in by_history)
            for entry in named.entries
            for work in named.works
            if work.work_id == entry.work_id
            for name in work.inputs
        )
    )


@given(facts, histories)
def test_exactly_what_anything_names_is_pinned(
    named: Named, by_history: frozenset[ModelName]
) -> None:
    found = pins(named, by_history=by_history)
    assert set(found.at) == {each for each in range(1, 13) if is_at(named, each)}
    assert set(found.since) == {each for each in range(1, 13) if is_since(named, each, by_history)}


@given(facts, facts)
def test_what_one_of_two_looks_has_found_is_pinned(one: Named, other: Named) -> None:
    first, second = (pins(each, by_history=()) for each in (one, other))
    found = both(first, second)
    assert dict(found.at) == {**second.at, **first.at}
    assert dict(found.since) == {**second.since, **first.since}
    assert len(found.at) == len({*first.at, *second.at})
    assert both(found, Pins(at={}, since={})).at == found.at
