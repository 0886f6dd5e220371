"""A model that builds on itself has no partitions: a run loads what is missing, in batches."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest

from tests.app.memory_world import bound
from tests.orchestration.conftest import applied_on_spark
from tests.orchestration.launchpad import failure, materialize
from tests.orchestration.test_assets import events
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration.assets.io_manager import VdeIcebergIOManager
from vde_dagster.orchestration.assets.metadata import PARENT_RUN
from vde_dagster.orchestration.keys import RunTag

if TYPE_CHECKING:
    from tests.orchestration.conftest import Sample

pytestmark = pytest.mark.spark

LATEST = """\
MODEL (
  name mart.latest,
  kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, batch_size 12),
  cron '@hourly'
);
SELECT CAST(id % 3 AS INT) AS id, MAX(amount) AS amount FROM raw.events
WHERE happened BETWEEN @start_dt AND @end_dt GROUP BY id % 3
"""


def recorded(sample: Sample) -> list[int]:
    """The hours of each interval that is loaded."""
    services = sample.project().services
    binding = bound(services)
    key = binding.key(ModelName("mart", "latest"))
    loaded = [each.interval for each in services.state.ledger([key])[key]]
    return [(each.end - each.start) // timedelta(hours=1) for each in loaded]


def test_a_run_loads_what_is_missing_and_nothing_that_is_loaded(
    applied: Sample, instance: dg.DagsterInstance
) -> None:
    applied.write("models/mart/latest.sql", LATEST)
    applied.apply()
    assert recorded(applied) == [12, 12]
    assert applied.rows("mart.latest") == [(0, 31), (1, 32), (2, 33)]

    definitions = applied.definitions()
    reported = failure(materialize(definitions, instance, "mart/latest", fails=True))
    assert "`vde plan prod --restate-model mart.latest`" in reported
    assert recorded(applied) == [12, 12]

    applied.land(*[(hour, hour + 0.5, 10 + hour) for hour in range(24, 40)], until=40)
    materialize(definitions, instance, "mart/latest")
    assert recorded(applied) == [12, 12, 12, 4]
    assert applied.rows("mart.latest") == [(0, 49), (1, 47), (2, 48)]


@pytest.mark.full
@applied_on_spark
def test_a_step_that_ended_after_it_was_recorded_is_tried_again_without_loading_twice(
    applied: Sample, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied.write("models/mart/latest.sql", LATEST.replace("batch_size 12", "batch_size 24"))
    applied.apply()
    applied.land(*[(hour, hour + 0.5, 10 + hour) for hour in range(24, 64)], until=64)
    definitions = applied.definitions()
    handle = VdeIcebergIOManager.handle_output

    def handle_and_end(*arguments: Any) -> None:
        handle(*arguments)
        raise ConnectionError("the machine is gone")

    with monkeypatch.context() as patched:
        patched.setattr(VdeIcebergIOManager, "handle_output", handle_and_end)
        failed = materialize(definitions, instance, "mart/latest", fails=True)
    assert recorded(applied) == [24, 24, 16]
    assert not events(instance, "mart/latest")

    materialize(definitions, instance, "mart/latest", tags={PARENT_RUN: failed.run_id})
    assert recorded(applied) == [24, 24, 16]
    assert applied.rows("mart.latest") == [(0, 73), (1, 71), (2, 72)]
    assert set(events(instance, "mart/latest")) == {None}, "Dagster knows of what is loaded"

    refused = materialize(definitions, instance, "mart/latest", fails=True)
    for tags in ({PARENT_RUN: refused.run_id}, {PARENT_RUN: failed.run_id, RunTag.FORCE: "true"}):
        tried = materialize(definitions, instance, "mart/latest", fails=True, tags=tags)
        assert "`vde plan prod --restate-model mart.latest`" in failure(tried)
