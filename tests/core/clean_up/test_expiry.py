"""Which Iceberg snapshots of a table expire: by tables, and compared with a naive model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import examples
from vde_dagster.core.clean_up.expiry import (
    REPAIR_TAG,
    IcebergSnapshot,
    TableHistory,
    due_tags,
    expiry,
)
from vde_dagster.core.clean_up.pinning import Pins

NOW = datetime(2024, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
WEEK = 7 * DAY
FREE = Pins(at={}, since={})


def ago(days: float) -> datetime:
    return NOW - days * DAY


def at(*ids: int) -> Pins:
    return Pins(at=dict.fromkeys(ids, "named"), since={})


def since(*ids: int) -> Pins:
    return Pins(at={}, since=dict.fromkeys(ids, "read"))


def snapshot(
    id_: int, parent: int | None, *, age: float = 30, compaction: bool = False
) -> IcebergSnapshot:
    return IcebergSnapshot(id=id_, parent=parent, committed_at=ago(age), is_compaction=compaction)


def line(*ages: float, compactions: tuple[int, ...] = ()) -> TableHistory:
    """Iceberg snapshots 1, 2, ... of these ages in days, each made from the one before."""
    snapshots = {
        number: snapshot(number, number - 1 or None, age=age, compaction=number in compactions)
        for number, age in enumerate(ages, start=1)
    }
    return TableHistory(head=len(ages), snapshots=snapshots)


def expired(history: TableHistory, pins: Pins = FREE, *, newest: int = 0) -> tuple[int, ...]:
    return expiry(history, pins, now=NOW, keep=WEEK, newest=newest).expired


OLD = line(30, 29, 28, 27)


@pytest.mark.parametrize(
    "history,pins,gone",
    [
        (TableHistory(head=None, snapshots={}), FREE, ()),
        (OLD, FREE, (1, 2, 3)),
        (OLD, at(2), (1, 3)),
        (OLD, since(2), (1,)),
        (OLD, since(9), (1, 2, 3)),
        (replace(OLD, tags={"t": 1}), FREE, (2, 3)),
        (replace(OLD, branches={"w_x": 3}), FREE, (1, 2)),
        # what was replaced less than a week ago stays, whenever it was made
        (line(30, 29, 28, 6.9), FREE, (1, 2)),
        (line(30, 29, 28, 7), FREE, (1, 2, 3)),
        (replace(OLD, left_at={3: ago(6.9)}), FREE, (1, 2)),
        (replace(OLD, left_at={1: ago(6.9)}), FREE, ()),
        # the head, and what it is a compaction of
        (line(30, 29, 28, 27, compactions=(3, 4)), FREE, (1,)),
        (line(30, 29, 28, 27, compactions=(3,)), FREE, (1, 2, 3)),
    ],
)
def test_what_expires(history: TableHistory, pins: Pins, gone: tuple[int, ...]) -> None:
    assert expired(history, pins) == gone


def test_some_of_the_newest_stay_for_a_table_that_needs_them() -> None:
    assert expired(OLD, newest=2) == (1, 2)
    assert expired(OLD, newest=9) == ()


def test_a_branch_keeps_the_way_to_where_it_began() -> None:
    snapshots = {**OLD.snapshots, 5: snapshot(5, 2), 6: snapshot(6, 5), 7: snapshot(7, 1)}
    history = replace(OLD, snapshots=snapshots, branches={"w_x": 6})
    assert expired(history) == (1, 3, 7)


def test_what_somebody_rolled_away_stays_for_its_time() -> None:
    history = replace(OLD, head=2, left_at={4: ago(6.9)})
    assert expired(history) == (1, 3)
    assert expired(replace(history, left_at={4: ago(7)})) == (1, 3, 4)


def test_where_the_catalog_lets_none_expire_each_has_a_reason_all_the_same() -> None:
    found = expiry(replace(OLD, never_expires="not here"), at(2), now=NOW, keep=WEEK)
    assert found.expired == ()
    assert found.kept == {1: "not here", 2: "named", 3: "not here", 4: "it is visible to readers"}


def test_each_that_stays_has_a_reason() -> None:
    kept = expiry(OLD, since(2), now=NOW, keep=WEEK).kept
    assert kept == {
        4: "it is visible to readers",
        3: "the table's later history depends on it",
        2: "read",
    }


def test_tags_of_repairs_go_when_readers_have_not_seen_their_rows_for_the_time() -> None:
    tags = {f"{REPAIR_TAG}1": 1, f"{REPAIR_TAG}2": 2, f"{REPAIR_TAG}3": 3, "release": 1}
    history = replace(OLD, tags=tags, left_at={1: ago(7), 2: ago(6.9)})
    assert due_tags(history, now=NOW, ttl=WEEK) == (f"{REPAIR_TAG}1",)


# Against a naive model
COUNT = 8
ages = st.floats(0, 14)
some_ids = st.frozensets(st.integers(1, COUNT), max_size=2)


@st.composite
def tables(draw: st.DrawFn) -> TableHistory:
    count = draw(st.integers(1, COUNT))
    order = sorted((draw(ages) for _ in range(count)), reverse=True)
    snapshots: dict[int, IcebergSnapshot] = {}
    for number, age in enumerate(order, start=1):
        earlier = st.sampled_from([None, *range(max(1, number - 3), number)])
        before = draw(st.just(number - 1 or None) | earlier)
        snapshots[number] = snapshot(number, before, age=age, compaction=draw(st.booleans()))
    there = st.sampled_from(sorted(snapshots))
    return TableHistory(
        head=draw(st.none() | there),
        snapshots=snapshots,
        branches=draw(st.dictionaries(st.sampled_from(["w_1", "w_2"]), there, max_size=2)),
        tags=draw(st.dictionaries(st.sampled_from(["t", "u"]), there, max_size=2)),
        left_at=draw(st.dictionaries(there, ages.map(ago), max_size=3)),
    )


pinned = st.builds(
    Pins,
    at=some_ids.map(lambda ids: dict.fromkeys(ids, "named")),
    since=some_ids.map(lambda ids: dict.fromkeys(ids, "read")),
)


def way(snapshots: Mapping[int, IcebergSnapshot], start: int | None) -> list[int]:
    found: list[int] = []
    while start is not None and start in snapshots:
        found.append(start)
        start = snapshots[start].parent
    return found


def stays(history: TableHistory, pins: Pins, each: int, newest: int) -> bool:
    """Each rule by itself, as `expiry` lists them."""
    snapshots, published = history.snapshots, way(history.snapshots, history.head)

    def current_until(number: int) -> datetime:
        place = published.index(number) if number in published else None
        follower = snapshots[published[place - 1]].committed_at if place else None
        if place is None:
            follower = snapshots[number].committed_at
        assert follower is not None
        return max(follower, history.left_at.get(number, follower))

    def is_wanted(number: int) -> bool:
        return (
            number == history.head
            or number in pins.since
            or published.index(number) < newest
            or current_until(number) > NOW - WEEK
        )

    if each in history.tags.values() or each in pins.at or each in pins.since:
        return True
    for start in history.branches.values():
        path = way(snapshots, start)
        if each in path and not any(n in published for n in path[: path.index(each)]):
            return True
    if each not in published:
        return current_until(each) > NOW - WEEK
    newer, older = published[: published.index(each)], published[published.index(each) :]
    return all(snapshots[n].is_compaction for n in newer) or any(map(is_wanted, older))


@settings(max_examples=examples(2000))
@given(tables(), pinned, st.integers(0, 2))
def test_exactly_what_no_rule_keeps_expires(history: TableHistory, pins: Pins, newest: int) -> None:
    found = expiry(history, pins, now=NOW, keep=WEEK, newest=newest)
    kept = {each for each in history.snapshots if stays(history, pins, each, newest)}
    assert set(found.kept) == kept
    assert set(found.expired) == set(history.snapshots) - kept


@settings(max_examples=examples(1000))
@given(tables(), pinned)
def test_after_one_pass_nothing_more_expires(history: TableHistory, pins: Pins) -> None:
    gone = expired(history, pins)
    left = {
        each.id: replace(each, parent=None if each.parent in gone else each.parent)
        for each in history.snapshots.values()
        if each.id not in gone
    }
    after = replace(history, snapshots=left)
    assert expired(after, pins) == ()
    line_before = way(history.snapshots, history.head)
    for each in pins.since:
        if each in line_before:
            assert each in way(left, history.head), "the line to what was read is whole"
