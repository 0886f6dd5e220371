"""A project's definitions together with a user's own: who gives way, and what depends on what."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import dagster as dg
import pytest

from tests.app.memory_world import PROJECT, RAW
from tests.orchestration.automated_world import AutomatedWorld, in_production
from tests.orchestration.test_reuse_cases import observed
from vde_dagster import merge_definitions
from vde_dagster.core.errors import Refused

FLIGHTS = dg.AssetKey(["raw", "events"])
EVENTS = dg.AssetKey(["staging", "events"])
DAILY = dg.AssetKey(["mart", "daily"])
DAYS = dg.DailyPartitionsDefinition(start_date="2024-01-01")


@pytest.fixture
def served(tmp_path: Path, instance: dg.DagsterInstance) -> AutomatedWorld:
    """A project in production, complete for two days."""
    return in_production(tmp_path, instance, PROJECT)


def merged(served: AutomatedWorld, *assets: dg.AssetsDefinition | dg.AssetSpec) -> dg.Definitions:
    return merge_definitions(served.definitions(), dg.Definitions(assets=assets))


@dg.asset(key=["raw", "events"])
def loaded() -> None:
    """Writes the source."""


@dg.asset(key=["raw", "events"], partitions_def=DAYS)
def loaded_by_day() -> None:
    """Writes the source day by day."""


@dg.asset(deps=[DAILY])
def report() -> None:
    """Reads a model."""


@pytest.mark.full
def test_dagsters_own_merge_takes_assets_that_read_models(served: AutomatedWorld) -> None:
    both = dg.Definitions.merge(served.definitions(), dg.Definitions(assets=[report]))
    dg.Definitions.validate_loadable(both)
    assert both.resolve_asset_graph().get(report.key).parent_keys == {DAILY}


def test_a_job_of_assets_whose_partitions_differ_is_refused_with_what_to_do(
    served: AutomatedWorld,
) -> None:
    everything = dg.define_asset_job("everything", selection=dg.AssetSelection.all())
    with pytest.raises(Refused) as caught:
        merge_definitions(served.definitions(), dg.Definitions(jobs=[everything]))
    told = str(caught.value)
    assert "the job everything has assets with different partitions" in told
    assert "cron 0 * * * * from 2024-01-01T00:00:00+00:00: staging/events" in told
    assert "cron 0 0 * * * from 2024-01-01T00:00:00+00:00: mart/daily" in told
    assert "`vde_automation`" in told


@pytest.mark.full
def test_jobs_of_assets_that_share_their_partitions_are_taken(served: AutomatedWorld) -> None:
    marts = dg.define_asset_job("marts", selection=dg.AssetSelection.groups("mart"))
    own = dg.Definitions(jobs=[marts], assets=[report])
    both = merge_definitions(served.definitions(), own)
    dg.Definitions.validate_loadable(both)
    job = both.resolve_job_def("marts")
    done = job.execute_in_process(instance=served.instance, partition_key="2024-01-01")
    assert done.success


@pytest.mark.full
def test_an_own_asset_takes_the_place_of_the_source_that_it_writes(served: AutomatedWorld) -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="Duplicate asset key"):
        dg.Definitions.validate_loadable(
            dg.Definitions.merge(served.definitions(), dg.Definitions(assets=[loaded]))
        )
    both = merged(served, loaded, report)
    dg.Definitions.validate_loadable(both)
    graph = both.resolve_asset_graph()
    assert graph.get(FLIGHTS).is_materializable
    assert graph.get(FLIGHTS).child_keys == {EVENTS}
    assert graph.get(EVENTS).parent_keys == {FLIGHTS}


@pytest.mark.full
def test_a_description_of_your_own_takes_the_place_of_the_projects(served: AutomatedWorld) -> None:
    theirs = dg.AssetSpec(FLIGHTS, description="Landed by another team", group_name="landing")
    spec = merged(served, theirs).resolve_asset_graph().get(FLIGHTS)
    assert (spec.description, spec.group_name) == ("Landed by another team", "landing")


@pytest.mark.full
def test_one_run_loads_the_source_and_then_the_models(
    served: AutomatedWorld, instance: dg.DagsterInstance
) -> None:
    lands = [(31.5, 7)]

    @dg.asset(key=["raw", "events"], required_resource_keys={"vde_io_manager"})
    def landed(context) -> dg.MaterializeResult[None]:  # type: ignore[no-untyped-def] # Dagster's
        served.world.land(*lands, until=49)
        lands.clear()
        version = context.resources.vde_io_manager.data_version("raw.events")
        return dg.MaterializeResult(data_version=version)

    served.write({**PROJECT, "total": TOTAL})
    served.apply()
    assert served.world.rows("mart.total") == [(2,)]
    job = merged(served, landed).resolve_implicit_global_asset_job_def()
    wanted = [FLIGHTS, dg.AssetKey(["mart", "total"])]
    first = job.execute_in_process(instance=instance, asset_selection=wanted)
    assert served.world.rows("mart.total") == [(3,)]
    again = job.execute_in_process(instance=instance, asset_selection=wanted)
    (computed,) = first.asset_materializations_for_node("mart__total")
    assert computed.metadata["vde/reused"].value is False
    assert again.asset_materializations_for_node("mart__total") == []
    (kept,) = observed(again)
    assert kept.metadata["vde/reused"].value is True
    read = {version_of(each) for each in (first, again)}
    assert len(read) == 1, "the own asset's rows are the same, so is its data version"


def version_of(run: dg.ExecuteInProcessResult) -> str:
    """The data version of the own asset after a run."""
    (found,) = run.asset_materializations_for_node("raw__events")
    return (found.tags or {})["dagster/data_version"]


def test_the_data_version_of_a_source_changes_with_its_rows_and_not_with_a_compaction(
    served: AutomatedWorld,
) -> None:
    resources = served.definitions().resources or {}
    manager = resources["vde_io_manager"]
    before = manager.data_version("raw.events")
    served.world.catalog.compact(RAW)
    assert manager.data_version("raw.events") == before
    served.world.land((50.5, 7), until=72)
    assert manager.data_version("raw.events") != before
    with pytest.raises(dg.Failure, match=r"^mart\.daily is not a source of this project"):
        manager.data_version("mart.daily")
    served.world.catalog.drop_table(RAW)
    with pytest.raises(dg.Failure, match="does not exist in the catalog"):
        manager.data_version("raw.events")


def mapped(definitions: dg.Definitions, child: dg.AssetKey) -> dg.PartitionMapping:
    return definitions.resolve_asset_graph().get_partition_mapping(child, FLIGHTS)


def upstream_of(definitions: dg.Definitions, child: dg.AssetKey, key: str) -> list[str]:
    """The own asset's partitions that a model's partition depends on, in January's first days."""
    graph = definitions.resolve_asset_graph()
    below, above = graph.get(child).partitions_def, graph.get(FLIGHTS).partitions_def
    assert below is not None
    assert above is not None
    found = mapped(definitions, child).get_upstream_mapped_partitions_result_for_partitions(
        below.subset_with_partition_keys([key]), below, above, current_time=datetime(2024, 1, 6)
    )
    return sorted(found.partitions_subset.get_partition_keys())


