"""`vde ui` on a project, for as long as a browser looks at it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.calling import OURS
from tests.dagster_server import end_group, free_port, until_loaded


@contextmanager
def served(project: Path, log: Path) -> Iterator[str]:
    """The address of a project's UI, once its code locations are loaded.

    The server has a group of processes of its own; none of them is left afterwards.
    """
    port = free_port()
    code = "from vde_dagster.cli import main; main()"
    with log.open("wb") as written:
        process = subprocess.Popen(
            [sys.executable, "-c", code, "ui", "--project", str(project), "--port", str(port)],
            env={key: each for key, each in os.environ.items() if key not in OURS},
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            until_loaded(f"{address}/graphql", process, log)
            yield address
        finally:
            end_group(process)
