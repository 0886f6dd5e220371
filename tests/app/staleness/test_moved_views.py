"""Rule R15: no move of views shows what was computed from less than what is shown.

Sources only gain rows here, and edits change no number of rows. So whatever is done in whatever
order, a view that shows fewer rows than before shows what was computed from less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Final

import pytest

from tests.app.memory_world import MemoryWorld, graph_of, hour_of
from tests.app.shop_world import work
from tests.depth import is_full
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.core.errors import Refused
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval

INC: Final = """
MODEL (name m.inc, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id AS id, at AS at, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
SEEN: Final = """
MODEL (name m.seen, kind VIEW);
SELECT id AS id, at AS at, amount AS amount FROM m.inc
"""
READERS: Final = {
    "full": """
MODEL (name m.full, kind FULL, cron '@daily');
SELECT id AS id, amount AS amount FROM m.inc
""",
    "through_a_view": """
MODEL (name m.through_a_view, kind FULL, cron '@daily');
SELECT id AS id, amount AS amount FROM m.seen
""",
    "of_a_full": """
MODEL (name m.of_a_full, kind FULL, cron '0 0 * * *');
SELECT id AS id, amount AS amount FROM m.full
""",
    "unique": """
MODEL (name m.unique, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id), cron '@daily');
SELECT id AS id, amount AS amount FROM m.inc
""",
    "kept": """
MODEL (
  name m.kept,
  kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, disable_restatement true),
  cron '@daily'
);
SELECT id AS id, amount AS amount FROM m.inc
""",
    "lookup": """
MODEL (name m.lookup, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily');
SELECT e.at AS at, i.id AS id, i.amount AS amount FROM raw.events AS e CROSS JOIN m.inc AS i
WHERE e.at BETWEEN @start_dt AND @end_dt
""",
}
BASE: Final = {"inc": INC, "seen": SEEN, **READERS}
AGAIN: Final = {name: text for name, text in BASE.items() if name != "kept"}
"""The models that may be computed again."""


def edited(name: str, factor: int, base: Mapping[str, str]) -> dict[str, str]:
    return {**base, name: base[name].replace("amount AS amount", f"amount * {factor} AS amount")}


def in_both(name: str) -> MemoryWorld:
    """Production and dev, which holds an edit, after a day and two hours; production runs on."""
    world = MemoryWorld.landed((1, 1), (25, 1), until=26)
    world.build(graph_of(AGAIN))
    world.build(graph_of(edited(name, 10, AGAIN)), "dev")
    ran_on(world, 27)
    return world


def ran_on(world: MemoryWorld, hour: int) -> None:
    world.clock.advance(timedelta(minutes=5))
    world.land((hour - 1, 1), until=hour)
    world.run()


def counts(world: MemoryWorld, base: Mapping[str, str]) -> dict[str, int]:
    return {name: len(world.rows(f"m.{name}")) for name in base}


def promoted(world: MemoryWorld, name: str) -> Plan:
    return plan_promotion(world.services(), "dev", "prod")


def planned(world: MemoryWorld, name: str) -> Plan:
    return world.plan(graph_of(edited(name, 10, AGAIN)))


def rolled_back(world: MemoryWorld, name: str) -> Plan:
    world.build(graph_of(edited(name, 10, AGAIN)))
    ran_on(world, 28)
    return plan_rollback(world.services(), "prod")


@pytest.mark.full
@pytest.mark.parametrize("move", [promoted, planned, rolled_back])
@pytest.mark.parametrize("name", ["inc", "full", "unique"])
def test_r15_what_is_only_due_is_computed_before_a_view_moves(
    name: str, move: Callable[[MemoryWorld, str], Plan]
) -> None:
    world = in_both(name)
    plan = move(world, name)
    before = counts(world, AGAIN)
    world.apply(plan)
    assert all(after >= before[model] for model, after in counts(world, AGAIN).items())


@pytest.mark.parametrize("seen", [True, False])
def test_r15_what_cannot_be_computed_again_waits_if_production_saw_more(seen: bool) -> None:
    """Production's rows were computed after an hour that dev lacks, or before it."""
    world = MemoryWorld.landed((1, 1), (25, 1), until=26)
    texts = {name: BASE[name] for name in ("inc", "kept")}
    changed = {**texts, "inc": edited("inc", 10, BASE)["inc"]}
    if not seen:
        world.build(graph_of(texts))
    world.build(graph_of(changed), "dev")
    world.clock.advance(timedelta(minutes=5))
    world.land((26, 1), until=27)
    world.build(graph_of(texts))
    plan = plan_promotion(world.services(), "dev", "prod")
    assert len(world.rows("m.kept")) == (3 if seen else 2)
    if seen:
        with pytest.raises(
            Refused, match=r"m\.kept would return to its earlier version, and prod would show"
        ):
            world.apply(plan)
        assert len(world.rows("m.kept")) == 3
    else:
        world.apply(plan)
        assert len(world.rows("m.kept")) == 2


KEYS: Final = """
MODEL (name m.keys, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id), cron '@hourly');
SELECT id AS id, amount AS amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""


def test_r15_what_builds_on_itself_has_read_what_is_only_due_as_production_saw_it() -> None:
    """Dev's last interval was computed before rows came that production's was computed after."""
    base = {"keys": KEYS, "unique": READERS["unique"].replace("m.inc", "m.keys")}
    world = MemoryWorld.landed((1, 1), (25, 1), until=26)
    world.build(graph_of(base | {"keys": KEYS.replace("amount AS", "amount * 10 AS")}), "dev")
    world.clock.advance(timedelta(minutes=5))
    world.land((26, 1), until=27)
    world.build(graph_of(base))
    assert len(world.rows("m.unique")) == 3
    plan = plan_promotion(world.services(), "dev", "prod")
    world.apply(plan)
    assert sorted(int(str(row[1])) for row in world.rows("m.unique")) == [10, 10, 10]


def test_r15_a_count_does_not_fall_when_a_parent_is_only_due() -> None:
    counted = READERS["full"].replace("id AS id, amount AS amount", "SUM(amount) AS amount")
    base = {"inc": INC, "full": counted}
    world = MemoryWorld.landed((1, 1), (25, 1), until=26)
    world.build(graph_of(base))
    world.build(graph_of(base | {"inc": edited("inc", 10, BASE)["inc"]}), "dev")
    ran_on(world, 27)
    assert world.rows("m.full") == [(3,)]
    plan = plan_promotion(world.services(), "dev", "prod")
    assert work(plan) == {
        "inc": [Interval(hour_of(26), hour_of(27))],
        "full": [Interval(hour_of(0), hour_of(24))],
    }
    world.apply(plan)
    assert world.rows("m.full") == [(30,)]
    assert world.plan_run().is_up_to_date


MOVES: Final = ("land", "run prod", "run dev", "edit", "promote", "plan", "rollback")
STORIES: Final = range(24, 224 if is_full() else 36)


@pytest.mark.full
@pytest.mark.parametrize("seed", STORIES)
def test_r15_no_move_of_any_story_shows_less(seed: int) -> None:
    random, world, hour, told = Random(seed), MemoryWorld(), 25, []
    base = BASE if seed % 2 else AGAIN
    names = [name for name in base if name != "seen"]
    world.land((1, 1), (24, 1), until=hour)
    services = world.services()
    world.build(graph_of(base))
    edit = edited(random.choice(names), 2, base)
    world.build(graph_of(edit), "dev")
    for step in range(12):
        world.clock.advance(timedelta(minutes=5))
        before, what = counts(world, base), random.choice(MOVES)
        told.append(what)
        with suppress(Refused):
            match what.split():
                case ["land"]:
                    hour += random.choice([1, 1, 5, 24])
                    world.land((hour - 1, 1), until=hour)
                case ["run", environment]:
                    world.run(environment)
                case ["edit"]:
                    edit = edited(random.choice(names), 3 + step, base)
                    world.build(graph_of(edit), "dev")
                case ["promote"]:
                    world.apply(plan_promotion(services, "dev", "prod"))
                case ["plan"]:
                    world.build(graph_of(edit))
                case ["rollback"]:
                    world.apply(plan_rollback(services, "prod"))
            told.append("done")
        after = counts(world, base)
        less = {name: (before[name], after[name]) for name in base if after[name] < before[name]}
        assert not less, told
