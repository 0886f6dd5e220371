"""Plants defects in a copy of the code, one at a time, and asks who finds them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.defects.catalogue import ROOT, Defect
from tests.defects.simulating import is_wrong, wrong_history

PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-m", "not full")
PATIENCE: Final = 900.0
COPIED: Final = ("vde_dagster", "tests", "examples", "benchmarks", "docs", "pyproject.toml")
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Who found a defect, or None; ``output`` is what the last finder printed."""

    defect: Defect
    finder: str | None
    seconds: float
    output: str
    by_simulator: bool = False


def commands(defect: Defect) -> Iterator[Sequence[str]]:
    """What may find a defect, in the order in which it is run.

    Each ends with exit code 1 when it has found it, and prints a line `FAILED ...` that says how.
    """
    yield [*PYTEST, *defect.tests]


@contextmanager
def planted(defect: Defect, copy: Path) -> Iterator[None]:
    """A copy of the code with a defect in it."""
    file = copy / defect.file
    text, before = file.read_text(encoding="utf-8"), file.stat()
    file.write_text(defect.planted(text), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(text, encoding="utf-8")
        # Python knows by this time what it has compiled.
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def copy_code(folder: Path) -> Path:
    """A copy of all that tests need, with what Python has compiled of it."""
    folder.mkdir()
    for name in COPIED:
        there = ROOT / name
        copy = shutil.copytree if there.is_dir() else shutil.copy2
        copy(there, folder / name)
    return folder


def find(defect: Defect, copy: Path, *, simulated: float = 0.0) -> Outcome:
    """Plant a defect in a copy and run what may find it.

    Args:
        defect: The defect.
        copy: The code without it, which is what it was afterwards.
        simulated: For how many seconds generated histories are told before any test is run.
    """
    begun, output = time.monotonic(), ""
    if simulated and (outcome := _simulated(defect, copy, simulated)) is not None:
        return outcome
    with planted(defect, copy):
        for command in commands(defect):
            status, output = run(command, copy)
            if status == 1 and (failed := _FAILED.search(output)):
                seconds = time.monotonic() - begun
                return Outcome(defect=defect, finder=failed[1], seconds=seconds, output=output)
    return Outcome(defect=defect, finder=None, seconds=time.monotonic() - begun, output=output)


def can_simulate(copy: Path) -> bool:
    """Whether the simulator tells a history of a copy to its end, be that right or wrong."""
    told = [sys.executable, "-m", "tests.simulator", "--histories", "1", "--shrink", "0"]
    return "histories ended wrongly" in run(told, copy)[1]


def _simulated(defect: Defect, copy: Path, seconds: float) -> Outcome | None:
    """What the simulator finds: a history that ends wrongly with a defect, and rightly without."""
    begun, first = time.monotonic(), 0
    while (left := begun + seconds - time.monotonic()) > 0:
        with planted(defect, copy):
            history = wrong_history(copy, left, first=first)
        if history is None:
            return None
        took = time.monotonic() - begun
        if not is_wrong(copy, history, PATIENCE):
            return Outcome(
                defect=defect, finder=str(history), seconds=took, output="", by_simulator=True
            )
        first = history.seed + 1
    return None


def run(command: Sequence[str], copy: Path, *, for_long: bool = False) -> tuple[int | None, str]:
    """The exit code and output of a command over a copy; no code if it had to be ended.

    A command that may run ``for_long`` is not ended.
    """
    environment = os.environ | {"PYTHONPATH": str(copy)}
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=None if for_long else PATIENCE,
        )
    except subprocess.TimeoutExpired as late:
        return None, f"{_text(late.output)}\nIt was ended after {PATIENCE:.0f} s."
    return done.returncode, _text(done.stdout)


def _text(output: bytes | None) -> str:
    return (output or b"").decode(errors="backslashreplace")
