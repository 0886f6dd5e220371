"""Keyed models of changes over a model of the project: only what was added upstream is merged."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime
from typing import Final, cast

import pytest

from tests.app.memory_world import (
    RAW,
    WRITING,
    Fuse,
    MemoryWorld,
    PowerCut,
    bound,
    graph_of,
    hour_of,
    made_once,
    mismatches,
)
from tests.worlds.engine import MemoryEngine
from vde_dagster.app.apply import merging
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.apply.merging import merge_gained
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.staleness.remembered_looks import remember_looks
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.staleness import FreshAt
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_text import late_or_changed
from vde_dagster.core.time.intervals import Interval

EVENTS, CURRENT, HISTORY = (ModelName("a", each) for each in ("events", "current", "history"))
ORDER: Final = "unique_key thing, sequence_by (at, id), delete_when amount = 0"
KEYED: Final = f"INCREMENTAL_BY_UNIQUE_KEY ({ORDER})"
PLAIN: Final = "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)"
SESSIONS: Final = ", late_data (mode stateless, sources (raw.events))"
BOUNDED: Final = "WHERE at BETWEEN @start_ts AND @end_ts"
READ: Final = f"SELECT thing, id, at, amount FROM a.events {BOUNDED}"


def project(kind: str = KEYED, query: str = READ, late: str = SESSIONS, more: str = "") -> Graph:
    """Events of three things, the things' state and history, and a reader."""
    return graph_of(
        {
            "events": "MODEL (name a.events, kind INCREMENTAL_BY_TIME_RANGE (time_column at), "
            f"cron '@hourly'{late}); "
            f"SELECT id % 3 AS thing, id, at, amount{more} FROM raw.events {BOUNDED}",
            "current": f"MODEL (name a.current, kind {kind}, cron '@hourly'); {query}",
            "history": f"MODEL (name a.history, kind SCD_TYPE_2_BY_TIME ({ORDER}), "
            f"cron '@hourly'); {READ}",
            "seen": "MODEL (name a.seen, kind VIEW); SELECT thing, id, at, amount FROM a.events",
            "total": "MODEL (name a.total, kind FULL, cron '@hourly'); "
            "SELECT COALESCE(SUM(amount), 0) AS amount, COUNT(*) AS things FROM a.current",
        }
    )


@made_once
def loaded(
    kind: str = KEYED, query: str = READ, late: str = SESSIONS, hours: int = 4
) -> MemoryWorld:
    """Three things in some hours, of which one is deleted, loaded in one batch."""
    events = [(0.2, 10), (0.4, 20), (0.6, 30), (1.5, 0), (2.5, 4)]
    world = MemoryWorld.landed(*events, until=hours)
    world.build(project(kind, query, late))
    return world


def changes(world: MemoryWorld, until: float) -> list[tuple[int, datetime, int, int]]:
    """What the source has up to an hour: thing, time, id and amount."""
    _, rows = MemoryEngine(world.catalog).fetch(f"SELECT id, at, amount FROM {RAW}", limit=10_000)
    found = [(int(str(each[0])), cast("datetime", each[1]), int(str(each[2]))) for each in rows]
    return sorted((id_ % 3, at, id_, amount) for id_, at, amount in found if at < hour_of(until))


def check(world: MemoryWorld, until: float, *, with_history: bool = True) -> None:
    """Compare what readers see with what the source's changes give."""
    last = {thing: amount for thing, _, _, amount in changes(world, until)}
    wanted = sorted((thing, amount) for thing, amount in last.items() if amount)
    assert [(row[0], row[3]) for row in world.rows("a.current")] == wanted
    assert world.rows("a.total") == [(sum(amount for _, amount in wanted), len(wanted))]
    if with_history:
        check_history(world, until)
    for name in (CURRENT, HISTORY):
        assert mismatches(world.services(), name) == []


def check_history(world: MemoryWorld, until: float) -> None:
    versions: list[tuple[object, ...]] = []
    for thing in range(3):
        own = [each[1:] for each in changes(world, until) if each[0] == thing]
        ends = [*(at for at, _, _ in own[1:]), None]
        pairs = zip(own, ends, strict=False)
        versions += [(thing, id_, at, end) for (at, id_, amount), end in pairs if amount]
    seen = [(row[0], row[1], row[4], row[5]) for row in world.rows("a.history")]
    assert sorted(seen, key=str) == sorted(versions, key=str)


