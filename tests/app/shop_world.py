"""A small shop over three days of events, in production, and plans of it with options."""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import Any

from tests.app.memory_world import MemoryWorld, graph_of, hour_of
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import END_OF_TIME, EPOCH, Interval

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


def versions(world: MemoryWorld, environment: str = "prod") -> dict[ModelName, str]:
    """The version of each model that an environment shows."""
    snapshots = world.bound(environment).snapshots
    return {name: each.version for name, each in snapshots.items()}


def entries(world: MemoryWorld, environment: str, name: ModelName) -> tuple[LedgerEntry, ...]:
    key = world.bound(environment).key(name)
    return world.services().state.ledger([key]).get(key, ())


AMOUNTS = [(DAYS[0], 10), (DAYS[1], 5), (DAYS[2], 7)]
TENFOLD = [(DAYS[0], 100), (DAYS[1], 50), (DAYS[2], 70)]


def shop_in_production() -> MemoryWorld:
    """Three days of events, and production over them."""
    return _shop().copied()


@cache
def _shop() -> MemoryWorld:
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    done(world.services(), graph_of(SHOP), "prod")
    return world
