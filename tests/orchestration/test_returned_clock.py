"""A table stays as it is, and its step succeeds, where a source says it is complete to less."""

from __future__ import annotations

from pathlib import Path

import dagster as dg

from tests.app.memory_world import PROJECT, MemoryWorld
from tests.orchestration.automated_world import AutomatedWorld
from tests.orchestration.launchpad import materialize, written

WHOLE = "MODEL (name mart.whole, kind FULL, cron '@daily'); SELECT id, amount FROM staging.events"


def test_a_whole_table_that_is_kept_is_reported_as_it_is_loaded(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    world = AutomatedWorld(tmp_path, instance, MemoryWorld())
    world.write({"events": PROJECT["events"], "whole": WHOLE})
    world.world.land((1, 10), (30, 20), until=96)
    world.apply()
    world.world.land(until=48)
    done = materialize(world.definitions(), instance, "mart/whole")
    assert written(done) == {("mart/whole", None)}
    (event,) = done.get_asset_materialization_events()
    assert event.materialization.metadata["vde/rows"].value == 2
