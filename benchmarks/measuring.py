"""Shared by all benchmarks: new processes, CPU seconds of them and their children, medians."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.projects import Shape

_Name = TypeVar("_Name", bound=tuple[str, ...])
Step = dict[str, float]
"""What one process measured: seconds by step."""

DEFAULT_SHAPES = (
    Shape(250),
    Shape(500),
    Shape(1000),
    Shape(2500),
    Shape(5000),
    Shape(1000, chain=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a benchmark is run with. ``folder`` takes its projects, and may be kept for the next."""

    shapes: Sequence[Shape]
    rounds: int
    folder: Path
    rows: int
    source_rows: int


def cpu_seconds() -> float:
    """What this process and those that it has waited for have used so far."""
    used = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def peak_megabytes() -> float:
    """The most memory that this process has had, without what its parent had."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def measured(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Step:
    """What a new process prints as JSON in its last line."""
    answer = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=folder
    )
    if answer.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{answer.stdout}{answer.stderr}")
    step: Step = json.loads(answer.stdout.splitlines()[-1])
    return step


def alternating(rounds: int, runs: Mapping[_Name, Callable[[], Step]]) -> dict[_Name, Step]:
    """The medians of several runs that alternate, so that a busy minute affects all of them."""
    found: dict[_Name, list[Step]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            found[name].append(run())
    return {
        name: {key: statistics.median(each[key] for each in steps) for key in steps[0]}
        for name, steps in found.items()
    }


def print_table(head: Sequence[str], rows: Sequence[Sequence[str | float]]) -> None:
    """A table with numbers on the right."""
    cells = [
        [f"{each:.2f}" if isinstance(each, float) else str(each) for each in row] for row in rows
    ]
    widths = [max(len(row[at]) for row in [head, *cells]) for at in range(len(head))]
    for row in [head, *cells]:
        print("  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)))
