"""Reading a project and planning it: CPU seconds of generated projects of N models.

The models lie in 10 layers with two parents each. Each size is run in a new process, sizes
alternate, and medians are printed.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (250, 500, 1000)
LAYERS = 10
ROUNDS = 3


def write_project(folder: Path, models: int) -> None:
    """A project of incremental and full models over one declared source."""
    folder.mkdir(parents=True)
    (folder / "vde.yaml").write_text("name: bench\ndefaults:\n  start: 2024-01-01\n")
    columns = "{id: bigint, at: timestamp, amount: bigint}"
    (folder / "external_models.yaml").write_text(f"- name: raw.events\n  columns: {columns}\n")
    width = models // LAYERS
    for number in range(models):
        layer, place = divmod(number, width)
        parents = (
            ["raw.events"] * 2
            if layer == 0
            else [f"l{layer - 1}.m{(place + shift) % width}" for shift in (0, 1)]
        )
        path = folder / "models" / f"l{layer}" / f"m{place}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"MODEL (name l{layer}.m{place}, kind INCREMENTAL_BY_TIME_RANGE (time_column at));\n"
            f"SELECT a.id AS id, a.at AS at, a.amount + COALESCE(b.amount, {number}) AS amount\n"
            f"FROM {parents[0]} AS a LEFT JOIN {parents[1]} AS b ON a.id = b.id\n"
            "WHERE a.at BETWEEN @start_dt AND @end_dt\n"
        )


def measure(folder: Path) -> dict[str, float]:
    """CPU seconds of importing, reading, and planning against an empty state."""
    started = time.process_time()
    from vde_dagster.app.planning import plan_environment
    from vde_dagster.app.world import VdeProject

    project = VdeProject.load(folder)
    services = project.services
    imported = time.process_time()
    graph = project.files.graph
    read = time.process_time()
    plan_environment(services, graph, "prod")
    planned = time.process_time()
    return {"import": imported - started, "read": read - imported, "plan": planned - read}


def main() -> None:
    """Print a line for each size."""
    found: dict[int, list[dict[str, float]]] = {size: [] for size in SIZES}
    with tempfile.TemporaryDirectory() as scratch:
        for size in SIZES:
            write_project(Path(scratch) / str(size), size)
        for _ in range(ROUNDS):
            for size in SIZES:
                command = [sys.executable, "-m", "benchmarks.planning", f"{scratch}/{size}"]
                answer = subprocess.run(command, capture_output=True, text=True, check=True)
                found[size].append(json.loads(answer.stdout))
    print("models  import    read    plan   (CPU seconds, medians)")
    for size, rounds in found.items():
        cells = (statistics.median(each[key] for each in rounds) for key in rounds[0])
        print(f"{size:6}  " + "  ".join(f"{cell:6.2f}" for cell in cells))


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
