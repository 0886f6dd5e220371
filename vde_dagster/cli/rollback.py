"""`vde rollback`: an environment shows again what it showed before."""

from __future__ import annotations

from pathlib import Path

import click

from vde_dagster.cli import options
from vde_dagster.cli.plan import Asked, carry_out
from vde_dagster.cli.plan_flags import applying_flags, plan_option
from vde_dagster.cli.printing import print_json


@click.command("rollback")
@click.argument("environment", type=options.environment, metavar="ENV")
@click.option(
    "--to",
    "number",
    type=click.IntRange(min=1),
    metavar="REVISION",
    help="The revision to go back, or forward, to; by default the last one that showed something "
    "else than now. `vde history ENV` lists them.",
)
@click.option(
    "--give-up",
    is_flag=True,
    help="Give up a promotion that was begun and cannot be finished: ENV shows what it showed "
    "before it. Nothing is computed.",
)
@applying_flags
@plan_option("accept_loss")
@plan_option("allow_empty")
@options.shared
def command(
    environment: str,
    number: int | None,
    *,
    give_up: bool,
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
    if give_up:
        if number is not None or any((no_apply, explain, save, accept_loss, allow_empty)):
            raise click.UsageError("--give-up goes with none of the options of a plan.")
        _give_up(folder, environment, output)
        return
    asked = Asked.of(
        folder, output, auto_apply=auto_apply, no_apply=no_apply, explain=explain, save=save
    )
    from vde_dagster.app.promote.taking import plan_rollback
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.planning.options import PlanOptions

    project = VdeProject.load(folder)
    chosen = PlanOptions(accept_loss=accept_loss, allow_empty=allow_empty)
    carry_out(project, plan_rollback(project.services, environment, number, chosen), asked)


def _give_up(folder: Path, environment: str, output: str) -> None:
    """Give up a begun promotion, and say what the environment shows then."""
    from vde_dagster.app.promote.taking import give_up_promotion
    from vde_dagster.composition import VdeProject

    shown = give_up_promotion(VdeProject.load(folder).services, environment)
    taken = shown.taken if shown is not None else None
    if output == "json":
        facts = {"environment": environment, "revision": shown.revision if shown else None}
        print_json(facts | {"shows": str(taken) if taken is not None else None})
    elif taken is not None:
        click.echo(f"The promotion was given up: {environment} shows what {taken} shows.")
    else:
        click.echo(f"The promotion was given up: {environment} shows nothing, as before it.")
