"""Sessions of keyed models whose rows are changes with an order, in memory."""

from __future__ import annotations

import random
from datetime import UTC, datetime
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
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.inspect.held_audits import Asked, audit_held
from vde_dagster.app.inspect.rendering import render
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

NAME, HISTORY = ModelName("a", "current"), ModelName("a", "history")
BOUNDED: Final = "WHERE at BETWEEN @start_dt AND @end_dt"
ORDER: Final = "unique_key thing, sequence_by (at, id), delete_when amount = 0"
KIND: Final = f"INCREMENTAL_BY_UNIQUE_KEY ({ORDER})"
COLUMNS: Final = "SELECT id % 3 AS thing, id AS id, at AS at, amount AS amount FROM raw.events"


def project(where: str = BOUNDED) -> Graph:
    """The state of three things, of which each change of amount 0 deletes one, and two readers."""
    return graph_of(
        {
            "current": f"MODEL (name a.current, kind {KIND}, cron '@hourly', "
            f"late_data (mode stateless, sources (raw.events))); {COLUMNS} {where}",
            "total": "MODEL (name a.total, kind FULL, cron '@hourly'); "
            "SELECT COALESCE(SUM(amount), 0) AS amount, COUNT(*) AS things FROM a.current",
            "history": f"MODEL (name a.history, kind SCD_TYPE_2_BY_TIME ({ORDER}), cron '@hourly', "
            f"late_data (mode stateless, sources (raw.events))); {COLUMNS} {where}",
            "lives": "MODEL (name a.lives, kind FULL, cron '@hourly'); "
            "SELECT thing, valid_from, valid_to FROM a.history",
            "seen": "MODEL (name a.seen, kind VIEW); SELECT thing, amount FROM a.current",
        }
    )


def changes(world: MemoryWorld, until: float | None) -> list[tuple[int, int, datetime, int]]:
    """What the source has, as changes; those before an hour only, if one is given."""
    _, rows = MemoryEngine(world.catalog).fetch(f"SELECT id, at, amount FROM {RAW}", limit=10_000)
    found = [(int(str(each[0])), cast("datetime", each[1]), int(str(each[2]))) for each in rows]
    end = hour_of(until) if until is not None else datetime.max.replace(tzinfo=UTC)
    return [(id_ % 3, id_, at, amount) for id_, at, amount in found if at < end]


def current(world: MemoryWorld, until: float | None) -> list[tuple[int, int]]:
    """The things that there must be, each with its amount: by its last change."""
    last: dict[int, tuple[datetime, int, int]] = {}
    for thing, id_, at, amount in changes(world, until):
        last[thing] = max(last.get(thing, (at, id_, amount)), (at, id_, amount))
    return sorted((thing, amount) for thing, (_, _, amount) in last.items() if amount)


def history(world: MemoryWorld, until: float | None) -> list[tuple[object, ...]]:
    """The times in which each thing was there: from each change to its next one."""
    found: list[tuple[object, ...]] = []
    for thing in range(3):
        own = sorted(
            (at, id_, amount) for t, id_, at, amount in changes(world, until) if t == thing
        )
        ends = [*(at for at, _, _ in own[1:]), None]
        pairs = zip(own, ends, strict=False)
        found += [(thing, at, end) for (at, _, amount), end in pairs if amount and at != end]
    return found


def check(world: MemoryWorld, until: float | None) -> None:
    """Compare what all readers see with what must be there."""
    wanted = current(world, until)
    assert [(row[0], row[3]) for row in world.rows("a.current")] == wanted
    assert world.rows("a.seen") == wanted
    assert world.rows("a.total") == [(sum(amount for _, amount in wanted), len(wanted))]
    lives = sorted(world.rows("a.lives"), key=lambda row: (row[0], row[1]))
    assert lives == sorted(history(world, until), key=lambda row: (row[0], row[1]))
    for name in (NAME, HISTORY):
        assert mismatches(world.services(), name) == []


@made_once
def loaded(where: str = BOUNDED) -> MemoryWorld:
    """Three things in two hours, of which one is deleted."""
    world = MemoryWorld.landed((0.2, 10), (0.4, 20), (0.6, 30), (1.5, 0), until=2)
    world.build(project(where))
    return world


def session(world: MemoryWorld) -> object:
    services = world.services()
    return catch_up(services, bound(services), NAME)


def test_a_first_load_has_the_last_change_of_each_key_and_shows_no_delete_marker() -> None:
    world = loaded()
    assert len(current(world, 2)) == 2
    check(world, 2)


def test_an_older_change_that_comes_late_changes_nothing_and_brings_no_key_back() -> None:
    world = loaded()
    before = world.rows("a.current")
    world.land((1.1, 70), (1.2, 80), (1.3, 90), until=2)
    assert isinstance(session(world), Evaluated)
    world.run()
    deleted = {0, 1, 2} - {row[0] for row in before}
    assert deleted
    assert not deleted & {row[0] for row in world.rows("a.current")}
    check(world, 2)
    assert isinstance(session(world), NothingToLoad)


def test_a_version_that_is_loaded_after_it_is_shown_shows_no_delete_marker() -> None:
    world = MemoryWorld.landed((0.2, 10), (0.4, 20), (0.6, 30), (1.5, 0), until=2)
    world.build(project(), skip_backfill=True)
    assert isinstance(session(world), Evaluated)
    assert [(row[0], row[3]) for row in world.rows("a.current")] == current(world, 2)


