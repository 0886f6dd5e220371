"""A code location as the web server and the daemon see it, in this process."""

from __future__ import annotations

import sys
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

    module = ModuleType(f"served_{id(definitions)}")
    vars(module)["prod"] = definitions
    sys.modules[module.__name__] = module
    target = LoadableTargetOrigin(module_name=module.__name__, attribute="prod")
    origin = InProcessCodeLocationOrigin(target, location_name="prod")
    with WorkspaceProcessContext(instance, InProcessWorkspaceLoadTarget([origin])) as process:
        yield process
    del sys.modules[module.__name__]


def instance_that_runs_in_this_process(home: Path) -> dg.DagsterInstance:
    """A persistent instance whose launched runs are over when they are launched."""
    launcher = {"module": "dagster._core.launcher.sync_in_memory_run_launcher"}
    coordinator = {"module": "dagster._core.run_coordinator"}
    settings = {
        "run_launcher": {**launcher, "class": "SyncInMemoryRunLauncher"},
        "run_coordinator": {**coordinator, "class": "DefaultRunCoordinator"},
    }
    home.mkdir()
    return dg.DagsterInstance.local_temp(str(home), overrides=settings)
