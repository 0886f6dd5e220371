"""Format, lint and types are part of the gate."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import platformdirs
import pytest

ROOT = Path(__file__).parents[2]
MYPY: Final = "mypy"


@pytest.mark.parametrize(
    "command",
    [("ruff", "check", "."), ("ruff", "format", "--check", "."), (MYPY,)],
    ids=" ".join,
)
def test_the_whole_tree_passes(command: tuple[str, ...]) -> None:
    with cache_of(command[0]) as options:
        done = subprocess.run(
            [sys.executable, "-m", *command, *options],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, f"\n{done.stdout}{done.stderr}"


@contextmanager
def cache_of(program: str) -> Iterator[list[str]]:
    """The option with which all clones on this machine share what mypy knows of each file.

    Mypy compares the contents of files, wherever they are. Without that, it reads all of Dagster
    and pyspark again in each fresh clone. Whoever comes while another clone has it goes without.
    """
    if program != MYPY:
        yield []
        return
    folder = Path(platformdirs.user_cache_dir("vde_dagster", appauthor=False)) / MYPY
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield []
        else:
            yield ["--cache-dir", str(folder)]
