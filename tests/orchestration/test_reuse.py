"""Steps that are reused start no Spark session, and say so to Dagster."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context` as an object.
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from tests.app.memory_world import bound
from tests.orchestration.conftest import applied_on_spark
from tests.orchestration.launchpad import failure, materialize
from tests.orchestration.test_assets import events
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.publish.foreign_writes import ForeignWrite
from vde_dagster.app.recover.recovery import repair
from vde_dagster.composition import VdeProject
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import IntervalUnit
from vde_dagster.orchestration.definitions import project_definitions
from vde_dagster.orchestration.keys import RunTag

if TYPE_CHECKING:
    from tests.orchestration.conftest import Sample

pytestmark = pytest.mark.spark

EVENTS, DAILY, TOTAL = (
    ModelName("staging", "events"),
    ModelName("mart", "daily"),
    ModelName("mart", "total"),
)


def loaded(sample: "Sample", name: ModelName) -> tuple[LedgerEntry, ...]:
    services = sample.project().services
    binding = bound(services)
    return services.state.ledger([binding.key(name)])[binding.key(name)]


def step(
    sample: "Sample",
    instance: dg.DagsterInstance,
    key: str,
    partition: str | None = None,
    *,
    force: bool = False,
) -> tuple[VdeProject, dg.AssetMaterialization | dg.AssetObservation]:
    """One step in what a new process would open, and what it reported."""
    project = sample.project()
    definitions = project_definitions(project, "prod")
    materialize(definitions, instance, key, partition, tags={RunTag.FORCE: "true"} if force else {})
    return project, events(instance, key)[partition]


@pytest.fixture
def cut_off(applied: "Sample") -> "Sample":
    """A day that leaves out events without an amount, and all of it in one row."""
    applied.edit("models/mart/daily.sql", "@end_dt", "@end_dt AND doubled > 0")
    applied.write(
        "models/mart/total.sql",
        "MODEL (name mart.total, kind FULL);\nSELECT SUM(events) AS events FROM mart.daily",
    )
    applied.apply()
    return applied


@pytest.mark.full
@applied_on_spark
def test_a_reused_step_starts_no_spark_and_reports_what_it_saved(
    cut_off: "Sample", instance: dg.DagsterInstance
) -> None:
    sample = cut_off
    before = {name: loaded(sample, name) for name in (DAILY, TOTAL)}
    for key, partition, name in (
        ("mart/daily", "2024-01-01", DAILY),
        ("mart/total", None, TOTAL),
    ):
        project, reported = step(sample, instance, key, partition)
        assert not project.engine.started
        (entry,) = loaded(sample, name)
        assert (entry,) == before[name]
        assert (reported.tags or {})["dagster/data_version"] == entry.digest
        assert reported.metadata["vde/reused"].value is True
        assert "has changed" in str(reported.metadata["vde/reason"].value)
        assert reported.metadata["vde/saved_rows"].value == 1
        hours = reported.metadata.get("vde/saved_hours")
        assert (hours.value if hours else None) == (24.0 if name == DAILY else None)
        assert entry.trace is not None
        assert reported.metadata["vde/saved_seconds"].value == pytest.approx(
            entry.trace.seconds, abs=0.001
        )
        assert reported.metadata["vde/rows"].value == 1
    project, reported = step(sample, instance, "mart/people")
    assert not project.engine.started
    assert reported.metadata["vde/reused"].value is True
    assert "vde/saved_seconds" not in reported.metadata, "nobody measured what making a view took"

    # A late event changes an hour, and not the day: what follows the day need not be computed.
    sample.land((100, 3.25, 0), until=24)
    project = sample.project()
    binding = bound(project.services)
    catch_up(project.services, binding, EVENTS)
    project, reported = step(sample, instance, "mart/daily", "2024-01-01")
    assert project.engine.started
    assert reported.metadata["vde/reused"].value is False
    assert reported.metadata["vde/reason"].value == "its inputs from staging.events have changed"
    (day,) = loaded(sample, DAILY)
    assert day.digest == before[DAILY][0].digest
    project, reported = step(sample, instance, "mart/total")
    assert not project.engine.started
    assert loaded(sample, TOTAL) == before[TOTAL]

    project, reported = step(sample, instance, "mart/total", force=True)
    assert project.engine.started
    assert reported.metadata["vde/reused"].value is False
    assert loaded(sample, TOTAL)[0].digest == before[TOTAL][0].digest
    assert loaded(sample, TOTAL)[0].work_id != before[TOTAL][0].work_id


@applied_on_spark
@pytest.mark.full  # in memory: tests/app/evaluate/test_findings.py and test_reuse.py
def test_r4_a_compacted_table_is_written_on_and_a_foreign_write_is_reported(
    cut_off: "Sample", instance: dg.DagsterInstance
) -> None:
    sample = cut_off
    (before,) = loaded(sample, DAILY)
    project = sample.project()
    binding = bound(project.services)
    table = binding.key(DAILY).table
    project.open_spark()
    sample.spark.sql(
        f"CALL {sample.catalog}.system.rewrite_data_files("
        f"table => '{table}', options => map('rewrite-all', 'true'))"
    )
    state = project.services.catalog.table(table)
    assert state is not None
    assert state.iceberg_snapshot_id != before.iceberg_snapshot_id, "it was compacted"
    day = IntervalUnit.DAY.widen(before.interval)
    (kept,) = evaluate_range(project.services, binding, DAILY, day)
    (made,) = evaluate_range(project.services, binding, DAILY, day, force=True)
    assert (kept.reused, made.reused) == (True, False)
    assert loaded(sample, DAILY)[0].digest == before.digest

    sample.spark.sql(f"INSERT INTO {sample.catalog}.{table} SELECT * FROM {sample.catalog}.{table}")
    with pytest.raises(ForeignWrite, match=r"`vde repair mart\.daily`"):
        evaluate_range(project.services, binding, DAILY, day)
    definitions = sample.definitions()
    failed = materialize(definitions, instance, "mart/daily", "2024-01-01", fails=True)
    assert "nother program wrote to it" in failure(failed)
    recorded = made.iceberg_snapshot_id
    repaired = repair(project.services, binding, DAILY)
    assert repaired.repaired is not None
    assert repaired.repaired.recorded == recorded
    (again,) = evaluate_range(project.services, binding, DAILY, day)
    assert again.reused
