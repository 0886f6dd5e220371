"""Reading a project and planning it, nothing having changed: CPU seconds, cold and warm.

*Cold* is without the cache of models, *warm* with it (`vde_dagster.project.cache`). Each run is
a new process, runs alternate, medians are printed. *load* reads all files, resolves all queries
and computes all fingerprints; *plan* compares them with a production that was filled before.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

from benchmarks.filled import fill
from benchmarks.measuring import (
    Settings,
    Step,
    alternating,
    cpu_seconds,
    measured,
    peak_megabytes,
    print_table,
)
from benchmarks.projects import Shape, write_ours

KEPT = "parsed_models.sqlite"


def measure(folder: Path) -> Step:
    """The CPU seconds of this process, step by step."""
    started = cpu_seconds()
    from vde_dagster.app.plan.planning import plan_environment
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    services = project.services
    imported = cpu_seconds()
    graph = project.files.graph
    loaded = cpu_seconds()
    plan = plan_environment(services, graph, "prod")
    planned = cpu_seconds()
    assert plan.is_empty, "nothing has changed"
    return {
        "import": imported - started,
        "load": loaded - imported,
        "plan": planned - loaded,
        "MB": peak_megabytes(),
    }


def prepare(root: Path, shape: Shape) -> Path:
    """The folder of a filled project, which is created if it is missing."""
    folder = root / "ours" / shape.folder
    if not (folder / ".filled").exists():
        print(f"filling {shape} models ...", file=sys.stderr)
        write_ours(folder, shape)
        fill(folder)
        (folder / ".filled").touch()
    return folder


def forget(folder: Path) -> None:
    """Remove a project's cache of models."""
    for each in (folder / ".vde").glob(f"{KEPT}*"):
        each.unlink()


def run(folder: Path, step: str) -> Step:
    """One process, cold or warm."""
    if step == "cold":
        forget(folder)
    return measured([sys.executable, "-m", "benchmarks.planning", str(folder)])


def main(settings: Settings) -> None:
    """Print a line for each project and step, and whether the time is linear."""
    folders = {shape: prepare(settings.folder, shape) for shape in settings.shapes}
    found = alternating(
        settings.rounds,
        {
            (str(shape), step): partial(run, folder, step)
            for shape, folder in folders.items()
            for step in ("cold", "warm")
        },
    )
    rows: list[list[str | float]] = []
    for shape in settings.shapes:
        for step in ("cold", "warm"):
            each = found[str(shape), step]
            total = each["load"] + each["plan"]
            per_model = f"{total / shape.models * 1000:.2f}"
            row = [str(shape), step, *each.values(), total, per_model]
            rows.append(row)
    print("CPU seconds, medians; load + plan is without the interpreter and imports")
    head = ["models", "", "import", "load", "plan", "MB", "load+plan", "ms/model"]
    print_table(head, rows)


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
