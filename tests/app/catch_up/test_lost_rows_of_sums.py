"""A sum that goes on from day to day: a day of which the source has lost rows keeps its rows.

Expected sums are worked out by hand from the rows that landed, and those that are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import pytest

from tests.app.memory_world import RAW, MemoryWorld, graph_of, hour_of
from tests.app.shop_world import day
from vde_dagster.app.inspect.status import look_at_environment
from vde_dagster.core.ledger.late.pending import PendingReason
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Staleness
from vde_dagster.core.time.intervals import Interval


def sums(column: str = "", kind: str = "") -> str:
    """The text of a model that adds the rows of each day to its own sum of the day before."""
    return f"""
MODEL (name gen.m0, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily',
  columns (id int, at timestamp, amount bigint{kind}),
  late_data (mode stateful, sources (raw.events (tracked_by at))));
SELECT 1 AS id, CAST(@start_dt AS TIMESTAMP) AS at, CAST(SUM(amount) AS BIGINT) AS amount{column}
FROM (
  SELECT amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
  UNION ALL SELECT amount FROM gen.m0) AS days
"""


SUMS: Final = graph_of({"m0": sums()})
READER: Final = """
MODEL (name gen.m1, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily');
SELECT id, at, amount FROM gen.m0 WHERE at BETWEEN @start_dt AND @end_dt
"""


@pytest.fixture
def world() -> MemoryWorld:
    """The second day has lost its row of 100, and a run has seen that."""
    world = MemoryWorld.landed((1.5, 1), (26, 4), (27, 100), (50, 5), until=72)
    world.build(SUMS)
    world.clock.advance(timedelta(minutes=1))
    world.catalog.delete(RAW, [row for row in world.rows("raw.events") if row[2] != 100])
    world.run()
    assert world.amounts("gen.m0") == [1, 105, 110]
    return world


def behind(world: MemoryWorld) -> Staleness | None:
    models = look_at_environment(world.services(), "prod").models
    return models[0].staleness if models else None


def restate(world: MemoryWorld, first: int, *, allow_empty: bool = False) -> None:
    start, end = hour_of(24 * (first - 1)), hour_of(24 * first)
    world.build(SUMS, restate=("gen.m0",), start=start, end=end, allow_empty=allow_empty)


def run(world: MemoryWorld) -> None:
    world.run()


def restate_the_first(world: MemoryWorld) -> None:
    restate(world, 1)


def restate_the_first_whatever_goes(world: MemoryWorld) -> None:
    restate(world, 1, allow_empty=True)


@pytest.mark.parametrize("load", [run, restate_the_first, restate_the_first_whatever_goes])
def test_a_late_row_of_the_day_before_takes_none_from_it(
    world: MemoryWorld, load: Callable[[MemoryWorld], None]
) -> None:
    world.land((5.5, 7), until=72)
    load(world)
    for _ in range(2):
        assert world.amounts("gen.m0") == [8, 105, 110]
        stale = behind(world)
        assert stale is not None
        assert (stale.intervals, stale.kept) == ((), (day(2),))
        assert PendingReason.REMOVED.text in stale.why_kept
        world.run()
    restate(world, 2, allow_empty=True)
    assert world.amounts("gen.m0") == [8, 12, 17]
    assert behind(world) is None


def test_days_after_it_go_on_from_the_rows_that_it_keeps(world: MemoryWorld) -> None:
    world.land((5.5, 7), until=72)
    world.land((51, 2), until=96)
    world.run()
    assert world.amounts("gen.m0") == [8, 105, 112, 112]
    stale = behind(world)
    assert stale is not None
    assert stale.times == (day(2),)


def test_it_gets_what_came_before_it_once_its_row_is_back(world: MemoryWorld) -> None:
    world.land((5.5, 7), until=72)
    world.run()
    world.land((27, 100), until=72)
    world.run()
    assert world.amounts("gen.m0") == [8, 112, 117]
    assert behind(world) is None


def test_below_an_edit_days_after_lost_rows_are_named_as_kept() -> None:
    """Their new sums lack these rows, too; only the day itself was taken for one that does."""
    world = MemoryWorld.landed((1.5, 1), (2.5, 2), (26, 4), until=48)
    world.build(graph_of({"m0": sums(), "m1": READER}))
    world.clock.advance(timedelta(minutes=1))
    world.catalog.delete(RAW, [row for row in world.rows("raw.events") if row[2] != 1])
    edited = graph_of({"m0": sums(", 5 AS more", ", more int"), "m1": READER})
    by_a_person = {ModelName("gen", "m0"): Category.NON_BREAKING}
    plan = world.plan(edited, decisions=by_a_person)
    (change,) = (each for each in plan.changes if str(each.name) == "gen.m1")
    assert change.behind is not None
    assert f"It keeps its rows of {Interval(hour_of(0), hour_of(48))}" in change.behind.reason
    world.apply(plan)
    assert (world.amounts("gen.m0"), world.amounts("gen.m1")) == ([2, 6], [3, 7])
