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
from vde_dagster.core.faults import fault_of
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
    """Print a failure on standard error; what is not ours with its traceback, if that is wanted."""
    traced = bool(ctx.meta.get(DEBUG)) and not isinstance(error, VdeError)
    lines = ["".join(traceback.format_exception(error)).rstrip()] if traced else []
    if isinstance(error, ProjectInvalid):
        lines += _problems(error, ctx.meta.get(FOLDER, Path()))
    elif isinstance(error, VdeError):
        lines.append(f"vde: {error}")
    elif found := fault_of(error):  # expected to happen to machines and services
        lines.append(f"vde: {with_advice(found.message, found.advice)}")
    else:
        first = without_secrets(str(error)).strip().split("\n", maxsplit=1)[0]
        lines.append(f"vde: unexpected {type(error).__name__}: {first}")
        if not traced:
            lines.append("This is a bug. VDE_DEBUG=1 or --debug shows where it happened.")
    click.echo(without_secrets("\n".join(lines)), err=True)


def _problems(error: ProjectInvalid, folder: Path) -> Iterator[str]:
    count = len(error.problems)
    for problem in error.problems:
        yield from _lines(problem, folder)
    yield f"{plural(count, 'problem')}; nothing was changed."


def _lines(problem: Problem, folder: Path, what: str = "") -> Iterator[str]:
    inside = folder / problem.place.path  # as seen from here, so that a terminal can open it
    path = inside if inside.exists() else problem.place.path
    yield f"{path}:{problem.place.line}: {what}{problem.message}"
    if problem.advice:
        yield f"    {problem.advice}"