WEEK = """
MODEL (name mart.week, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT CAST(@end_ds AS DATE) AS day, COUNT(*) AS n FROM raw.events
WHERE at >= @start_dt - INTERVAL 2 DAYS AND at <= @end_dt
"""
ALL = """
MODEL (name mart.ever, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT d.day AS day, COUNT(e.id) AS n FROM mart.daily AS d CROSS JOIN raw.events AS e
WHERE d.day BETWEEN @start_ds AND @end_ds GROUP BY d.day
"""
TOTAL = "MODEL (name mart.total, kind FULL);\nSELECT COUNT(*) AS n FROM raw.events"


def test_what_a_model_reads_of_a_source_decides_which_own_partitions_it_depends_on(
    served: AutomatedWorld,
) -> None:
    served.write({**PROJECT, "week": WEEK, "ever": ALL, "total": TOTAL})
    served.world.land(until=120)
    served.apply()
    by_day = merged(served, loaded_by_day)
    dg.Definitions.validate_loadable(by_day)
    week, ever = dg.AssetKey(["mart", "week"]), dg.AssetKey(["mart", "ever"])
    days = [f"2024-01-0{day}" for day in range(1, 6)]
    assert upstream_of(by_day, week, "2024-01-04") == days[1:4]
    assert upstream_of(by_day, ever, "2024-01-04") == days
    assert isinstance(mapped(by_day, dg.AssetKey(["mart", "total"])), dg.AllPartitionMapping)


@pytest.mark.full
@pytest.mark.parametrize(
    "partitions",
    [
        dg.StaticPartitionsDefinition(["a", "b"]),
        dg.DailyPartitionsDefinition("2024-01-01", timezone="Europe/Berlin"),
    ],
)
def test_other_partitions_are_read_as_a_whole(
    served: AutomatedWorld, partitions: dg.PartitionsDefinition
) -> None:
    @dg.asset(key=["raw", "events"], partitions_def=partitions)
    def landed() -> None: ...

    both = merged(served, landed)
    dg.Definitions.validate_loadable(both)
    assert isinstance(mapped(both, EVENTS), dg.AllPartitionMapping)


@pytest.mark.full
def test_your_executor_and_spark_take_the_place_of_the_projects(served: AutomatedWorld) -> None:
    mine, spark = dg.multiprocess_executor, object()
    own = dg.Definitions(assets=[report], executor=mine, resources={"pyspark": spark, "mail": 1})
    both = merge_definitions(served.definitions(), own)
    assert both.executor is mine
    assert (both.resources or {})["pyspark"] is spark
    assert served.definitions().executor is dg.in_process_executor
    alone = merge_definitions(served.definitions(), dg.Definitions(assets=[report]))
    assert alone.executor is dg.in_process_executor
    jobs = {each.name for each in alone.jobs or ()}
    assert jobs == {each.name for each in served.definitions().jobs or ()}


def test_what_cannot_be_merged_is_refused(served: AutomatedWorld) -> None:
    @dg.asset(key=["mart", "daily"])
    def mine() -> None: ...

    with pytest.raises(Refused, match=r"^mart/daily is the key of the model mart\.daily and of an"):
        merged(served, mine)
    with pytest.raises(Refused, match="the resource vde_io_manager: an environment of a project"):
        merge_definitions(served.definitions(), served.definitions("dev"))
    with pytest.raises(Refused, match="does not belong to a project"):
        merge_definitions(dg.Definitions(assets=[report]), served.definitions())


@pytest.mark.full
def test_merging_again_keeps_what_was_merged(served: AutomatedWorld) -> None:
    both = merge_definitions(merged(served, loaded), dg.Definitions(assets=[report]))
    dg.Definitions.validate_loadable(both)
    graph = both.resolve_asset_graph()
    assert graph.get(FLIGHTS).is_materializable
    assert graph.get(report.key).parent_keys == {DAILY}
