"""What a late row makes stale in each kind; computing that equals a build from scratch.

docs/staleness.md has the table.
"""

from __future__ import annotations

import pytest

from tests.app.memory_world import RAW, MemoryWorld, build, graph_of, hour_of, plan, there
from tests.app.shop_world import day
from tests.app.staleness.test_since import staleness
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.planning.plan import Staleness
from vde_dagster.core.time.intervals import Interval

DAILY = """SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY CAST(at AS DATE)"""
BY_DAY = "INCREMENTAL_BY_TIME_RANGE (time_column day)"
RANDOM = DAILY.replace("SUM(amount)", "SUM(amount + CAST(RAND() * 0 AS BIGINT))")
HISTORY = """SELECT 1 AS item, MAX(amount) AS price, MAX(at) AS ds FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt"""
SCD = "SCD_TYPE_2_BY_COLUMN (unique_key item, columns [price], updated_at_name ds, batch_size 1)"
DAYS = (day(1, 3),)


def model(kind: str, query: str, more: str = "", name: str = "kept") -> str:
    return f"MODEL (name mart.{name}, kind {kind}, {more}cron '@daily');\n{query}"


def landed(*late: tuple[float, int]) -> MemoryWorld:
    """Three days with a row each, and what is late."""
    world = MemoryWorld()
    world.land((1, 10), (30, 5), (50, 7), *late, until=72)
    return world


def late(world: MemoryWorld, graph: Graph, name: str = "mart.kept") -> Staleness | None:
    """What a row of the second day makes stale."""
    world.land((31, 9), until=72)
    return staleness(plan(world.services(), graph), name)


@pytest.mark.full
@pytest.mark.parametrize(
    "text,intervals",
    [
        (model(BY_DAY, DAILY), (day(2),)),
        (model(BY_DAY, RANDOM), (day(2),)),
        (model("FULL", "SELECT SUM(amount) AS amount FROM raw.events"), DAYS),
        (model("INCREMENTAL_BY_UNIQUE_KEY (unique_key day)", DAILY), DAYS),
        (model("INCREMENTAL_BY_PARTITION", DAILY, "partitioned_by day, "), DAYS),
        (model("INCREMENTAL_UNMANAGED", DAILY), DAYS),
        (
            model(SCD.replace(", batch_size", ", disable_restatement false, batch_size"), HISTORY),
            DAYS,
        ),
    ],
    ids=["time range", "random", "full", "unique key", "partition", "unmanaged", "history"],
)
def test_what_is_stale_is_computed_as_a_build_from_nothing_does(
    text: str, intervals: tuple[Interval, ...]
) -> None:
    graph = graph_of({"kept": text})
    world, fresh = landed(), landed((31, 9))
    build(world.services(), graph)
    found = there(late(world, graph))
    assert (found.intervals, found.kept, found.following) == (intervals, (), ())
    build(world.services(), graph)
    build(fresh.services(), graph)
    assert world.rows("mart.kept") == fresh.rows("mart.kept")
    assert staleness(plan(world.services(), graph), "mart.kept") is None


DIM = model("FULL", "SELECT MAX(amount) AS highest FROM raw.events", name="dim")
LOOKUP = model(
    BY_DAY,
    """SELECT CAST(e.at AS DATE) AS day, SUM(e.amount) AS amount, MAX(d.highest) AS highest
FROM raw.events AS e CROSS JOIN mart.dim AS d
WHERE e.at BETWEEN @start_dt AND @end_dt GROUP BY CAST(e.at AS DATE)""",
)


@pytest.mark.full
@pytest.mark.parametrize("amount,computed", [(3, 1), (30, 3)], ids=["as it was", "changed"])
def test_a_table_that_is_read_without_a_bound_makes_all_stale_where_its_rows_change(
    amount: int, computed: int
) -> None:
    graph = graph_of({"dim": DIM, "kept": LOOKUP})
    world = landed()
    build(world.services(), graph)
    world.land((31, amount), until=72)
    found = there(staleness(plan(world.services(), graph), "mart.kept"))
    assert (found.intervals, found.following) == (DAYS, (day(1), day(3)))
    done = build(world.services(), graph)
    days = [
        cell
        for each in done
        if str(each.key.model) == "mart.kept" and not each.reused
        for cell in each.entries
    ]
    assert len(days) == computed
    fresh = landed((31, amount))
    build(fresh.services(), graph)
    assert world.rows("mart.kept") == fresh.rows("mart.kept")


def test_rows_that_the_source_has_no_longer_are_kept_and_the_way_out_is_named() -> None:
    graph = graph_of({"kept": model(BY_DAY, DAILY)})
    world = landed()
    build(world.services(), graph)
    world.catalog.overwrite(RAW, [(9, hour_of(24), 5), (10, hour_of(50), 7)])
    found = there(staleness(plan(world.services(), graph), "mart.kept"))
    assert found.kept == (day(1),)
    assert "the source does not reach back to all of them any more" in found.why_kept
    assert "`vde run prod --restate-model mart.kept --allow-empty`" in found.why_kept
