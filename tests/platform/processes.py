"""`vde`, and the stories of platforms, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.cli.calling import OURS
from tests.platform.programs import Program, running

ROOT: Final = Path(__file__).parents[2]
_PATHS: Final = (ROOT, ROOT / "examples" / "nyc_flights", ROOT / "tests" / "examples")
"""Where the tests find what they import, as in pyproject.toml."""
_LINES: Final = 80


@contextmanager
def started_vde(log: Path, *arguments: str | Path) -> Iterator[Program]:
    """`vde` at work. At the end it is gone, with the Java that it has started."""
    code = "from vde_dagster.cli import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with running(command, log, environment_for_stories({})) as program:
        yield program


def tell(module: str, folder: Path, **environment: str) -> None:
    """Run a module of the tests on a project's folder.

    Args:
        module: Its name.
        folder: The project's; beside it is what the module prints, under the same name.
        environment: What else is in the environment of its process, and of those that it starts.

    Raises:
        AssertionError: It failed; with the end of what it printed.
    """
    with (folder.parent / f"{folder.name}.log").open("w+b") as log:
        done = subprocess.run(
            [sys.executable, "-m", module, str(folder)],
            env=environment_for_stories(environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            check=False,
        )
        log.seek(0)
        lines = log.read().decode("utf-8", errors="replace").splitlines()
    assert done.returncode == 0, "\n".join(lines[-_LINES:])


def environment_for_stories(more: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without what only belongs to it, and with more."""
    kept = {key: value for key, value in os.environ.items() if key not in OURS}
    return {**kept, "PYTHONPATH": _paths(), **more}


def _paths() -> str:
    """Where modules are found; what this process was told of comes last."""
    told = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join([*map(str, _PATHS), *([told] if told else [])])
