"""The options of `vde plan` that say what is asked of a plan."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
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
    skip_backfill: bool
    empty_backfill: bool
    no_gaps: bool
    accept_loss: bool
    select: tuple[str, ...]
    include_unmodified: bool


_OPTIONS = (
    click.option(
        "--start",
        type=options.moment,
        metavar="INSTANT",
        help="Compute no interval before this instant, in UTC. In production only with "
        "--restate-model.",
    ),
    click.option(
        "--end",
        type=timing.end_moment,
        metavar="INSTANT",
        help="Compute no interval after it: a date means the whole day, a time is the exclusive "
        "end.",
    ),
    click.option(
        "--restate-model",
        "restate",
        multiple=True,
        metavar="SELECTOR",
        help="Compute what is loaded of these models again, with all that reads it. Repeatable.",
    ),
    click.option(
        "--forward-only",
        is_flag=True,
        help="Let every edited model keep the table that it has: only new intervals follow the "
        "edit.",
    ),
    click.option(
        "--skip-backfill",
        is_flag=True,
        help="Compute nothing and only show what is there. Production shows no less than before.",
    ),
    click.option(
        "--empty-backfill",
        is_flag=True,
        help="Record what is missing as loaded without rows, and compute nothing. "
        "Not in production.",
    ),
    click.option(
        "--no-gaps",
        is_flag=True,
        help="Refuse versions that will hold less than what is shown now.",
    ),
    click.option(
        "--accept-loss",
        is_flag=True,
        help="Show versions that come back without what the ones that are shown have read since, "
        "where that cannot be computed again.",
    ),
    click.option(
        "--select-model",
        "select",
        multiple=True,
        metavar="SELECTOR",
        help="Plan the changes of these models only: mart.revenue, mart.*, tag:nightly; with + in "
        "front for all that they read, + behind for all that reads them. Repeatable.",
    ),
    click.option(
        "--include-unmodified/--no-include-unmodified",
        default=True,
        help="Whether ENV gets views of models that are as in production, too (default), or only "
        "of the others.",
    ),
)


def plan_flags(command: Command) -> Command:
    """Give a command the options of a plan, in the order in which its help lists them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def asked_options(environment: str, flags: PlanFlags) -> PlanOptions:
    """What was asked of a plan, before anything of the project is read.

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
