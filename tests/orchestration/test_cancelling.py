"""Runs that are cancelled while the engine works: what they leave, and what the next one does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from dagster._core.errors import DagsterExecutionInterruptedError

from tests.app.memory_world import bound
from tests.orchestration.automated_world import AutomatedWorld, in_production
from tests.orchestration.test_reuse_cases import DIAMOND
from tests.worlds.engine import MemoryEngine
from vde_dagster.app.evaluate.evaluation import writing
from vde_dagster.core.names import ModelName
from vde_dagster.ports.state import environment_resource

if TYPE_CHECKING:
    from pathlib import Path

    from vde_dagster.core.ledger.unit_of_work import Staged, Staging

LOW = ModelName("core", "low")


@pytest.fixture
def shop(tmp_path: Path, instance: dg.DagsterInstance) -> AutomatedWorld:
    """In production, with a late row that changes all of its models."""
    made = in_production(tmp_path, instance, DIAMOND)
    made.world.land((7.5, 500), until=48)
    return made


def cancelled(shop: AutomatedWorld, run: Callable[[], dg.ExecuteInProcessResult]) -> None:
    """Let a run be cancelled as Dagster does it, when `core.low` has staged its rows."""
    stage = MemoryEngine.stage

    def interrupted(engine: MemoryEngine, staging: Staging) -> Staged:
        done = stage(engine, staging)
        if staging.target.model == LOW:
            raise DagsterExecutionInterruptedError
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryEngine, "stage", interrupted)
        with pytest.raises(DagsterExecutionInterruptedError):
            run()


def nothing_is_left(shop: AutomatedWorld) -> None:
    """No unit of work is open, no branch is left, and no lease is held."""
    services = shop.world.services()
    binding = bound(services)
    for name in map(ModelName.parse, ("core.top", "core.low", "core.high", "core.both")):
        key = binding.key(name)
        assert not services.state.open_work(key)
        assert not list(services.catalog.branches(key.table))
        with writing(services, binding, key):
            pass
    lease = services.state.acquire_lease(
        environment_resource("prod"), holder="a test", ttl=services.lease_ttl
    )
    services.state.release_lease(lease)


Run = Callable[[AutomatedWorld], dg.ExecuteInProcessResult]


def assets(shop: AutomatedWorld) -> dg.ExecuteInProcessResult:
    job = shop.definitions().resolve_implicit_global_asset_job_def()
    return job.execute_in_process(instance=shop.instance, partition_key="2024-01-01")


def plan(shop: AutomatedWorld, concurrency: int = 1) -> dg.ExecuteInProcessResult:
    job = shop.definitions().resolve_job_def("vde_automation")
    config = {"ops": {"run": {"config": {"concurrency": concurrency}}}}
    return job.execute_in_process(instance=shop.instance, run_config=config)


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(assets, id="a run of assets", marks=pytest.mark.full),
        pytest.param(plan, id="a plan", marks=pytest.mark.full),
        pytest.param(partial(plan, concurrency=2), id="a plan of models beside each other"),
    ],
)
def test_a_cancelled_run_leaves_nothing_and_the_next_one_does_the_rest(
    shop: AutomatedWorld, run: Run
) -> None:
    before = shop.world.rows("core.both")
    cancelled(shop, partial(run, shop))
    nothing_is_left(shop)
    assert shop.world.rows("core.both") == before
    assert run(shop).success
    assert shop.world.rows("core.both") == [(date(2024, 1, 1), 500, 500)]
    assert not [each for each in threading.enumerate() if each.name.startswith("models ")]
