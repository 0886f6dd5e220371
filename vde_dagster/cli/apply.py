"""`vde apply`: applies a plan that was saved and reviewed."""

from __future__ import annotations

from pathlib import Path

import click

from vde_dagster.cli import options
from vde_dagster.cli.plan import apply, built, print_built, show
from vde_dagster.cli.printing import print_json


@click.command("apply")
@click.argument("file", type=click.Path(path_type=Path))
@options.CONCURRENCY
@options.FAIL_FAST
@options.shared
def command(file: Path, *, models: int | None, fail_fast: bool, output: str, folder: Path) -> None:
    """Apply the plan that `vde plan ENV --save FILE` wrote, without asking.

    It does what was reviewed and nothing else: the models are those in FILE, even if the project's
    files have changed since. Of the plan's intervals it computes those that are still missing. A
    file that was edited, and a plan whose environment has changed since, are refused before
    anything is written.
    """
    from vde_dagster.app.apply.saved_plans import left_of, load_plan
    from vde_dagster.app.inspect.interval_report import left_by_plan
    from vde_dagster.cli.facts import plan_facts
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    plan = load_plan(project.configuration, file)
    plan, before = left_of(project.services, plan)
    if output == "text" and before:
        click.echo(f"This plan was applied already: {plan.environment} shows what it made.")
    elif output == "text":
        show(plan, left_by_plan(project.services, plan))
    done = apply(project, plan, models=models, fail_fast=fail_fast)
    if output == "json":
        more = {"already_applied": before, "applied": not plan.is_empty}
        print_json(plan_facts(plan) | more | {"built": built(project, plan, done)})
    elif not plan.is_empty:
        print_built(project, plan, done, shows="the saved plan")
