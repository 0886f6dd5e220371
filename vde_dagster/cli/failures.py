"""How a failure is told: a message for what we raise on purpose, a short one for a bug."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli.options import DEBUG, FOLDER
from vde_dagster.core.errors import Problem, ProjectInvalid, VdeError

if TYPE_CHECKING:
    from collections.abc import Iterator


def tell(ctx: click.Context, error: Exception) -> None:
    """Print a failure on standard error."""
    match error:
        case ProjectInvalid():
            folder = ctx.meta.get(FOLDER, Path())
            click.echo("\n".join(_problems(error, folder)), err=True)
        case VdeError():
            click.echo(f"vde: {error}", err=True)
        case _:
            _bug(ctx, error)


def _problems(error: ProjectInvalid, folder: Path) -> Iterator[str]:
    count = len(error.problems)
    for problem in error.problems:
        yield f"{_path(problem, folder)}:{problem.place.line}: {problem.message}"
        if problem.advice:
            yield f"    {problem.advice}"
    yield f"{count} problem{'s' if count != 1 else ''}; nothing was changed."


def _path(problem: Problem, folder: Path) -> Path:
    """A place in the project as seen from here, so that a terminal can open it."""
    inside = folder / problem.place.path
    return inside if inside.exists() else problem.place.path


def _bug(ctx: click.Context, error: Exception) -> None:
    if ctx.meta.get(DEBUG):
        click.echo("".join(traceback.format_exception(error)), err=True)
    first = str(error).strip().split("\n", maxsplit=1)[0]
    click.echo(f"vde: unexpected {type(error).__name__}: {first}", err=True)
    if not ctx.meta.get(DEBUG):
        click.echo("This is a bug. VDE_DEBUG=1 or --debug shows where it happened.", err=True)
