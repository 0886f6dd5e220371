"""A power cut after every call of a restatement and of an empty backfill that may change something.

What is durable after one call is so until the next call that writes, so cuts before that one would
show nothing more.
"""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.mark import ParameterSet

from tests.app.memory_world import (
    RAW,
    Fuse,
    MemoryWorld,
    PowerCut,
    bound,
    graph_of,
    hour_of,
    made_once,
)
from tests.app.read_models import reading_once
from tests.depth import cuts
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.entries import EntryStatus
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions

SALES = """
MODEL (name mart.sales, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY CAST(at AS DATE)
"""
TRIPLE = """
MODEL (name mart.triple, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT day AS day, amount * 3 AS amount FROM mart.sales WHERE day BETWEEN @start_ds AND @end_ds
"""
TOTAL = "MODEL (name mart.total, kind FULL);\nSELECT SUM(amount) AS amount FROM mart.triple"
SHOP = graph_of({"sales": SALES, "triple": TRIPLE, "total": TOTAL})
EDITED = graph_of({"sales": SALES.replace("amount)", "amount * 2)"), "triple": TRIPLE})
RESTATED: dict[str, Any] = {"restate": ("mart.sales",), "start": hour_of(24), "end": hour_of(48)}
OLD, NEW = [5, 10], [10, 1005]


@made_once
def landed() -> MemoryWorld:
    """Production over two days; then the second day is corrected in the source."""
    world = MemoryWorld()
    world.land((1, 10), (30, 5), until=48)
    run(world, SHOP, "prod")
    world.catalog.append(RAW, [(99, hour_of(31), 1000)])
    return world


def run(
    world: MemoryWorld,
    graph: Graph,
    environment: str,
    fuse: Fuse | None = None,
    **options: Any,
) -> None:
    """Plan and apply, as one process does."""
    services = world.services(fuse)
    finish_promotions(services, environment)
    plan = plan_environment(services, graph, environment, PlanOptions(**options))
    apply_plan(services, plan, lambda _: None)


def calls_of(graph: Graph, environment: str, **options: Any) -> list[ParameterSet]:
    """The numbers of the calls that are not known to read only."""
    fuse = Fuse()
    with reading_once():
        run(landed(), graph, environment, fuse, **options)
    return cuts(fuse.names, fuse.changing)


CALLS = calls_of(SHOP, "prod", **RESTATED)


def by_day(world: MemoryWorld, view: str) -> dict[Any, Any]:
    found: list[Any] = list(world.rows(view))
    return dict(found)


def amounts(world: MemoryWorld, view: str) -> list[Any]:
    found: list[Any] = list(world.rows(view))
    return sorted(row[-1] for row in found)


def assert_nothing_is_held_that_follows_from_something_else(world: MemoryWorld) -> None:
    """For each day that both models have loaded, one amount is three times the other."""
    services = world.services()
    binding = bound(services)
    loaded: list[set[object]] = []
    for name in ("sales", "triple"):
        key = binding.key(ModelName("mart", name))
        entries = services.state.ledger([key])[key]
        computed = [each for each in entries if each.status is EntryStatus.COMPUTED]
        loaded.append({each.interval.start.date() for each in computed})
    sales, triple = by_day(world, "mart.sales"), by_day(world, "mart.triple")
    for day in loaded[0] & loaded[1]:
        assert triple[day] == 3 * sales[day]


def is_marked(world: MemoryWorld) -> bool:
    services = world.services()
    keys = [each.key for each in bound(services).snapshots.values()]
    ledger = services.state.ledger(keys)
    return any(each.status is EntryStatus.OUTDATED for some in ledger.values() for each in some)


@made_once
def died(call: int) -> MemoryWorld:
    """A world in which a restatement died after a call."""
    world = landed()
    with pytest.raises(PowerCut):
        run(world, SHOP, "prod", Fuse(cut_at=call, after=True), **RESTATED)
    return world


@pytest.mark.full
@pytest.mark.parametrize("call", CALLS)
def test_a_restatement_that_dies_at_any_call_is_completed_by_the_same_plan(call: int) -> None:
    world = died(call)
    assert amounts(world, "mart.sales") in (OLD, NEW), "readers see all of it or nothing"
    assert amounts(world, "mart.total") in ([45], [3045])
    assert_nothing_is_held_that_follows_from_something_else(world)
    world.reboot()
    run(world, SHOP, "prod", **RESTATED)
    assert (amounts(world, "mart.sales"), amounts(world, "mart.total")) == (NEW, [3045])
    assert not is_marked(world)


@pytest.mark.parametrize("call", CALLS)
def test_a_restatement_that_was_begun_is_completed_by_any_plan(call: int) -> None:
    world = died(call)
    world.reboot()
    run(world, SHOP, "prod")  # whether it was begun or not: the source has other rows by now
    assert amounts(world, "mart.sales") == NEW
    assert amounts(world, "mart.total") == [3045]
    assert not is_marked(world)


@pytest.mark.full
@pytest.mark.parametrize("call", calls_of(EDITED, "dev", empty_backfill=True))
def test_an_empty_backfill_that_dies_at_any_call_never_stands_for_rows(call: int) -> None:
    world = landed()
    with pytest.raises(PowerCut):
        run(world, EDITED, "dev", Fuse(cut_at=call, after=True), empty_backfill=True)
    world.reboot()
    run(world, EDITED, "dev", empty_backfill=True)
    assert world.rows("mart__dev.sales") == world.rows("mart__dev.triple") == []
    run(world, EDITED, "prod")
    assert amounts(world, "mart.sales") == [20, 2010]
    assert amounts(world, "mart.triple") == [60, 6030]
