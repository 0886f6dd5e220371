"""`vde rollback`: an environment shows again what it showed before."""

from __future__ import annotations

from pathlib import Path

import click

from vde_dagster.cli import options
from vde_dagster.cli.plan import Asked, carry_out
from vde_dagster.cli.plan_flags import ACCEPT_LOSS, ALLOW_EMPTY, applying_flags


@click.command("rollback", short_help="Show again what an environment showed before.")
@click.argument("environment", type=options.environment, metavar="ENV")
@click.option(
    "--to",
    "number",
    type=click.IntRange(min=1),
    metavar="REVISION",
    help="The revision to go back, or forward, to; by default the last one that showed something "
    "else than now. `vde history ENV` lists them.",
)
@applying_flags
@ACCEPT_LOSS
@ALLOW_EMPTY
@options.FORMAT
@options.PROJECT
@options.WITH_DEBUG
def command(
    environment: str,
    number: int | None,
    *,
    auto_apply: bool,
    no_apply: bool,
    explain: bool,
    save: Path | None,
    accept_loss: bool,
    allow_empty: bool,
    output: str,
    folder: Path,
) -> None:
    """Make ENV show the versions of an earlier revision again, whatever the files say.

    A version that is up to date is only shown. What one is behind, since it was not shown, is
    computed first; what would be lost is refused in production, unless --accept-loss.
    """
    asked = Asked.of(
        folder, output, auto_apply=auto_apply, no_apply=no_apply, explain=explain, save=save
    )
    from vde_dagster.app.promote.taking import plan_rollback
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.planning.options import PlanOptions

    project = VdeProject.load(folder)
    chosen = PlanOptions(accept_loss=accept_loss, allow_empty=allow_empty)
    carry_out(project, plan_rollback(project.services, environment, number, chosen), asked)
