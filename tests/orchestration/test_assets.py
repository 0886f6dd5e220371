"""Materializing through Dagster's own API: in memory, where rows come from Spark on Spark."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context` as an object.
from dataclasses import replace
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from tests.orchestration.conftest import applied_on_spark
from tests.orchestration.launchpad import failure, materialize
from vde_dagster.app.apply.pausing import pause_models, resume_models
from vde_dagster.core.names import ModelName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.orchestration.conftest import Sample

pytestmark = pytest.mark.spark

EVENTS = ModelName("staging", "events")
DAILY = ModelName("mart", "daily")


def events(
    instance: dg.DagsterInstance, key: str
) -> dict[str | None, dg.AssetMaterialization | dg.AssetObservation]:
    """The latest event of each partition; a result that Dagster has already is only observed."""
    asset = dg.AssetKey(key.split("/"))
    found = [
        *instance.fetch_materializations(asset, limit=500).records,
        *instance.fetch_observations(asset, limit=500).records,
    ]
    latest: dict[str | None, dg.AssetMaterialization | dg.AssetObservation] = {}
    for record in sorted(found, key=lambda each: each.storage_id, reverse=True):
        reported = record.asset_materialization or record.asset_observation
        assert reported is not None
        latest.setdefault(reported.partition, reported)
    return latest


def digests(sample: "Sample", name: ModelName, environment: str = "prod") -> list[str]:
    key = sample.bound(environment).key(name)
    return [entry.digest for entry in sample.project().services.state.ledger([key])[key]]


@pytest.mark.full
@applied_on_spark
def test_a_materialized_partition_has_all_of_its_metadata(
    applied: "Sample", instance: dg.DagsterInstance
) -> None:
    definitions = applied.definitions()
    materialize(definitions, instance, "mart/daily", "2024-01-01")
    reported = events(instance, "mart/daily")["2024-01-01"]
    snapshot = applied.bound().snapshots[DAILY]
    assert reported.tags is not None
    assert reported.tags["dagster/code_version"] == snapshot.version
    assert [reported.tags["dagster/data_version"]] == digests(applied, DAILY)
    metadata = reported.metadata
    assert metadata["dagster/partition_row_count"].value == 1
    schema = metadata["dagster/column_schema"].value
    assert isinstance(schema, dg.TableSchema)
    assert [(each.name, each.type) for each in schema.columns] == [
        ("day", "date"),
        ("events", "bigint"),
        ("doubled", "bigint"),
    ]
    lineage = metadata["dagster/column_lineage"].value
    assert isinstance(lineage, dg.TableColumnLineage)
    assert list(lineage.deps_by_column["doubled"]) == [
        dg.TableColumnDep(asset_key=dg.AssetKey(["staging", "events"]), column_name="doubled")
    ]
    assert metadata["vde/fingerprint"].value == snapshot.fingerprint.digest
    assert metadata["vde/iceberg_snapshot_id"].value
    day = applied.rows("mart.daily")
    assert [row[1:] for row in day] == [(24, 2 * sum(range(10, 34)))]
    assert applied.rows(str(snapshot.key.table)) == day
    assert [row[1] for row in applied.rows("mart.people")] == [24]


def test_a_range_gives_each_partition_its_own_data_version(
    applied: "Sample", instance: dg.DagsterInstance
) -> None:
    materialize(
        applied.definitions(), instance, "staging/events", "2024-01-01-03:00", "2024-01-01-06:00"
    )
    reported = events(instance, "staging/events")
    keys = [f"2024-01-01-{hour:02}:00" for hour in range(3, 7)]
    assert sorted(key or "" for key in reported) == keys
    versions = [(reported[key].tags or {})["dagster/data_version"] for key in keys]
    assert versions == digests(applied, EVENTS)[3:7]
    assert len(set(versions)) == 4
    for key in keys:
        assert reported[key].metadata["dagster/partition_row_count"].value == 1
        schema = reported[key].metadata["dagster/column_schema"].value
        assert isinstance(schema, dg.TableSchema)
        assert schema.columns[0].description == "Number of the event"
    assert len(applied.rows("staging.events")) == 24


@pytest.mark.full
def test_production_runs_nothing_before_a_plan(
    sample: "Sample", instance: dg.DagsterInstance
) -> None:
    result = materialize(
        sample.definitions(), instance, "staging/events", "2024-01-01-00:00", fails=True
    )
    assert "vde plan prod" in failure(result)


@pytest.mark.full
def test_a_step_of_a_moved_environment_fails_before_work(
    applied: "Sample", instance: dg.DagsterInstance
) -> None:
    definitions = applied.definitions()
    applied.edit("models/mart/daily.sql", "COUNT(*)", "COUNT(id)")
    applied.apply()
    before = digests(applied, DAILY)
    result = materialize(definitions, instance, "mart/daily", "2024-01-01", fails=True)
    assert "environment moved, reload this code location" in failure(result)
    assert digests(applied, DAILY) == before
    # What did not move still runs: its version is the environment's.
    materialize(definitions, instance, "staging/events", "2024-01-01-00:00")


@applied_on_spark
def test_what_a_step_loaded_is_listed_when_it_ends(
    applied: "Sample", instance: dg.DagsterInstance
) -> None:
    applied.land((100, 3.25, 7), (101, 24.5, 1), until=25)
    materialize(applied.definitions(), instance, "staging/events", "2024-01-02-00:00")
    project = applied.project()
    assert not project.services.state.unlisted(limit=1)
    table = project.iceberg_catalog().load_table(("vde_meta", "late_sessions"))
    assert sum(each["rows_written"] == 2 for each in table.scan().to_arrow().to_pylist()) == 1


def specs_of(sample: "Sample") -> dict[str, dg.AssetSpec]:
    found = sample.definitions().resolve_all_asset_specs()
    return {each.key.to_user_string(): each for each in found}


def test_a_paused_model_says_so_with_how_to_go_on(applied: "Sample") -> None:
    services = replace(applied.project().services, author="ann@etl")
    pause_models(services, "prod", [DAILY], reason="its source is being repaired")
    specs = specs_of(applied)
    assert specs["mart/daily"].tags["vde/paused"] == "true"
    said = specs["mart/daily"].metadata["vde/paused"]
    assert said.startswith("paused by ann@etl at ")
    assert said.endswith(": its source is being repaired. To resume: vde resume mart.daily")
    assert "vde/paused" not in {**specs["staging/events"].tags, **specs["staging/events"].metadata}
    resume_models(services, "prod", [DAILY])
    specs = specs_of(applied)
    assert "vde/paused" not in specs["mart/daily"].tags


@pytest.mark.full
def test_an_unplanned_edit_is_tagged_and_does_not_run(
    applied: "Sample", instance: dg.DagsterInstance
) -> None:
    applied.edit("models/mart/daily.sql", "COUNT(*)", "COUNT(id) + 1")
    definitions = applied.definitions()
    graph = definitions.resolve_asset_graph()
    assert graph.get(dg.AssetKey(["mart", "daily"])).tags["vde/unplanned_change"] == "breaking"
    assert "vde/unplanned_change" not in graph.get(dg.AssetKey(["staging", "events"])).tags
    materialize(definitions, instance, "mart/daily", "2024-01-01")
    assert applied.rows("mart.daily")[0][1] == 24


def test_wrong_files_do_not_take_a_planned_environment_down(
    applied: "Sample", caplog: pytest.LogCaptureFixture
) -> None:
    applied.write("models/mart/broken.sql", "SELECT FROM WHERE")
    graph = applied.definitions().resolve_asset_graph()
    assert dg.AssetKey(["mart", "daily"]) in graph.get_all_asset_keys()
    assert [each for each in caplog.records if "cannot be read" in each.getMessage()]


def test_dev_shows_what_production_computed(
    applied: "Sample", instance: dg.DagsterInstance
) -> None:
    definitions = applied.definitions("dev")
    materialize(
        definitions, instance, "staging__dev/events", "2024-01-01-00:00", "2024-01-01-01:00"
    )
    reported = events(instance, "staging__dev/events")
    assert [
        (reported[key].tags or {})["dagster/data_version"] for key in sorted(reported, key=str)
    ] == digests(applied, EVENTS)[:2]
    assert reported["2024-01-01-00:00"].metadata["vde/owner"].value == "prod"
    assert applied.rows("staging__dev.events") == applied.rows("staging.events")


@pytest.mark.full
def test_dev_follows_an_edited_file_and_leaves_production_alone(
    applied: "Sample", instance: dg.DagsterInstance
) -> None:
    shown = applied.rows("mart.daily")
    applied.edit("models/mart/daily.sql", "SUM(doubled)", "-SUM(doubled)")
    state = applied.project().services.state
    before = state.environment("prod")
    definitions = applied.definitions("dev")
    assert state.environment("dev") is None, "loading stores nothing"
    materialize(definitions, instance, "mart__dev/daily", "2024-01-01")
    assert [row[2] for row in applied.rows("mart__dev.daily")] == [-shown[0][2]]
    assert applied.rows("mart.daily") == shown
    assert state.environment("prod") == before
    # The edit is followed again, and the same location goes on with what did not change.
    applied.edit("models/mart/daily.sql", "-SUM(doubled)", "7 * SUM(doubled)")
    materialize(applied.definitions("dev"), instance, "mart__dev/daily", "2024-01-01")
    assert [row[2] for row in applied.rows("mart__dev.daily")] == [7 * shown[0][2]]
    result = materialize(definitions, instance, "mart__dev/daily", "2024-01-01", fails=True)
    assert "environment moved" in failure(result)
    assert applied.rows("mart.daily") == shown


@applied_on_spark
def test_what_an_asset_of_a_users_own_sets_changes_no_model(
    applied: "Sample", instance: dg.DagsterInstance, spark: "SparkSession"
) -> None:

    @dg.asset(required_resource_keys={"pyspark"})
    def ours(context: dg.AssetExecutionContext) -> None:
        context.resources.pyspark.spark_session.conf.set("spark.sql.ansi.enabled", "false")

    definitions = dg.Definitions.merge(applied.definitions(), dg.Definitions(assets=[ours]))
    materialize(definitions, instance, "ours")
    users = applied.project().open_spark_for_users()
    assert users.conf.get("spark.sql.ansi.enabled") == "false"
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    users.conf.set("spark.sql.ansi.enabled", "true")


@pytest.mark.full
def test_production_runs_what_was_planned_after_its_location_was_loaded(
    sample: "Sample", instance: dg.DagsterInstance
) -> None:
    definitions = sample.definitions()
    sample.apply()
    materialize(definitions, instance, "mart/daily", "2024-01-01")
    assert sample.rows("mart.daily")[0][1] == 24


def test_an_environment_that_does_not_follow_files_waits_for_a_plan(
    applied: "Sample", instance: dg.DagsterInstance
) -> None:
    applied.configure("environments: {test: {follow_files: false}}\n")
    definitions = applied.definitions("test")
    result = materialize(definitions, instance, "mart__test/daily", "2024-01-01", fails=True)
    assert "vde plan test" in failure(result)
    assert applied.project().services.state.environment("test") is None
