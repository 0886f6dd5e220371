"""A project in memory whose jobs a person launches, each test with files of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from tests.app.memory_world import MemoryWorld
from tests.orchestration.automated_world import AutomatedWorld


class Launchpad(AutomatedWorld):
    """The project, and what a person launches of it."""

    def edit(self, model: str, old: str, new: str) -> None:
        """Edit a model's file; the code location is not loaded again."""
        path = self.folder / f"models/{model}.sql"
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    def jobs(self, environment: str = "prod") -> set[str]:
        """The names of the jobs that the launchpad offers."""
        return {each.name for each in self.definitions(environment).jobs or ()}

    def start(
        self,
        job: str,
        config: Mapping[str, object] | None = None,
        *,
        environment: str = "prod",
        fails: bool = False,
        tags: Mapping[str, str] | None = None,
    ) -> dg.ExecuteInProcessResult:
        """Launch a job with the configuration of its one op."""
        found = self.definitions(environment).resolve_job_def(job)
        (op,) = found.graph.node_dict
        result = found.execute_in_process(
            run_config={"ops": {op: {"config": dict(config)}}} if config is not None else None,
            instance=self.instance,
            raise_on_error=False,
            tags=dict(tags or {}),
        )
        assert result.success is not fails, failure(result) or "it succeeded"
        return result


def failure(result: dg.ExecuteInProcessResult) -> str:
    """Why the one step of a run failed, as people read it; empty if it did not."""
    failed = [event for event in result.all_events if event.is_step_failure]
    if not failed:
        return ""
    data = failed[0].step_failure_data
    shown = data.user_failure_data
    return (shown.description or "") if shown is not None else str(data.error)


def run_of(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRun:
    """What an instance knows of a run."""
    found = instance.get_run_by_id(run_id)
    assert found is not None
    return found


def latest(instance: dg.DagsterInstance, key: str) -> dg.AssetMaterialization:
    """The newest materialization of an asset."""
    asset = dg.AssetKey(key.split("/"))
    found = instance.fetch_materializations(asset, limit=1).records[0].asset_materialization
    assert found is not None
    return found


def shown(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
    """The metadata of the one step of a run, also of one that failed."""
    found: dict[str, Any] = {}
    for event in result.all_events:
        if event.is_successful_output:
            found = {key: each.value for key, each in event.step_output_data.metadata.items()}
        elif event.is_step_failure and event.step_failure_data.user_failure_data is not None:
            given = event.step_failure_data.user_failure_data.metadata
            found = {key: each.value for key, each in given.items()}
    return found


def written(result: dg.ExecuteInProcessResult) -> set[tuple[str, str | None]]:
    """The assets and partitions that a run reported."""
    return {
        (event.materialization.asset_key.to_user_string(), event.partition)
        for event in result.get_asset_materialization_events()
    }


def materialize(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    key: str,
    first: str | None = None,
    last: str | None = None,
    *,
    fails: bool = False,
    tags: Mapping[str, str] | None = None,
) -> dg.ExecuteInProcessResult:
    """Materialize an asset, or some of its partitions."""
    ends = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
    range_ = dict(zip(ends, (first, last or first), strict=True)) if first else {}
    result = definitions.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=instance,
        asset_selection=[dg.AssetKey(key.split("/"))],
        tags={**range_, **(tags or {})},
        raise_on_error=False,
    )
    assert result.success is not fails, failure(result) or "it succeeded"
    return result


Make = Callable[[dict[str, str]], Launchpad]


def made_in(
    folder: Callable[[], Path], instance: dg.DagsterInstance, kept: dict[str, Launchpad]
) -> Make:
    """Makes projects in production, with one event on each of two days; equal ones once."""

    def made(models: dict[str, str]) -> Launchpad:
        key = repr(models)
        if key not in kept:
            first = Launchpad(folder(), instance, MemoryWorld())
            first.write(models)
            first.world.land((5.5, 10), (30.5, 1), until=48)
            first.apply()
            kept[key] = first
        before = kept[key]
        own = folder()
        shutil.copytree(before.folder, own, dirs_exist_ok=True)
        return Launchpad(own, instance, before.world.copied())

    return made
