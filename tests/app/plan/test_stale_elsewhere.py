"""What others compute and is stale is told by each plan and run that shows it (rule R14)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import pytest

from tests.app.memory_world import MemoryWorld, graph_of
from tests.app.shop_world import EDITED, SALES_NAME, SHOP, day, done, shop_in_production
from vde_dagster.app.apply.running import Wanted, plan_run
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.services import Services
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_text import nothing_to_plan, nothing_to_run, remarks

COMPUTES: Final = "`vde run prod` computes it, which owns this version"
IN_DEV: Final = graph_of({**SHOP, "total": EDITED["total"] + " -- same"})
LOOKS: Final[dict[str, Callable[[Services], Plan]]] = {
    "run": lambda services: plan_run(services, "dev"),
    "run of what is due": lambda services: plan_run(services, "dev", Wanted.DUE),
    "run of what is stale": lambda services: plan_run(services, "dev", Wanted.STALE),
    "plan": lambda services: plan_environment(services, IN_DEV, "dev"),
}


@pytest.fixture
def world() -> MemoryWorld:
    """Rows of the second day are late for production, whose sales dev shows, too."""
    world = shop_in_production()
    done(world.services(), IN_DEV, "dev")
    world.clock.advance(timedelta(minutes=1))
    world.land((26, 9), until=72)
    return world


@pytest.mark.parametrize("look", LOOKS)
def test_nobody_says_that_it_is_up_to_date(world: MemoryWorld, look: str) -> None:
    plan = LOOKS[look](world.services())
    (sales,) = (each for each in plan.changes if each.name == SALES_NAME)
    assert plan.is_empty
    assert not plan.is_up_to_date
    assert sales.staleness is not None
    assert (sales.staleness.intervals, sales.staleness.kept) == ((), (day(2),))
    assert nothing_to_run(plan, waits=False) == "dev has nothing to compute"
    assert nothing_to_plan(plan, waits=False).startswith("dev is not up to date")
    (said,) = (each for each in remarks(plan) if str(SALES_NAME) in each)
    assert said.endswith(COMPUTES)


@pytest.mark.parametrize("look", LOOKS)
def test_all_do_once_its_owner_has_computed_it(world: MemoryWorld, look: str) -> None:
    done(world.services(), graph_of(SHOP), "prod")
    done(world.services(), IN_DEV, "dev")
    assert LOOKS[look](world.services()).is_up_to_date
