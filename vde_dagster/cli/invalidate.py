"""`vde invalidate`: remove an environment."""

from __future__ import annotations

from pathlib import Path

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import print_json
from vde_dagster.cli.spelling import vde


@click.command("invalidate")
@click.argument("environment", type=options.environment, metavar="ENV")
@options.shared
def command(environment: str, *, output: str, folder: Path) -> None:
    """Remove an environment: its views go, and nothing refers to its versions any more.

    The tables stay until `vde janitor` finds that nothing else refers to them. Production is never
    removed. Planning ENV makes it again.
    """
    from vde_dagster.app.promote.promotion import remove_environment
    from vde_dagster.composition import VdeProject

    remove_environment(VdeProject.load(folder).services, environment)
    if output == "json":
        print_json({"removed": environment})
    else:
        click.echo(
            f"{environment} is removed. `{vde('janitor')}` drops what only it showed, when its "
            "time is over."
        )
