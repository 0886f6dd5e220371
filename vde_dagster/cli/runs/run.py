"""`vde run`: computes due intervals of an environment, and those with late or changed inputs."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.options import plan_option
from vde_dagster.cli.plans.plan import apply, built, show
from vde_dagster.cli.printing import print_all, print_json
from vde_dagster.core.names import PRODUCTION

if TYPE_CHECKING:
    from vde_dagster.app.apply.running import Wanted
    from vde_dagster.app.evaluate.evaluated import Evaluated
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.planning.options import PlanOptions
    from vde_dagster.core.planning.plan import Plan

BUSY: Final = 3
"""The exit code if another process changes the environment, or just has: nothing was done."""


@options.command("run")
@click.argument("environment", type=options.environment, default="prod", metavar="[ENV]")
@click.option("--no-stale", is_flag=True, help="Compute only due intervals.")
@click.option(
    "--only-stale", is_flag=True, help="Compute only intervals whose inputs are late or changed."
)
@plan_option("restate_model")
@options.bound("start", "In production: restate nothing before this instant, in UTC.")
@options.bound(
    "end", "In production: restate nothing after this instant; a date means the whole day."
)
@plan_option("allow_empty")
@click.option("--explain", is_flag=True, help="Only show the intervals to compute, and why.")
@options.CONCURRENCY
@options.FAIL_FAST
def run_command(
    call: Call,
    *,
    environment: str,
    no_stale: bool,
    only_stale: bool,
    restate: tuple[str, ...],
    start: datetime | None,
    end: datetime | None,
    allow_empty: bool,
    explain: bool,
    models: int | None,
    fail_fast: bool,
) -> None:
    """Bring ENV (prod by default) up to date, without asking, upstream models first.

    It computes due intervals, and loaded intervals whose inputs are late or changed. If a model's
    new rows equal the old ones, nothing downstream is computed for it. Models with late data get a
    catch-up session. If there is nothing to do, Spark is not started.

    It uses the models that ENV shows, also to restate them. Edited files are left to `vde plan`,
    and no view moves. Models that are due but not ready are listed with what they wait for.
    Schedule it freely: concurrent runs are safe.

    Exit codes: 0 if everything that is ready is computed, 1 if something failed (the rest is done),
    3 if nothing was done because another plan or run of ENV is active or has just changed it.

    For example:

        vde run prod --no-stale
    """
    from vde_dagster.app.apply.running import plan_run
    from vde_dagster.app.inspect.interval_report import wait_texts, waiting_models
    from vde_dagster.cli.facts import plan_facts
    from vde_dagster.core.planning.options import PlanOptions

    asked = PlanOptions(restate=restate, start=start, end=end, allow_empty=allow_empty)
    wanted = _wanted(environment, asked, no_stale=no_stale, only_stale=only_stale)
    project = call.project
    plan = plan_run(project.services, environment, wanted, asked)
    waiting = waiting_models(project.services, plan)
    if not call.is_json:
        show(plan, waiting, of_run=True)
    done: tuple[Evaluated, ...] = ()
    busy = ""
    if not (plan.is_empty or explain):
        done, busy = _applied(project, plan, models=models, fail_fast=fail_fast)
    if call.is_json:
        up_to_date, waits = plan.is_up_to_date and not waiting, wait_texts(waiting)
        said = {"up_to_date": up_to_date, "waits": waits, "busy": busy or None}
        print_json(plan_facts(plan) | said | {"built": built(project, plan, done)})
    elif done:
        print_computed(project, plan, done)
    if busy:
        call.end(BUSY)
    if plan.is_empty:
        _end_empty(project, plan, explain=explain)


def _applied(
    project: VdeProject, plan: Plan, *, models: int | None, fail_fast: bool
) -> tuple[tuple[Evaluated, ...], str]:
    """What was computed, or who is changing the environment so that nothing was."""
    from vde_dagster.app.apply.visitor import EnvironmentBusy

    try:
        return apply(project, plan, models=models, fail_fast=fail_fast), ""
    except EnvironmentBusy as somebody:
        click.echo(f"vde: {somebody}", err=True)
        return (), str(somebody)


def _end_empty(project: VdeProject, plan: Plan, *, explain: bool) -> None:
    """End a run that has nothing to compute; one that is only explained writes nothing.

    Raises:
        Refused: Tables of the environment are lost, and what needs them waits.
    """
    from vde_dagster.app.apply.running import end_without_work
    from vde_dagster.app.plan.plan_checks import what_stayed_undone

    if not explain:
        end_without_work(project.services, plan)
    for error in what_stayed_undone(plan):
        raise error


def _wanted(environment: str, asked: PlanOptions, *, no_stale: bool, only_stale: bool) -> Wanted:
    """What is computed.

    Raises:
        UsageError: Options exclude each other.
    """
    from vde_dagster.app.apply.running import Wanted

    if no_stale and only_stale:
        raise click.UsageError("--no-stale and --only-stale cannot be combined.")
    if only_stale and asked.restate:
        raise click.UsageError("--only-stale and --restate-model cannot be combined.")
    bounded = asked.start is not None or asked.end is not None
    if bounded and not (asked.restate and environment == PRODUCTION):
        raise click.UsageError(
            f"--start and --end limit what --restate-model recomputes in {PRODUCTION}. "
            "Elsewhere they limit a plan: `vde plan ENV`."
        )
    return Wanted.DUE if no_stale else Wanted.STALE if only_stale else Wanted.DUE_AND_STALE


def print_computed(project: VdeProject, plan: Plan, done: tuple[Evaluated, ...]) -> None:
    """Print what a run computed, and what it left as it is."""
    from vde_dagster.app.binding import bind_plan
    from vde_dagster.app.evaluate.savings import left_as_it_is
    from vde_dagster.cli.looks.built import as_table

    print_all([as_table(built(project, plan, done), title="What was computed")])
    left = left_as_it_is(project.services, bind_plan(plan), done)
    took = "" if left.seconds is None else f" ({left.seconds:,.0f} s of computation saved)"
    click.echo(f"Reused: {left.intervals:,} intervals with {left.rows:,} rows{took}.")
