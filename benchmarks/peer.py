"""The same projects in SQLMesh: CPU seconds, each tool cold and warm, all in alternation.

SQLMesh gets a virtual environment of its own in `.tools/sqlmesh`; nothing of it enters ours.
Its projects have the same queries, on DuckDB, with a production that was filled before.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.measuring import Settings, Step, alternating, measured, print_table
from benchmarks.planning import prepare, run
from benchmarks.projects import Shape, write_theirs

VERSION = "0.236.4"
HERE = Path(__file__).parent
TOOLS = HERE.parent / ".tools" / "sqlmesh"
STEPS = HERE / "peer_steps.py"
MOST_MODELS = 1000
"""Filling more takes an hour."""


def install() -> Path:
    """The Python that has SQLMesh, which is installed if it is missing."""
    python = TOOLS / "bin" / "python"
    asked = f"import sqlmesh; assert sqlmesh.__version__ == '{VERSION}'"
    if python.exists() and not subprocess.run([python, "-c", asked], check=False).returncode:
        return python
    print(f"installing SQLMesh {VERSION} in {TOOLS} ...", file=sys.stderr)
    venv.create(TOOLS, with_pip=True, clear=True)
    command = [str(python), "-m", "pip", "install", "--quiet", f"sqlmesh=={VERSION}"]
    subprocess.run(command, check=True)
    return python


def prepare_theirs(python: Path, root: Path, shape: Shape) -> Path:
    """The folder of a filled project of SQLMesh, which is created if it is missing."""
    folder = root / "theirs" / shape.folder
    if not (folder / ".filled").exists():
        print(f"filling {shape} models in SQLMesh ...", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        write_theirs(folder, shape)
        measured([str(python), "-P", str(STEPS), str(folder), "fill"])
        (folder / ".filled").touch()
    return folder


def run_theirs(python: Path, folder: Path, step: str) -> Step:
    """One process of SQLMesh, cold or warm."""
    if step == "cold":
        shutil.rmtree(folder / ".cache", ignore_errors=True)
    return measured([str(python), "-P", str(STEPS), str(folder), "measure"])


def main(settings: Settings) -> None:
    """Print a line for each project, tool and step, and how many times faster ours is."""
    python = install()
    shapes = [shape for shape in settings.shapes if shape.models <= MOST_MODELS]
    ours = {shape: prepare(settings.folder, shape) for shape in shapes}
    theirs = {shape: prepare_theirs(python, settings.folder, shape) for shape in shapes}
    runs: dict[tuple[str, ...], Callable[[], Step]] = {}
    for shape in shapes:
        for step in ("cold", "warm"):
            runs[str(shape), step, "ours"] = partial(run, ours[shape], step)
            runs[str(shape), step, "SQLMesh"] = partial(run_theirs, python, theirs[shape], step)
    found = alternating(settings.rounds, runs)
    rows: list[list[str | float]] = []
    for name, each in found.items():
        total = each["load"] + each["plan"]
        other = found[*name[:2], "SQLMesh"]
        times = (other["load"] + other["plan"]) / total
        faster = f"{times:.1f} times faster" if name[2] == "ours" else ""
        rows.append([*name, *each.values(), total, faster])
    print(f"CPU seconds, medians; SQLMesh {VERSION}")
    print_table(["models", "", "", "import", "load", "plan", "MB", "load+plan", ""], rows)
