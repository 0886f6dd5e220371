"""A dropped table is found by the next plan and computed again, where its rows can be."""

from __future__ import annotations

import pytest

from tests.app.faults.every_kind import KINDS, model
from tests.app.memory_world import (
    PROJECT,
    RAW,
    Fuse,
    MemoryWorld,
    PowerCut,
    graph_of,
    hour_of,
    made_once,
)
from tests.app.shop_world import (
    AMOUNTS,
    SALES_NAME,
    SHOP,
    TRIPLE_NAME,
    day,
    done,
    shop_in_production,
)
from vde_dagster.app.apply.pausing import pause_models, resume_models
from vde_dagster.app.apply.running import Wanted
from vde_dagster.app.apply.visitor import applying
from vde_dagster.app.inspect.verify import verify
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.stages import opening_of

GRAPH = graph_of(SHOP)
FOURFOLD = graph_of({**SHOP, "triple": SHOP["triple"].replace("* 3", "* 4")})
AGAIN = ("time_range", "unmanaged", "unique_key", "in_order", "by_partition", "changes", "full")


def drop(world: MemoryWorld, name: ModelName = SALES_NAME, environment: str = "prod") -> None:
    world.catalog.drop_table(world.bound(environment).key(name).table)


def named(found: Plan) -> list[str]:
    return [str(each.name) for each in found.rebuilds]


def of_kind(kind: str) -> Graph:
    """A model of a kind; one with keys, which days have in common, is loaded day by day."""
    written = model(kind).replace("unique_key bucket", "unique_key bucket, batch_size 1")
    return graph_of({kind: written})


def two_days(kind: str) -> MemoryWorld:
    world = MemoryWorld.landed((1, 10), (2, 20), (3, 5), until=24)
    world.build(of_kind(kind))
    world.land((25, 7), (26, 9), until=48)
    world.build(of_kind(kind))
    return world


@pytest.mark.full
@pytest.mark.parametrize("kind", [*AGAIN, "managed"])
def test_the_rows_of_a_dropped_table_are_computed_again(kind: str) -> None:
    assert {*KINDS} - {*AGAIN} == {"history"}
    world, graph, name = two_days(kind), of_kind(kind), ModelName("kept", kind)
    if kind == "by_partition":  # both days in one batch, as in every restatement
        world.build(graph, restate=(str(name),))
    before = world.rows(f"kept.{kind}")
    drop(world, name)
    found = world.plan(graph)
    assert (named(found), found.lost_tables) == ([str(name)], ())
    world.apply(found)
    assert world.rows(f"kept.{kind}") == before
    assert world.plan(graph).is_up_to_date
    (checked,) = verify(world.services(), world.bound(), [name])
    assert checked.holds
    world.land((49, 1), until=72)
    world.build(graph)
    assert len(world.rows(f"kept.{kind}")) >= len(before)


def test_a_history_cannot_be_seen_again_so_its_dropped_table_is_refused_with_the_reason() -> None:
    world, graph = two_days("history"), of_kind("history")
    drop(world, ModelName("kept", "history"))
    with pytest.raises(Refused, match=r"a history keeps the states observed.*stamp"):
        world.apply(world.plan(graph))


@pytest.mark.full
def test_a_run_computes_a_dropped_table_again_and_one_of_late_rows_leaves_it_and_says_so() -> None:
    world = shop_in_production()
    drop(world)
    stale_only = world.plan_run("prod", Wanted.STALE)
    assert [str(each.name) for each in stale_only.lost_tables] == ["mart.sales"]
    with pytest.raises(Refused, match=r"mart\.sales is missing.*Plan again"):
        world.apply(stale_only)
    world.run()
    assert world.rows("mart.sales") == AMOUNTS


@pytest.mark.full
def test_what_the_source_does_not_reach_back_to_is_not_computed_again() -> None:
    world = shop_in_production()
    world.catalog.delete(RAW, [(2, hour_of(30), 5), (3, hour_of(50), 7)])  # the first day is gone
    drop(world)
    with pytest.raises(Refused, match=r"no longer has all rows.*stamp"):
        world.build(GRAPH)
    stamped = {**SHOP, "sales": SHOP["sales"].replace("cron", "stamp 'again', cron")}
    world.build(graph_of(stamped), "dev")
    assert world.rows("mart__dev.sales") == AMOUNTS[1:]


def test_the_table_of_a_paused_model_is_computed_again_once_it_is_resumed_as_is_advised() -> None:
    world = shop_in_production()
    drop(world)
    services = world.services()
    pause_models(services, "prod", [SALES_NAME], reason="")
    with pytest.raises(Refused, match=r"it is paused, so resume it: `vde resume mart\.sales`"):
        world.build(GRAPH)
    resume_models(services, "prod", [SALES_NAME])
    world.build(GRAPH)
    assert world.rows("mart.sales") == AMOUNTS


@pytest.mark.full
def test_rows_that_entered_by_sessions_are_computed_again_as_of_the_mark() -> None:
    world, graph, name = MemoryWorld(), graph_of(PROJECT), ModelName("staging", "events")
    world.land((1, 10), (30, 5), (47, 1), until=48)
    world.build(graph)
    before = world.rows("staging.events")
    drop(world, name)
    world.build(graph)
    assert world.rows("staging.events") == before
    world.land((1.5, 100), until=48)
    world.build(graph)
    assert [row[2] for row in world.rows("staging.events")] == [10, 5, 1, 100]


def test_a_run_leaves_out_what_cannot_be_computed_again_and_what_reads_it_and_says_so() -> None:
    more = "column day, disable_restatement true"
    kept = graph_of({**SHOP, "sales": SHOP["sales"].replace("column day", more)})
    world = shop_in_production()
    world.build(kept)
    drop(world)
    world.land((80, 1), until=96)
    found = world.plan_run()
    (lost,) = found.lost_tables
    assert lost.why == "it sets disable_restatement, so its rows are never computed again"
    assert found.backfills == ()
    with pytest.raises(Refused, match=r"mart\.sales is missing.*disable_restatement"):
        world.apply(found)


@made_once
def staged_and_dropped() -> MemoryWorld:
    """The first rows of another version of mart.triple are staged, and what they read is dropped.

    Their process died. The source has another row of the second day by now.
    """
    world = shop_in_production()
    with pytest.raises(PowerCut):
        done(world.services(Fuse(cut_name="record_staged", after=True)), FOURFOLD, "prod")
    world.reboot()
    world.catalog.append(RAW, [(99, hour_of(31), 1000)])
    drop(world)
    return world


def test_nobody_reads_what_was_staged_from_a_table_that_was_dropped_then() -> None:
    world = staged_and_dropped()
    services = world.services()
    found = world.plan(FOURFOLD)
    with applying(services, found) as visitor:
        for stage in opening_of(found):
            list(visitor.visit(stage))
        held = services.state.holdings([found.snapshots[TRIPLE_NAME].key])
    (holding,) = held.values()
    assert (holding.computed, holding.outdated) == ((), (day(1, 3),))
