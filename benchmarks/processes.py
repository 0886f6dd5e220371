"""The CPU seconds of a step that runs in child processes, such as Spark's JVM (Linux)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from benchmarks.measuring import Step

Process = tuple[int, int]
"""A process's id and start time, since ids are reused."""

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def timed(run: Callable[[], object]) -> Step:
    """Seconds that a step takes: wall time, and CPU time of this process and all its descendants.

    Each process counts from the beginning of the step on. One that ended meanwhile does not:
    Spark's Python workers end a minute after their last task, and what they used before belongs to
    other steps.
    """
    before, started = _used(), time.perf_counter()
    run()
    wall = time.perf_counter() - started
    used = (seconds - before.get(process, 0.0) for process, seconds in _used().items())
    return {"CPU": sum(used), "wall": wall}


def _used() -> dict[Process, float]:
    parents: dict[int, int] = {}
    used: dict[Process, float] = {}
    for number, fields in _processes():
        parents[number] = int(fields[1])
        used[number, int(fields[19])] = sum(map(int, fields[11:13])) / _TICKS
    return {each: seconds for each, seconds in used.items() if _is_below(each[0], parents)}


def _processes() -> Iterator[tuple[int, list[str]]]:
    """Each process's number, and its status from the third field of proc(5) on."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            yield int(path.parent.name), path.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue


def _is_below(number: int, parents: Mapping[int, int]) -> bool:
    while number and number != os.getpid():
        number = parents.get(number, 0)
    return bool(number)
