"""What an edit keeps and lets read, or read before, a table whose rows have no time column.

Nothing is recorded of the times of their rows: a FULL table has more than its intervals say.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import pytest

from tests.app.memory_world import START, MemoryWorld, graph_of
from tests.app.promote.test_other_tables import (
    BY_A_PERSON,
    LATER,
    READERS,
    WITHIN,
    filled,
    inlined,
    is_up_to_date,
    only,
    table,
    wider,
)
from vde_dagster.app.inspect.status import look_at_environment
from vde_dagster.app.promote.taking import plan_promotion
from vde_dagster.core.model.snapshot import Category

WITHOUT: Final = ["FULL", "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)", "INCREMENTAL_UNMANAGED"]
WINDOW: Final = "at BETWEEN @start_dt - INTERVAL 1 DAY AND @end_dt"


def whole(kind: str, name: str, more: str = "") -> str:
    header = f"MODEL (name gen.{name}, kind {kind}, cron '@daily'{more}); "
    return f"{header}SELECT id, at, amount FROM raw.events"


def two_days(of: str, options: str = "") -> str:
    """The text of a model that has a sum of each day and the one before it."""
    kind = f"INCREMENTAL_BY_TIME_RANGE (time_column at, batch_size 1{options})"
    return (
        f"MODEL (name gen.m1, kind {kind}, cron '@daily'); SELECT 1 AS id, "
        "CAST(@start_dt AS TIMESTAMP) AS at, CAST(SUM(amount) AS BIGINT) AS amount "
        f"FROM gen.{of} WHERE {WINDOW}"
    )


@pytest.mark.parametrize("kind", WITHOUT)
def test_rows_outside_of_the_intervals_of_the_table_that_is_read_now(kind: str) -> None:
    by_time = READERS["by time"]
    world = filled({"m0": table("m0", more=LATER), "m1": table("m1", "gen.m0", by_time)})
    world.clock.advance(timedelta(minutes=1))
    world.build(graph_of({"n": whole(kind, "n", LATER), "m1": table("m1", "gen.n", by_time)}))
    assert world.amounts("gen.n") == [1, 3]
    assert world.amounts("gen.m1") == [1, 3]
    assert is_up_to_date(world)


@pytest.mark.parametrize("kind", ["VIEW", *WITHOUT])
def test_rows_before_the_first_interval_that_a_window_reads(kind: str) -> None:
    options = ", forward_only true"
    world = MemoryWorld.landed((-5, 100), (1.5, 1), (26, 3), until=48)
    world.build(graph_of({"m0": table("m0"), "m1": two_days("m0", options)}))
    assert world.amounts("gen.m1") == [1, 4]
    world.clock.advance(timedelta(minutes=1))
    new = inlined(name="n") if kind == "VIEW" else whole(kind, "n")
    world.build(graph_of({"n": new, "m1": two_days("n", options)}))
    assert world.amounts("gen.m1") == [4, 101]
    assert is_up_to_date(world)


def test_a_view_whose_source_begins_with_the_table_before_has_nothing_more_to_read() -> None:
    """`dev` was behind for good, though the window reads the same rows."""
    world = filled({"m0": table("m0"), "m1": two_days("m0")})
    world.clock.advance(timedelta(minutes=1))
    edited = graph_of({"m0": inlined(), "m1": two_days("m0")})
    world.build(edited, "dev", decisions=only(BY_A_PERSON, "m0"))
    assert world.rows("gen__dev.m1") == world.rows("gen.m1")
    assert look_at_environment(world.services(), "dev").is_up_to_date


@pytest.mark.parametrize("kind", WITHOUT)
@pytest.mark.parametrize("environment", ["prod", "dev"])
def test_a_view_in_place_of_a_table_that_had_all_rows(environment: str, kind: str) -> None:
    """The table was taken for empty outside of its intervals, so that all was computed again."""
    m1 = table("m1", "gen.m0")
    world = filled({"m0": whole(kind, "m0", LATER), "m1": m1})
    assert world.amounts("gen.m1") == [1, 3]
    world.clock.advance(timedelta(minutes=1))
    edited = graph_of({"m0": inlined(), "m1": m1})
    plan = world.plan(edited, environment, decisions=only(BY_A_PERSON, "m0"))
    (change,) = (each for each in plan.changes if str(each.name) == "gen.m1")
    assert not change.to_evaluate
    world.apply(plan)
    assert look_at_environment(world.services(), environment).is_up_to_date


def test_new_rows_of_a_table_by_key_above_an_edited_model_reach_what_is_kept_below() -> None:
    """They came with the next run."""
    kind = "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)"
    keys = f"SELECT amount % 10 AS id, at, amount FROM raw.events {WITHIN}"
    keyed = f"MODEL (name gen.keyed, kind {kind}, cron '@daily'); {keys}"
    m1, m2 = table("m1", "gen.keyed"), table("m2", "gen.m1")
    world = MemoryWorld.landed((1.5, 1), (2, 2), (26, 3), until=48)
    world.build(graph_of({"keyed": keyed, "m1": m1, "m2": m2}))
    world.clock.advance(timedelta(minutes=1))
    world.land((50, 11), until=72)
    world.build(graph_of({"keyed": keyed, "m1": wider(m1), "m2": m2}))
    assert [world.amounts(f"gen.{name}") for name in ("keyed", "m1", "m2")] == [[2, 3, 11]] * 3


@pytest.mark.parametrize("how", ["restated", "effective from"])
def test_what_is_restated_above_an_edited_model_reaches_what_is_kept_below(how: str) -> None:
    m1, m2 = table("m1", "gen.m0"), table("m2", "gen.m1", "INCREMENTAL_UNMANAGED")
    world = filled({"m0": table("m0"), "m1": m1, "m2": m2})
    world.clock.advance(timedelta(minutes=1))
    m0 = table("m0").replace("amount FROM", "amount + 100 AS amount FROM")
    edited = graph_of({"m0": m0, "m1": wider(m1), "m2": m2})
    if how == "restated":
        world.build(graph_of({"m0": m0, "m1": m1, "m2": m2}), forward_only=True)
        world.clock.advance(timedelta(minutes=1))
        world.build(edited, restate=("gen.m0",))
    else:
        forward = dict.fromkeys(only(BY_A_PERSON, "m0"), Category.FORWARD_ONLY)
        decided = {**forward, **only(BY_A_PERSON, "m1")}
        world.build(edited, decisions=decided, effective_from=START)
    assert [world.amounts(f"gen.m{number}") for number in range(3)] == [[101, 103]] * 3


def test_a_promotion_is_not_refused_for_what_production_never_computes_either() -> None:
    kind = "INCREMENTAL_BY_TIME_RANGE (time_column at, disable_restatement true)"
    m0 = table("m0", kind=kind)
    world = filled({"m0": m0})
    world.clock.advance(timedelta(minutes=1))
    world.build(graph_of({"m0": wider(m0)}), "dev")
    world.clock.advance(timedelta(minutes=1))
    world.land((2.5, 7), until=48)
    world.run()
    world.apply(plan_promotion(world.services(), "dev", "prod"))
    assert world.amounts("gen.m0") == [1, 3]
    assert not is_up_to_date(world)
