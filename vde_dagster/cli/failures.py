"""How failures are reported: the message of an expected error, a short one for a bug.

Warnings about a project's files are reported in the same form.
"""

from __future__ import annotations

import logging
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli.options import DEBUG, FOLDER
from vde_dagster.core.errors import Problem, ProjectInvalid, VdeError, with_advice
from vde_dagster.core.faults import FoundFault, fault_of
from vde_dagster.core.listing import plural
from vde_dagster.project.problems import WARNINGS
from vde_dagster.runtime.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Warnings(logging.Handler):
    """Prints warnings about a project's files on standard error."""

    def __init__(self, ctx: click.Context) -> None:
        super().__init__(logging.WARNING)
        self._ctx = ctx

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning."""
        folder = self._ctx.meta.get(FOLDER, Path())
        for problem in record.args or ():
            if isinstance(problem, Problem):
                lines = _lines(problem, folder, "warning: ")
                click.echo(without_secrets("\n".join(lines)), err=True)


@contextmanager
def warnings_reported(ctx: click.Context) -> Iterator[None]:
    """Print the warnings of project files that are logged meanwhile on standard error."""
    logger, handler = logging.getLogger(WARNINGS), _Warnings(ctx)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def report(ctx: click.Context, error: Exception) -> None:
    """Print a failure on standard error."""
    match error:
        case ProjectInvalid():
            folder = ctx.meta.get(FOLDER, Path())
            click.echo(without_secrets("\n".join(_problems(error, folder))), err=True)
        case VdeError():
            click.echo(f"vde: {error}", err=True)
        case _:
            found = fault_of(error)
            if found is not None:
                _fault(ctx, found, error)
            else:
                _bug(ctx, error)


def _problems(error: ProjectInvalid, folder: Path) -> Iterator[str]:
    count = len(error.problems)
    for problem in error.problems:
        yield from _lines(problem, folder)
    yield f"{plural(count, 'problem')}; nothing was changed."


def _lines(problem: Problem, folder: Path, what: str = "") -> Iterator[str]:
    yield f"{_path(problem, folder)}:{problem.place.line}: {what}{problem.message}"
    if problem.advice:
        yield f"    {problem.advice}"


def _path(problem: Problem, folder: Path) -> Path:
    """A place in the project as seen from here, so that a terminal can open it."""
    inside = folder / problem.place.path
    return inside if inside.exists() else problem.place.path


def _fault(ctx: click.Context, found: FoundFault, error: Exception) -> None:
    """Print what is expected to happen to machines and services: a message, and what to do."""
    if ctx.meta.get(DEBUG):
        click.echo(without_secrets("".join(traceback.format_exception(error))), err=True)
    said = without_secrets(with_advice(found.message, found.advice))
    click.echo(f"vde: {said}", err=True)


def _bug(ctx: click.Context, error: Exception) -> None:
    if ctx.meta.get(DEBUG):
        click.echo(without_secrets("".join(traceback.format_exception(error))), err=True)
    first = without_secrets(str(error)).strip().split("\n", maxsplit=1)[0]
    click.echo(f"vde: unexpected {type(error).__name__}: {first}", err=True)
    if not ctx.meta.get(DEBUG):
        click.echo("This is a bug. VDE_DEBUG=1 or --debug shows where it happened.", err=True)
