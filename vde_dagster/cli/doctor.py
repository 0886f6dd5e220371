"""`vde doctor`: is all there that a project needs, tried for real, and what is to be mended."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import console, note, print_json
from vde_dagster.core.doctor.results import CheckResult, Outcome, is_healthy

_STYLES: Final = {
    Outcome.OK: "green",
    Outcome.WARNING: "yellow",
    Outcome.BROKEN: "red",
    Outcome.NOT_TRIED: "dim",
}
_FIRST: Final = 11
_SECOND: Final = 18
_INDENT: Final = " " * (_FIRST + _SECOND)


@click.command("doctor")
@click.option(
    "--no-spark",
    is_flag=True,
    help="Start no Spark, and download no jars; what needs it is not tried.",
)
@options.shared
@click.pass_context
def command(ctx: click.Context, *, no_spark: bool, output: str, folder: Path) -> None:
    """Try Java, Spark, its jars, the catalog, views, the state, clocks and Dagster, one by one.

    A table and a view are made in a namespace of their own in the catalog, and a row in the state;
    all of it is removed again. What is broken stops only the checks that need it.

    Exit codes: 0 if nothing is broken, 1 if something is.
    """
    from vde_dagster.app.doctor.checking import run_checks
    from vde_dagster.cli.doctor_checks import Doctor
    from vde_dagster.project.machine import RandomIds

    def unexpected(error: Exception) -> None:
        if ctx.meta.get(options.DEBUG):
            _print_traceback(error)

    results: list[CheckResult] = []
    with _ended_by_sigterm_as_by_ctrl_c(), ExitStack() as stack:
        doctor = Doctor(folder, spark=not no_spark, token=RandomIds().new()[:12], stack=stack)
        stack.callback(doctor.remove_all)
        for each in run_checks(doctor.checks(), unexpected):
            results.append(each)
            if output == "text":
                _print(each)
    if output == "json":
        print_json({"healthy": is_healthy(results), "checks": results})
    else:
        _print_summary(results)
    if not is_healthy(results):
        ctx.exit(1)


@contextmanager
def _ended_by_sigterm_as_by_ctrl_c() -> Iterator[None]:
    """Let SIGTERM, too, end this only after what was made is removed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what signals do
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _print(result: CheckResult) -> None:
    from rich.text import Text

    first, *more = result.message.split("\n")
    outcome = (f"{result.outcome.value:<{_FIRST}}", _STYLES[result.outcome])
    out = console()
    out.print(Text.assemble(outcome, f"{result.check:<{_SECOND}}{first}"), soft_wrap=True)
    for line in more:
        out.print(f"{_INDENT}{line}", soft_wrap=True)
    if result.advice:
        out.print(f"{_INDENT}{result.advice}", soft_wrap=True)


def _print_summary(results: Sequence[CheckResult]) -> None:
    count = sum(each.outcome is Outcome.BROKEN for each in results)
    warned = sum(each.outcome is Outcome.WARNING for each in results)
    if count:
        note(f"{count} of {len(results)} are broken.")
    elif warned:
        note(f"Nothing is broken; {warned} of {len(results)} have a warning.")


def _print_traceback(error: Exception) -> None:
    from vde_dagster.runtime.secrets import without_secrets

    note(without_secrets("".join(traceback.format_exception(error))))
