"""`vde resume`: paused models are evaluated again."""

from __future__ import annotations

from pathlib import Path

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import note, print_json
from vde_dagster.core.names import ModelName


@click.command("resume")
@click.argument("models", type=options.model, nargs=-1, metavar="[MODEL...]")
@options.ENVIRONMENT
@options.shared
def command(models: tuple[ModelName, ...], *, environment: str, output: str, folder: Path) -> None:
    """Resume each paused MODEL of an environment, by default all of them.

    Nothing is computed by it: the next run computes what has become due meanwhile.
    """
    from vde_dagster.app.apply.pausing import resume_models
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    own = project.configuration.catalog.name
    names = [each.within(own) for each in models]
    pauses = resume_models(project.services, environment, names)
    if output == "json":
        print_json({"environment": environment, "resumed": pauses})
        return
    for each in pauses:
        click.echo(f"{each.model} is resumed. It was {each}")
    if not pauses:
        note(f"No model is paused in {environment}.")
