"""The run job from the launchpad, what the UI executes again, and schedules of jobs."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from tests.app.memory_world import PROJECT
from tests.orchestration.launchpad import Make, failure, run_of, shown, written
from tests.orchestration.served import (
    instance_that_runs_nothing,
    launch_run,
    repeat,
    run_launched,
    served,
)

PICKY = """
MODEL (name mart.picky, kind FULL, cron '@daily');
SELECT CASE WHEN MAX(amount) > 100 THEN CAST('too much' AS INT) ELSE MAX(amount) END AS amount
FROM mart.daily
"""


def test_a_run_is_explained_and_limited_as_on_the_command_line(make: Make) -> None:
    shop = make(PROJECT)
    shop.world.land((7.5, 5), (50.5, 3), until=72)  # a late row, and a day that is due
    explained = shop.start("vde_automation", {"explain": True})
    assert written(explained) == set()
    text = shown(explained)["vde/plan"]
    assert text.startswith("## Run of prod at 2024-01-04\n")
    assert "| `mart.daily` | unchanged | " in text
    stale = shop.start("vde_automation", {"only_stale": True})
    assert ("mart/daily", "2024-01-03") not in written(stale)
    due = shop.start("vde_automation", {"no_stale": True})
    assert ("mart/daily", "2024-01-03") in written(due)
    run = run_of(shop.instance, due.run_id)
    assert run.tags["vde/plan"]
    both = shop.start("vde_automation", {"only_stale": True, "no_stale": True}, fails=True)
    assert failure(both) == "no_stale and only_stale cannot be combined."


@pytest.mark.full
@pytest.mark.parametrize("strategy", ["ALL_STEPS", "FROM_FAILURE"])
def test_the_ui_executes_a_plan_again_and_what_is_left_is_done(
    make: Make, home: Path, strategy: str
) -> None:
    shop = make(PROJECT)
    shop.edit("totals", "SUM(amount)", "SUM(CAST('x' AS BIGINT))")
    config = {"ops": {"plan": {"config": {"apply": True}}}}
    definitions = shop.definitions()
    with (
        instance_that_runs_nothing(home) as instance,
        served(definitions, instance) as process,
    ):
        run_id = launch_run(process, "vde_plan", config=config)
        first = run_launched(definitions, instance, run_id)
        assert first.status is dg.DagsterRunStatus.FAILURE
        shop.edit("totals", "SUM(CAST('x' AS BIGINT))", "SUM(amount) + 1")
        again = run_launched(definitions, instance, repeat(process, run_id, strategy))
        assert again.status is dg.DagsterRunStatus.SUCCESS
        assert shop.world.rows("mart.totals") == [(2, 12)]
        assert again.tags["vde/environment"] == "prod"
        assert again.tags["vde/plan"] != first.tags["vde/plan"]


@pytest.mark.full
def test_the_ui_executes_an_automatic_run_again_and_failed_models_are_tried_at_once(
    make: Make, home: Path
) -> None:
    shop = make({**PROJECT, "picky": PICKY})
    shop.world.land((7.5, 500), until=48)
    definitions = shop.definitions()
    with (
        instance_that_runs_nothing(home) as instance,
        served(definitions, instance) as process,
    ):
        shop.instance = instance
        run_id = ""
        for _ in range(2):
            run_id = launch_run(process, "vde_automation", tags=shop.request().tags)
            run_launched(definitions, instance, run_id)
        assert "mart.picky: 2 runs did not compute it" in shop.skipped()
        again = run_launched(definitions, instance, repeat(process, run_id))
        assert again.status is dg.DagsterRunStatus.FAILURE  # it was tried, and failed again
        assert "mart.picky: 3 runs did not compute it" in shop.skipped()
