"""`vde pause`: models that are not evaluated until a person resumes them."""

from __future__ import annotations

from pathlib import Path

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import print_json
from vde_dagster.core.names import ModelName


@click.command("pause")
@click.argument("models", type=options.model, nargs=-1, required=True, metavar="MODEL...")
@click.option("--reason", metavar="TEXT", default="", help="Why, for whoever asks later.")
@options.ENVIRONMENT
@options.shared
def command(
    models: tuple[ModelName, ...], *, reason: str, environment: str, output: str, folder: Path
) -> None:
    """Pause each MODEL in an environment: runs, automation, sensors and plans leave it out.

    What it has loaded stays, and is read. Models downstream are computed as far as it goes.
    """
    from vde_dagster.app.apply.pausing import pause_models
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    own = project.configuration.catalog.name
    names = [each.within(own) for each in models]
    pauses = pause_models(project.services, environment, names, reason=reason)
    if output == "json":
        print_json({"environment": environment, "paused": pauses})
    for each in pauses if output == "text" else ():
        click.echo(f"{each.model} is {each}. To go on: {each.resume}")
