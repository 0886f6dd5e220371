"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from vde_dagster.cli.call import Call
from vde_dagster.core.model.room import MOST_MODELS
from vde_dagster.core.planning.option_table import FAIL_FAST as FAIL_FAST_HELP
from vde_dagster.lakehouse.spark_log import show_errors

if TYPE_CHECKING:
    from datetime import datetime

    from vde_dagster.core.names import ModelName

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
