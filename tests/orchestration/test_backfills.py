"""Backfills as Dagster's UI launches them, and runs that failed and are tried again.

The mutation is the UI's, the daemon's own code requests the runs, and each run is done before the
next look of the daemon. Expected rows are sums of the amounts that landed, by hand.
"""

from __future__ import annotations

import logging
from datetime import date
from typing import TYPE_CHECKING, Final, TypeAlias

import dagster as dg
import pytest
from dagster._core.execution.backfill import BulkActionStatus
from dagster._daemon.backfill import execute_backfill_iteration

from tests.app.memory_world import DAILY, TOTALS
from tests.orchestration.automated_world import AutomatedWorld, in_production
from tests.orchestration.served import (
    instance_that_runs_in_this_process,
    launch_run,
    launched,
    repeat,
    served,
)
from tests.orchestration.test_reuse_cases import DIAMOND
from tests.worlds.engine import MemoryEngine
from vde_dagster.core.errors import EvaluationFailed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vde_dagster.core.ledger.unit_of_work import Staged, Staging

HOURLY = """
MODEL (name core.hourly, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id AS id, at AS at, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
MIXED = {
    "hourly": HOURLY,
    "daily": DAILY.replace("staging.events", "core.hourly"),
    "totals": TOTALS,
}
LAUNCH = """
mutation ($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
    ... on PythonError { message }
  }
}
"""
Ranges: TypeAlias = dict[str, tuple[str, str] | None]
"""Assets with the first and the last of their partitions."""
_GOING_ON: Final = {BulkActionStatus.REQUESTED, BulkActionStatus.FAILING}


@pytest.fixture
def instance(home: Path) -> dg.DagsterInstance:
    return instance_that_runs_in_this_process(home)


def status_of(instance: dg.DagsterInstance, backfill_id: str) -> BulkActionStatus:
    found = instance.get_backfill(backfill_id)
    assert found is not None
    return found.status


def backfill(world: AutomatedWorld, partitions: Ranges) -> list[str]:
    """Backfill these assets over ranges as the UI does; the assets of its runs, in their order."""
    status, runs = backfilled(world.definitions(), world.instance, partitions)
    assert status is BulkActionStatus.COMPLETED_SUCCESS
    assert all(each.is_success for each in runs)
    keys = [sorted(each.asset_selection or ()) for each in runs]
    return ["+".join(key.to_user_string() for key in each) for each in keys]


def backfilled(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    partitions: Ranges,
    tags: Mapping[str, str] | None = None,
) -> tuple[BulkActionStatus, list[dg.DagsterRun]]:
    """How a backfill over ranges ended that the UI launched, and its runs in their order.

    The instance has to run what is launched in this process.
    """
    selected = [
        {
            "assetKey": {"path": key.split("/")},
            "partitions": {"range": {"start": ends[0], "end": ends[1]}} if ends else None,
        }
        for key, ends in partitions.items()
    ]
    with served(definitions, instance) as process:
        params = {
            "partitionsByAssets": selected,
            "tags": [{"key": key, "value": value} for key, value in (tags or {}).items()],
        }
        backfill_id = launched(process, LAUNCH, params=params)["backfillId"]
        while (status := status_of(instance, backfill_id)) in _GOING_ON:
            errors = [*execute_backfill_iteration(process, logging.getLogger("test"))]
            assert not any(errors), errors
    runs = instance.get_runs(dg.RunsFilter(tags={"dagster/backfill": backfill_id}))
    return status, [*reversed(runs)]


@pytest.mark.full
def test_a_backfill_over_mixed_cadences_runs_parents_first_with_one_run_each(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    world = in_production(tmp_path / "project", instance, MIXED)
    world.world.land((6.5, 5), (31.5, 7), until=48)  # late, on both days
    days = ("2024-01-01", "2024-01-02")
    hours = ("2024-01-01-00:00", "2024-01-02-23:00")
    runs = backfill(world, {"core/hourly": hours, "mart/daily": days, "mart/totals": None})
    assert runs == ["core/hourly", "mart/daily", "mart/totals"]
    assert world.world.rows("mart.totals") == [(2, 23)]


def test_a_backfill_in_which_nothing_changed_ends(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    world = in_production(tmp_path / "project", instance, MIXED)
    days = ("2024-01-01", "2024-01-02")
    for _ in range(2):  # what Dagster has already is materialized once more: the backfill waits
        assert backfill(world, {"mart/daily": days}) == ["mart/daily"]


def ended(instance: dg.DagsterInstance, run_id: str) -> dict[str, str]:
    """How the steps of a run ended."""
    return {
        each.step_key.removeprefix("core__"): each.status.value
        for each in instance.get_run_step_stats(run_id)
        if each.status is not None
    }


@pytest.mark.full
def test_a_run_that_failed_goes_on_from_its_failure_and_repeats_nothing(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = in_production(tmp_path / "project", instance, DIAMOND)
    world.world.land((6.5, 200), (7.5, 500), until=48)
    stage = MemoryEngine.stage

    def fails_once(engine: MemoryEngine, staging: Staging) -> Staged:
        if staging.target.model.name == "high":
            monkeypatch.setattr(MemoryEngine, "stage", stage)
            raise EvaluationFailed("the cluster is gone")
        return stage(engine, staging)

    monkeypatch.setattr(MemoryEngine, "stage", fails_once)
    with served(world.definitions(), instance) as process:
        assets = [f"core/{name}" for name in DIAMOND]
        first = launch_run(process, assets=assets, tags={"dagster/partition": "2024-01-01"})
        failed = ended(instance, first)
        assert (failed["top"], failed["low"], failed["high"]) == ("SUCCESS", "SUCCESS", "FAILURE")
        again = repeat(process, first, "FROM_FAILURE")
    done = ended(instance, again)
    assert (done["high"], done["both"]) == ("SUCCESS", "SUCCESS")
    assert not {"top", "low"} & done.keys()
    assert world.world.rows("core.both") == [(date(2024, 1, 1), 700, 700)]
