"""Importing the core, all of it: wall seconds of a new process, and those of Python alone.

The two commands alternate; medians are printed.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

import vde_dagster
from benchmarks.measuring import Settings

ROUNDS = 11
CORE = Path(vde_dagster.__file__).parent / "core"


def seconds(code: str) -> float:
    """How long a new Python takes to run some code."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started


def main(_settings: Settings) -> None:
    """Print both medians."""
    paths = (path.relative_to(CORE).with_suffix("") for path in CORE.rglob("[a-z]*.py"))
    modules = sorted(".".join(["vde_dagster.core", *path.parts]) for path in paths)
    commands = {"python alone": "pass", "with the core": f"import {', '.join(modules)}"}
    found: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, code in commands.items():
            found[name].append(seconds(code))
    for name, times in found.items():
        print(f"{name:15} {statistics.median(times):5.2f} s")
