"""`vde promote`: an environment shows what another one shows."""

from __future__ import annotations

from pathlib import Path

import click

from vde_dagster.cli import options
from vde_dagster.cli.plan import Asked, carry_out
from vde_dagster.cli.plan_flags import applying_flags, plan_option


@click.command("promote")
@click.argument("source", type=options.environment, metavar="FROM")
@click.argument("target", type=options.environment, default="prod", metavar="[TO]")
@applying_flags
@plan_option("accept_loss")
@plan_option("allow_empty")
@options.shared
def command(
    source: str,
    target: str,
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
    """Make TO (prod by default) show exactly the versions that FROM shows, whatever the files say.

    What FROM holds is not computed again. What its versions lack, because TO shows more intervals
    or because something landed since, is computed before any view moves.
    """
    asked = Asked.of(
        folder, output, auto_apply=auto_apply, no_apply=no_apply, explain=explain, save=save
    )
    from vde_dagster.app.promote.taking import plan_promotion
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.planning.options import PlanOptions

    project = VdeProject.load(folder)
    chosen = PlanOptions(accept_loss=accept_loss, allow_empty=allow_empty)
    carry_out(project, plan_promotion(project.services, source, target, chosen), asked)
