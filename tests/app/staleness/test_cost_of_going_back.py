"""Checking a version that returns calls each port as often for many intervals as for few."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.app.memory_world import RAW, SOURCE, Fuse, MemoryWorld, graph_of, hour_of, made_once
from tests.app.shop_world import SALES, asked, day, work
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.sql.reads.input_ranges import WHOLE
from vde_dagster.core.time.intervals import Interval

BOUND = "at BETWEEN @start_dt AND @end_dt"
RANDOM = SALES.replace("SUM(amount)", "CAST(SUM(amount) + 0 * RAND() AS BIGINT)")
UNBOUND = SALES.replace("SUM(amount)", "MAX(MAX(amount)) OVER ()").replace(
    BOUND, f"{BOUND} OR id > 0"
)


@made_once
def returning(texts: dict[str, str], days: int) -> MemoryWorld:
    """A version that was computed day by day, and another one that is shown instead of it."""
    world = MemoryWorld()
    for number in range(days):
        world.land((24 * number + 1, 1), until=24 * (number + 1))
        world.build(graph_of(texts))
    world.build(graph_of(edited(texts)))
    return world


def edited(texts: dict[str, str]) -> dict[str, str]:
    return texts | {"sales": texts["sales"].replace("AS amount", "* 10 AS amount")}


def calls(texts: dict[str, str], days: int) -> tuple[Plan, Counter[str]]:
    """The plan of a return after a late row of the first day, and what it asked the ports."""
    world = returning(texts, days)
    world.land((2, 1), until=24 * days)
    fuse = Fuse()
    return asked(world.services(fuse), graph_of(texts), "prod"), Counter(fuse.names)


@pytest.mark.full
@pytest.mark.parametrize("text", [SALES, RANDOM, UNBOUND], ids=["bound", "random", "unbound"])
def test_planning_a_return_costs_as_many_calls_for_many_intervals_as_for_few(text: str) -> None:
    _, few = calls({"sales": text}, 2)
    plan, many = calls({"sales": text}, 5)
    assert few == many
    assert work(plan)["sales"] == ([day(1, 5)] if text is UNBOUND else [day(1)])


def hours(start: int, end: int) -> Interval:
    return Interval(hour_of(start), hour_of(end))


def source_of(commits: int) -> tuple[MemoryWorld, list[int]]:
    """A source with one row for each hour, each of another commit; its snapshots, newest first."""
    world = MemoryWorld()
    for number in range(commits):
        world.land((number, 1), until=number)
    return world, list(world.catalog.line(RAW))


def states_of(world: MemoryWorld, fuse: Fuse) -> InputStates:
    graph = graph_of({"sales": SALES})
    return InputStates(services=world.services(fuse), graph=graph, snapshots={})


def test_each_iceberg_snapshot_is_distinguished_by_the_times_after_it() -> None:
    world, ids = source_of(6)
    states = states_of(world, Fuse())
    for newer, at in enumerate(ids):
        changed = [
            hour
            for hour in range(6)
            if states.has_changed(SOURCE, at, (hours(hour, hour + 1),), column="at")
        ]
        assert changed == list(range(6 - newer, 6))


@pytest.mark.full
@pytest.mark.parametrize("commits", [8, 64])
def test_looking_further_back_for_each_entry_reads_what_changed_a_few_times(commits: int) -> None:
    world, ids = source_of(commits)
    fuse = Fuse()
    states = states_of(world, fuse)
    for at in ids:
        states.has_changed(SOURCE, at, (hours(0, 1),), column="at")
    assert fuse.names.count("row_changes") <= commits.bit_length()
    for at in reversed(ids):
        states.has_changed(SOURCE, at, (hours(0, 1),), column="at")
    assert fuse.names.count("row_changes") <= commits.bit_length()


def test_compactions_are_found_by_one_look_at_where_the_rows_come_from() -> None:
    world, ids = source_of(3)
    compacted = [world.catalog.compact(RAW) for _ in range(2)]
    fuse = Fuse()
    states = states_of(world, fuse)
    same = [at for at in (*ids, *compacted) if not states.has_changed(SOURCE, at, WHOLE, column="")]
    assert same == [ids[0], *compacted]
    assert fuse.names.count("origin") == 1
