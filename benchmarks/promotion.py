"""Promoting and rolling back: CPU seconds of planning and of applying, where nothing is computed.

Development has another version of each model, all filled, with real tables and views in the
catalog. Each measured process promotes it to production and rolls that back; both are measured
beyond imports and reading the project. The aim is one second for 1,000 views, without Spark.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.filled import fill
from benchmarks.measuring import Settings, Step, alternating, cpu_seconds, measured, print_table

if TYPE_CHECKING:
    from vde_dagster.core.planning.plan import Plan

SIZES = (100, 1_000)
"""Models, each with a view."""


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
            fill(folder, environment, tables=True)
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


def main(settings: Settings) -> None:
    """Print a line for each size."""
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


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
