"""A forward-only change is tried in a table of its own; the one that it keeps stays as it is."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, Final

import pytest

from tests.app.memory_world import MemoryWorld, graph_of, made_once, there
from tests.app.shop_world import (
    ALWAYS,
    AMOUNTS,
    DAYS,
    SALES,
    SALES_NAME,
    SHOP,
    TOTAL,
    TOTAL_NAME,
    TRIPLE_NAME,
    change,
    day,
    work,
)
from vde_dagster.app.clean_up.janitor import clean_up
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.promote.taking import plan_promotion
from vde_dagster.core.clean_up.references import Times
from vde_dagster.core.errors import Refused
from vde_dagster.core.model.snapshot import Bounded, Category, ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.reason_values import sentences
from vde_dagster.core.planning.options import OptionsRefused
from vde_dagster.core.time.intervals import Interval

SINCE: Final = day(2).start
KEPT: Final = SALES.replace("time_column day)", "time_column day, forward_only true)")
FIRST: Final = {**SHOP, "sales": KEPT}
TENFOLD: Final = {**FIRST, "sales": KEPT.replace("SUM(amount)", "SUM(amount * 10)")}
HUNDREDFOLD: Final = {**FIRST, "sales": KEPT.replace("SUM(amount)", "SUM(amount * 100)")}
KEYED: Final = """
MODEL (name mart.keyed, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, forward_only true),
  cron '@daily');
SELECT id AS id, amount AS amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
HALVES: Final = [(DAYS[0], 10), (DAYS[1], 50), (DAYS[2], 70)]


@made_once
def in_production() -> MemoryWorld:
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    world.build(graph_of(FIRST))
    return world


@pytest.fixture
def world() -> MemoryWorld:
    return in_production()


def shown(world: MemoryWorld, name: ModelName, environment: str = "dev") -> ModelSnapshot:
    return world.bound(environment).snapshots[name]


def previewed(world: MemoryWorld, texts: dict[str, str] | None = None, **options: Any) -> None:
    options = {"effective_from": SINCE} | options
    world.build(graph_of(texts or TENFOLD), "dev", **options)


def promoted(world: MemoryWorld, target: str = "prod") -> dict[str, list[Interval]]:
    plan = plan_promotion(world.services(), "dev", target)
    world.apply(plan)
    return work(plan)


# In dev
@pytest.mark.full
def test_a_forward_only_change_is_shown_in_a_table_of_its_own(world: MemoryWorld) -> None:
    kept = shown(world, SALES_NAME, "prod")
    services = world.services()
    head = services.state.heads([kept.key])
    plan = world.plan(graph_of(TENFOLD), "dev", effective_from=SINCE)
    found = change(plan, "mart.sales")
    assert found.category is Category.FORWARD_ONLY
    assert found.bounded == Bounded(since=SINCE, instead_of=kept.version, is_preview=True)
    why = "preview from 2024-01-02 on, in a separate table that is never promoted"
    assert why in sentences(found.reasons)
    assert work(plan) == {"sales": [day(2, 3)], "shown": [ALWAYS]}
    assert plan.not_restated == ()
    world.apply(plan)
    assert world.rows("mart__dev.sales") == world.rows("mart__dev.shown") == HALVES[1:]
    assert world.rows("mart.sales") == AMOUNTS
    assert services.state.heads([kept.key]) == head
    keys = [shown(world, SALES_NAME).key, kept.key]
    assert services.state.owners(keys) == {keys[0]: "dev", keys[1]: "prod"}
    assert shown(world, TRIPLE_NAME).key == shown(world, TRIPLE_NAME, "prod").key
    assert world.plan(graph_of(TENFOLD), "dev", effective_from=SINCE).is_empty


@pytest.mark.full
def test_it_goes_on_by_runs_and_plans_that_say_nothing_of_it(world: MemoryWorld) -> None:
    previewed(world)
    before = shown(world, SALES_NAME)
    assert world.plan(graph_of(TENFOLD), "dev").is_empty
    world.land((80, 4), until=96)
    plan = world.plan_run("dev")
    assert (plan.promotes, work(plan)) == (False, {"sales": [day(4)]})
    world.apply(plan)
    assert world.rows("mart__dev.sales") == [*HALVES[1:], (date(2024, 1, 4), 40)]
    assert shown(world, SALES_NAME) == before


