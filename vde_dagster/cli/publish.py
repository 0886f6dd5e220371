"""`vde publish`: rows that blocking audits refused are published on a person's word."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import print_json

if TYPE_CHECKING:
    pass


@click.command("publish")
@click.argument("work", metavar="WORK")
@click.option(
    "--accept",
    "audits",
    metavar="AUDIT",
    multiple=True,
    required=True,
    help="An audit that refused the rows, by its name. Repeatable: all of them have to be named.",
)
@click.option("--reason", metavar="TEXT", required=True, help="Why, for whoever asks later.")
@options.shared
def command(
    work: str,
    *,
    audits: tuple[str, ...],
    reason: str,
    output: str,
    folder: Path,
) -> None:
    """Publish the rows that the unit of work WORK staged and audits refused, as they are.

    `vde audits MODEL` shows WORK, with the rows that failed. Nothing is computed. If the table or
    what the model reads has other rows since, nothing is published: then it is to be evaluated
    again. Who accepted the rows, when and why is recorded with them.
    """
    from vde_dagster.app.apply.accepting import Accepting, publish_refused
    from vde_dagster.composition import VdeProject
    from vde_dagster.orchestration.acceptances import report_accepted

    project = VdeProject.load(folder)
    wanted = Accepting(work_id=work, audits=audits, reason=reason)
    done = publish_refused(project.services, lambda: project.files.graph, wanted)
    report_accepted(project, done)
    if output == "json":
        document = {
            "environment": done.binding.environment,
            "model": done.done.key.model,
            "work_id": done.done.work_id,
            "acceptance": done.acceptance,
            "rows": done.done.rows,
            "intervals": [each.interval for each in done.done.entries],
        }
        print_json(document)
        return
    rows = f"{done.done.rows:,} rows" if done.done.rows != 1 else "1 row"
    click.echo(f"Published {rows} of {done.done.key.model} in {done.done.interval}.")
    click.echo(f"  {', '.join(done.acceptance.audits)}: {done.acceptance}")
