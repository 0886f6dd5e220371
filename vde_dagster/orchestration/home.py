"""Where Dagster keeps its runs and events: one home for `vde` and for `dagster dev`."""

from __future__ import annotations

import functools
import logging
import os
from pathlib import Path
from typing import Final

from vde_dagster.project.configuration import Configuration

_LOG: Final = logging.getLogger(__name__)
_SETTINGS: Final = """\
# Written by vde_dagster; yours to change.
telemetry:
  enabled: false
nux:
  enabled: false
run_coordinator:
  module: dagster.core.run_coordinator
  class: QueuedRunCoordinator
"""


def dagster_home(configuration: Configuration) -> Path:
    """``DAGSTER_HOME`` where it is set, else ``.vde/dagster`` in the project.

    The folder exists afterwards. The project's own has a ``dagster.yaml``: no telemetry, no dialog
    at the first visit, queued runs.
    """
    named = os.environ.get("DAGSTER_HOME")
    if named:
        home = Path(named).expanduser().absolute()
        home.mkdir(parents=True, exist_ok=True)
        return home
    home = _own_home(configuration)
    home.mkdir(parents=True, exist_ok=True)
    settings = home / "dagster.yaml"
    if not settings.exists():
        settings.write_text(_SETTINGS, encoding="utf-8")
    return home


@functools.cache
def warn_without_home(configuration_folder: Path, own_home: Path) -> None:
    """Say once that a ``dagster dev`` without ``DAGSTER_HOME`` forgets everything at its end."""
    _LOG.warning(
        "DAGSTER_HOME is not set, so this `dagster dev` shows no runs of `vde` and forgets its own "
        "at its end. Stop it and start it with:\n  export DAGSTER_HOME=%s",
        own_home,
    )


def check_home(configuration: Configuration) -> None:
    """Warn where ``dagster dev`` runs without ``DAGSTER_HOME``; make the folder that it names."""
    if os.environ.get("DAGSTER_IS_DEV_CLI") and not os.environ.get("DAGSTER_HOME"):
        warn_without_home(configuration.folder, dagster_home(configuration))


def _own_home(configuration: Configuration) -> Path:
    return configuration.home / "dagster"
