"""Whole commands where nothing has changed: `vde plan prod`, `vde fingerprint`, `vde compare HEAD`.

Wall and CPU seconds of new processes, medians. *Cold* is without the cache of models, *warm* with
it (`vde_dagster.project.cache`). A project of one model takes as long as starting and importing;
ms/model is the CPU time beyond that, and stays flat if a command is linear.

The aim of a plan is to answer within 5 seconds, whatever the machine does meanwhile.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.measuring import Settings, Step, alternating, cpu_seconds, print_table
from benchmarks.planning import forget, prepare
from benchmarks.projects import Shape

MOST_SECONDS = 5
START: Final = Shape(1)
COMMANDS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "plan": (("plan", "prod"), "othing"),
    "fingerprint": (("fingerprint",), "m0"),
    "compare": (("compare", "HEAD"), "unchanged"),
}
"""The commands, and a part of the expected output of each."""


def run(folder: Path, name: str, step: str) -> Step:
    """One command, cold or warm."""
    if step == "cold":
        forget(folder)
    words, said = COMMANDS[name]
    command = [str(Path(sys.executable).with_name("vde")), *words, "--project", str(folder)]
    before, started = cpu_seconds(), time.perf_counter()
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - started
    assert said in answer.stdout, answer.stdout
    return {"wall": seconds, "CPU": cpu_seconds() - before}


def committed(folder: Path) -> Path:
    """The folder as a git repository with one commit of everything but state and caches."""
    if not (folder / ".git").exists():
        (folder / ".gitignore").write_text(".vde/\n.filled\n")
        who = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
        for words in (("init",), ("add", "."), (*who, "commit", "--message", "one")):
            subprocess.run(["git", *words], cwd=folder, capture_output=True, check=True)
    return folder


def main(settings: Settings) -> None:
    """Print a line for each project and command."""
    shapes = [START, *settings.shapes]
    folders = {shape: committed(prepare(settings.folder, shape)) for shape in shapes}
    runs: dict[tuple[str, ...], Callable[[], Step]] = {
        (str(shape), name, step): partial(run, folder, name, step)
        for shape, folder in folders.items()
        for name in COMMANDS
        for step in ("cold", "warm")
    }
    found = alternating(settings.rounds, runs)
    rows: list[list[str | float]] = []
    for shape in settings.shapes:
        for name in COMMANDS:
            for step in ("cold", "warm"):
                each, least = (found[str(of), name, step] for of in (shape, START))
                per_model = f"{(each['CPU'] - least['CPU']) / shape.models * 1000:.2f}"
                late = name == "plan" and step == "warm" and each["wall"] > MOST_SECONDS
                more = f"over {MOST_SECONDS} s" if late else ""
                rows.append([str(shape), name, step, *each.values(), per_model, more])
    print("Commands where nothing has changed: seconds, medians")
    print_table(["models", "command", "", "wall", "CPU", "ms/model", ""], rows)
