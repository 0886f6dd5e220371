"""What a late row makes stale where all of a table is read, and what is kept without its source."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.app.memory_world import RAW, MemoryWorld, graph_of, hour_of, there
from tests.app.shop_world import day
from tests.app.staleness.test_since import staleness
from vde_dagster.app.inspect.status import look_at_environment
from vde_dagster.core.planning.plan_text import remarks

DAILY = """SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY CAST(at AS DATE)"""
BY_DAY = "INCREMENTAL_BY_TIME_RANGE (time_column day)"
DAYS = (day(1, 3),)


def model(kind: str, query: str, name: str = "kept") -> str:
    return f"MODEL (name mart.{name}, kind {kind}, cron '@daily');\n{query}"


def landed(*late: tuple[float, int]) -> MemoryWorld:
    """Three days with a row each, and what is late."""
    return MemoryWorld.landed((1, 10), (30, 5), (50, 7), *late, until=72)


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
    world.build(graph)
    world.land((31, amount), until=72)
    found = there(staleness(world.plan(graph), "mart.kept"))
    assert (found.intervals, found.following) == (DAYS, (day(1), day(3)))
    done = world.build(graph)
    days = [
        cell
        for each in done
        if str(each.key.model) == "mart.kept" and not each.reused
        for cell in each.entries
    ]
    assert len(days) == computed
    fresh = landed((31, amount))
    fresh.build(graph)
    assert world.rows("mart.kept") == fresh.rows("mart.kept")


def test_rows_that_the_source_has_no_longer_are_kept_and_the_way_out_is_named() -> None:
    graph = graph_of({"kept": model(BY_DAY, DAILY)})
    world = landed()
    world.build(graph)
    world.catalog.overwrite(RAW, [(9, hour_of(24), 5), (10, hour_of(50), 7)])
    found = there(staleness(world.plan(graph), "mart.kept"))
    assert found.kept == (day(1),)
    assert "the source no longer has all rows of that time" in found.why_kept
    assert "`vde run prod --restate-model mart.kept --allow-empty`" in found.why_kept


@pytest.mark.parametrize(
    "kind",
    [
        "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)",
        "INCREMENTAL_BY_PARTITION, partitioned_by (days(at))",
        "INCREMENTAL_UNMANAGED",
    ],
)
def test_what_builds_on_itself_has_late_rows_of_added_ones_in_the_same_run(kind: str) -> None:
    """Rows that are added have no intervals: their readers waited for the next run."""
    late = ", late_data (mode stateless, sources (raw.events))"
    query = "SELECT id, at, amount FROM {} WHERE at BETWEEN @start_dt AND @end_dt"
    added = model(f"INCREMENTAL_UNMANAGED{late}", query.format("raw.events"), name="added")
    graph = graph_of({"added": added, "kept": model(kind, query.format("mart.added"))})
    world = landed()
    world.build(graph)
    world.clock.advance(timedelta(minutes=1))
    world.land((2, 3), until=72)
    world.run()
    assert world.amounts("mart.kept") == [3, 5, 7, 10]
    assert look_at_environment(world.services(), "prod").is_up_to_date


EVENTS = model(
    "INCREMENTAL_BY_TIME_RANGE (time_column at)",
    "SELECT id, at, amount, at + INTERVAL 30 MINUTES AS changed_at FROM raw.events "
    "WHERE at BETWEEN @start_dt AND @end_dt",
    name="events",
)
KEYED = "INCREMENTAL_BY_UNIQUE_KEY (unique_key id{})"


def by_other_column(order: str, column: str) -> MemoryWorld:
    """Late rows of a model that is read by another time column than that of its intervals."""
    query = f"SELECT id, at, amount FROM mart.events WHERE {column} BETWEEN "
    bounds = "unix_seconds(@start_ts) AND unix_seconds(@end_ts)"
    query += bounds if "unix" in column else "@start_dt AND @end_dt"
    world = landed()
    world.build(graph_of({"events": EVENTS, "kept": model(KEYED.format(order), query)}))
    world.land((2, 3), (26, 4), until=72)
    world.run()
    return world


@pytest.mark.parametrize("order", ["", ", sequence_by at"])
def test_late_rows_by_another_column_than_that_of_intervals_are_noticed(order: str) -> None:
    world = by_other_column(order, "changed_at")
    assert world.amounts("mart.kept") == [3, 4, 5, 7, 10]
    assert world.plan_run().is_empty


def test_where_late_rows_would_not_be_noticed_a_plan_of_the_model_says_so() -> None:
    world = by_other_column("", "unix_seconds(changed_at)")
    assert world.amounts("mart.kept") == [5, 7, 10]
    text = (
        "SELECT id, at, amount FROM mart.events "
        "WHERE {} BETWEEN unix_seconds(@start_ts) AND unix_seconds(@end_ts)"
    )
    plain = "SELECT id, at FROM mart.events WHERE changed_at BETWEEN @start_dt AND @end_dt"
    for query, said in ((text.format("unix_seconds(changed_at)"), 1), (plain, 0)):
        graph = graph_of({"events": EVENTS, "kept": model(KEYED.format(""), query)})
        warned = [each for each in remarks(landed().plan(graph)) if "not notice" in each]
        assert len(warned) == said
        assert all("mart.kept would not notice late rows of mart.events" in e for e in warned)
