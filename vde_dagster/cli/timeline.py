"""`vde timeline`: what a plan or run spent its time on, model by model."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import console, print_json

_MOST_ROWS: Final = 40


@click.command("timeline")
@click.argument("run", default="", metavar="[RUN]")
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=_MOST_ROWS,
    metavar="N",
    help=f"Show the N models that took longest; {_MOST_ROWS} by default.",
)
@options.FORMAT
@options.PROJECT
@options.WITH_DEBUG
def command(run: str, rows: int, *, output: str, folder: Path) -> None:
    """Show what a plan or run spent its time on: Spark, catalog, state, users' code, waiting.

    RUN is the beginning of the id of a plan, of a Dagster run, or of a unit of work; without it, it
    is the last one. Those that were carried out on this machine are known, the last 50.
    """
    from vde_dagster.app.apply.timelines import timeline_named
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.planning.timeline import as_json
    from vde_dagster.core.planning.timeline_text import timeline_lines

    found = timeline_named(VdeProject.load(folder).configuration.home, run.strip())
    if output == "json":
        print_json(as_json(found))
        return
    for line in timeline_lines(found, width=console().width, most=rows):
        click.echo(line)
