"""What Dagster tries again by itself: failed steps of models with ``retries``, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from tests.orchestration.automated_world import AutomatedWorld, in_production
from tests.orchestration.launchpad import materialize
from tests.orchestration.test_reuse_cases import DIAMOND
from tests.worlds.engine import MemoryEngine
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.orchestration.assets import building as assets

if TYPE_CHECKING:
    from pathlib import Path

    from vde_dagster.core.ledger.unit_of_work import Staged, Staging

REFUSED = "audits (accepted_range (column := amount, max_v := 20))"
FailFirst = Callable[[int], list[str]]


@pytest.fixture
def fail_first(monkeypatch: pytest.MonkeyPatch) -> FailFirst:
    """Let the first units of work fail; what is returned gets the ids of all that are tried."""
    stage = MemoryEngine.stage

    def fail(count: int) -> list[str]:
        tried: list[str] = []

        def flaky(engine: MemoryEngine, staging: Staging) -> Staged:
            tried.append(staging.work_id)
            if len(tried) <= count:
                raise EvaluationFailed("an executor was lost")
            return stage(engine, staging)

        monkeypatch.setattr(MemoryEngine, "stage", flaky)
        return tried

    return fail


def late(folder: Path, instance: dg.DagsterInstance, header: str) -> AutomatedWorld:
    """A project in production with a late row, whose first model has properties more."""
    top = DIAMOND["top"].replace("cron '", f"{header}cron '")
    made = in_production(folder, instance, {"top": top})
    made.world.land((7.5, 50), until=48)
    return made


def retries_of(done: dg.ExecuteInProcessResult) -> int:
    return len([e for e in done.all_events if e.event_type is dg.DagsterEventType.STEP_RESTARTED])


@pytest.mark.full
def test_a_step_is_tried_again_by_dagster_alone_and_publishes_once(
    tmp_path: Path,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    fail_first: FailFirst,
) -> None:
    monkeypatch.setattr(assets, "FIRST_PAUSE", timedelta())
    shop = late(tmp_path, instance, "retries 2, ")
    tried = fail_first(2)
    done = materialize(shop.definitions(), instance, "core/top", "2024-01-01")
    assert len(tried) == 3
    assert retries_of(done) == 2
    assert [row[2] for row in shop.world.rows("core.top")] == [10, 1, 50]


@pytest.mark.full
@pytest.mark.parametrize(
    "header,failures,tries",
    [
        pytest.param("", 1, 1, id="without retries"),
        pytest.param("retries 1, ", 9, 2, id="the last retry fails"),
        pytest.param(f"retries 1, {REFUSED}, ", 0, 1, id="an audit refused the rows"),
    ],
)
def test_a_step_fails_where_nothing_more_is_to_be_tried(
    tmp_path: Path,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    fail_first: FailFirst,
    header: str,
    failures: int,
    tries: int,
) -> None:
    monkeypatch.setattr(assets, "FIRST_PAUSE", timedelta())
    shop = late(tmp_path, instance, header)
    tried = fail_first(failures)
    materialize(shop.definitions(), instance, "core/top", "2024-01-01", fails=True)
    assert len(tried) == tries


def test_the_pauses_of_a_retry_policy_are_those_of_other_runs(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    shop = late(tmp_path, instance, "retries 3, ")
    (asset,) = shop.models()
    policy = asset.op.retry_policy
    assert policy is not None
    assert [policy.calculate_delay(each) for each in (1, 2, 3)] == [10, 30, 70]


@pytest.mark.full
def test_all_models_belong_to_the_pool_that_the_project_names(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    shop = in_production(tmp_path, instance, DIAMOND)
    pools = [each.op.pool for each in shop.models()]
    assert pools == [None] * 4
    settings = (tmp_path / "vde.yaml").read_text() + "dagster: {pool: spark}\n"
    (tmp_path / "vde.yaml").write_text(settings)
    shop.apply()
    assert [each.op.pool for each in shop.models()] == ["spark"] * 4