@pytest.mark.parametrize("where", [BOUNDED, ""], ids=["bounded", "all"])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_shown_follows_from_the_changes_that_have_come(where: str, seed: int) -> None:
    drawing = random.Random(seed)
    world, until = loaded(where), 2
    for _ in range(6):
        until += drawing.choice([0, 0, 1, 2])
        landing = [
            (drawing.randrange(until * 10) / 10 + 0.05, drawing.choice([0, 1, 2, 3]))
            for _ in range(drawing.randrange(4))
        ]
        world.land(*landing, until=until)
        world.run()
        check(world, until if where else None)


@pytest.mark.parametrize("name", [NAME, HISTORY], ids=str)
def test_a_session_that_dies_after_any_call_is_completed_by_the_next_run(name: ModelName) -> None:
    start, fuse = loaded(), Fuse()
    start.land((1.1, 70), (0.1, 80), (1.9, 90), (2.5, 4), until=3)
    undisturbed = start.copied()
    services = undisturbed.services(fuse)
    catch_up(services, bound(services), name)
    calls = [at for at, name in enumerate(fuse.names, start=1) if name in WRITING]
    assert calls
    for call in calls:
        world = start.copied()
        services = world.services(Fuse(cut_at=call, after=True))
        with pytest.raises(PowerCut):
            catch_up(services, bound(services), name)
        world.reboot()
        world.run()
        check(world, 3)


def plain(delete_when: str, more: str = "") -> Graph:
    """A keyed model with or without deletes, and readers that may be kept."""
    kind = f"INCREMENTAL_BY_UNIQUE_KEY (unique_key thing, sequence_by (at, id){delete_when})"
    return graph_of(
        {
            "current": f"MODEL (name a.current, kind {kind}, cron '@hourly'{more}, "
            f"late_data (mode stateless, sources (raw.events))); {COLUMNS}",
            "kept": "MODEL (name a.kept, kind FULL, cron '@hourly', audits (no_deletes)); "
            "SELECT thing, amount FROM a.current; AUDIT (name no_deletes, blocking false); "
            "SELECT c.thing FROM a.current AS c WHERE c.amount = 0",
        }
    )


@pytest.mark.parametrize(
    "before,after", [("", ", delete_when amount = 0"), (", delete_when amount = 0", "")]
)
def test_readers_are_computed_again_where_other_rows_are_shown(before: str, after: str) -> None:
    world = MemoryWorld.landed((0.2, 10), (0.4, 0), (0.6, 30), until=2)
    world.build(plain(before))
    world.build(plain(after))
    shown = sorted((row[0], row[3]) for row in world.rows("a.current"))
    assert len(shown) == (2 if after else 3)
    assert world.rows("a.kept") == shown


@pytest.mark.parametrize("edit", [", delete_when amount = 1", ""])
def test_a_kept_table_has_no_other_deletes_and_the_refusal_says_so(edit: str) -> None:
    world = MemoryWorld.landed((0.2, 10), until=2)
    world.build(plain(", delete_when amount = 0"))
    plan = world.plan(plain(edit), forward_only=True)
    with pytest.raises(Refused, match=r"a\.current keeps its table, and its order of changes was"):
        world.apply(plan)


def test_audits_of_a_table_that_is_rebuilt_see_what_is_shown() -> None:
    world = MemoryWorld.landed((0.2, 10), (0.4, 0), until=2)
    audited = plain(", delete_when amount = 0", ", audits (forall (criteria (amount > 0)))")
    world.build(audited)
    services = world.services()
    done = catch_up(services, bound(services), NAME, reload=True)
    assert isinstance(done, Evaluated)

    def ask(query: str, _: object, most: int) -> Asked:
        return MemoryEngine(world.catalog).fetch(query, limit=most)

    for name in (NAME, ModelName("a", "kept")):
        held = audit_held(services, ask, bound(services), name, None, limit=5)
        assert [each.passed for each in held.results] == [True]


def test_a_query_that_is_shown_leaves_out_what_nobody_sees() -> None:
    world = loaded()
    services = world.services()
    binding = bound(services)
    node = binding.node(ModelName("a", "total"))
    found = render(binding, node, Interval(hour_of(0), hour_of(2)), hour_of(2))
    assert found is not None
    assert "WHERE `amount` IS NULL OR NOT `amount` IN (0)" in found.query.text


def test_a_session_that_changes_nothing_that_is_seen_is_remembered() -> None:
    world = MemoryWorld.landed((0.2, 10), until=1)
    world.build(plain(", delete_when amount = 0"))
    seen = world.rows("a.current")
    world.land((0.9, 0), until=1)  # of a key that is not there
    assert isinstance(session(world), Evaluated)
    assert world.rows("a.current") == seen
    world.land((0.3, 70), (0.4, 80), (0.5, 90), until=1)  # of each key one
    assert isinstance(session(world), Evaluated)
    deleted = next(thing for thing, _, _, amount in changes(world, None) if not amount)
    assert {row[0] for row in world.rows("a.current")} == {0, 1, 2} - {deleted}
    assert mismatches(world.services(), NAME) == []


def test_the_last_key_may_be_deleted() -> None:
    world = MemoryWorld.landed((0.2, 10), until=1)
    world.build(plain(", delete_when amount = 0"))
    assert len(world.rows("a.current")) == 1
    number = changes(world, None)[0][0]
    world.land(*((1.0 + each / 10, 0) for each in range(3)), until=2)
    assert isinstance(session(world), Evaluated)
    assert number not in [row[0] for row in world.rows("a.current")]