@pytest.mark.full
def test_another_edit_is_another_preview_from_the_same_instant(world: MemoryWorld) -> None:
    previewed(world)
    before = shown(world, SALES_NAME)
    world.build(graph_of(HUNDREDFOLD), "dev")
    after = shown(world, SALES_NAME)
    assert (after.bounded, after.version == before.version) == (before.bounded, False)
    assert world.rows("mart__dev.sales") == [(DAYS[1], 500), (DAYS[2], 700)]
    previewed(world, HUNDREDFOLD, effective_from=day(3).start)
    assert world.rows("mart__dev.sales") == [(DAYS[2], 700)]
    assert world.rows("mart.sales") == AMOUNTS


def test_a_change_that_is_not_forward_only_ends_the_preview(world: MemoryWorld) -> None:
    previewed(world)
    world.build(graph_of(HUNDREDFOLD), "dev", decisions={SALES_NAME: Category.BREAKING})
    assert shown(world, SALES_NAME).bounded is None
    assert [row[1] for row in world.rows("mart__dev.sales")] == [1000, 500, 700]


@pytest.mark.full
def test_going_back_to_what_production_has_ends_the_preview(world: MemoryWorld) -> None:
    previewed(world)
    plan = world.plan(graph_of(FIRST), "dev")
    assert "no longer a preview" in sentences(change(plan, "mart.sales").reasons)[0]
    world.apply(plan)
    assert shown(world, SALES_NAME).key == shown(world, SALES_NAME, "prod").key
    assert world.rows("mart__dev.sales") == AMOUNTS


@pytest.mark.full
def test_what_is_edited_below_a_preview_reads_it_and_is_bounded(world: MemoryWorld) -> None:
    triple = SHOP["triple"].replace("* 3", "* 4")
    previewed(world, {**TENFOLD, "triple": triple})
    found = there(shown(world, TRIPLE_NAME).bounded)
    assert (found.since, found.is_preview) == (SINCE, False)
    assert world.rows("mart__dev.triple") == [(DAYS[1], 200), (DAYS[2], 280)]
    assert world.rows("mart__dev.total") == [(480,)]
    assert shown(world, TOTAL_NAME).bounded is not None
    promoted(world)
    assert world.rows("mart.triple") == [(DAYS[0], 40), (DAYS[1], 200), (DAYS[2], 280)]
    assert world.rows("mart.total") == [(520,)]


def test_a_kind_that_builds_on_its_rows_begins_without_any() -> None:
    world = MemoryWorld.landed((1, 10), (30, 5), until=48)
    world.build(graph_of({"keyed": KEYED}))
    edited = graph_of({"keyed": KEYED.replace("amount AS", "amount * 10 AS")})
    world.build(edited, "dev", effective_from=SINCE)
    assert [row[1] for row in world.rows("mart__dev.keyed")] == [50]
    plan = plan_promotion(world.services(), "dev", "prod")
    (left,) = plan.not_restated
    why = "builds each interval on the ones before it, so its change applies from now on"
    assert (str(left.name), left.reason) == ("mart.keyed", f"INCREMENTAL_BY_UNIQUE_KEY {why}")
    world.apply(plan)
    assert [row[1] for row in world.rows("mart.keyed")] == [10, 5]
    world.land((50, 7), until=72)
    world.run()
    assert [row[1] for row in world.rows("mart.keyed")] == [10, 5, 70]


@pytest.mark.full
def test_what_keeps_its_table_under_another_parent_is_previewed_as_well() -> None:
    below = """
    MODEL (name mart.below, kind INCREMENTAL_BY_TIME_RANGE (time_column day, forward_only true),
      cron '@daily');
    SELECT day AS day, amount + 1 AS amount FROM mart.sales
    WHERE day BETWEEN @start_ds AND @end_ds
    """
    texts = {"sales": SALES, "below": below}
    world = MemoryWorld.landed((1, 10), (30, 5), until=48)
    world.build(graph_of(texts))
    edited = {**texts, "sales": SALES.replace("SUM(amount)", "SUM(amount * 10)")}
    previewed(world, edited)
    assert world.rows("mart__dev.below") == [(DAYS[1], 51)]
    assert world.rows("mart.below") == [(DAYS[0], 11), (DAYS[1], 6)]
    promoted(world)
    assert world.rows("mart.below") == [(DAYS[0], 11), (DAYS[1], 51)]


