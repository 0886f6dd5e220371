"""`vde plan prod` where nothing is to be done: wall seconds of the whole command.

The aim is to answer within 5 seconds, whatever the machine does meanwhile.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.measuring import Settings, Step, alternating, cpu_seconds, print_table
from benchmarks.planning import prepare

MOST_SECONDS = 5


def run(folder: Path) -> Step:
    """One command."""
    command = [str(Path(sys.executable).with_name("vde")), "plan", "prod", "--project", str(folder)]
    before, started = cpu_seconds(), time.perf_counter()
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - started
    assert "othing" in answer.stdout, answer.stdout
    return {"wall": seconds, "CPU": cpu_seconds() - before}


def main(settings: Settings) -> None:
    """Print a line for each project."""
    folders = {shape: prepare(settings.folder, shape) for shape in settings.shapes}
    runs: dict[tuple[str, ...], Callable[[], Step]] = {
        (str(shape),): partial(run, folder) for shape, folder in folders.items()
    }
    found = alternating(settings.rounds, runs)
    rows: list[list[str | float]] = [
        [name, *step.values(), "" if step["wall"] < MOST_SECONDS else f"over {MOST_SECONDS} s"]
        for (name,), step in found.items()
    ]
    print("vde plan prod, nothing to be done: seconds, medians")
    print_table(["models", "wall", "CPU", ""], rows)