def told(plan: Plan, name: ModelName) -> list[str]:
    """What a plan says of what is late or changed upstream of a model."""
    (change,) = (each for each in plan.changes if each.name == name)
    return list(late_or_changed(plan, change))


def of(done: tuple[Evaluated, ...], name: ModelName) -> list[Evaluated]:
    return [each for each in done if each.key.model == name and not each.reused]


def caught_up(world: MemoryWorld) -> None:
    """The events upstream have their late rows, and nothing downstream does."""
    world.catch_up(EVENTS)


def test_only_the_hours_with_rows_that_were_added_upstream_are_merged() -> None:
    world = loaded()
    world.land((1.7, 70), (0.1, 80), until=4)
    assert told(world.plan_run(), CURRENT)[-1] == (
        "merged by key if a.events only gained rows, otherwise rebuilt whole"
    )
    caught_up(world)
    plan = world.plan_run()
    first, how = told(plan, CURRENT)
    assert first.startswith("2 hours, 2024-01-01 to 2024-01-01 02:00 ")
    assert how == "merged by key: a.events only gained rows, at most 2 rows for these times"
    assert told(plan, HISTORY)[-1] == how
    done = world.apply(plan)
    assert [each.interval for each in of(done, CURRENT)] == [Interval(hour_of(0), hour_of(2))]
    assert [each.interval for each in of(done, HISTORY)] == [Interval(hour_of(0), hour_of(2))]
    check(world, 4)
    assert world.plan_run().is_empty


def test_one_run_loads_late_rows_upstream_and_merges_them_beside_a_new_hour() -> None:
    world = loaded()
    world.land((1.7, 70), (0.1, 80), (4.5, 3), until=5)
    done = world.run()
    assert [each.interval for each in of(done, CURRENT)] == [
        Interval(hour_of(0), hour_of(2)),
        Interval(hour_of(4), hour_of(5)),
    ]
    check(world, 5)
    assert world.plan_run().is_empty


def taken_away(world: MemoryWorld) -> None:
    """The source has not got one of the changes of an hour any more."""
    world.land((2.6, 6), until=4)
    world.run()
    rows = world.catalog.tables[RAW].rows_at(world.catalog.tables[RAW].head)
    world.catalog.delete(RAW, [row for row in rows if row[2] != 4])


def test_a_table_whose_upstream_rows_were_taken_away_is_rebuilt_and_a_history_is_kept() -> None:
    world = loaded(late="")
    taken_away(world)
    evaluate_range(world.services(), world.bound(), EVENTS, Interval(hour_of(2), hour_of(3)))
    whole, how = told(world.plan_run(), CURRENT)
    assert whole.startswith("4 hours")
    assert how == "rebuilt whole, 2 rows: rows of a.events were replaced or deleted"
    done = world.run()
    assert len(of(done, CURRENT)) == 1
    assert not of(done, HISTORY)
    last = {thing: amount for thing, _, _, amount in changes(world, 4)}
    assert {row[0]: row[3] for row in world.rows("a.current")} == {
        thing: amount for thing, amount in last.items() if amount
    }
    (text,) = told(world.plan_run(), HISTORY)
    assert "never computed again" in text
    assert "it cannot be merged: rows of a.events were replaced or deleted" in text


def test_a_history_that_was_to_be_merged_and_cannot_be_stays_as_it_is() -> None:
    world = loaded(late="")
    taken_away(world)
    before = world.rows("a.history")
    assert told(world.plan_run(), HISTORY)[-1].endswith(
        "only gained rows, otherwise left unchanged"
    )
    done = world.run()
    assert len(of(done, CURRENT)) == 1
    assert not of(done, HISTORY)
    assert world.rows("a.history") == before


