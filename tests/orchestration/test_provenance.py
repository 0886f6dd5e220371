"""What is stale in Dagster: only what was computed from rows that its inputs have no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest

from tests.orchestration.launchpad import materialize
from tests.orchestration.served import at_home
from vde_dagster.core.planning.scheduling import ONE_AT_A_TIME, Concurrency
from vde_dagster.orchestration.jobs.runs import run_plan
from vde_dagster.orchestration.keys import RunTag
from vde_dagster.orchestration.launchers.automation import AUTOMATION_JOB

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
    with at_home(shop.project()) as instance:
        yield instance


def plan(shop: Sample, concurrency: Concurrency = ONE_AT_A_TIME) -> None:
    project = shop.project()
    run_plan(project, shop.plan(project=project), lambda _: None, concurrency=concurrency)


def not_fresh(shop: Sample, instance: dg.DagsterInstance) -> set[str]:
    """The assets and partitions that Dagster calls stale or missing."""
    graph = shop.definitions().resolve_asset_graph()
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    found = set()
    for key in graph.materializable_asset_keys:
        partitions = graph.get(key).partitions_def
        for partition in partitions.get_partition_keys() if partitions is not None else [None]:
            if resolver.get_status(key, partition) is not StaleStatus.FRESH:
                found.add("/".join([*key.path, *([partition] if partition else [])]))
    return found


def test_after_a_plan_of_several_models_at_once_nothing_is_stale(
    shop: Sample, home: dg.DagsterInstance
) -> None:
    """A model may begin before Dagster hears of what it reads, and was computed from it."""
    shop.write("models/mart/other.sql", TOTAL.replace("mart.total", "mart.other"))
    plan(shop, Concurrency(models=3))
    assert not_fresh(shop, home) == set()


@pytest.mark.full
def test_after_late_rows_what_reads_them_is_stale_until_it_is_computed(
    shop: Sample, home: dg.DagsterInstance
) -> None:
    plan(shop)
    shop.land((100, 3.25, 7), until=24)
    job = shop.definitions().resolve_job_def(AUTOMATION_JOB)
    assert job.execute_in_process(run_config=ONLY_LATE, instance=home).success
    assert not_fresh(shop, home) == {"mart/daily/2024-01-01"}
    plan(shop)
    assert not_fresh(shop, home) == set()


@pytest.mark.full
def test_equal_results_make_nothing_stale(shop: Sample, home: dg.DagsterInstance) -> None:
    """A restated hour has the same rows, so what reads it stays as it is."""
    plan(shop)
    tags = {RunTag.FORCE: "true"}
    materialize(shop.definitions(), home, "staging/events", "2024-01-01-03:00", tags=tags)
    assert not_fresh(shop, home) == set()
