"""What is stale in Dagster: only what was computed from rows that its inputs have no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest

from vde_dagster.core.planning.scheduling import ONE_AT_A_TIME, Concurrency
from vde_dagster.orchestration.automation import AUTOMATION_JOB
from vde_dagster.orchestration.home import dagster_home
from vde_dagster.orchestration.jobs import run_plan

if TYPE_CHECKING:
    from tests.orchestration.conftest import Sample

pytestmark = pytest.mark.spark

TOTAL = """\
MODEL (name mart.total, kind FULL);
SELECT COUNT(*) AS days, SUM(doubled) AS doubled FROM mart.daily
"""
ONLY_LATE = {"ops": {"run": {"config": {"only_late_data": True}}}}


@pytest.fixture
def shop(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> Sample:
    """The project with a model that has no partitions, and its own home of Dagster."""
    sample.write("models/mart/total.sql", TOTAL)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    return sample


@pytest.fixture
def home(shop: Sample) -> Iterator[dg.DagsterInstance]:
    folder = dagster_home(shop.project().configuration)
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        yield instance


def plan(shop: Sample, concurrency: Concurrency = ONE_AT_A_TIME) -> None:
    project = shop.project()
    run_plan(project, shop.plan(project=project), lambda _: None, concurrency=concurrency)


def not_fresh(shop: Sample, instance: dg.DagsterInstance) -> dict[str, str]:
    """What Dagster calls stale or missing, with its first cause."""
    graph = shop.definitions().resolve_asset_graph()
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    found = {}
    for key in sorted(graph.materializable_asset_keys):
        partitions = graph.get(key).partitions_def
        for partition in partitions.get_partition_keys() if partitions is not None else [None]:
            if resolver.get_status(key, partition) is not StaleStatus.FRESH:
                causes = resolver.get_stale_causes(key, partition)
                name = "/".join([*key.path, *([partition] if partition else [])])
                found[name] = causes[0].reason if causes else "missing"
    return found


def test_after_a_plan_of_several_models_at_once_nothing_is_stale(
    shop: Sample, home: dg.DagsterInstance
) -> None:
    """A model may begin before Dagster hears of what it reads, and was computed from it."""
    shop.write("models/mart/other.sql", TOTAL.replace("mart.total", "mart.other"))
    plan(shop, Concurrency(models=3))
    assert not_fresh(shop, home) == {}


@pytest.mark.full
def test_after_late_rows_what_reads_them_is_stale_until_it_is_computed(
    shop: Sample, home: dg.DagsterInstance
) -> None:
    plan(shop)
    shop.land((100, 3.25, 7), until=24)
    job = shop.definitions().resolve_job_def(AUTOMATION_JOB)
    assert job.execute_in_process(run_config=ONLY_LATE, instance=home).success
    assert set(not_fresh(shop, home)) == {"mart/daily/2024-01-01"}
    plan(shop)
    assert not_fresh(shop, home) == {}


@pytest.mark.full
def test_equal_results_make_nothing_stale(shop: Sample, home: dg.DagsterInstance) -> None:
    """A restated hour has the same rows, so what reads it stays as it is."""
    plan(shop)
    job = shop.definitions().resolve_implicit_global_asset_job_def()
    done = job.execute_in_process(
        asset_selection=[dg.AssetKey(["staging", "events"])],
        partition_key="2024-01-01-03:00",
        tags={"vde/force": "true"},
        instance=home,
    )
    assert done.success
    assert not_fresh(shop, home) == {}