@pytest.mark.parametrize(
    "query,why",
    [
        (READ.replace("a.events", "a.seen"), "it reads a view, whose query is not analysed"),
        (
            f"SELECT DISTINCT thing, id, at, amount FROM a.events {BOUNDED}",
            "its query has DISTINCT",
        ),
        (
            f"SELECT thing, id, at, MAX(amount) AS amount FROM a.events {BOUNDED} GROUP BY ALL",
            "its query has an aggregate",
        ),
        (f"SELECT thing, id, at, amount, @start_ts AS since FROM a.events {BOUNDED}", "@start_ts"),
        (
            f"SELECT thing, id, at, amount, @execution_ts AS ran FROM a.events {BOUNDED}",
            "the query depends on when it is run",
        ),
    ],
    ids=["view", "distinct", "aggregate", "start", "execution"],
)
def test_a_query_whose_changes_may_come_out_otherwise_is_rebuilt(query: str, why: str) -> None:
    world = loaded(query=query)
    world.land((1.7, 70), (0.1, 80), until=4)
    caught_up(world)
    whole, how = told(world.plan_run(), CURRENT)
    assert whole.startswith("4 hours")
    assert how.startswith("rebuilt whole, ")
    assert why in how
    assert [each.interval for each in of(world.run(), CURRENT)] == [
        Interval(hour_of(0), hour_of(4))
    ]


def test_without_an_order_a_plan_says_what_declaring_one_would_do() -> None:
    world = loaded(kind=PLAIN)
    world.land((1.7, 70), until=4)
    caught_up(world)
    assert told(world.plan_run(), CURRENT)[-1] == (
        "rebuilt whole, 5 rows: with `sequence_by`, rows only added upstream are merged instead"
    )


def test_what_was_read_long_ago_and_has_expired_is_known_by_the_last_look() -> None:
    world = loaded()
    for until in (5, 6):
        world.land((until - 0.5, 7), until=until)
        world.run()
    world.catalog.expire(table_of(world))
    world.land((1.7, 70), until=6)
    caught_up(world)
    assert told(world.plan_run(), CURRENT)[-1].startswith("merged by key: ")
    world.run()
    check(world, 6)


def test_what_expired_unseen_may_have_been_anything_and_all_is_rebuilt() -> None:
    world = loaded()
    world.land((1.7, 70), until=4)
    caught_up(world)
    world.land((1.8, 70), until=4)
    caught_up(world)
    world.catalog.expire(table_of(world))
    how = told(world.plan_run(), CURRENT)[-1]
    assert how.startswith("rebuilt whole, 2 rows: ")
    assert "are unknown" in how
    world.run()
    assert [(row[0], row[3]) for row in world.rows("a.current")]


def test_a_look_that_finds_something_stale_says_nothing_of_when_nothing_was() -> None:
    world = loaded()
    world.land((1.7, 70), until=4)
    caught_up(world)
    remember_looks(world.services(), world.bound())
    world.catalog.expire(table_of(world))
    assert "are unknown" in told(world.plan_run(), CURRENT)[-1]


def test_what_was_recorded_after_a_look_was_not_fresh_at_that() -> None:
    world = loaded()
    world.land((1.7, 70), until=4)
    caught_up(world)
    world.catalog.expire(table_of(world))
    key, events = world.bound().key(CURRENT), world.bound().key(EVENTS)
    heads = {EVENTS: world.state.heads([events])[events]}
    for number, how in ((0, "are unknown"), (1, "merged by key")):
        look = replace(
            world.state.last_looks([key])[key], fresh=FreshAt(number=number, heads=heads)
        )
        world.state.record_looks({key: look})
        assert how in told(world.plan_run(), CURRENT)[-1]


def computed_again(world: MemoryWorld, hour: int) -> None:
    """An hour upstream is replaced by what the source has of it."""
    within = Interval(hour_of(hour), hour_of(hour + 1))
    evaluate_range(world.services(), world.bound(), EVENTS, within, force=True)


def check_merges(world: MemoryWorld) -> None:
    """A late row upstream is merged, and a plan says so before."""
    world.land((1.7, 70), until=4)
    caught_up(world)
    for name in (CURRENT, HISTORY):
        assert told(world.plan_run(), name)[-1].startswith("merged by key: ")
    world.run()
    check(world, 4)


