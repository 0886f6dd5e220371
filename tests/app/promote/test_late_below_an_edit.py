"""A late row and an edit that keeps what reads the edited model, in one plan: the row reaches all.

The new table of the edited model is computed with the late row, and the kept versions below it were
computed without (rules R10 and R14). Expected rows are those that landed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from tests.app.generated_models import Form, Made, edited, project
from tests.app.memory_world import RAW, START, MemoryWorld, graph_of, hour_of, there
from tests.app.shop_world import day
from vde_dagster.app.inspect.status import look_at_environment
from vde_dagster.app.promote.taking import plan_rollback
from vde_dagster.app.staleness.version_behind import FORBIDDEN, UNCOVERED
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

BASE: Final = Made(name="m0", form=Form.COPY, parents=("raw.events",), daily=True)
NEXT: Final = Made(name="m1", form=Form.COPY, parents=("gen.m0",), daily=True)
THIRD: Final = replace(NEXT, name="m2", parents=("gen.m1",))
CHAINS: Final = {
    "a copy": (BASE, NEXT, THIRD),
    "sessions": (BASE, NEXT, replace(THIRD, late=True)),
    "always computed": (replace(BASE, form=Form.CHANCE), NEXT, THIRD),
    "hourly": (replace(BASE, daily=False), replace(NEXT, daily=False), THIRD),
    "two below": (BASE, NEXT, THIRD, replace(THIRD, name="m3", parents=("gen.m2",))),
    "two above": (
        BASE,
        replace(NEXT, name="above"),
        replace(NEXT, parents=("gen.above",)),
        THIRD,
    ),
    "a whole table": (BASE, NEXT, replace(THIRD, form=Form.FULL)),
    "below a whole table": (BASE, replace(NEXT, form=Form.FULL), replace(THIRD, form=Form.FULL)),
}


@pytest.mark.parametrize("runs_between", [False, True])
@pytest.mark.parametrize("chain", CHAINS)
def test_late_rows_reach_what_an_edit_keeps(chain: str, runs_between: bool) -> None:
    models, world = CHAINS[chain], MemoryWorld()
    world.land((1.5, 1), (2.5, 2), until=48)
    world.build(project(models))
    world.clock.advance(timedelta(minutes=1))
    world.land((5.5, 7), until=48)
    if runs_between:
        world.build(project(models))
    new = tuple(edited(each, breaking=False) if each.name == "m1" else each for each in models)
    world.build(project(new))
    landed = [row[:3] for row in world.rows("raw.events")]
    assert len(landed) == 3
    for made in new:
        assert [row[:3] for row in world.rows(f"gen.{made.name}")] == landed, made.name
    assert look_at_environment(world.services(), "prod").is_up_to_date


FORMS: Final = (Form.COPY, Form.SUMS, Form.FULL, Form.RECENT)


@pytest.mark.parametrize("is_hourly", [False, True])
@pytest.mark.parametrize("between", [False, True], ids=["", "through a view"])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_never_computed_again_is_named(form: Form, between: bool, is_hourly: bool) -> None:
    """It was called up to date: its trace was said to be that of the new table."""
    base = replace(BASE, form=form, hours=2 if form is Form.RECENT else 0)
    views = (replace(NEXT, form=Form.VIEW),) if between else ()
    read = "gen.m1" if between else "gen.m0"
    kept = replace(THIRD, form=Form.KEPT, parents=(read,), daily=not is_hourly)
    world = MemoryWorld.landed((1.5, 1), (26.5, 2), until=72)
    world.build(project((base, *views, kept)))
    world.clock.advance(timedelta(minutes=1))
    world.land((5.5, 7), until=72)
    before = world.rows("gen.m2")
    world.build(project((edited(base, breaking=False), *views, kept)))
    (behind,) = look_at_environment(world.services(), "prod").models
    stale = there(behind.staleness)
    assert (behind.node.name, stale.intervals, stale.why_kept) == (kept.key, (), FORBIDDEN)
    assert any(each.start <= hour_of(5) and hour_of(6) <= each.end for each in stale.kept)
    if form in (Form.COPY, Form.SUMS):  # of the others it is not known which rows are the same
        assert not any(each.end > hour_of(24) for each in stale.kept)
    assert world.rows("gen.m2") == before
    world.build(project((edited(edited(base, breaking=False), breaking=False), *views, kept)))
    assert len(look_at_environment(world.services(), "prod").models) == 1


def test_an_edit_without_late_rows_makes_nothing_stale_that_is_kept() -> None:
    kept = replace(THIRD, form=Form.KEPT, parents=("gen.m0",))
    world = MemoryWorld.landed((1.5, 1), (26.5, 2), until=72)
    world.build(project((BASE, kept)))
    world.build(project((edited(BASE, breaking=False), kept)))
    assert look_at_environment(world.services(), "prod").is_up_to_date


@pytest.mark.parametrize("form", [Form.COPY, Form.KEPT])
def test_a_row_that_comes_between_plan_and_apply_reaches_what_is_kept_or_is_named(
    form: Form,
) -> None:
    """The new table had it, and what reads that was called up to date without it."""
    reader = replace(NEXT, form=form)
    world = MemoryWorld.landed((1.5, 1), (26.5, 2), until=72)
    world.build(project((BASE, reader)))
    plan = world.plan(project((edited(BASE, breaking=False), reader)))
    world.clock.advance(timedelta(minutes=1))
    world.land((5.5, 7), until=72)
    world.apply(plan)
    (behind,) = look_at_environment(world.services(), "prod").models
    assert (behind.node.name, there(behind.staleness).times) == (reader.key, (day(1),))
    world.run()
    assert sorted(world.amounts("gen.m1")) == ([1, 2, 7] if form is Form.COPY else [1, 2])


@pytest.mark.parametrize("form", [Form.COPY, Form.FULL, Form.BY_KEY])
def test_rows_that_a_source_has_lost_stay_whatever_runs_afterwards(form: Form) -> None:
    """A day of hours of which one is gone in the source, and another one has a late row."""
    base, reader = replace(BASE, daily=False), replace(NEXT, form=form)
    world = MemoryWorld.landed((1.5, 1), (3.5, 5), (26.5, 2), until=72)
    world.build(project((base, reader)))
    kept = world.rows("gen.m1")
    world.clock.advance(timedelta(minutes=1))
    world.catalog.delete(RAW, [row for row in world.rows("raw.events") if row[2] != 1])
    world.land((5.5, 7), until=72)
    world.build(project((edited(base, breaking=False), reader)))
    for _ in range(2):
        assert world.rows("gen.m1") == kept
        world.run()


@pytest.mark.parametrize("form", [Form.COPY, Form.FULL])
def test_what_is_kept_since_a_source_has_lost_rows_is_named_by_the_plan(form: Form) -> None:
    """It was named only where something else was computed again."""
    reader = replace(NEXT, form=form)
    world = MemoryWorld.landed((1.5, 1), (26.5, 2), until=48)
    world.build(project((BASE, reader)))
    kept = world.rows("gen.m1")
    world.clock.advance(timedelta(minutes=1))
    world.catalog.delete(RAW, [row for row in world.rows("raw.events") if row[2] != 1])
    plan = world.plan(project((edited(BASE, breaking=False), reader)))
    (change,) = (each for each in plan.changes if each.name == reader.key)
    assert change.behind is not None
    times = Interval(START, hour_of(48)) if form is Form.FULL else day(1)
    assert f"It keeps its rows of {times}: {UNCOVERED}" in change.behind.reason
    assert not change.to_evaluate
    world.apply(plan)
    assert world.rows("gen.m1") == kept


def test_r8_what_is_kept_is_not_restated_with_the_edit_where_its_source_has_lost_rows() -> None:
    """That the plan has something to say of it is no permission to take its rows."""
    reader = replace(NEXT, form=Form.UNION, parents=("raw.events", "gen.m0"))
    world = MemoryWorld.landed((1.5, 1), (26.5, 2), until=48)
    world.build(project((BASE, reader)))
    kept = world.rows("gen.m1")
    world.clock.advance(timedelta(minutes=1))
    world.catalog.delete(RAW, [row for row in world.rows("raw.events") if row[2] != 1])
    edit = project((edited(BASE, breaking=False), reader))
    with pytest.raises(Refused, match=r"gen\.m1 cannot be computed again without losing rows"):
        world.build(edit, restate=("gen.m1",))
    assert world.rows("gen.m1") == kept


def running(more: str) -> str:
    """The text of a model that adds the sum of each day to its own one of the day before."""
    return f"""
    MODEL (name gen.m1, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily',
      columns (id int, at timestamp, amount bigint{", more int" if more else ""}),
      late_data (mode stateful, sources (gen.m0 (tracked_by at))));
    SELECT 1 AS id, CAST(@start_dt AS TIMESTAMP) AS at, CAST(SUM(amount) AS BIGINT) AS amount{more}
    FROM (
      SELECT amount FROM gen.m0 WHERE at BETWEEN @start_dt AND @end_dt UNION ALL
      SELECT amount FROM gen.m1
      WHERE at BETWEEN @start_dt - INTERVAL 1 DAY AND @end_dt - INTERVAL 1 DAY
    ) AS days
    """


def sums(*, is_edited: bool, begins: int = 0) -> Graph:
    """Rows of each hour, the sum so far of each day, and what reads that."""
    base = replace(BASE, daily=False, columns=int(is_edited))
    last = "MODEL (name gen.m2, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily'{}); "
    start = f", start '{hour_of(begins):%Y-%m-%d}'"
    read = "SELECT id, at, amount FROM gen.m1 WHERE at BETWEEN @start_dt AND @end_dt"
    texts = {"m1": running(", 5 AS more" if is_edited else ""), "m2": last.format(start) + read}
    return graph_of({"m0": base.text, **texts})


BY_TIME: Final = "INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily'"
COPIES: Final = "SELECT id, at, amount{} FROM {} WHERE at BETWEEN @start_dt AND @end_dt"
BY_A_PERSON: Final = {ModelName("gen", "m1"): Category.NON_BREAKING}


@pytest.mark.parametrize("environment", ["prod", "dev"])
@pytest.mark.parametrize("begins", [0, 24])
def test_what_goes_on_after_a_late_row_reaches_what_an_edit_keeps(
    environment: str, begins: int
) -> None:
    """Only the day of the row was compared: the next one kept the old sum, called up to date."""
    world = MemoryWorld.landed((1.5, 1), (40.5, 2), until=48)
    world.build(sums(is_edited=False, begins=begins), environment)
    world.clock.advance(timedelta(minutes=1))
    world.land((5.5, 7), until=48)
    edit = sums(is_edited=True, begins=begins)
    world.apply(world.plan(edit, environment, decisions=BY_A_PERSON))
    schema = "gen" if environment == "prod" else "gen__dev"
    assert world.amounts(f"{schema}.m1") == [8, 10]
    assert world.amounts(f"{schema}.m2") == [8, 10][begins // 24 :]
    assert look_at_environment(world.services(), environment).is_up_to_date


def test_nor_is_that_called_up_to_date_where_its_owner_has_the_row_to_compute_first() -> None:
    world = MemoryWorld.landed((1.5, 1), (40.5, 2), until=48)
    world.build(sums(is_edited=False, begins=24))
    world.clock.advance(timedelta(minutes=1))
    world.land((5.5, 7), until=48)
    edit = sums(is_edited=True, begins=24)
    world.apply(world.plan(edit, "dev", decisions=BY_A_PERSON))
    (behind,) = look_at_environment(world.services(), "dev").models
    assert (behind.node.name, there(behind.staleness).kept) == (ModelName("gen", "m2"), (day(2),))
    world.run()
    assert world.amounts("gen__dev.m2") == [10]
    assert look_at_environment(world.services(), "dev").is_up_to_date


def test_days_after_a_late_row_reach_what_is_kept_below_an_edited_reader_in_one_plan() -> None:
    """The plan that loaded the row left the days after it to the next run."""
    graphs = [
        graph_of(
            {
                "m0": BASE.text,
                "m1": running(""),
                "m2": f"MODEL (name gen.m2, kind {BY_TIME}); {COPIES.format(more, 'gen.m1')}",
                "m3": f"MODEL (name gen.m3, kind {BY_TIME}); {COPIES.format('', 'gen.m2')}",
            }
        )
        for more in ("", ", 5 AS more")
    ]
    world = MemoryWorld.landed((1.5, 1), (40.5, 2), until=48)
    world.build(graphs[0])
    world.clock.advance(timedelta(minutes=1))
    world.land((5.5, 7), until=48)
    world.build(graphs[1])
    assert world.amounts("gen.m3") == [8, 10]
    assert look_at_environment(world.services(), "prod").is_up_to_date


NEAR: Final = ", late_data (mode stateless, sources (raw.events), catchup_threshold '1 day')"


def near(column: str) -> str:
    """The text of a model whose sessions load late rows of the last day only."""
    return f"MODEL (name gen.m0, kind {BY_TIME}{NEAR}); {COPIES.format(column, 'raw.events')}"


def landed_beyond_and_within_the_threshold() -> MemoryWorld:
    world = MemoryWorld.landed((1.5, 1), (26, 3), (50, 4), until=72)
    world.build(graph_of({"m0": near(""), "m1": NEXT.text}))
    world.clock.advance(timedelta(minutes=1))
    world.land((2.5, 7), until=72)  # in files of their own, since metadata knows times by file
    world.land((51, 9), until=72)
    world.clock.advance(timedelta(minutes=1))
    return world


def test_a_row_beyond_the_threshold_reaches_what_is_kept_beside_one_within_it() -> None:
    """What a session leaves pending was forgotten where it also had rows to load."""
    world = landed_beyond_and_within_the_threshold()
    world.build(graph_of({"m0": near(", 5 AS more"), "m1": NEXT.text}))
    assert world.amounts("gen.m0") == [1, 3, 4, 7, 9]
    assert world.amounts("gen.m1") == [1, 3, 4, 7, 9]
    assert look_at_environment(world.services(), "prod").is_up_to_date


def test_r15_a_version_that_comes_back_hides_no_row_beyond_its_threshold() -> None:
    world = landed_beyond_and_within_the_threshold()
    world.build(graph_of({"m0": near(", 5 AS more")}))
    world.clock.advance(timedelta(minutes=1))
    with pytest.raises(Refused, match=r"show less than now of \[2024-01-01, 2024-01-02\)"):
        world.apply(plan_rollback(world.services(), "prod"))
    assert world.amounts("gen.m0") == [1, 3, 4, 7, 9]
