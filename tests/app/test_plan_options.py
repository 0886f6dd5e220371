"""What the options of a plan do to an environment, on the ports in memory."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from tests.app.memory_world import (
    EVENTS,
    PROJECT,
    RAW,
    MemoryWorld,
    bound,
    graph_of,
    hour_of,
)
from vde_dagster.app.apply import apply_plan, applying, evaluate_range
from vde_dagster.app.evaluate import Evaluated
from vde_dagster.app.interval_report import report_intervals
from vde_dagster.app.planning import plan_environment
from vde_dagster.app.promote import finish_promotions
from vde_dagster.app.services import Services
from vde_dagster.core.changes.difference import Change
from vde_dagster.core.errors import Conflict, EvaluationFailed, ProjectInvalid, Refused
from vde_dagster.core.graph import Graph
from vde_dagster.core.intervals import END_OF_TIME, EPOCH, Interval
from vde_dagster.core.ledger import LedgerEntry, Standing, held_intervals
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.plan import Plan
from vde_dagster.core.plan_options import OptionsRefused, PlanOptions
from vde_dagster.core.restatement import RestatementRefused
from vde_dagster.core.schema_changes import ColumnAdded, ColumnIncompatible
from vde_dagster.core.selection import SelectionRefused
from vde_dagster.core.snapshot import Category
from vde_dagster.core.stages import opening_of

SALES = """
MODEL (name mart.sales, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY CAST(at AS DATE)
"""
SHOWN = "MODEL (name mart.shown, kind VIEW);\nSELECT day AS day, amount AS amount FROM mart.sales"
TRIPLE = """
MODEL (name mart.triple, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT day AS day, amount * 3 AS amount FROM mart.shown WHERE day BETWEEN @start_ds AND @end_ds
"""
TOTAL = "MODEL (name mart.total, kind FULL);\nSELECT SUM(amount) AS amount FROM mart.triple"
SHOP = {"sales": SALES, "shown": SHOWN, "triple": TRIPLE, "total": TOTAL}
EDITED = {**SHOP, "sales": SALES.replace("SUM(amount)", "SUM(amount * 10)")}
SALES_NAME, TRIPLE_NAME = ModelName("mart", "sales"), ModelName("mart", "triple")
TOTAL_NAME, EVENTS_NAME = ModelName("mart", "total"), ModelName("staging", "events")
ALWAYS = Interval(EPOCH, END_OF_TIME)
DAYS = [date(2024, 1, day) for day in (1, 2, 3)]


def day(number: int, last: int | None = None) -> Interval:
    """The first day is 1; a range of days ends with ``last``."""
    return Interval(hour_of(24 * (number - 1)), hour_of(24 * (last or number)))


def asked(services: Services, graph: Graph, environment: str = "dev", **options: Any) -> Plan:
    finish_promotions(services, environment)
    return plan_environment(services, graph, environment, PlanOptions(**options))


def done(
    services: Services, graph: Graph, environment: str = "dev", **options: Any
) -> tuple[Evaluated, ...]:
    return apply_plan(services, asked(services, graph, environment, **options), lambda _: None)


def work(plan: Plan) -> dict[str, list[Interval]]:
    return {each.name.name: list(each.to_evaluate) for each in plan.backfills}


def change(plan: Plan, name: str) -> Any:
    return {str(each.name): each for each in plan.changes}[name]


def entries(world: MemoryWorld, environment: str, name: ModelName) -> tuple[LedgerEntry, ...]:
    services = world.services()
    key = bound(services, environment).key(name)
    return services.state.ledger([key]).get(key, ())


@pytest.fixture
def world() -> MemoryWorld:
    """Three days of events, and production over them."""
    world = MemoryWorld()
    world.land((1, 10), (30, 5), (50, 7), until=72)
    done(world.services(), graph_of(SHOP), "prod")
    return world


AMOUNTS = [(DAYS[0], 10), (DAYS[1], 5), (DAYS[2], 7)]
TENFOLD = [(DAYS[0], 100), (DAYS[1], 50), (DAYS[2], 70)]


# Start and end
@pytest.mark.parametrize(
    "start,end,expected",
    [
        (day(2).start, None, {"sales": [day(2, 3)], "shown": [ALWAYS], "triple": [day(2, 3)]}),
        (None, day(2).end, {"sales": [day(1, 2)], "shown": [ALWAYS], "triple": [day(1, 2)],
                            "total": [day(1, 2)]}),
        (day(2).start, day(2).end, {"sales": [day(2)], "shown": [ALWAYS], "triple": [day(2)]}),
        (hour_of(30), hour_of(71), {}),  # no whole day lies between
        (hour_of(30), hour_of(72), {"sales": [day(3)], "shown": [ALWAYS], "triple": [day(3)]}),
        (day(9).start, None, {}),
    ],
)  # fmt: skip
def test_start_and_end_bound_what_is_evaluated(
    world: MemoryWorld,
    start: datetime | None,
    end: datetime | None,
    expected: dict[str, list[Interval]],
) -> None:
    plan = asked(world.services(), graph_of(EDITED), start=start, end=end)
    assert work(plan) == expected
    apply_plan(world.services(), plan, lambda _: None)
    for name in (SALES_NAME, TRIPLE_NAME):
        wanted = expected.get(name.name, [])
        assert list(held_intervals(entries(world, "dev", name))) == wanted


def test_what_the_bounds_leave_out_is_told_and_evaluated_by_the_next_plan(
    world: MemoryWorld,
) -> None:
    services, graph = world.services(), graph_of(EDITED)
    plan = asked(services, graph, start=day(2).start, end=day(2).end)
    assert change(plan, "mart.sales").skipped == (day(1), day(3))
    assert change(plan, "mart.total").skipped == (day(1, 3),)
    assert change(plan, "mart.total").missing == ()
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart__dev.sales") == [TENFOLD[1]]
    assert done(services, graph) != ()
    assert world.rows("mart__dev.sales") == TENFOLD
    assert world.rows("mart__dev.total") == [(660,)]
    assert asked(services, graph).is_empty


def test_production_evaluates_what_another_environment_left_out(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(EDITED)
    done(services, graph, start=day(2).start, end=day(2).end)
    plan = asked(services, graph, "prod")
    assert work(plan)["sales"] == [day(1), day(3)]
    assert change(plan, "mart.sales").reuse.held == (day(2),)
    assert change(plan, "mart.sales").reuse.owner == "dev"
    assert change(plan, "mart.sales").reuse.shown_by == ("dev",)
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart.total") == [(660,)]


def test_a_model_that_loads_late_rows_begins_only_the_hours_that_were_asked_for() -> None:
    world = MemoryWorld()
    world.land((1, 10), (2.5, 20), (30, 5), (47, 1), until=48)
    services = world.services()
    done(services, graph_of(PROJECT), "prod")
    edited = graph_of(
        {**PROJECT, "events": EVENTS.replace("amount AS amount", "amount + 1 AS amount")}
    )
    done(services, edited, start=hour_of(2), end=hour_of(31))
    assert held_intervals(entries(world, "dev", EVENTS_NAME)) == (
        Interval(hour_of(2), hour_of(31)),
    )
    assert [row[2] for row in world.rows("staging__dev.events")] == [21, 6]
    world.land((3, 100), (1, 50), until=48)  # both late; hour 1 is not held yet
    done(services, edited)
    found = [row[2] for row in world.rows("staging__dev.events")]
    assert sorted(map(str, found)) == sorted(map(str, [2, 6, 11, 21, 51, 101]))
    assert asked(services, edited).is_empty


def test_bounds_are_refused_for_production_before_anything_is_read() -> None:
    with pytest.raises(OptionsRefused, match="--restate-model"):
        plan_environment(None, None, "prod", PlanOptions(start=day(1).start))  # type: ignore[arg-type]


# Restating
def corrected(world: MemoryWorld) -> None:
    """The source is corrected: an event of the second day, which is held already, is added."""
    world.catalog.append(RAW, [(99, hour_of(31), 1000)])


CORRECTED = [(DAYS[0], 10), (DAYS[1], 1005), (DAYS[2], 7)]
BOUNDS = {"start": day(2).start, "end": day(2).end}


def test_a_restated_range_is_evaluated_again_with_all_that_reads_it(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(SHOP)
    before = entries(world, "prod", SALES_NAME)
    corrected(world)
    plan = asked(services, graph, "prod", restate=("mart.sales",), **BOUNDS)
    assert work(plan) == {"sales": [day(2)], "triple": [day(2)], "total": [day(1, 3)]}
    assert change(plan, "mart.sales").restated == (day(2),)
    assert change(plan, "mart.sales").missing == ()
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart.sales") == world.rows("mart.shown") == CORRECTED
    assert world.rows("mart.total") == [(3 * 1022,)]
    after = entries(world, "prod", SALES_NAME)
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1].work_id != before[1].work_id
    assert {each.standing for each in after} == {Standing.COMPUTED}
    assert asked(services, graph, "prod").is_empty


@pytest.mark.parametrize(
    "selector,expected",
    [
        ("mart.triple", {"triple", "total"}),
        ("mart.total", {"total"}),
        ("mart.t*", {"triple", "total"}),
        ("mart.shown", {"triple", "total"}),  # a view has no rows: who reads it is restated
        ("raw.events", {"sales", "triple", "total"}),
        ("+mart.total", {"sales", "triple", "total"}),
    ],
)
def test_selectors_say_what_is_restated(
    world: MemoryWorld, selector: str, expected: set[str]
) -> None:
    plan = asked(world.services(), graph_of(SHOP), "prod", restate=(selector,))
    assert set(work(plan)) == expected
    assert plan.not_restated == ()


def test_without_a_range_everything_that_is_held_is_restated(world: MemoryWorld) -> None:
    corrected(world)
    done(world.services(), graph_of(SHOP), "prod", restate=("mart.sales",))
    assert world.rows("mart.sales") == CORRECTED
    assert world.rows("mart.total") == [(3 * 1022,)]


def test_what_is_missing_is_evaluated_beside_what_is_restated(world: MemoryWorld) -> None:
    corrected(world)
    world.land((80, 4), until=96)
    plan = asked(world.services(), graph_of(SHOP), "prod", restate=("mart.sales",), **BOUNDS)
    assert change(plan, "mart.sales").missing == (day(4),)
    assert change(plan, "mart.total").missing == (day(1, 4),)
    assert change(plan, "mart.total").restated == ()  # it is made anew anyway, once
    apply_plan(world.services(), plan, lambda _: None)
    assert world.rows("mart.total") == [(3 * 1026,)]


def test_a_model_that_disables_restatement_is_refused_by_name(world: MemoryWorld) -> None:
    kept = SALES.replace("time_column day", "time_column day, disable_restatement true")
    graph = graph_of({**SHOP, "sales": kept})
    done(world.services(), graph, "prod")
    with pytest.raises(RestatementRefused, match=r"mart\.sales .* sets disable_restatement"):
        asked(world.services(), graph, "prod", restate=("mart.*",))
    plan = asked(world.services(), graph, "prod", restate=("raw.events",))
    assert [(str(each.name), each.reason) for each in plan.not_restated] == [
        ("mart.sales", "it sets disable_restatement")
    ]
    assert plan.is_empty


def test_r9_what_production_owns_is_not_restated_elsewhere_and_named(world: MemoryWorld) -> None:
    services = world.services()
    done(services, graph_of(SHOP))
    corrected(world)
    plan = asked(services, graph_of(SHOP), restate=("mart.sales",))
    assert plan.is_empty
    (told,) = plan.not_restated
    assert str(told.name) == "mart.sales"
    assert "prod owns its version" in told.reason
    assert "`vde plan prod --restate-model mart.sales`" in told.reason
    own = {**SHOP, "total": TOTAL.replace("SUM(amount)", "SUM(amount) + 1")}
    done(services, graph_of(own))
    plan = asked(services, graph_of(own), restate=("mart.triple", "mart.total"))
    assert work(plan) == {"total": [day(1, 3)]}
    assert [str(each.name) for each in plan.not_restated] == ["mart.triple"]


def test_what_holds_nothing_is_named(world: MemoryWorld) -> None:
    plan = asked(
        world.services(), graph_of(SHOP), "prod", restate=("mart.sales",), start=day(7).start
    )
    assert plan.is_empty
    assert [each.reason for each in plan.not_restated] == ["it holds nothing of that time"]
    new = {**SHOP, "new": SALES.replace("mart.sales", "mart.new")}
    plan = asked(world.services(), graph_of(new), "prod", restate=("mart.new",))
    assert [each.reason for each in plan.not_restated] == ["it holds nothing yet"]
    assert work(plan) == {"new": [day(1, 3)]}


def test_r8_late_rows_that_no_session_loaded_yet_stay_out_of_a_restated_interval() -> None:
    world = MemoryWorld()
    world.land((1, 10), (30, 5), until=48)
    services = world.services()
    done(services, graph_of(PROJECT), "prod")
    world.land((2, 1000), until=48)
    done(services, graph_of(PROJECT), "prod", restate=("staging.events",))
    assert [row[2] for row in world.rows("staging.events")] == [10, 5]
    assert {each.standing for each in entries(world, "prod", EVENTS_NAME)} == {Standing.COMPUTED}


def test_nobody_reads_what_is_marked_and_the_next_plan_evaluates_it(world: MemoryWorld) -> None:
    """A process dies after it marked what it restates; other runs go on meanwhile."""
    services, graph = world.services(), graph_of(SHOP)
    corrected(world)
    plan = asked(services, graph, "prod", restate=("mart.sales",), **BOUNDS)
    with applying(services, plan) as visitor:
        for stage in opening_of(plan):
            list(visitor.visit(stage))
    assert world.rows("mart.sales") == AMOUNTS, "readers see what they saw"
    marked = entries(world, "prod", SALES_NAME)
    assert [each.standing is Standing.OUTDATED for each in marked] == [False, True, False]
    assert plan.plan_id in marked[1].reason
    with pytest.raises(Refused, match=r"mart\.sales does not hold \[2024-01-02, 2024-01-03\)"):
        evaluate_range(services, bound(services), TRIPLE_NAME, day(2))
    again = asked(services, graph, "prod")
    assert work(again) == {"sales": [day(2)], "triple": [day(2)], "total": [day(1, 3)]}
    apply_plan(services, again, lambda _: None)
    assert world.rows("mart.total") == [(3 * 1022,)]


def test_what_somebody_writes_right_now_is_not_restated(world: MemoryWorld) -> None:
    from vde_dagster.app.leases import held
    from vde_dagster.ports.state import version_resource

    services = world.services()
    plan = asked(services, graph_of(SHOP), "prod", restate=("mart.sales",))
    key = plan.snapshots[TRIPLE_NAME].key
    with (
        held(services.state, version_resource(key), holder="a run"),
        pytest.raises(Conflict, match="held by a run"),
    ):
        apply_plan(services, plan, lambda _: None)
    assert {each.standing for each in entries(world, "prod", SALES_NAME)} == {Standing.COMPUTED}


# Promoting without computing
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


def test_a_view_is_made_over_what_there_is(world: MemoryWorld) -> None:
    services = world.services()
    wider = {**SHOP, "shown": SHOWN.replace("amount AS amount", "amount AS amount, 1 AS one")}
    plan = asked(services, graph_of(wider), skip_backfill=True)
    assert work(plan) == {"shown": [ALWAYS]}
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart__dev.shown") == [(*row, 1) for row in AMOUNTS]


def test_production_shows_no_less_than_before(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(EDITED)
    done(services, graph, start=day(2).start, end=day(2).end)
    plan = asked(services, graph, "prod", skip_backfill=True)
    assert {str(gap.name): gap.intervals for gap in plan.gaps} == {
        "mart.sales": (day(1), day(3)),
        "mart.triple": (day(1), day(3)),
        "mart.total": (day(1, 3),),
    }
    with pytest.raises(Refused, match=r"mart\.sales .*mart\.total .*Leave --skip-backfill out"):
        apply_plan(services, plan, lambda _: None)
    assert world.rows("mart.sales") == AMOUNTS
    assert services.state.environment("prod").revision == 1  # type: ignore[union-attr]


def test_production_shows_without_computing_what_was_computed_elsewhere(
    world: MemoryWorld,
) -> None:
    services, graph = world.services(), graph_of(EDITED)
    done(services, graph)
    assert done(services, graph, "prod", skip_backfill=True) == ()
    assert world.rows("mart.sales") == TENFOLD
    assert world.rows("mart.total") == [(660,)]


# Recording as empty
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
    assert {(each.standing, each.rows.rows) for each in found} == {(Standing.EMPTY, 0)}
    assert all(plan.plan_id in each.reason for each in found)
    assert held_intervals(found) == ()
    assert asked(services, graph).is_empty
    assert asked(services, graph, empty_backfill=True).is_empty
    assert world.rows("mart.sales") == AMOUNTS


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
    assert {each.standing for each in entries(world, "prod", SALES_NAME)} == {Standing.COMPUTED}


def test_nothing_is_computed_from_what_is_empty(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(EDITED)
    done(services, graph, empty_backfill=True)
    with pytest.raises(Refused, match=r"mart\.sales does not hold"):
        evaluate_range(services, bound(services, "dev"), TRIPLE_NAME, day(2))
    world.land((80, 4), until=96)
    plan = asked(services, graph)
    assert work(plan) == {"sales": [day(4)], "triple": [day(4)]}  # all days make a total
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart__dev.triple") == [(date(2024, 1, 4), 120)]
    assert world.rows("mart__dev.total") == []


def test_restating_fills_what_was_recorded_as_empty(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(EDITED)
    done(services, graph, empty_backfill=True)
    done(services, graph, restate=("mart.sales",))
    assert world.rows("mart__dev.sales") == TENFOLD
    assert world.rows("mart__dev.total") == [(660,)]


def test_an_empty_backfill_takes_no_row_away(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(EDITED)
    done(services, graph)
    world.land((80, 4), until=96)
    plan = asked(services, graph, empty_backfill=True)
    assert work(plan) == {"sales": [day(4)], "triple": [day(4)]}
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart__dev.sales") == TENFOLD
    assert world.rows("mart__dev.total") == [(660,)]


def test_what_was_looked_at_again_keeps_its_rows(world: MemoryWorld) -> None:
    looking = SALES.replace("time_column day", "time_column day, lookback 2")
    graph = graph_of({**EDITED, "sales": looking.replace("SUM(amount)", "SUM(amount * 10)")})
    services = world.services()
    done(services, graph)
    world.land((80, 4), until=96)
    plan = asked(services, graph, empty_backfill=True)
    assert work(plan)["sales"] == [day(4)]
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart__dev.sales") == TENFOLD


def test_kinds_for_which_empty_makes_no_sense_are_refused_by_name() -> None:
    world = MemoryWorld()
    world.land((1, 10), until=48)
    services = world.services()
    with pytest.raises(Refused, match=r"staging\.events cannot be recorded as empty.*R7"):
        done(services, graph_of(PROJECT), empty_backfill=True)
    assert services.state.environment("dev") is None
    assert world.catalog.table(TableName("staging", "events")) is None


def test_empty_in_production_is_refused(world: MemoryWorld) -> None:
    with pytest.raises(OptionsRefused, match="--empty-backfill"):
        asked(world.services(), graph_of(EDITED), "prod", empty_backfill=True)


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


# Selecting
BOTH = {**EDITED, "total": TOTAL.replace("SUM(amount)", "SUM(amount) + 1")}


def test_only_what_is_selected_changes_with_what_reads_it(world: MemoryWorld) -> None:
    services = world.services()
    plan = asked(services, graph_of(BOTH), "prod", select=("mart.total",))
    assert plan.left_out == (SALES_NAME,)
    assert {str(each.name) for each in plan.changes if each.change is not Change.NONE} == {
        "mart.total"
    }
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart.sales") == AMOUNTS
    assert world.rows("mart.total") == [(67,)]
    rest = asked(services, graph_of(BOTH), "prod")
    assert change(rest, "mart.sales").change is Change.DIRECT
    assert change(rest, "mart.total").change is Change.INDIRECT


def test_a_selection_with_all_that_reads_it_is_planned_whole(world: MemoryWorld) -> None:
    plan = asked(world.services(), graph_of(BOTH), "prod", select=("mart.sales+",))
    assert plan.left_out == ()
    assert plan.graph == asked(world.services(), graph_of(BOTH), "prod").graph


def test_what_reads_a_selected_model_is_computed_with_the_text_that_is_shown(
    world: MemoryWorld,
) -> None:
    services = world.services()
    done(services, graph_of(BOTH), "prod", select=("mart.sales",))
    assert world.rows("mart.total") == [(660,)]  # not 661
    assert asked(services, graph_of(BOTH), "prod", select=("mart.sales",)).is_empty


def test_a_first_plan_of_some_models_builds_these() -> None:
    world = MemoryWorld()
    world.land((1, 10), until=24)
    services = world.services()
    with pytest.raises(ProjectInvalid, match=r"mart\.triple reads mart\.shown, which is new"):
        asked(services, graph_of(SHOP), "prod", select=("mart.triple",))
    done(services, graph_of(SHOP), "prod", select=("+mart.shown",))
    assert world.rows("mart.shown") == [(DAYS[0], 10)]
    with pytest.raises(EvaluationFailed):
        world.rows("mart.triple")
    done(services, graph_of(SHOP), "prod")
    assert world.rows("mart.total") == [(30,)]


def test_a_removed_model_stays_until_it_is_selected(world: MemoryWorld) -> None:
    services = world.services()
    fewer = graph_of({name: text for name, text in EDITED.items() if name != "total"})
    plan = asked(services, fewer, "prod", select=("mart.sales",))
    assert plan.left_out == (TOTAL_NAME,)
    assert plan.removed == ()
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart.total") == [(660,)]
    plan = asked(services, fewer, "prod", select=("mart.total",))
    assert (plan.removed, plan.left_out) == ((TOTAL_NAME,), ())
    apply_plan(services, plan, lambda _: None)
    with pytest.raises(EvaluationFailed):
        world.rows("mart.total")


def test_a_selected_model_is_bound_to_the_columns_that_are_shown(world: MemoryWorld) -> None:
    wider = {
        **SHOP,
        "sales": SALES.replace("SUM(amount) AS amount", "SUM(amount) AS amount, COUNT(*) AS n"),
        "shown": SHOWN.replace("amount AS amount", "amount AS amount, n AS n"),
    }
    with pytest.raises(ProjectInvalid, match=r"mart\.shown.*'n'") as refused:
        asked(world.services(), graph_of(wider), select=("mart.shown",))
    assert "mart.sales" in str(refused.value)
    done(world.services(), graph_of(wider), select=("+mart.shown",))
    assert world.rows("mart__dev.shown") == [(*row, 1) for row in AMOUNTS]


def test_a_selector_that_means_nothing_is_refused(world: MemoryWorld) -> None:
    with pytest.raises(SelectionRefused, match=r"Did you mean mart\.total"):
        asked(world.services(), graph_of(SHOP), select=("mart.totl",))


# Only what differs from production
def test_only_models_that_differ_from_production_get_views(world: MemoryWorld) -> None:
    services = world.services()
    edited = {**SHOP, "triple": TRIPLE.replace("* 3", "* 4")}
    plan = asked(services, graph_of(edited), include_unmodified=False)
    assert {str(name) for name in plan.views} == {"mart.triple", "mart.total"}
    assert {name.name for name in plan.hidden} >= {"sales", "shown", "events"}
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart__dev.total") == [(88,)]
    for name in ("sales", "shown"):
        with pytest.raises(EvaluationFailed):
            world.rows(f"mart__dev.{name}")
    assert asked(services, graph_of(edited), include_unmodified=False).is_empty
    world.land((80, 4), until=96)
    done(services, graph_of(edited), "prod")
    done(services, graph_of(edited), include_unmodified=False)
    assert bound(services, "dev").key(SALES_NAME).model == SALES_NAME


def test_views_come_and_go_with_the_option(world: MemoryWorld) -> None:
    services = world.services()
    edited = graph_of({**SHOP, "triple": TRIPLE.replace("* 3", "* 4")})
    done(services, edited)
    assert world.rows("mart__dev.sales") == AMOUNTS
    plan = asked(services, edited, include_unmodified=False)
    assert {name.name for name in plan.removed} == {"sales", "shown"}
    apply_plan(services, plan, lambda _: None)
    with pytest.raises(EvaluationFailed):
        world.rows("mart__dev.sales")
    plan = asked(services, edited)
    assert {name.name for name in plan.views} == {"sales", "shown"}
    apply_plan(services, plan, lambda _: None)
    assert world.rows("mart__dev.sales") == AMOUNTS


def test_an_environment_without_views_of_all_models_evaluates_over_what_it_binds(
    world: MemoryWorld,
) -> None:
    services = world.services()
    edited = graph_of({**SHOP, "triple": TRIPLE.replace("* 3", "* 4")})
    done(services, edited, include_unmodified=False)
    done_now = evaluate_range(services, bound(services, "dev"), TRIPLE_NAME, day(2))
    assert [each.rows for each in done_now] == [1]


# Forward only
def test_a_forward_only_change_keeps_the_table_and_evaluates_only_what_is_new(
    world: MemoryWorld,
) -> None:
    services = world.services()
    before = bound(services).key(SALES_NAME)
    plan = asked(services, graph_of(EDITED), "prod", forward_only=True)
    assert change(plan, "mart.sales").category is Category.FORWARD_ONLY
    assert work(plan) == {}
    apply_plan(services, plan, lambda _: None)
    assert bound(services).key(SALES_NAME) == before
    assert world.rows("mart.sales") == AMOUNTS
    world.land((80, 4), until=96)
    done(services, graph_of(EDITED), "prod")
    assert world.rows("mart.sales") == [*AMOUNTS, (date(2024, 1, 4), 40)]


@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_r11_columns_of_a_kept_table_are_listed_and_not_changed_yet(
    world: MemoryWorld, environment: str
) -> None:
    services = world.services()
    wider = {**SHOP, "sales": SALES.replace("AS amount FROM", "AS amount, COUNT(*) AS n FROM")}
    plan = asked(services, graph_of(wider), environment, forward_only=True)
    assert change(plan, "mart.sales").schema_changes == (ColumnAdded(column="n", type="bigint"),)
    before = services.state.environment(environment)
    with pytest.raises(Refused, match=r"mart\.sales keeps its table.* adds n \(bigint\)"):
        apply_plan(services, plan, lambda _: None)
    assert services.state.environment(environment) == before


def test_r11_a_type_that_loses_values_is_refused_for_good(world: MemoryWorld) -> None:
    services = world.services()
    other = {**SHOP, "sales": SALES.replace("SUM(amount)", "CAST(SUM(amount) AS STRING)")}
    plan = asked(services, graph_of(other), "prod", forward_only=True)
    (found,) = change(plan, "mart.sales").schema_changes
    assert isinstance(found, ColumnIncompatible)
    with pytest.raises(Refused, match=r"mart\.sales .*rule R11.* changes amount from"):
        apply_plan(services, plan, lambda _: None)
    assert world.rows("mart.sales") == AMOUNTS


# What is known of a plan before it is applied
def test_a_model_that_only_reads_what_changed_may_adopt_the_version_that_there_is(
    world: MemoryWorld,
) -> None:
    plan = asked(world.services(), graph_of(EDITED))
    assert set(plan.may_adopt) == {TRIPLE_NAME, TOTAL_NAME}
    assert not change(plan, "mart.sales").may_adopt  # it was edited itself
    assert not change(plan, "mart.shown").may_adopt  # a view is made at no cost


def test_what_is_reused_says_who_owns_and_shows_it(world: MemoryWorld) -> None:
    services = world.services()
    plan = asked(services, graph_of(SHOP))
    reuse = change(plan, "mart.sales").reuse
    assert (reuse.held, reuse.owner, reuse.shown_by) == ((day(1, 3),), "prod", ("prod",))
    apply_plan(services, plan, lambda _: None)
    assert change(asked(services, graph_of(SHOP)), "mart.sales").reuse.shown_by == ("dev", "prod")
    assert change(asked(services, graph_of(EDITED)), "mart.sales").reuse is None


def test_planning_writes_nothing(world: MemoryWorld) -> None:
    from tests.app.memory_world import Fuse

    fuse = Fuse()
    services = world.services(fuse)
    asked(services, graph_of(EDITED), restate=("mart.sales",), select=("mart.*",), no_gaps=True)
    writes = ("store", "record", "begin", "finish_promotion", "acquire", "swap", "stage", "outdate")
    assert [name for name in fuse.names if name.startswith(writes)] == []


def test_a_decision_about_no_model_is_refused(world: MemoryWorld) -> None:
    decisions = {ModelName("mart", "sale"): Category.BREAKING}
    with pytest.raises(OptionsRefused, match=r"no model mart\.sale .*Did you mean mart\.sales"):
        asked(world.services(), graph_of(SHOP), decisions=decisions)


def test_what_is_empty_is_reported_beside_what_is_held_and_missing(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(EDITED)
    done(services, graph, empty_backfill=True)
    world.land((80, 4), until=96)
    found = {
        str(each.node.name): each
        for each in report_intervals(services, asked(services, graph, "dev"))
    }
    sales, total = found["mart.sales"], found["mart.total"]
    assert (sales.held, sales.missing, sales.empty) == ((), (day(4),), (day(1, 3),))
    assert sales.waits == ()
    assert [str(each) for each in total.waits] == ["mart.triple lacks 2024-01-01 to 2024-01-02"]
