"""Where Dagster keeps its runs and events: one home for `vde` and for `dagster dev`."""

from __future__ import annotations

import functools
import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import Conflict, SetupError
from vde_dagster.core.variables import Variable
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.file_writing import read_as_written, replace_text

_LOG: Final = logging.getLogger(__name__)
_RUNNING: Final = (("asset", "materialize"), ("job", "execute"))
"""The commands of `dagster` that run something in their own process."""
_SETTINGS: Final = """\
# Written by vde_dagster; yours to change.
telemetry:
  enabled: false
nux:
  enabled: false
run_coordinator:
  module: dagster.core.run_coordinator
  class: QueuedRunCoordinator
run_launcher:
  module: vde_dagster
  class: VdeRunLauncher
run_monitoring:
  enabled: true
  start_timeout_seconds: 600
  poll_interval_seconds: 30
retention:
  schedule:
    purge_after_days: {skipped: 7, started: 30, failure: 30, success: 90}
  sensor:
    purge_after_days: {skipped: 7, started: 30, failure: 30, success: 90}
"""


def dagster_home(configuration: Configuration) -> Path:
    """``DAGSTER_HOME`` where it is set, else ``.vde/dagster`` in the project.

    The folder exists afterwards. The project's own has a ``dagster.yaml``: no telemetry, no dialog
    at the first visit, queued runs, an end of runs whose process was killed, and an end of ticks
    that are old.

    Raises:
        SetupError: The folder cannot be made.
    """
    home = home_in_use(configuration)
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(
            f"Dagster's home {home} cannot be created: {error.strerror}",
            advice="Name a folder that this user may write in DAGSTER_HOME.",
        ) from error
    if os.environ.get(Variable.DAGSTER_HOME):
        return home
    settings = home / "dagster.yaml"
    if read_as_written(settings) is None:
        with suppress(Conflict):  # another process of ours was faster
            replace_text(settings, None, _SETTINGS)
    return home


def home_in_use(configuration: Configuration) -> Path:
    """The same folder, which may not exist; nothing is made."""
    named = os.environ.get(Variable.DAGSTER_HOME)
    return Path(named).expanduser().absolute() if named else own_home(configuration)


@functools.cache
def warn_without_home(command: str, own_home: Path) -> None:
    """Say once that a command without ``DAGSTER_HOME`` does not use the project's history."""
    _LOG.warning(
        "DAGSTER_HOME is not set, so this `%s` shows no runs of `vde`, and Dagster forgets its own "
        "when it ends. Stop it, then start it with:\n  export DAGSTER_HOME=%s",
        command,
        own_home,
    )


def check_home(configuration: Configuration) -> None:
    """Warn where Dagster serves or runs without ``DAGSTER_HOME``; make the folder that it names."""
    command = _command()
    if command and not os.environ.get(Variable.DAGSTER_HOME):
        warn_without_home(command, dagster_home(configuration))


def _command() -> str:
    """The command of Dagster that keeps what it does in its home; empty for any other process."""
    if os.environ.get("DAGSTER_IS_DEV_CLI"):
        return "dagster dev"
    program, words = Path(sys.argv[0]).name, tuple(sys.argv[1:3])
    if program == "dagster" and words in _RUNNING:
        return f"dagster {' '.join(words)}"
    return "dg launch" if program == "dg" and words[:1] == ("launch",) else ""


def own_home(configuration: Configuration) -> Path:
    """The project's own home, whether it is the one that is used or not."""
    return configuration.home / "dagster"
