"""Promoting and rolling back: CPU seconds of planning and of applying, where nothing is computed.

Development has another version of each model, all filled, with real tables and views in the
catalog. Each measured process promotes it to production and rolls that back; both are measured
beyond imports and reading the project. The aim is one second for 1,000 views, without Spark.

Then the same as whole commands, and a plan of production whose versions are all held, as after a
revert in git: wall and CPU seconds. The aim is five seconds for 200 models.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.filled import fill
from benchmarks.measuring import Settings, Step, alternating, cpu_seconds, measured, print_table

if TYPE_CHECKING:
    from vde_dagster.core.planning.plan import Plan

SIZES = (100, 200, 1_000)
"""Models, each with a view."""
MOST_SECONDS = 5
AIMED_AT = 200
COMMANDS = {
    "promote": ("promote", "dev", "--auto-apply"),
    "roll back": ("rollback", "prod", "--auto-apply"),
    "revert": ("plan", "prod", "--auto-apply"),
    "roll back again": ("rollback", "prod", "--auto-apply"),
}
"""In this order: each moves all views, and computes nothing."""


def write(folder: Path, models: int, amount: int) -> None:
    """A project of models without parents, which return a number."""
    (folder / "models").mkdir(parents=True, exist_ok=True)
    (folder / "vde.yaml").write_text("name: bench\n")
    for number in range(models):
        (folder / "models" / f"m{number}.sql").write_text(
            f"MODEL (name l{number % 10}.m{number}, kind FULL);\n"
            f"SELECT CAST({number} AS BIGINT) AS id, CAST({amount} AS BIGINT) AS amount\n"
        )


def prepare(root: Path, models: int) -> Path:
    """The folder of a project with both environments, which is created if it is missing."""
    folder = root / "promotion" / str(models)
    if not (folder / ".filled").exists():
        print(f"filling {models} models twice ...", file=sys.stderr)
        for amount, environment in enumerate(("prod", "dev"), start=1):
            write(folder, models, amount)
            fill(folder, environment)
        (folder / ".filled").touch()
    return folder


def measure(folder: Path) -> Step:
    """The CPU seconds of a promotion of all models and of the rollback, step by step."""
    from vde_dagster.app.apply.applying import apply_plan
    from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    services, models = project.services, len([*project.files.graph])
    steps: Step = {}
    at = cpu_seconds()

    def step(name: str) -> None:
        nonlocal at
        now = cpu_seconds()
        steps[name], at = now - at, now

    made: dict[str, Callable[[], Plan]] = {
        "promote": lambda: plan_promotion(services, "dev", "prod"),
        "roll back": lambda: plan_rollback(services, "prod"),
    }
    for name, make in made.items():
        plan = make()
        step(f"plan: {name}")
        assert len(plan.views) == models, "all views move"
        assert not plan.backfills, "nothing is computed"
        apply_plan(services, plan, lambda _: None)
        step(name)
    return steps


def run_commands(folder: Path) -> Step:
    """The seconds of each of the commands as a process of its own."""
    found: Step = {}
    for name, words in COMMANDS.items():
        command = [str(Path(sys.executable).with_name("vde")), *words, "--project", str(folder)]
        before, started = cpu_seconds(), time.perf_counter()
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        found[name] = time.perf_counter() - started
        found[f"{name}, CPU"] = cpu_seconds() - before
        assert "Nothing to compute: only views change." in answer.stdout, answer.stdout
    return found


def main(settings: Settings) -> None:
    """Print a line for each size, and one for each whole command."""
    folders = {models: prepare(settings.folder, models) for models in SIZES}
    found = alternating(
        settings.rounds,
        {
            (str(models),): partial(
                measured, [sys.executable, "-m", "benchmarks.promotion", str(folder)]
            )
            for models, folder in folders.items()
        },
    )
    print("CPU seconds of promoting all views and of rolling back, medians")
    steps = [*found[str(SIZES[0]),]]
    print_table(["views", *steps], [[name, *each.values()] for (name,), each in found.items()])
    whole = alternating(
        settings.rounds,
        {(str(models),): partial(run_commands, folders[models]) for models in SIZES},
    )
    rows: list[list[str | float]] = [
        [models, name, each[name], each[f"{name}, CPU"], _note(each[name], models)]
        for (models,), each in whole.items()
        for name in COMMANDS
    ]
    print("Whole commands that move all views: seconds, medians")
    print_table(["views", "command", "wall", "CPU", ""], rows)


def _note(seconds: float, models: str) -> str:
    late = int(models) <= AIMED_AT and seconds > MOST_SECONDS
    return f"over {MOST_SECONDS} s" if late else ""


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
