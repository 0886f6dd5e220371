"""Looks at a project's Dagster instance and its code locations, as `dagster dev` has them."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final

import dagster as dg

from vde_dagster.core.doctor.dagster_instance import DaemonFacts, InstanceFacts, LocationFacts
from vde_dagster.core.doctor.file_systems import file_system_of
from vde_dagster.orchestration._unpublished import (
    daemon_statuses,
    instigators,
    keeps_files,
    loaded_workspace,
)
from vde_dagster.runtime.secrets import without_secrets

MOUNTS: Final = Path("/proc/mounts")
"""What is mounted where, on Linux."""
_LINES: Final = 4
"""How many lines of a code location's error are shown."""


def file_system_at(path: Path) -> str:
    """The type of the file system that a path lies on; empty where that is not known."""
    try:
        mounts = MOUNTS.read_text("utf-8", errors="replace")
    except OSError:  # not on Linux
        return ""
    return file_system_of(PurePosixPath(path.resolve()), mounts)


def open_instance(home: Path) -> dg.DagsterInstance:
    """The instance of a DAGSTER_HOME; it is a context manager that closes it."""
    return dg.DagsterInstance.from_config(str(home))


def instance_facts(instance: dg.DagsterInstance, home: Path) -> InstanceFacts:
    """What an instance is made of. Its storage is asked, so that it is known to answer."""
    instance.get_runs_count()
    launcher = instance.run_launcher
    return InstanceFacts(
        home=str(home),
        in_files=keeps_files(instance.get_ref()),
        file_system=file_system_at(home),
        launcher=type(launcher).__name__,
        elsewhere=not isinstance(launcher, dg.DefaultRunLauncher),
        monitored=bool(instance.run_monitoring_enabled),
        sees_ends=launcher.supports_check_run_worker_health,
    )


def daemon_facts(instance: dg.DagsterInstance) -> tuple[DaemonFacts, ...]:
    """The daemons that an instance needs, by their last heartbeats."""
    found = daemon_statuses(instance)
    return tuple(replace(each, error=_first_lines(each.error, 1)) for each in found)


def location_facts(
    instance: dg.DagsterInstance | None, folder: Path, workspace: str = "workspace.yaml"
) -> tuple[LocationFacts, ...]:
    """Load the code locations of a project's workspace, each in a process of its own.

    Args:
        instance: The project's; None for none yet, so that nothing in it is switched on.
        folder: The project's, which is where `vde ui` starts Dagster.
        workspace: The file in it that names them.
    """
    with contextlib.ExitStack() as stack:
        if instance is None:
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="vde-"))
            instance = stack.enter_context(dg.DagsterInstance.local_temp(scratch))
        stack.enter_context(contextlib.chdir(folder))
        stack.enter_context(_standard_output_is_standard_error())
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")  # what does not load is said once, below
        loaded = stack.enter_context(loaded_workspace(instance, str(folder / workspace)))
        return tuple(_location(instance, name, location, error) for name, location, error in loaded)


def _location(
    instance: dg.DagsterInstance, name: str, location: object | None, error: str
) -> LocationFacts:
    if location is None:
        return LocationFacts(name=name, error=_first_lines(error, _LINES))
    found = list(instigators(instance, location))
    return LocationFacts(
        name=name,
        switched_on=tuple(each for each, running, _ in found if running),
        switched_off=tuple(each for each, running, _ in found if not running),
        failed=tuple((each, _first_lines(why, 1)) for each, on, why in found if on and why),
    )


def _first_lines(text: str, count: int) -> str:
    lines = [each.strip() for each in without_secrets(text).splitlines() if each.strip()]
    return "\n".join(lines[:count])


@contextlib.contextmanager
def _standard_output_is_standard_error() -> Iterator[None]:
    """What processes print that are started meanwhile goes to standard error: ours is for facts."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