# Promoting
@pytest.mark.full
def test_a_promotion_keeps_the_table_and_computes_it_again_from_the_instant_on(
    world: MemoryWorld,
) -> None:
    kept = shown(world, SALES_NAME, "prod").key
    previewed(world)
    plan = plan_promotion(world.services(), "dev", "prod")
    found = change(plan, "mart.sales")
    assert (found.version, found.bounded, found.restated) == (kept.version, None, (day(2, 3),))
    said = (
        "it applies from 2024-01-02 on: intervals loaded since then are computed again, earlier "
        "ones only for a late row or a restatement"
    )
    assert said in (sentences(found.reasons))
    assert dict(plan.effective_from) == {SALES_NAME: SINCE}
    world.apply(plan)
    assert shown(world, SALES_NAME, "prod").key == kept
    assert world.rows("mart.sales") == world.rows("mart.shown") == HALVES
    assert world.rows("mart.total") == [(390,)]
    assert plan_promotion(world.services(), "dev", "prod").is_empty
    assert world.plan_run().is_empty


@pytest.mark.full
def test_an_environment_changes_a_table_of_its_own_in_place() -> None:
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    world.build(graph_of(FIRST), "dev")
    before = shown(world, SALES_NAME)
    previewed(world)
    assert (shown(world, SALES_NAME).key, shown(world, SALES_NAME).bounded) == (before.key, None)
    assert world.rows("mart__dev.sales") == HALVES


@pytest.mark.full
def test_another_environment_takes_the_change_as_a_preview(world: MemoryWorld) -> None:
    previewed(world)
    assert promoted(world, "staging") == {}
    assert shown(world, SALES_NAME, "staging") == shown(world, SALES_NAME)
    assert world.rows("mart__staging.sales") == HALVES[1:]
    assert world.rows("mart.sales") == AMOUNTS


@pytest.mark.parametrize(
    "texts, options, why",
    [
        (TENFOLD, {"effective_from": day(9).start}, "is in the future"),
        (
            {**FIRST, "total": TOTAL.replace("SUM", "MAX")},
            {"effective_from": SINCE},
            r"has none: mart\.total is non_breaking\. .*--decide mart\.total=forward_only",
        ),
        (TENFOLD, {"effective_from": SINCE, "skip_backfill": True}, "omit one of them"),
    ],
)
@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_an_instant_that_says_nothing_is_refused(
    world: MemoryWorld, texts: dict[str, str], options: dict[str, Any], why: str, environment: str
) -> None:
    with pytest.raises(OptionsRefused, match=why):
        world.plan(graph_of(texts), environment, **options)


# Cleaning up


def test_a_table_that_production_shows_no_more_stays_while_a_preview_stands_for_it(
    world: MemoryWorld,
) -> None:
    previewed(world)
    kept = shown(world, SALES_NAME, "prod").key
    decided = {SALES_NAME: Category.BREAKING}
    world.build(graph_of(HUNDREDFOLD), decisions=decided)
    assert shown(world, SALES_NAME, "prod").key != kept
    for _ in range(3):
        later(world, Times(environment=None))
    assert kept.table in world.catalog.tables
    world.land((80, 4), until=192)
    plan = world.plan_run("dev")  # nobody owns these tables by now
    assert (plan.promotes, list(work(plan))) == (False, ["sales"])
    with pytest.raises(Refused, match="`vde plan dev` gives it a separate table"):
        evaluate(world.services(), world.bound("dev"), TRIPLE_NAME, day(4))
    world.build(graph_of(TENFOLD), "dev")
    assert shown(world, TRIPLE_NAME).bounded is not None


def later(world: MemoryWorld, times: Times) -> None:
    world.clock.advance(timedelta(days=8))
    clean_up(world.services(), times)
