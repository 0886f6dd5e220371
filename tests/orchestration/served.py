"""A code location as the web server and the daemon see it, in this process."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import dagster as dg


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


def instance_that_runs_in_this_process(home: Path) -> dg.DagsterInstance:
    """A persistent instance whose launched runs are over when they are launched."""
    module = "dagster._core.launcher.sync_in_memory_run_launcher"
    return _instance_at(home, {"module": module, "class": "SyncInMemoryRunLauncher"})


def instance_that_runs_nothing(home: Path) -> dg.DagsterInstance:
    """A persistent instance whose launched runs wait for `run_launched`."""
    return _instance_at(home, {"module": "dagster._core.test_utils", "class": "MockedRunLauncher"})


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


def _instance_at(home: Path, launcher: dict[str, str]) -> dg.DagsterInstance:
    coordinator = {
        "module": "dagster._core.run_coordinator",
        "class": "DefaultRunCoordinator",
    }
    home.mkdir()
    return dg.DagsterInstance.local_temp(
        str(home), overrides={"run_launcher": launcher, "run_coordinator": coordinator}
    )
