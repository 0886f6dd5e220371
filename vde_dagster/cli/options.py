"""Options that several commands share, the types of their values, and how a command is made.

A date as an end means the whole day.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, assert_never

import click

from vde_dagster.cli.call import Call
from vde_dagster.core.model.room import MOST_MODELS
from vde_dagster.core.names import InvalidName, ModelName, environment_name
from vde_dagster.core.planning.option_table import FAIL_FAST as FAIL_FAST_HELP
from vde_dagster.core.planning.option_table import PLAN_OPTIONS, Sort
from vde_dagster.core.planning.option_table import SKIP_TESTS as SKIP_TESTS_HELP
from vde_dagster.core.variables import Variable
from vde_dagster.lakehouse.spark.spark_log import show_errors

if TYPE_CHECKING:
    from datetime import datetime

    from vde_dagster.core.model.model import Model
    from vde_dagster.core.planning.options import PlanOptions
    from vde_dagster.core.time.intervals import Interval


Command = TypeVar("Command", bound=Callable[..., object])
FOLDER: Final = "vde.folder"
DEBUG: Final = "vde.debug"


@contextmanager
def _usage() -> Iterator[None]:
    """Another text is wrong usage."""
    try:
        yield
    except (ValueError, InvalidName) as error:
        raise click.BadParameter(str(error)) from error


def environment(text: str) -> str:
    """An environment in its canonical form; wrong usage where the text is not a name."""
    with _usage():
        return environment_name(text)


def model(text: str) -> ModelName:
    """A model's name; wrong usage where the text is none."""
    with _usage():
        return ModelName.parse(text)


def moment(text: str) -> datetime:
    """An ISO-8601 date or time, UTC where it names no zone; wrong usage where it is neither."""
    from vde_dagster.core.time.written import written_instant

    with _usage():
        return written_instant(text)


def end_moment(text: str) -> datetime:
    """The exclusive end that a text names: the end of a date, or the time itself."""
    from vde_dagster.core.time.written import written_end

    with _usage():
        return written_end(text)


def _remember_folder(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    ctx.meta[FOLDER] = value
    return value


def _remember_debug(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    ctx.meta[DEBUG] = debug = value or os.environ.get(Variable.DEBUG, "") not in ("", "0")
    show_errors(debug)
    return value


MODEL: Final = click.argument("model", type=model)
PROJECT: Final = click.option(
    "--project",
    "folder",
    type=click.Path(path_type=Path),
    default=Path(),
    metavar="DIR",
    callback=_remember_folder,
    help="The project's folder; the current one by default.",
)
FORMAT: Final = click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    help="text for people (default), json for programs.",
)
ENVIRONMENT: Final = click.option(
    "--env",
    "environment",
    type=environment,
    default="prod",
    metavar="ENV",
    help="The environment; prod by default.",
)
CONCURRENCY: Final = click.option(
    "--concurrency",
    "models",
    type=click.IntRange(1, MOST_MODELS),
    metavar="N",
    help="Evaluate up to N models concurrently; by default as vde.yaml says, else one.",
)
FAIL_FAST: Final = click.option(
    "--fail-fast",
    is_flag=True,
    help=FAIL_FAST_HELP,
)
WITH_DEBUG: Final = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=_remember_debug,
    help="Show the traceback of an unexpected error, and Spark's JVM logs (also VDE_DEBUG=1).",
)
ENGINE: Final = click.option(
    "--engine",
    type=click.Choice(["auto", "duckdb", "spark"]),
    default="auto",
    show_default=True,
    help="The engine that reads rows, as for `vde query`.",
)
SHOWN_BY: Final = click.option(
    "--env",
    "--environment",
    "environment",
    type=environment,
    default=None,
    metavar="ENV",
    help="Use the models of ENV; by default those of the files, as a plan for prod has them.",
)


def limit(most: int, said: str) -> Callable[[Command], Command]:
    """The option that says how much is shown."""
    return click.option(
        "--limit", type=click.IntRange(min=1), default=most, show_default=True, help=said
    )


