"""`vde ui` and `vde jars`: what a project is served and computed with."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.printing import note
from vde_dagster.core.errors import Refused

PORT: Final = 3000
QUIET: Final = "ignore:Function `dev_command` is superseded"
"""Dagster prefers `dg dev`, which is a package of its own and serves one code location."""


def address(port: int = PORT) -> str:
    """Where the UI is served."""
    return f"http://127.0.0.1:{port}"


@click.command("ui")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=PORT, show_default=True, help="Port to use."
)
@options.PROJECT
@options.WITH_DEBUG
def ui_command(*, port: int, folder: Path) -> None:
    """Serve the project's code locations with `dagster dev`, until it is interrupted or terminated.

    The address is http://127.0.0.1:3000. Sensors and automation are off until you switch them on in
    the UI under Automation. DAGSTER_HOME is the project's own `.vde/dagster` unless it is set, so
    that plans, runs and the UI share one history.

    For example:

        vde ui --port 3001
    """
    from vde_dagster.composition import VdeProject
    from vde_dagster.orchestration.home import dagster_home

    configuration = VdeProject.load(folder).configuration
    if not (configuration.folder / "workspace.yaml").is_file():
        raise Refused(
            f"{folder} has no workspace.yaml. It names the code locations to serve.",
            advice="`vde init DIR` creates an example, with its definitions.py.",
        )
    os.environ["DAGSTER_HOME"] = str(dagster_home(configuration).resolve())
    note(f"Dagster's UI: {address(port)} (stop it with Ctrl-C)")
    note(
        "Nothing is launched automatically until its sensor is switched on, in the UI "
        "under Automation: vde_automation_<environment> computes due and stale intervals."
    )
    sys.stdout.flush()
    sys.stderr.flush()
    # Scripts start what they put in the background with SIGINT ignored. Dagster treats SIGTERM as
    # it treats SIGINT, so that server could only be killed.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(configuration.folder)
    serve = ["-W", QUIET, "-m", "dagster", "dev", "-w", "workspace.yaml"]
    serve += ["-h", "127.0.0.1", "-p", str(port)]
    os.execv(sys.executable, [sys.executable, *serve])  # noqa: S606 - no shell: our own Python


@options.command("jars")
def jars_command(call: Call) -> None:
    """Download the jars that Spark needs in addition to its own, and print their paths.

    They are resolved from Maven once and kept in the user's cache; the first plan that computes
    something does the same automatically. In a project they are those of its catalog, and its
    settings `spark.conf.spark.jars.*` apply. VDE_JARS names jars of your own, and VDE_JARS_CACHE
    moves the cache.

    For example:

        vde jars
    """
    from vde_dagster.composition import spark_jars
    from vde_dagster.lakehouse.spark.jars import resolve_jars
    from vde_dagster.project.configuration import read_configuration
    from vde_dagster.project.project_file import FILE_NAME

    in_project = (call.folder / FILE_NAME).is_file()
    found = spark_jars(read_configuration(call.folder)) if in_project else resolve_jars()
    paths = [str(path) for path in found]
    call.answer({"jars": paths}, paths)
