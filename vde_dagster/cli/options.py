"""Options that several commands share, and the types of their values.

A date as an end means the whole day.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import click

from vde_dagster.cli.call import Call
from vde_dagster.core.model.room import MOST_MODELS
from vde_dagster.core.planning.option_table import FAIL_FAST as FAIL_FAST_HELP
from vde_dagster.lakehouse.spark_log import show_errors

if TYPE_CHECKING:
    from datetime import datetime

    from vde_dagster.core.model.model import Model
    from vde_dagster.core.names import ModelName
    from vde_dagster.core.time.intervals import Interval


Command = TypeVar("Command", bound=Callable[..., object])


FOLDER: Final = "vde.folder"


DEBUG: Final = "vde.debug"


def environment(text: str) -> str:
    """An environment in its canonical form; wrong usage where the text is no name."""
    from vde_dagster.core.names import InvalidName, environment_name

    try:
        return environment_name(text)
    except InvalidName as error:
        raise click.BadParameter(str(error)) from error


def model(text: str) -> ModelName:
    """A model's name; wrong usage where the text is none."""
    from vde_dagster.core.names import InvalidName, ModelName

    try:
        return ModelName.parse(text)
    except InvalidName as error:
        raise click.BadParameter(str(error)) from error


def moment(text: str) -> datetime:
    """An ISO-8601 date or time, UTC where it names no zone; wrong usage where it is neither."""
    from vde_dagster.core.time.written import written_instant

    try:
        return written_instant(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _remember_folder(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    ctx.meta[FOLDER] = value
    return value


def _remember_debug(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    ctx.meta[DEBUG] = debug = value or os.environ.get("VDE_DEBUG", "") not in ("", "0")
    show_errors(debug)
    return value


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
    help="text for people (default), json for programs: docs/cli.md describes it.",
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
    help="Evaluate up to N models at once; as vde.yaml says by default, and one if it does not.",
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
    help="Show the traceback of an unexpected error, and what Spark's JVM logs (also VDE_DEBUG=1).",
)


ENGINE: Final = click.option(
    "--engine",
    type=click.Choice(["auto", "duckdb", "spark"]),
    default="auto",
    show_default=True,
    help="Who reads rows, as for `vde query`.",
)


SHOWN_BY: Final = click.option(
    "--env",
    "--environment",
    "environment",
    type=environment,
    default=None,
    metavar="ENV",
    help="The models that ENV shows; by default those of the files, as a plan for prod has them.",
)


def limit(most: int, said: str) -> Callable[[Command], Command]:
    """The option that says how much is shown."""
    return click.option(
        "--limit", type=click.IntRange(min=1), default=most, show_default=True, help=said
    )


def shared(command: Callable[..., object]) -> Callable[..., object]:
    """Give a command that prints facts the options that all of these have, as its ``call``."""

    @wraps(command)
    def called(*, folder: Path, output: str, **given: object) -> object:
        return command(call=Call(folder=folder, output=output), **given)

    return FORMAT(PROJECT(WITH_DEBUG(called)))


_DAY: Final = timedelta(days=1)


def end_moment(text: str) -> datetime:
    """The exclusive end that a text names: the end of a date, or the time itself."""
    from vde_dagster.core.time.written import written_end

    try:
        return written_end(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def past_moment(text: str) -> datetime | timedelta:
    """The instant that a text names, or how long before now: ``2 days ago``."""
    from vde_dagster.core.time.intervals import parse_duration, parse_instant

    try:
        length = text.strip().removesuffix("ago")
        return parse_instant(text) if length == text.strip() else parse_duration(length)
    except ValueError as error:
        message = f"{text!r} is no date or time; write it like 2013-01-04 or '2 days ago'"
        raise click.BadParameter(message) from error


def before(now: datetime, length: timedelta) -> datetime:
    """The instant this long before now; the first of all where there is none."""
    first = datetime.min.replace(tzinfo=UTC)
    return now - length if length < now - first else first


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
    help="Since when: an instant in UTC such as 2013-01-04, or how long ago.",
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
        raise click.UsageError("the range lies before or after every date.") from error


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
    first = datetime.min.replace(tzinfo=UTC)
    last = datetime.max.replace(tzinfo=UTC)
    return _interval(start or first, end or last)


def _interval(start: datetime, end: datetime) -> Interval:
    from vde_dagster.core.time.intervals import Interval

    if end <= start:
        raise click.UsageError("--end is not after --start.")
    return Interval(start, end)
