"""A run in Dagster in which nothing is to be computed, against assets that do nothing.

All models of a project are run for one day in one process. Every step finds that its rows are those
that computing them would give. Nothing may start Spark. Medians of CPU and wall seconds.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import dagster as dg

from benchmarks.dagster_load import by_hand, extract, ours
from benchmarks.filled import fill
from benchmarks.measuring import Settings, Step, alternating, cpu_seconds, measured, print_table
from benchmarks.projects import Shape, write_ours

DAY = "2024-01-29"
MODELS = 200
MAKERS = {"ours": ours, "by hand": by_hand}


def prepare(root: Path) -> Path:
    """The folder of a filled project with real tables, which is created if it is missing."""
    folder = root / "steps" / Shape(MODELS).folder
    if not (folder / ".filled").exists():
        write_ours(folder, Shape(MODELS))
        fill(folder)
        extract(folder)
        (folder / ".filled").touch()
    return folder


def measure(folder: Path, which: str) -> Step:
    """The seconds of one run of all assets, without loading them."""
    warnings.simplefilter("ignore")
    importlib.import_module("pyiceberg.io.pyarrow")
    definitions = MAKERS[which](folder)
    job = definitions.resolve_implicit_global_asset_job_def()
    with tempfile.TemporaryDirectory() as home, dg.DagsterInstance.local_temp(home) as instance:
        _run(job, instance)  # the first one imports, and has no events to compare with
        started, cpu = time.monotonic(), cpu_seconds()
        _run(job, instance)
        wall, used = time.monotonic() - started, cpu_seconds() - cpu
    assert "pyspark" not in sys.modules or not _has_jvm(), "nothing needs Spark"
    return {"CPU": used, "wall": wall, "CPU a step": used / MODELS, "wall a step": wall / MODELS}


def _run(job: dg.JobDefinition, instance: dg.DagsterInstance) -> None:
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    done = job.execute_in_process(instance=instance, partition_key=DAY, run_config=quiet)
    assert done.success, "nothing can fail"


def _has_jvm() -> bool:
    """Whether this process started one."""
    children = Path("/proc/self/task").glob("*/children")
    started = [pid for each in children for pid in each.read_text().split()]
    return any("java" in Path(f"/proc/{pid}/comm").read_text() for pid in started)


def main(settings: Settings) -> None:
    """Print a line for each way of writing the assets, and the difference."""
    folder = prepare(settings.folder)
    command = [sys.executable, "-m", "benchmarks.dagster_steps", str(folder)]
    runs = {(each,): partial(measured, [*command, each]) for each in MAKERS}
    found = alternating(settings.rounds, runs)
    mine, theirs = found["ours",], found["by hand",]
    rows: list[list[str | float]] = [[which, *found[which,].values()] for which in MAKERS]
    rows.append(["difference", *(mine[each] - theirs[each] for each in mine)])
    print(f"A run of {MODELS} assets in which nothing changed, seconds, medians")
    print_table(["", *mine], rows)


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), sys.argv[2])))
