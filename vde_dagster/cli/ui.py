"""`vde ui`: Dagster's UI on a project, with its own DAGSTER_HOME."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import note
from vde_dagster.core.errors import Refused

PORT: Final = 3000


def address(port: int = PORT) -> str:
    """Where the UI is served."""
    return f"http://127.0.0.1:{port}"


@click.command("ui")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=PORT, show_default=True, help="Port to use."
)
@options.PROJECT
@options.WITH_DEBUG
def command(*, port: int, folder: Path) -> None:
    """Serve the project's code locations with `dagster dev`, until it is interrupted or terminated.

    Sets DAGSTER_HOME to the project's own folder unless it is set, so that plans, runs and the UI
    share one history.
    """
    from vde_dagster.composition import VdeProject
    from vde_dagster.orchestration.home import dagster_home

    configuration = VdeProject.load(folder).configuration
    if not (configuration.folder / "workspace.yaml").is_file():
        raise Refused(
            f"{folder} has no workspace.yaml, which names the code locations to serve.",
            advice="`vde init DIR` shows one, with its definitions.py.",
        )
    os.environ["DAGSTER_HOME"] = str(dagster_home(configuration).resolve())
    note(f"Dagster's UI: {address(port)} (Ctrl-C ends it)")
    note(
        "Nothing is launched by itself until its sensor is switched on, in the UI under "
        "Automation: vde_automation_<environment> computes what is due and what is stale."
    )
    sys.stdout.flush()
    sys.stderr.flush()
    # Scripts start what they put in the background with SIGINT ignored. Dagster treats SIGTERM as
    # it treats SIGINT, so that server could only be killed.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(configuration.folder)
    serve = ["-m", "dagster", "dev", "-w", "workspace.yaml", "-h", "127.0.0.1", "-p", str(port)]
    os.execv(sys.executable, [sys.executable, *serve])  # noqa: S606 - no shell: our own Python