def test_equal_rows_upstream_are_no_change_also_after_a_merge() -> None:
    world = loaded()
    world.land((1.7, 70), until=4)
    world.run()
    computed_again(world, 0)
    for name in (CURRENT, HISTORY):
        assert told(world.plan_run(), name) == []


def test_what_was_replaced_before_nothing_was_stale_does_not_count() -> None:
    world = loaded()
    computed_again(world, 1)
    world.run()
    check_merges(world)


def test_hours_of_a_history_that_can_be_merged_are_whatever_others_have_lost() -> None:
    world = loaded(late="")
    world.land((4.5, 7), (4.6, 8), until=5)
    world.run()
    rows = world.catalog.tables[RAW].rows_at(world.catalog.tables[RAW].head)
    world.catalog.delete(RAW, [row for row in rows if row[2] != 7])
    world.land((0.1, 80), until=5)
    computed_again(world, 4)
    computed_again(world, 0)
    first, how, kept = told(world.plan_run(), HISTORY)
    assert first.startswith("1 hour, 2024-01-01 to 2024-01-01 01:00")
    assert how.startswith("merged by key: ")
    assert "1 hour, 2024-01-01 04:00 to 2024-01-01 05:00" in kept
    assert kept.endswith("it cannot be merged: rows of a.events were replaced or deleted")
    world.run()
    assert 80 in {row[3] for row in world.rows("a.history")}


def test_what_stays_under_a_new_version_upstream_merges_what_that_gains() -> None:
    world = loaded()
    before = world.bound()
    world.build(project(more=", amount + 1 AS more"))
    assert world.bound().key(CURRENT) == before.key(CURRENT)
    assert world.bound().key(EVENTS) != before.key(EVENTS)
    check_merges(world)


def table_of(world: MemoryWorld) -> TableName:
    return world.bound().table(EVENTS)


@pytest.mark.parametrize("most", [1, 50])
def test_all_stale_hours_are_merged_by_one_write(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "_MOST", most)
    world = loaded()
    for until in (5, 6, 7):
        world.land((until - 0.5, 7), until=until)
        world.run()
    world.land((0.1, 80), (4.7, 70), (6.8, 9), until=7)
    caught_up(world)
    done = world.run()
    for name in (CURRENT, HISTORY):
        assert len(of(done, name)) == 1
        assert mismatches(world.services(), name) == []
    check(world, 7)
    assert world.plan_run().is_empty


@pytest.mark.parametrize("seed", range(6))
def test_what_is_shown_follows_from_the_changes_that_have_come(seed: int) -> None:
    drawing = random.Random(seed)
    world, until, unseen = loaded(), 4, False
    for _ in range(8):
        until += drawing.choice([0, 0, 1, 2])
        landing = [
            (drawing.randrange(until * 10) / 10 + 0.05, drawing.choice([0, 1, 2, 3]))
            for _ in range(drawing.randrange(4))
        ]
        world.land(*landing, until=until)
        if drawing.random() < 0.3:
            caught_up(world)
        if drawing.random() < 0.3:
            world.catalog.expire(table_of(world))
            unseen = True  # so that a history may be kept as it is
        if drawing.random() < 0.7:
            world.run()
            check(world, until, with_history=not unseen)


@pytest.mark.parametrize("name", [CURRENT, HISTORY], ids=str)
def test_a_merge_that_dies_after_any_call_is_completed_by_the_next_run(name: ModelName) -> None:
    start, fuse, times = loaded(), Fuse(), [Interval(hour_of(0), hour_of(2))]
    start.land((1.7, 70), (0.1, 80), (4.5, 3), until=5)
    caught_up(start)
    services = start.copied().services(fuse)
    assert merge_gained(services, bound(services), name, times)
    for call in [at for at, name in enumerate(fuse.names, start=1) if name in WRITING]:
        world = start.copied()
        services = world.services(Fuse(cut_at=call, after=True))
        with pytest.raises(PowerCut):
            merge_gained(services, bound(services), name, times)
        world.reboot()
        merged = merge_gained(world.services(), world.bound(), name, times)
        assert not isinstance(merged, str)
        done = (*merged, *world.run())
        whole = Interval(hour_of(0), hour_of(3))
        assert not [each for each in of(done, name) if each.interval.contains(whole)]
        check(world, 5)
