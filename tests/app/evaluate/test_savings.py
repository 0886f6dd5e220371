"""What is recorded as not computed, and what is reported of it, on the ports in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.app.memory_world import MemoryWorld, bound, graph_of, made_once, slow
from tests.app.shop_world import SALES, SALES_NAME, SHOP, TRIPLE_NAME, day, done, entries
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.evaluate.savings import SavingKind, left_as_it_is, savings
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.entries import Trace
from vde_dagster.core.ledger.savings import Saved, total_saved
from vde_dagster.core.names import ModelName

DAY = timedelta(days=1)
EQUAL = {**SHOP, "sales": SALES.replace("GROUP BY", "AND amount < 100 GROUP BY")}
"""Another query of `mart.sales`, with the same rows as long as no amount is 100 or more."""
KEPT, SHARED = SavingKind.KEPT, SavingKind.SHARED


@pytest.fixture
@made_once
def world() -> MemoryWorld:
    """Three days of events in production: 10 seconds for a day, 30 for the whole table."""
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    done(slow(world.services(), world.clock), graph_of(SHOP), "prod")
    return world


def reported(
    world: MemoryWorld, environment: str | None = None, ago: timedelta = timedelta(0)
) -> dict[tuple[str, str, SavingKind], Saved]:
    services = world.services()
    found = savings(services, environment, since=services.clock.now() - ago)
    return {(each.environment, each.model.name, each.kind): each.saved for each in found}


def saved(days: int, rows: int, seconds: float, *, whole: bool = False) -> Saved:
    return Saved(intervals=days, time=None if whole else days * DAY, rows=rows, seconds=seconds)


def evaluated(services: Services, name: ModelName, first: int, last: int, **how: Any) -> None:
    evaluate_range(services, bound(services), name, day(first, last), **how)


def test_what_was_loaded_earlier_and_not_again_is_kept(world: MemoryWorld) -> None:
    world.clock.advance(timedelta(hours=1))
    world.land((30, 100), until=72)
    evaluated(world.services(), SALES_NAME, 2, 2, force=True)
    evaluated(world.services(), TRIPLE_NAME, 1, 3)
    hour = timedelta(minutes=30)
    assert reported(world, ago=hour) == {
        ("prod", "sales", KEPT): saved(2, 2, 20.0),
        ("prod", "total", KEPT): saved(1, 1, 30.0, whole=True),
        ("prod", "triple", KEPT): saved(2, 2, 20.0),
    }
    assert reported(world, ago=timedelta(days=1)) == {}


def test_what_another_environment_computed_is_shared_while_it_is_shown(
    world: MemoryWorld,
) -> None:
    done(slow(world.services(), world.clock), graph_of(SHOP), "dev")
    assert reported(world, "dev", ago=DAY) == {
        ("dev", "sales", SHARED): saved(3, 3, 30.0),
        ("dev", "total", SHARED): saved(1, 1, 30.0, whole=True),
        ("dev", "triple", SHARED): saved(3, 3, 30.0),
    }
    assert reported(world, "prod", ago=DAY) == {}
    tenfold = {**SHOP, "total": SHOP["total"].replace("SUM(amount)", "SUM(amount * 10)")}
    done(slow(world.services(), world.clock), graph_of(tenfold), "dev")
    assert ("dev", "total", SHARED) not in reported(world, ago=DAY)
    done(slow(world.services(), world.clock), graph_of(tenfold), "prod")
    assert reported(world, "prod", ago=DAY) == {
        ("prod", "total", SHARED): saved(1, 1, 30.0, whole=True)
    }


def test_what_an_environment_adopts_is_kept_or_shared(world: MemoryWorld) -> None:
    done(slow(world.services(), world.clock), graph_of(EQUAL), "dev")
    assert reported(world, "dev", ago=DAY) == {
        ("dev", "total", SHARED): saved(1, 1, 30.0, whole=True),
        ("dev", "triple", SHARED): saved(3, 3, 30.0),
    }


def test_a_run_leaves_what_it_did_not_compute(world: MemoryWorld) -> None:
    services = world.services()
    world.land((30, 100), until=72)
    evaluated(services, SALES_NAME, 2, 2, force=True)
    units = evaluate_range(services, world.bound(), TRIPLE_NAME, day(1, 3))
    left = left_as_it_is(services, world.bound(), units)
    # of three days of two models, and a table, one day of `mart.triple` was computed
    assert (left.intervals, left.rows, left.time) == (6, 6, None)
    assert left.seconds == pytest.approx(2 * 10 + 2 * 10 + 30)


def test_an_environment_that_nobody_knows_is_refused(world: MemoryWorld) -> None:
    with pytest.raises(Refused, match="there is no environment tset; `vde environments` lists"):
        reported(world, "tset")


# The value
def test_seconds_that_nobody_measured_are_not_zero(world: MemoryWorld) -> None:
    loaded = entries(world, "prod", TRIPLE_NAME)
    bare: Sequence[Any] = [replace(each, trace=None) for each in loaded]
    assert Saved.by(bare, by_interval=True) == Saved(
        intervals=3, time=3 * DAY, rows=3, seconds=None
    )
    quick = replace(loaded[0], trace=Trace(key="k", inputs={}, seconds=0.0))
    some = Saved.by([quick, *bare[1:]], by_interval=False)
    assert (some.seconds, some.time, some.hours) == (0.0, None, None)
    assert total_saved([]) == Saved()
    assert Saved.by(loaded, by_interval=True).hours == 72
