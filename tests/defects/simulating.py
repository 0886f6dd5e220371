"""Asks the simulator for a defect: tells generated histories in a copy of the code for a while."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_HISTORIES: Final = 10_000
"""More than there is time for."""
_PAUSE: Final = 0.1
_WRONG: Final = re.compile(r"^Seed (\d+): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongHistory:
    """A history that ended wrongly: its seed, and why."""

    seed: int
    why: str

    def __str__(self) -> str:
        return f"./run sim --seed {self.seed} --histories 1: {self.why}"


def wrong_history(copy: Path, seconds: float, *, first: int = 0) -> WrongHistory | None:
    """The first history of a copy that ends wrongly; None if there is none within some time.

    Args:
        copy: The code.
        seconds: How long histories are told.
        first: The seed to begin with.
    """
    return _told(copy, first=first, histories=_HISTORIES, until=time.monotonic() + seconds)


def is_wrong(copy: Path, history: WrongHistory, seconds: float) -> bool:
    """Whether a history ends wrongly in a copy; one that does not end in time does, too."""
    until = time.monotonic() + seconds
    found = _told(copy, first=history.seed, histories=1, until=until)
    return found is not None or time.monotonic() >= until


def _told(copy: Path, *, first: int, histories: int, until: float) -> WrongHistory | None:
    asked = ["--seed", str(first), "--histories", str(histories), "-n", "1", "--shrink", "0"]
    with tempfile.TemporaryFile("w+b") as printed:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.simulator", *asked],
            cwd=copy,
            env=os.environ | {"PYTHONPATH": str(copy)},
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while True:
                has_ended = process.poll() is not None
                if found := first_wrong(_so_far(printed.fileno())):
                    return found
                if has_ended or time.monotonic() >= until:
                    return None
                time.sleep(_PAUSE)
        finally:
            with suppress(ProcessLookupError):  # its processes end with it
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _so_far(printed: int) -> str:
    return os.pread(printed, os.fstat(printed).st_size, 0).decode(errors="backslashreplace")


def first_wrong(text: str) -> WrongHistory | None:
    """The first wrong history of what the simulator has printed; None if there is none."""
    found = _WRONG.search(text)
    if found is None:
        return None
    return WrongHistory(seed=int(found[1]), why=found[2])
