"""Rule R10 at the sensor: after a promotion that computed nothing below, a tick requests nothing.

The chain has three layers, hours and days, and a view. In memory, without Spark.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Final

import dagster as dg

from tests.app.memory_world import DAILY, EVENTS, PEOPLE, TOTALS
from tests.orchestration.automated_world import AutomatedWorld, in_production
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.core.planning.plan import Plan

HOURLY: Final = """
MODEL (name core.hourly, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id AS id, at AS at, amount AS amount FROM staging.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
CHAIN: Final = {
    "events": EVENTS,
    "hourly": HOURLY,
    "daily": DAILY.replace("staging.events", "core.hourly"),
    "totals": TOTALS,
    "people": PEOPLE,
}
WIDER: Final = EVENTS.replace("amount AS amount FROM", "amount AS amount, 1 AS one FROM")
NOTHING: Final = "prod is up to date"


def computed(world: AutomatedWorld, plan: Plan) -> list[str]:
    """The models that applying a plan computed."""
    done = apply_plan(world.project().services, plan, lambda _: None)
    return [str(each.key.model) for each in done if not each.reused]


def test_the_ticks_after_a_non_breaking_edit_is_promoted_and_rolled_back_request_nothing(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    world = in_production(tmp_path / "project", instance, CHAIN)
    assert world.skipped() == NOTHING
    world.write({**CHAIN, "events": WIDER})
    world.apply("dev")
    before = world.world.rows("mart.daily")
    services = world.project().services
    assert computed(world, plan_promotion(services, "dev", "prod")) == []
    assert len(world.world.rows("staging.events")[0]) == 4, "production shows the added column"
    assert world.skipped() == NOTHING, "the next tick"
    assert computed(world, plan_rollback(services, "prod")) == []
    assert world.skipped() == NOTHING
    assert computed(world, plan_rollback(services, "prod")) == [], "forward again"
    assert world.skipped() == NOTHING
    assert instance.get_runs_count() == 0
    assert world.world.rows("mart.daily") == before

    world.world.land((5.7, 5), until=48)
    world.launch(world.request())
    assert world.world.rows("mart.daily") == [(date(2024, 1, 1), 15), (date(2024, 1, 2), 1)]
    assert world.skipped() == NOTHING
