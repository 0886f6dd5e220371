"""`vde timeline`: what a plan or run spent its time on, model by model."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import console, print_json
from vde_dagster.core.errors import Refused

_MOST_ROWS: Final = 40


@click.command("timeline", short_help="Show what a plan or run spent its time on.")
@click.argument("run", default="", metavar="[RUN]")
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the picture to FILE, as a page that needs nothing else.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=_MOST_ROWS,
    metavar="N",
    help=f"Show the N models that took longest; {_MOST_ROWS} by default. FILE has all.",
)
@options.FORMAT
@options.PROJECT
@options.WITH_DEBUG
def command(run: str, page: Path | None, rows: int, *, output: str, folder: Path) -> None:
    """Show what a plan or run spent its time on: Spark, catalog, state, users' code, waiting.

    RUN is the beginning of the id of a plan, of a Dagster run, or of a unit of work; without it, it
    is the last one. Those that were carried out on this machine are known, the last 50.
    """
    from vde_dagster.app.apply.timelines import timeline_named
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.planning.timeline import as_json
    from vde_dagster.core.planning.timeline_picture import timeline_page
    from vde_dagster.core.planning.timeline_text import timeline_lines

    found = timeline_named(VdeProject.load(folder).configuration.home, run.strip())
    if page is not None:
        try:
            page.write_text(timeline_page(found), "utf-8")
        except OSError as error:
            raise Refused(f"the picture cannot be written to {page}: {error.strerror}") from error
    if output == "json":
        print_json({**as_json(found), "file": None if page is None else str(page)})
        return
    for line in timeline_lines(found, width=console().width, most=rows):
        click.echo(line)
    if page is not None:
        click.echo(f"Written: {page}")
