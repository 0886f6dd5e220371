"""A code location as the web server and the daemon see it, in this process."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import dagster as dg
import yaml

from vde_dagster.composition import VdeProject
from vde_dagster.orchestration.home import dagster_home


@contextmanager
def served(definitions: dg.Definitions, instance: dg.DagsterInstance) -> Iterator[Any]:
    """What the web server and the daemon see of a code location."""
    from dagster._core.remote_origin import InProcessCodeLocationOrigin
    from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
    from dagster._core.workspace.context import WorkspaceProcessContext
    from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget

    module = ModuleType(f"served_{uuid.uuid4().hex}")
    vars(module)["prod"] = definitions
    sys.modules[module.__name__] = module
    target = LoadableTargetOrigin(module_name=module.__name__, attribute="prod")
    origin = InProcessCodeLocationOrigin(target, location_name="prod")
    with WorkspaceProcessContext(instance, InProcessWorkspaceLoadTarget([origin])) as process:
        yield process
    del sys.modules[module.__name__]


def launched(process: Any, mutation: str, **variables: object) -> dict[str, Any]:
    """What Dagster's web server answers to a mutation that launches something."""
    from dagster_graphql.schema import create_schema

    context = process.create_request_context()
    done: Any = asyncio.run(
        create_schema().execute_async(mutation, context_value=context, variable_values=variables)
    )
    assert not done.errors, done.errors
    (answer,) = done.data.values()
    assert answer["__typename"] in {"LaunchRunSuccess", "LaunchBackfillSuccess"}, answer
    return dict(answer)


_LAUNCH = """
mutation ($params: ExecutionParams!) {
  launchRun(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on RunConfigValidationInvalid { errors { message } }
    ... on PythonError { message }
  }
}
"""
_REPEAT = """
mutation ($run: String!, $strategy: ReexecutionStrategy!) {
  launchRunReexecution(reexecutionParams: {parentRunId: $run, strategy: $strategy}) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
  }
}
"""


def repository_of(process: Any) -> Any:
    """The repository of the one code location."""
    (location,) = process.create_request_context().code_locations
    (repository,) = location.get_repositories().values()
    return repository


def launch_run(
    process: Any,
    job: str = "__ASSET_JOB",
    *,
    assets: Sequence[str] = (),
    config: Mapping[str, object] | None = None,
    tags: Mapping[str, str] | None = None,
) -> str:
    """Launch a job, or materialize assets, as the UI does; the run's id."""
    repository = repository_of(process)
    params = {
        "selector": {
            "repositoryLocationName": "prod",
            "repositoryName": repository.name,
            "jobName": job,
            **({"assetSelection": [{"path": key.split("/")} for key in assets]} if assets else {}),
        },
        "runConfigData": config or {},
        "executionMetadata": {
            "tags": [{"key": key, "value": value} for key, value in (tags or {}).items()]
        },
    }
    return str(launched(process, _LAUNCH, params=params)["run"]["runId"])


def repeat(process: Any, run_id: str, strategy: str = "ALL_STEPS") -> str:
    """Execute a run again, as a click in Dagster's UI does; the id of the new one."""
    return str(launched(process, _REPEAT, run=run_id, strategy=strategy)["run"]["runId"])


def at_home(project: VdeProject) -> dg.DagsterInstance:
    """The project's own instance, where `vde` reports its runs."""
    return dg.DagsterInstance.from_config(str(dagster_home(project.configuration)))


def instance_that_runs_in_this_process(home: Path) -> dg.DagsterInstance:
    """A persistent instance whose launched runs are over when they are launched.

    Args:
        home: Its folder; that of the fixture ``home`` has the tables already.
    """
    module = "dagster._core.launcher.sync_in_memory_run_launcher"
    return _launching(home, {"module": module, "class": "SyncInMemoryRunLauncher"})


def instance_that_runs_nothing(home: Path) -> dg.DagsterInstance:
    """A persistent instance whose launched runs wait for `run_launched`.

    Args:
        home: Its folder; that of the fixture ``home`` has the tables already.
    """
    return _launching(home, {"module": "dagster._core.test_utils", "class": "MockedRunLauncher"})


def run_launched(
    definitions: dg.Definitions, instance: dg.DagsterInstance, run_id: str
) -> dg.DagsterRun:
    """Do a run that was launched, and say what became of it."""
    from dagster._core.definitions.job_base import InMemoryJob
    from dagster._core.execution.api import execute_run

    run = instance.get_run_by_id(run_id)
    assert run is not None
    execute_run(InMemoryJob(definitions.resolve_job_def(run.job_name)), run, instance)
    done = instance.get_run_by_id(run_id)
    assert done is not None
    return done


def instance_at(home: Path, **overrides: dict[str, str]) -> dg.DagsterInstance:
    """A persistent instance without what only costs time here.

    Args:
        home: Its folder.
        overrides: More settings, as ``dagster.yaml`` has them.
    """
    settings: dict[str, object] = {
        "telemetry": {"enabled": False},
        **_saving(home),
        **overrides,
    }
    return dg.DagsterInstance.local_temp(str(home), overrides=settings)


def cheaper(home: Path) -> Path:
    """Add to the settings of a home that was just made what saves time; returns it."""
    with (home / "dagster.yaml").open("a", encoding="utf-8") as settings:
        yaml.safe_dump(_saving(home), settings)
    return home


def _saving(home: Path) -> dict[str, dict[str, object]]:
    return {
        # By default each run has a database of its own, which takes as long to make as a short run.
        "event_log_storage": {
            "module": "dagster._core.storage.event_log",
            "class": "ConsolidatedSqliteEventLogStorage",
            "config": {"base_dir": str(home / "events")},
        },
        # By default each step has two processes that copy what it prints, and two that watch them.
        "compute_logs": {
            "module": "dagster._core.storage.noop_compute_log_manager",
            "class": "NoOpComputeLogManager",
        },
    }


def _launching(home: Path, launcher: dict[str, str]) -> dg.DagsterInstance:
    coordinator = {
        "module": "dagster._core.run_coordinator",
        "class": "DefaultRunCoordinator",
    }
    return instance_at(home, run_launcher=launcher, run_coordinator=coordinator)
