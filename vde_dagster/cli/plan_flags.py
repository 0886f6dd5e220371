"""The options of `vde plan` that say what to plan."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar

import click

from vde_dagster.cli import options, timing

if TYPE_CHECKING:
    from vde_dagster.core.planning.options import PlanOptions

Command = TypeVar("Command", bound=Callable[..., object])


class PlanFlags(TypedDict):
    """What was written on the command line."""

    start: datetime | None
    end: datetime | None
    restate: tuple[str, ...]
    forward_only: bool
    effective_from: datetime | None
    skip_backfill: bool
    empty_backfill: bool
    no_gaps: bool
    accept_loss: bool
    allow_empty: bool
    select: tuple[str, ...]
    include_unmodified: bool


ACCEPT_LOSS = click.option(
    "--accept-loss",
    is_flag=True,
    help="Return to an earlier version even if it lacks data that the current one has loaded "
    "since, and that cannot be computed again.",
)
ALLOW_EMPTY = click.option(
    "--allow-empty",
    is_flag=True,
    help="Compute FULL tables and restated intervals even if they lose all of their rows, or if "
    "their source has lost some of that time.",
)
SKIP_TESTS = click.option(
    "--skip-tests",
    is_flag=True,
    help="Run no unit tests before the plan, and apply it whatever they would say.",
)
RESTATE = click.option(
    "--restate-model",
    "restate",
    multiple=True,
    metavar="SELECTOR",
    help="Compute the loaded intervals of these models again, and what reads them. Repeatable.",
)
_OPTIONS = (
    click.option(
        "--start",
        type=options.moment,
        metavar="INSTANT",
        help="Compute nothing before this instant, in UTC: what needs more begins there, in a "
        "table that is never promoted. In production only with --restate-model.",
    ),
    click.option(
        "--end",
        type=timing.end_moment,
        metavar="INSTANT",
        help="Compute no interval after this instant: a date means the whole day, a time is the "
        "exclusive end.",
    ),
    RESTATE,
    click.option(
        "--forward-only",
        is_flag=True,
        help="Let every edited model keep its table: only new intervals are computed with the "
        "edit.",
    ),
    click.option(
        "--effective-from",
        type=options.moment,
        metavar="INSTANT",
        help="From when on forward-only changes count, in UTC. Outside of production they are "
        "shown in tables of their own, which are never promoted.",
    ),
    click.option(
        "--skip-backfill",
        is_flag=True,
        help="Compute nothing, and show what is loaded. Production never shows less than before.",
    ),
    click.option(
        "--empty-backfill",
        is_flag=True,
        help="Record missing intervals as loaded without rows, and compute nothing. "
        "Not in production.",
    ),
    click.option(
        "--no-gaps",
        is_flag=True,
        help="Refuse versions with fewer loaded intervals than those shown now.",
    ),
    ACCEPT_LOSS,
    ALLOW_EMPTY,
    click.option(
        "--select-model",
        "select",
        multiple=True,
        metavar="SELECTOR",
        help="Plan the changes of these models only: mart.revenue, mart.*, tag:nightly; a + in "
        "front adds everything upstream, a + behind everything downstream. Repeatable.",
    ),
    click.option(
        "--include-unmodified/--no-include-unmodified",
        default=True,
        help="Whether ENV also gets views of models that are the same in production (default), "
        "or only of the others.",
    ),
)


_APPLYING = (
    click.option("--auto-apply", is_flag=True, help="Apply the plan without asking."),
    click.option("--no-apply", is_flag=True, help="Only show the plan; do not ask."),
    click.option(
        "--explain",
        is_flag=True,
        help="Show what applying would do, step by step, and apply nothing.",
    ),
    click.option(
        "--save",
        type=click.Path(path_type=Path),
        default=None,
        metavar="FILE",
        help="Write the plan to FILE, for `vde apply FILE`, and apply nothing now.",
    ),
)


def applying_flags(command: Command) -> Command:
    """Give a command the options that say what is done with a plan."""
    for option in reversed(_APPLYING):
        command = option(command)
    return command


def plan_flags(command: Command) -> Command:
    """Give a command the options of a plan, in the order in which its help lists them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def flags_of(options: PlanOptions) -> list[str]:
    """The words on a command line that ask for a plan with these options."""
    instants = (
        ("--start", options.start),
        ("--end", options.end),
        ("--effective-from", options.effective_from),
    )
    said = (
        ("--forward-only", options.forward_only),
        ("--skip-backfill", options.skip_backfill),
        ("--empty-backfill", options.empty_backfill),
        ("--no-gaps", options.no_gaps),
        ("--accept-loss", options.accept_loss),
        ("--allow-empty", options.allow_empty),
        ("--no-include-unmodified", not options.include_unmodified),
    )
    decided = sorted(options.decisions.items())
    return [
        *(word for name, at in instants if at is not None for word in (name, at.isoformat())),
        *(word for each in options.restate for word in ("--restate-model", each)),
        *(name for name, given in said if given),
        *(word for each in options.select for word in ("--select-model", each)),
        *(word for name, each in decided for word in ("--decide", f"{name}={each.value}")),
    ]


def asked_options(environment: str, flags: PlanFlags) -> PlanOptions:
    """The options of a plan, checked before anything of the project is read.

    Raises:
        click.UsageError: The options make no sense together, or not for this environment.
    """
    from vde_dagster.core.planning.options import OptionsRefused, PlanOptions, refuse_senseless

    asked = PlanOptions(**flags)
    try:
        refuse_senseless(asked, environment)
    except OptionsRefused as error:
        raise click.UsageError(str(error)) from error
    return asked