def command(
    name: str, of: click.Group | None = None, said: str | None = None
) -> Callable[[Callable[..., object]], click.Command]:
    """Make a command that prints facts, of a group or of its own.

    ``said`` is what the help of its group says of it. It has the options that all of these have,
    and gets them as its ``call``.
    """

    def made(function: Callable[..., object]) -> click.Command:
        @wraps(function)
        def called(*, folder: Path, output: str, **given: object) -> object:
            return function(call=Call(folder=folder, output=output), **given)

        own = getattr(function, "__click_params__", [])
        shared: list[click.Parameter] = []
        called.__dict__["__click_params__"] = shared
        FORMAT(PROJECT(WITH_DEBUG(called)))
        shared += own  # click lists them the other way round
        return (of or click).command(name, short_help=said)(called)

    return made


_DAY: Final = timedelta(days=1)
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)


def past_moment(text: str) -> datetime | timedelta:
    """The instant that a text names, or how long before now: ``2 days ago``."""
    from vde_dagster.core.time.intervals import parse_duration, parse_instant

    try:
        length = text.strip().removesuffix("ago")
        return parse_instant(text) if length == text.strip() else parse_duration(length)
    except ValueError as error:
        message = f"{text!r} is not a date or time; write it like 2013-01-04 or '2 days ago'"
        raise click.BadParameter(message) from error


def before(now: datetime, length: timedelta) -> datetime:
    """The instant this long before now; the first of all where there is none."""
    return now - length if length < now - _FIRST else _FIRST


def bound(side: Literal["start", "end"], said: str) -> Callable[[Command], Command]:
    """An option that says where a range begins or ends."""
    read = moment if side == "start" else end_moment
    return click.option(f"--{side}", type=read, metavar="INSTANT", help=said)


START: Final = bound("start", "The first instant, in UTC: 2013-01-04.")
END: Final = bound(
    "end", "The end, in UTC: a date means the whole day, a time is the exclusive end."
)
SINCE: Final = click.option(
    "--since",
    type=past_moment,
    default="1 day ago",
    show_default=True,
    metavar="WHEN",
    help="The start: an instant in UTC such as 2013-01-04, or a time before now.",
)


def one_range(start: datetime | None, end: datetime | None) -> Interval:
    """The range of an evaluation: with one end its day, with none the epoch day.

    Raises:
        click.UsageError: The end is not after the start.
    """
    from vde_dagster.core.time.intervals import EPOCH, IntervalUnit

    day = IntervalUnit.DAY
    try:
        if start is None:
            start = EPOCH if end is None else day.floor(end - timedelta(microseconds=1))
        return _interval(start, end if end is not None else day.floor(start) + _DAY)
    except OverflowError as error:
        raise click.UsageError("the range is outside the supported dates.") from error


def asked_range(model: Model, start: datetime | None, end: datetime | None) -> Interval | None:
    """The whole intervals of a model that were asked for; None where nothing was.

    Raises:
        click.UsageError: The end is not after the start.
    """
    from vde_dagster.app.inspect.rendering import whole_units

    if start is None and end is None:
        return None
    return whole_units(model, one_range(start, end))


def any_range(start: datetime | None, end: datetime | None) -> Interval:
    """The range between two instants, each of them for ever where it is not given.

    Raises:
        click.UsageError: The end is not after the start.
    """
    return _interval(start or _FIRST, end or _LAST)


def _interval(start: datetime, end: datetime) -> Interval:
    from vde_dagster.core.time.intervals import Interval

    if end <= start:
        raise click.UsageError("--end is not after --start.")
    return Interval(start, end)


def plan_option(name: str) -> Callable[[Command], Command]:
    """Give a command one of the options of a plan."""
    row = PLAN_OPTIONS[name]
    match row.sort:
        case Sort.INSTANT:
            return click.option(row.flag, type=moment, metavar="INSTANT", help=row.help)
        case Sort.END:
            return click.option(row.flag, type=end_moment, metavar="INSTANT", help=row.help)
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
        help="Show the steps of applying the plan, and apply nothing.",
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
