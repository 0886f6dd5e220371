"""The sensor of MANAGED tables requests a run if one is stale, and the run rebuilds it."""

from __future__ import annotations

import dagster as dg
import pytest

from tests.orchestration.conftest import Sample

pytestmark = pytest.mark.spark

LIVE = """MODEL (name mart.live, kind MANAGED);
SELECT COUNT(*) AS n FROM raw.events"""


def test_a_stale_table_is_requested_once_and_rebuilt(
    sample: Sample, instance: dg.DagsterInstance
) -> None:
    sample.write("models/mart/live.sql", LIVE)
    for unused in ("mart/daily", "mart/people", "staging/events"):
        (sample.folder / f"models/{unused}.sql").unlink()
    sample.apply()
    definitions = sample.definitions()
    assert tick(definitions, instance) == []
    sample.land((100, 1.5, 7), until=24)
    (request,) = tick(definitions, instance)
    assert [request.run_key] == [each.run_key for each in tick(definitions, instance)]
    assert request.asset_selection is not None
    assert request.tags["vde/project"] == sample.project().configuration.name
    job = definitions.resolve_implicit_global_asset_job_def()
    run = job.execute_in_process(
        asset_selection=list(request.asset_selection), tags=request.tags, instance=instance
    )
    assert run.success
    assert sample.rows("mart.live") == [(25,)]
    assert tick(sample.definitions(), instance) == []


def tick(definitions: dg.Definitions, instance: dg.DagsterInstance) -> list[dg.RunRequest]:
    sensor = definitions.resolve_sensor_def("vde_managed_prod")
    with dg.build_sensor_context(instance=instance, definitions=definitions) as context:
        found = sensor.evaluate_tick(context)
    assert found.run_requests or found.skip_message
    return list(found.run_requests or [])
