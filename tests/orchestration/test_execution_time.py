"""All that one run of Dagster evaluates has one @execution_ts, while time passes; in memory."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from tests.app.memory_world import bound, hour_of
from tests.orchestration.automated_world import AutomatedWorld, in_production
from tests.worlds.clock import ManualClock
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration.launchers import attempts

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("first", "second")
TEXT = (
    "MODEL (name a.{name}, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily'{late});\n"
    "SELECT id AS id, at AS at, @execution_tstz AS asked FROM raw.events\n"
    "WHERE at BETWEEN @start_dt AND @end_dt"
)


class TickingClock(ManualClock):
    """A clock on which a second passes whenever somebody looks at it."""

    def now(self) -> datetime:
        """The instant of this look."""
        self.advance(timedelta(seconds=1))
        return super().now()


def execution_times(shop: AutomatedWorld) -> set[datetime]:
    """What was recorded of the newest unit of work of each model."""
    services = shop.world.services()
    keys = [bound(services).key(ModelName("a", name)) for name in NAMES]
    entries = [
        max(found, key=lambda entry: entry.interval)
        for found in services.state.ledger(keys).values()
    ]
    assert {each.interval.end for each in entries} == {hour_of(72)}
    works = services.state.works(each.work_id for each in entries)
    assert len(works) == len(NAMES)
    return {each.intent.execution_time for each in works.values()}


def in_time(tmp_path: Path, instance: dg.DagsterInstance, late: str = "") -> AutomatedWorld:
    """Two models in production, of which a third day is due, on a clock that goes on."""
    shop = in_production(tmp_path, instance, {n: TEXT.format(name=n, late=late) for n in NAMES})
    shop.world.clock = TickingClock(shop.world.clock.now())
    shop.world.land((50.5, 7), until=72)
    return shop


@pytest.mark.parametrize(
    "sensor,late",
    [
        ("vde_automation_prod", ""),
        ("vde_late_data_prod", ", late_data (mode stateful, sources ('raw.events|at'))"),
    ],
    ids=["automation", "sessions"],
)
def test_all_models_of_a_run_that_a_sensor_asks_for_have_one_execution_time(
    tmp_path: Path,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    sensor: str,
    late: str,
) -> None:
    monkeypatch.setattr(attempts, "SECONDS", 0)
    shop = in_time(tmp_path, instance, late)
    shop.launch(shop.request(sensor))
    assert len(execution_times(shop)) == 1


def test_all_assets_that_a_person_materializes_at_once_have_one_execution_time(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    shop = in_time(tmp_path, instance)
    ends = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
    result = (
        shop.definitions()
        .resolve_implicit_global_asset_job_def()
        .execute_in_process(
            instance=instance,
            asset_selection=[dg.AssetKey(["a", name]) for name in NAMES],
            tags=dict.fromkeys(ends, "2024-01-03"),
        )
    )
    record = instance.get_run_record_by_id(result.run_id)
    assert record is not None
    assert execution_times(shop) == {record.create_timestamp}
