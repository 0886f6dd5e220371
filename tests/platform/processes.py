"""The stories of platforms, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.cli.calling import OURS

ROOT: Final = Path(__file__).parents[2]
_PATHS: Final = (ROOT, ROOT / "examples" / "nyc_flights", ROOT / "tests" / "examples")
"""Where the tests find what they import, as in pyproject.toml."""
_LINES: Final = 60


def tell(module: str, folder: Path) -> None:
    """Run a module of the tests on a project's folder.

    Raises:
        AssertionError: It failed; with the end of what it printed.
    """
    with (folder.parent / f"{folder.name}.log").open("w+b") as log:
        done = subprocess.run(
            [sys.executable, "-m", module, str(folder)],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            check=False,
        )
        log.seek(0)
        lines = log.read().decode("utf-8", errors="replace").splitlines()
    assert done.returncode == 0, "\n".join(lines[-_LINES:])


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in OURS}
    return kept | {"PYTHONPATH": os.pathsep.join(map(str, _PATHS))}
