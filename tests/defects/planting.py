"""Plants defects in a copy of the code, one at a time, and asks who finds them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.defects.catalogue import ROOT, Defect

PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-m", "not full")
PATIENCE: Final = 900.0
_COPIED: Final = ("vde_dagster", "tests", "examples", "benchmarks", "docs", "pyproject.toml")
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Who found a defect, or None; ``output`` is what the last finder printed."""

    defect: Defect
    finder: str | None
    seconds: float
    output: str


def commands(defect: Defect) -> Iterator[Sequence[str]]:
    """What may find a defect, in the order in which it is run; each fails when it has found it."""
    yield [*PYTEST, *defect.tests]


@contextmanager
def planted(defect: Defect, copy: Path) -> Iterator[None]:
    """A copy of the code with a defect in it."""
    file = copy / defect.file
    file.write_text(defect.planted(file.read_text(encoding="utf-8")), encoding="utf-8")
    try:
        yield
    finally:
        # With its time: Python knows what it has compiled by that.
        shutil.copy2(ROOT / defect.file, file)


def copy_code(folder: Path) -> Path:
    """A copy of all that tests need, with what Python has compiled of it."""
    folder.mkdir()
    for name in _COPIED:
        there = ROOT / name
        copy = shutil.copytree if there.is_dir() else shutil.copy2
        copy(there, folder / name)
    return folder


def find(defect: Defect, copy: Path) -> Outcome:
    """Plant a defect in a copy and run what may find it."""
    begun, output = time.monotonic(), ""
    with planted(defect, copy):
        for command in commands(defect):
            status, output = run(command, copy)
            if status == 1 and (failed := _FAILED.search(output)):
                seconds = time.monotonic() - begun
                return Outcome(defect=defect, finder=failed[1], seconds=seconds, output=output)
    return Outcome(defect=defect, finder=None, seconds=time.monotonic() - begun, output=output)


def run(command: Sequence[str], copy: Path) -> tuple[int | None, str]:
    """The exit code and output of a command over a copy; no code if it had to be ended."""
    environment = os.environ | {"PYTHONPATH": str(copy)}
    process = subprocess.Popen(
        command,
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # so that what it started ends with it
    )
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]
    return process.returncode, output
