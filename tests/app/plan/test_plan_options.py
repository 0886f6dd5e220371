"""What the options of a plan compute, skip and record, on the ports in memory."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest

from tests.app.memory_world import EVENTS, PROJECT, MemoryWorld, bound, graph_of, hour_of
from tests.app.shop_world import (
    ALWAYS,
    AMOUNTS,
    DAYS,
    EDITED,
    EVENTS_NAME,
    SALES,
    SALES_NAME,
    SHOP,
    TENFOLD,
    TRIPLE,
    TRIPLE_NAME,
    asked,
    change,
    day,
    done,
    entries,
    work,
)
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.inspect.interval_report import report_intervals
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.entries import EntryStatus, loaded_intervals
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.options import OptionsRefused, PlanOptions
from vde_dagster.core.time.intervals import Interval


# Start and end
@pytest.mark.full
@pytest.mark.parametrize(
    "start,end,expected",
    [
        (day(2).start, None, {"sales": [day(2, 3)], "shown": [ALWAYS], "triple": [day(2, 3)],
                              "total": [day(2, 3)]}),
        (None, day(2).end, {"sales": [day(1, 2)], "shown": [ALWAYS], "triple": [day(1, 2)],
                            "total": [day(1, 2)]}),
        (day(2).start, day(2).end, {"sales": [day(2)], "shown": [ALWAYS], "triple": [day(2)],
                                    "total": [day(2)]}),
        (hour_of(30), hour_of(71), {}),  # no whole day lies between
        (hour_of(30), hour_of(72), {"sales": [day(3)], "shown": [ALWAYS], "triple": [day(3)],
                                    "total": [day(3)]}),
        (day(9).start, None, {}),
    ],
)  # fmt: skip
def test_start_and_end_bound_what_is_evaluated(
    world: MemoryWorld,
    start: datetime | None,
    end: datetime | None,
    expected: dict[str, list[Interval]],
) -> None:
    plan = world.plan(graph_of(EDITED), "dev", start=start, end=end)
    assert work(plan) == expected
    world.apply(plan)
    for name in (SALES_NAME, TRIPLE_NAME):
        wanted = expected.get(name.name, [])
        assert list(loaded_intervals(entries(world, "dev", name))) == wanted


HOURS = """
MODEL (
  name mart.hours,
  kind INCREMENTAL_BY_TIME_RANGE (time_column at),
  cron '@hourly',
  late_data (mode stateful, sources (staging.events (tracked_by at)))
);
SELECT at AS at, amount AS amount FROM staging.events WHERE at BETWEEN @start_dt AND @end_dt
"""


def test_what_tracks_a_model_is_loaded_from_the_start_that_this_one_is_loaded_from() -> None:
    """That hours before the start lack does not mean that the others are not complete."""
    world = MemoryWorld.landed((1, 10), (25, 5), (47, 1), until=48)
    project = {"events": EVENTS, "hours": HOURS}
    world.build(graph_of(project))
    edited = project | {"events": EVENTS.replace("amount AS amount", "amount + 1 AS amount")}
    start = hour_of(24)
    world.build(graph_of(edited), "dev", start=start)
    assert world.rows("mart__dev.hours") == [(hour_of(25), 6), (hour_of(47), 2)]
    world.land((49, 3), until=50)
    world.build(graph_of(edited), "dev", start=start)
    assert world.rows("mart__dev.hours")[2:] == [(hour_of(49), 4)]


@pytest.mark.parametrize("hours", [15, 24])
def test_what_tracks_a_model_begins_with_a_whole_day_behind_the_start(hours: int) -> None:
    """A day that the start cuts was planned, and the plan ended in a bug."""
    world = MemoryWorld.landed((1, 10), (25, 5), (47, 1), until=48)
    world.build(graph_of({"events": EVENTS}))
    project = {"events": EVENTS, "hours": HOURS.replace("@hourly", "@daily")}
    world.build(graph_of(project), "dev", start=hour_of(hours))
    assert world.rows("mart__dev.hours") == [(hour_of(25), 5), (hour_of(47), 1)]


AHEAD = HOURS.replace("time_column at)", "time_column at, batch_size 1)").replace(
    "amount AS amount FROM staging.events WHERE",
    "(SELECT COUNT(*) FROM staging.events AS e WHERE e.at > @end_dt AND "
    "e.at <= @end_dt + INTERVAL 2 HOURS) AS amount FROM raw.events WHERE",
)


def test_what_tracks_a_model_is_loaded_from_the_beginning_of_all_times() -> None:
    """It ended in a bug once."""
    world = MemoryWorld.landed((1, 10), until=31 * 24)
    texts = {"events": EVENTS, "hours": HOURS}
    monthly = "cron '@monthly', start '1970-01-01'"
    world.build(
        graph_of({name: text.replace("cron '@hourly'", monthly) for name, text in texts.items()})
    )
    assert world.rows("mart.hours") == [(hour_of(1), 10)]


def test_what_tracks_a_model_and_reads_what_comes_after_it_alone_is_loaded() -> None:
    """It ended in a bug once."""
    world = MemoryWorld.landed((1, 10), (3, 20), until=6)
    world.build(graph_of({"events": EVENTS, "hours": AHEAD}))
    assert world.rows("mart.hours") == [(hour_of(1), 1), (hour_of(3), 0)]


@pytest.mark.full
def test_production_evaluates_what_another_environment_left_out(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(EDITED)
    done(services, graph, start=day(2).start, end=day(2).end)
    plan = asked(services, graph, "prod")
    assert work(plan)["sales"] == [day(1), day(3)]
    assert change(plan, "mart.sales").reuse.loaded == (day(2),)
    assert change(plan, "mart.sales").reuse.owner == "dev"
    assert change(plan, "mart.sales").reuse.shown_by == ("dev",)
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart.total") == [(660,)]


@pytest.mark.full
def test_a_model_that_loads_late_rows_begins_only_the_hours_that_were_asked_for() -> None:
    world = MemoryWorld.landed((1, 10), (2.5, 20), (30, 5), (47, 1), until=48)
    world.build(graph_of(PROJECT))
    edited = graph_of(
        {**PROJECT, "events": EVENTS.replace("amount AS amount", "amount + 1 AS amount")}
    )
    world.build(edited, "dev", start=hour_of(2), end=hour_of(31))
    assert loaded_intervals(entries(world, "dev", EVENTS_NAME)) == (
        Interval(hour_of(2), hour_of(31)),
    )
    assert [row[2] for row in world.rows("staging__dev.events")] == [21, 6]
    world.land((3, 100), (1, 50), until=48)  # both late; hour 1 is not loaded yet
    world.build(edited, "dev")
    found = [row[2] for row in world.rows("staging__dev.events")]
    assert sorted(map(str, found)) == sorted(map(str, [2, 6, 11, 21, 51, 101]))
    assert world.plan(edited, "dev").is_empty


def test_bounds_are_refused_for_production_before_anything_is_read() -> None:
    with pytest.raises(OptionsRefused, match="--restate-model"):
        plan_environment(None, None, "prod", PlanOptions(start=day(1).start))  # type: ignore[arg-type]


# Promoting without computing
@pytest.mark.full
def test_skipping_shows_what_there_is_and_computes_nothing(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(EDITED)
    done(services, graph, start=day(2).start, end=day(2).end)
    edited = graph_of({**EDITED, "triple": TRIPLE.replace("* 3", "* 4")})
    plan = asked(services, edited, skip_backfill=True)
    assert work(plan) == {}
    assert change(plan, "mart.sales").skipped == (day(1), day(3))
    assert change(plan, "mart.triple").skipped == (day(1, 3),)
    assert done(services, edited, skip_backfill=True) == ()
    assert world.rows("mart__dev.sales") == [TENFOLD[1]]
    assert world.rows("mart.sales") == AMOUNTS
    services = world.services()
    assert bound(services, "dev").key(TRIPLE_NAME) == plan.snapshots[TRIPLE_NAME].key


@pytest.mark.full
def test_who_waits_for_the_owner_of_a_version_shows_no_older_one_and_finds_it_once_it_is_filled(
    world: MemoryWorld,
) -> None:
    """An old view that stayed would never be moved: by then nothing is new, due or stale."""
    services, tenfold = world.services(), graph_of(EDITED)
    done(services, tenfold)
    done(services, tenfold, "other")
    assert world.rows("mart__other.sales") == TENFOLD
    hundredfold = graph_of({**EDITED, "sales": EDITED["sales"].replace("* 10", "* 100")})
    done(services, hundredfold, skip_backfill=True)
    done(services, hundredfold, "other")
    views = [TableName("mart__dev", "sales"), TableName("mart__other", "sales")]
    assert services.catalog.present(views) == frozenset()

    done(services, hundredfold)  # dev owns it
    plan = asked(services, hundredfold, "other")
    assert [each.name for each in plan.dropped_views] == ["sales", "shown", "total", "triple"]
    assert work(plan) == {}
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart__other.sales") == [(each, 10 * amount) for each, amount in TENFOLD]
    assert asked(services, hundredfold, "other").is_empty


def test_without_a_backfill_no_session_loads_late_rows() -> None:
    world, graph = MemoryWorld(), graph_of(PROJECT)
    world.land((5.5, 10), until=24)
    world.build(graph)
    world.land((7.5, 5), until=24)
    plan = world.plan(graph, skip_backfill=True)
    assert plan.backfills == ()
    left = change(plan, "staging.events").staleness
    assert left.kept == (Interval(hour_of(7), hour_of(8)),)
    assert left.why_kept == "--skip-backfill computes nothing"


# Recording as empty
@pytest.mark.full
def test_what_is_recorded_as_empty_has_no_rows_and_is_not_evaluated_there(
    world: MemoryWorld,
) -> None:
    services, graph = world.services(), graph_of(EDITED)
    plan = asked(services, graph, empty_backfill=True)
    assert work(plan) == {
        "sales": [day(1, 3)],
        "shown": [ALWAYS],
        "triple": [day(1, 3)],
        "total": [day(1, 3)],
    }
    apply_plan(services, plan, lambda _: None)
    for name in ("sales", "shown", "triple", "total"):
        assert world.rows(f"mart__dev.{name}") == []
    found = entries(world, "dev", SALES_NAME)
    assert {(each.status, each.rows.rows) for each in found} == {(EntryStatus.EMPTY, 0)}
    assert all(plan.plan_id in each.reason for each in found)
    assert loaded_intervals(found) == ()
    assert asked(services, graph).is_empty
    assert asked(services, graph, empty_backfill=True).is_empty
    assert world.rows("mart.sales") == AMOUNTS


@pytest.mark.full
def test_production_treats_what_is_empty_as_missing(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(EDITED)
    done(services, graph, empty_backfill=True)
    plan = asked(services, graph, "prod")
    assert work(plan)["sales"] == work(plan)["triple"] == work(plan)["total"] == [day(1, 3)]
    assert change(plan, "mart.sales").reuse is None
    with pytest.raises(Refused, match=r"mart\.sales"):
        done(services, graph, "prod", skip_backfill=True)
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart.sales") == world.rows("mart__dev.sales") == TENFOLD
    assert world.rows("mart.total") == [(660,)]
    assert {each.status for each in entries(world, "prod", SALES_NAME)} == {EntryStatus.COMPUTED}


def test_production_fills_by_a_session_what_is_empty() -> None:
    world = MemoryWorld.landed((1, 10), until=48)
    graph = graph_of({"events": EVENTS.replace("stateless", "stateful")})
    world.build(graph, "dev", empty_backfill=True)
    assert world.amounts("staging__dev.events") == []
    world.build(graph)
    assert world.amounts("staging.events") == world.amounts("staging__dev.events") == [10]


@pytest.mark.full
def test_restating_fills_what_was_recorded_as_empty(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(EDITED)
    done(services, graph, empty_backfill=True)
    done(services, graph, restate=("mart.sales",))
    assert world.rows("mart__dev.sales") == TENFOLD
    assert world.rows("mart__dev.total") == [(660,)]


def test_what_was_looked_at_again_keeps_its_rows(world: MemoryWorld) -> None:
    looking = SALES.replace("time_column day", "time_column day, lookback 2")
    graph = graph_of({**EDITED, "sales": looking.replace("SUM(amount)", "SUM(amount * 10)")})
    world.build(graph, "dev")
    world.land((80, 4), until=96)
    plan = world.plan(graph, "dev", empty_backfill=True)
    assert work(plan)["sales"] == [day(4)]
    world.apply(plan)
    assert world.rows("mart__dev.sales") == TENFOLD


SHARE = """
MODEL (name mart.share, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT day AS day, FLOOR(amount * 100 / (SELECT SUM(amount) FROM mart.sales)) AS amount
FROM mart.sales WHERE day BETWEEN @start_ds AND @end_ds
"""


def test_what_reads_all_of_a_table_waits_for_its_empty_intervals_if_it_is_stale(
    world: MemoryWorld,
) -> None:
    """It is refused to compute it, so a plan must not promise that."""
    graph = graph_of({**EDITED, "share": SHARE})
    world.build(graph, "dev")
    world.land((80, 4), until=96)
    world.build(graph, "dev", empty_backfill=True)
    world.land((31, 1), until=97)
    plan = world.plan_run("dev")
    assert {*work(plan)} == {"sales", "triple"}
    world.apply(plan)
    plan = world.plan_run("dev")
    assert work(plan) == {}
    found = change(plan, "mart.share").staleness
    assert (found.intervals, found.kept) == ((), (day(1, 3),))
    assert found.why_kept == (
        "it waits for mart.sales, which has no computed rows for [2024-01-04, 2024-01-05): "
        "`vde run dev --restate-model mart.sales` computes them"
    )
    world.build(graph, "dev", restate=("mart.sales",))
    days = [*DAYS, date(2024, 1, 4)]
    assert world.rows("mart__dev.sales") == [*zip(days, (100, 60, 70, 40), strict=True)]
    assert world.rows("mart__dev.share") == [*zip(days, (37, 22, 25, 14), strict=True)]
    world.run("dev")  # the total waited for the last day of what it reads
    assert world.plan_run("dev").is_empty


MANAGED = """
MODEL (name mart.sum, kind MANAGED);
SELECT SUM(amount) AS amount FROM mart.sales
"""


def test_what_depends_on_no_time_takes_what_there_is_of_a_table_by_time(
    world: MemoryWorld,
) -> None:
    graph = graph_of({**SHOP, "sum": MANAGED})
    world.build(graph)
    world.land((31, 100), (80, 4), until=96)
    world.clock.advance(timedelta(days=1))
    world.run()
    assert world.rows("mart.sum") == [(10 + 5 + 7 + 100 + 4,)]


def test_kinds_for_which_empty_makes_no_sense_are_refused_by_name() -> None:
    world = MemoryWorld.landed((1, 10), until=48)
    with pytest.raises(Refused, match=r"staging\.events cannot be recorded as empty.*R7"):
        world.build(graph_of(PROJECT), "dev", empty_backfill=True)
    assert world.services().state.environment("dev") is None
    assert world.catalog.table(TableName("staging", "events")) is None


def test_a_model_that_reads_itself_is_never_empty() -> None:
    """It was asked for its own rows before there was a table, and nothing was promoted."""
    world = MemoryWorld.landed((1.5, 10), until=48)
    text = """
    MODEL (name mart.sums, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily',
      columns (at timestamp, amount bigint), late_data (mode stateful, sources (raw.events)));
    SELECT CAST(@start_dt AS TIMESTAMP) AS at, CAST(SUM(amount) AS BIGINT) AS amount FROM (
      SELECT amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
      UNION ALL SELECT amount FROM mart.sums) AS days
    """
    with pytest.raises(Refused, match=r"mart\.sums cannot be recorded as empty: each interval"):
        world.build(graph_of({"sums": text}), "dev", empty_backfill=True)
    assert world.catalog.table(TableName("mart", "sums")) is None


def test_empty_in_production_is_refused(world: MemoryWorld) -> None:
    with pytest.raises(OptionsRefused, match="--empty-backfill"):
        world.plan(graph_of(EDITED), empty_backfill=True)


def test_what_is_empty_is_reported_apart_from_what_is_loaded_and_missing(
    world: MemoryWorld,
) -> None:
    services, graph = world.services(), graph_of(EDITED)
    done(services, graph, empty_backfill=True)
    world.land((80, 4), until=96)
    found = {
        str(each.node.name): each
        for each in report_intervals(services, asked(services, graph, "dev"))
    }
    sales, total = found["mart.sales"], found["mart.total"]
    assert (sales.loaded, sales.missing, sales.empty) == ((), (day(4),), (day(1, 3),))
    assert sales.waits == ()
    assert [str(each) for each in total.waits] == ["mart.triple lacks 2024-01-01 to 2024-01-02"]


# Gaps
def test_an_environment_that_may_have_no_gaps_refuses_them_by_name(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(EDITED)
    plan = asked(services, graph, no_gaps=True, start=day(2).start)
    with pytest.raises(Refused, match=r"dev shows intervals .* mart\.sales \(\[2024-01-01, "):
        apply_plan(services, plan, lambda _: None)
    assert services.state.environment("dev") is None
    done(services, graph, no_gaps=True)
    assert world.rows("mart__dev.sales") == TENFOLD
    edited = graph_of({**EDITED, "sales": SALES.replace("SUM(amount)", "SUM(amount * 20)")})
    with pytest.raises(Refused, match=r"mart\.sales"):
        done(services, edited, no_gaps=True, skip_backfill=True)
    assert world.rows("mart__dev.sales") == TENFOLD


# What is known of a plan before it is applied


def test_planning_writes_nothing(world: MemoryWorld) -> None:
    from tests.app.memory_world import Fuse

    fuse = Fuse()
    services = world.services(fuse)
    asked(services, graph_of(EDITED), restate=("mart.sales",), select=("mart.*",), no_gaps=True)
    writes = ("store", "record", "begin", "finish_promotion", "acquire", "swap", "stage", "outdate")
    assert [name for name in fuse.names if name.startswith(writes)] == []


def test_a_decision_about_no_model_is_refused(world: MemoryWorld) -> None:
    decisions = {ModelName("mart", "sale"): Category.BREAKING}
    with pytest.raises(
        OptionsRefused, match=r"mart\.sale, which is not a model.*Did you mean mart\.sales"
    ):
        world.plan(graph_of(SHOP), "dev", decisions=decisions)
