"""`vde apply`, `vde promote` and `vde rollback`: plans that are not of the project's files now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli.call import Call

if TYPE_CHECKING:
    from vde_dagster.core.planning.plan import Plan
from vde_dagster.cli import options
from vde_dagster.cli.options import applying_flags, plan_option
from vde_dagster.cli.plans.plan import Asked, apply, built, carry_out, print_built, show
from vde_dagster.cli.printing import print_json


@options.command("apply")
@click.argument("file", type=click.Path(path_type=Path))
@options.CONCURRENCY
@options.FAIL_FAST
def apply_command(call: Call, *, file: Path, models: int | None, fail_fast: bool) -> None:
    """Apply the plan that `vde plan ENV --save FILE` wrote, without asking.

    It applies exactly the reviewed plan. The models are those in FILE, even if the project's files
    have changed since; only vde.yaml is read. Intervals that have become due since then are left to
    the next plan. Apply FILE again to finish an interrupted run.

    It is refused before anything is written if FILE was edited or damaged, if its environment has
    changed, or if the result would differ from the reviewed plan. `variables` and `spark.conf`
    values that vde.yaml takes from environment variables are not in FILE, and must have the same
    values.

    FILE has the text of every model, but no address or setting of the machine. Its digest detects
    mistakes and is not a signature. Keep FILE where only people who may apply plans can write.

    For example:

        vde apply reviewed.json
    """
    from vde_dagster.app.apply.saved_plans import left_of, load_plan

    project = call.project
    plan, before = left_of(project.services, load_plan(project.configuration, file))
    apply_left(
        call,
        plan,
        already=f"This plan is already applied: {plan.environment} shows its versions."
        if before
        else "",
        shows="the saved plan",
        models=models,
        fail_fast=fail_fast,
    )


@options.command("promote")
@click.argument("source", type=options.environment, metavar="FROM")
@click.argument("target", type=options.environment, default="prod", metavar="[TO]")
@applying_flags
@plan_option("accept_loss")
@plan_option("allow_empty")
def promote_command(
    call: Call, *, source: str, target: str, accept_loss: bool, allow_empty: bool, **flags: object
) -> None:
    """Make TO (prod by default) show exactly the versions of FROM, whatever the files say.

    Intervals that FROM has loaded are reused. Missing intervals are computed before any view moves:
    those that only TO has, and those whose data has landed since. Models that only TO shows are
    removed; the plan lists them.

    A promotion that would lose data is refused in production, unless --accept-loss is given.

    For example:

        vde promote dev prod
    """
    asked = Asked.of(call, flags)
    from vde_dagster.app.promote.taking import plan_promotion
    from vde_dagster.core.planning.options import PlanOptions

    chosen = PlanOptions(accept_loss=accept_loss, allow_empty=allow_empty)
    carry_out(asked, plan_promotion(call.services, source, target, chosen))


@options.command("rollback")
@click.argument("environment", type=options.environment, metavar="ENV")
@click.option(
    "--to",
    "number",
    type=click.IntRange(min=1),
    metavar="REVISION",
    help="The revision to go back or forward to; by default the last one that differs from "
    "the current one. `vde history ENV` lists them.",
)
@click.option(
    "--give-up",
    is_flag=True,
    help="Give up a promotion that cannot be finished: ENV then shows the same as before. "
    "Nothing is computed.",
)
@applying_flags
@plan_option("accept_loss")
@plan_option("allow_empty")
def rollback_command(
    call: Call,
    *,
    environment: str,
    number: int | None,
    give_up: bool,
    accept_loss: bool,
    allow_empty: bool,
    **flags: object,
) -> None:
    """Make ENV show the versions of an earlier revision again, whatever the files say.

    Without --to, that is the last revision that differs from the current one. So a second rollback
    undoes the first. If its versions are up to date, nothing is computed and Spark is not started.
    Otherwise they are brought up to date first. In production, a rollback that would lose data is
    refused, unless --accept-loss is given.

    After a rollback, runs, sensors and code locations use the versions that ENV shows. An
    environment that follows the files stops doing so until the next plan of the files is applied.

    For example:

        vde rollback prod --to 3
    """
    if give_up:
        others = (flags["no_apply"], flags["explain"], flags["save"], accept_loss, allow_empty)
        if number is not None or any(others):
            raise click.UsageError("--give-up cannot be combined with the options of a plan.")
        _give_up(call, environment)
        return
    asked = Asked.of(call, flags)
    from vde_dagster.app.promote.taking import plan_rollback
    from vde_dagster.core.planning.options import PlanOptions

    chosen = PlanOptions(accept_loss=accept_loss, allow_empty=allow_empty)
    carry_out(asked, plan_rollback(call.services, environment, number, chosen))


def _give_up(call: Call, environment: str) -> None:
    """Give up an unfinished promotion, and say what the environment shows then."""
    from vde_dagster.app.promote.taking import give_up_promotion

    shown = give_up_promotion(call.services, environment)
    taken = shown.taken if shown is not None else None
    document = {
        "environment": environment,
        "revision": shown.revision if shown else None,
        "shows": str(taken) if taken is not None else None,
    }
    what = f"what {taken} shows" if taken is not None else "nothing"
    call.answer(document, [f"The promotion was given up: {environment} shows {what}."])


def apply_left(
    call: Call,
    plan: Plan,
    *,
    already: str,
    shows: str,
    models: int | None = None,
    fail_fast: bool = False,
) -> None:
    """Apply what is left of a saved plan, and say so; ``already`` says that it was applied."""
    from vde_dagster.app.inspect.interval_report import left_by_plan
    from vde_dagster.cli.facts import plan_facts

    project = call.project
    if not call.is_json and already:
        click.echo(already)
    elif not call.is_json:
        show(plan, left_by_plan(project.services, plan))
    done = apply(project, plan, models=models, fail_fast=fail_fast)
    if call.is_json:
        more = {"already_applied": bool(already), "applied": not plan.is_empty}
        print_json(plan_facts(plan) | more | {"built": built(project, plan, done)})
    elif not plan.is_empty:
        print_built(project, plan, done, shows=shows)
