"""How tests run `vde`: in this process, or in one of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from click.testing import CliRunner, Result

from vde_dagster.cli.commands import vde

OURS = ("VDE_RUN", "VDE_DEBUG", "DAGSTER_HOME")
"""What the environment of the tests must not decide: `./run test` sets the first."""
NO_JAVA: Final = {"PATH": "", "JAVA_HOME": "/there/is/no/java"}
"""With these no Java is found: a JAVA_HOME that names none is not passed over for another one."""


def call(*arguments: str | Path) -> Result:
    """Run `vde` in this process."""
    without = {name: None for name in OURS if name != "VDE_DEBUG"}
    return CliRunner(env=without).invoke(vde, [str(each) for each in arguments], prog_name="vde")


def facts(*arguments: str | Path, exit_code: int = 0) -> dict[str, Any]:
    """The JSON document of a command."""
    done = call(*arguments, "--format", "json")
    assert done.exit_code == exit_code, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def new_project(folder: Path) -> Path:
    """What `vde init` makes, without its unit test: tests that edit the model would fail it."""
    assert call("init", folder).exit_code == 0
    shutil.rmtree(folder / "tests")
    return folder


def vde_in_a_process(*arguments: str | Path) -> list[str]:
    """The command line that runs `vde` in a process of its own."""
    code = "from vde_dagster.cli import main; main()"
    return [sys.executable, "-c", code, *map(str, arguments)]


def run_vde(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `vde` in a process of its own."""
    return run(vde_in_a_process(*arguments), **environment)


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return subprocess.run(
        command,
        env={key: each for key, each in os.environ.items() if key not in OURS} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
