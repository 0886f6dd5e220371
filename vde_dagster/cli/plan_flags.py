"""The options of `vde plan` that say what to plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, assert_never

import click

from vde_dagster.cli import options
from vde_dagster.core.planning.option_table import PLAN_OPTIONS, Sort
from vde_dagster.core.planning.option_table import SKIP_TESTS as SKIP_TESTS_HELP

if TYPE_CHECKING:
    from vde_dagster.core.planning.options import PlanOptions

Command = TypeVar("Command", bound=Callable[..., object])


def plan_option(name: str) -> Callable[[Command], Command]:
    """Give a command one of the options of a plan."""
    row = PLAN_OPTIONS[name]
    match row.sort:
        case Sort.INSTANT:
            return click.option(row.flag, type=options.moment, metavar="INSTANT", help=row.help)
        case Sort.END:
            return click.option(row.flag, type=options.end_moment, metavar="INSTANT", help=row.help)
        case Sort.SELECTORS:
            said = f"{row.help} Repeatable."
            return click.option(row.flag, row.field, multiple=True, metavar="SELECTOR", help=said)
        case Sort.FLAG:
            return click.option(row.flag, is_flag=True, help=row.help)
        case Sort.SWITCH:
            both = f"{row.flag}/--no-{row.flag.removeprefix('--')}"
            return click.option(both, default=True, help=row.help)
        case unreachable:
            assert_never(unreachable)


SKIP_TESTS = click.option("--skip-tests", is_flag=True, help=SKIP_TESTS_HELP)
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
    for name in reversed(PLAN_OPTIONS):
        command = plan_option(name)(command)
    return command


def asked_options(environment: str, flags: Mapping[str, Any]) -> PlanOptions:
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
