"""Plants defects in a copy of the code, one at a time, and asks which test finds them."""

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

PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-m", "not full")
PATIENCE: Final = 900.0
COPIED: Final = ("vde_dagster", "tests", "examples", "benchmarks", "docs", "pyproject.toml")
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Which test found a defect, or None; ``output`` is what pytest printed."""

    defect: Defect
    finder: str | None
    seconds: float
    output: str


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


def find(defect: Defect, copy: Path) -> Outcome:
    """Plant a defect in a copy, which is what it was afterwards, and run what may find it."""
    begun = time.monotonic()
    with planted(defect, copy):
        status, output = run([*PYTEST, *defect.tests], copy)
    failed = _FAILED.search(output) if status == 1 else None
    return Outcome(
        defect=defect,
        finder=failed[1] if failed else None,
        seconds=time.monotonic() - begun,
        output=output,
    )


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
