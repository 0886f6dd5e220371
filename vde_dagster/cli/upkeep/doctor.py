"""`vde doctor`: tries all that a project needs, and says how to fix what fails."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

import click
from rich.text import Text

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.printing import Note, note, print_all
from vde_dagster.core.doctor.results import CheckResult, Outcome, is_healthy
from vde_dagster.runtime.secrets import without_secrets

_STYLES: Final = {
    Outcome.OK: "green",
    Outcome.WARNING: "yellow",
    Outcome.BROKEN: "red",
    Outcome.NOT_TRIED: "dim",
}
_FIRST: Final = 11
_SECOND: Final = 18
_INDENT: Final = " " * (_FIRST + _SECOND)


@options.command("doctor")
@click.option(
    "--no-spark",
    is_flag=True,
    help="Start no Spark, download no jars, and skip the checks that need it.",
)
def doctor_command(call: Call, *, no_spark: bool) -> None:
    """Check Java, Spark, its jars, the catalog, views, the state, clocks and Dagster, one by one.

    Each check uses the real thing. It reads vde.yaml, starts Java, compares the jars with the
    download, and writes a row to the state. It creates a table and a view, reads them in Spark, and
    runs a Python function there. It compares all tables with their records, and clocks with each
    other. It loads the code locations, and looks at Dagster's storage, run monitoring, sensors and
    daemon.

    Each line is `ok`, `warning`, `broken` or `not tried`, with advice below it. A failed check
    skips only the checks that need it. Everything that it created is removed, also if you stop it.
    If the process is killed, drop the namespace `vde_doctor_...`. Secrets are printed as stars.

    Exit codes: 0 if nothing is broken, 1 if something is.

    For example:

        vde doctor --no-spark
    """
    from vde_dagster.app.doctor.checking import run_checks
    from vde_dagster.cli.upkeep.doctor_checks import Doctor
    from vde_dagster.project.machine import RandomIds

    def unexpected(error: Exception) -> None:
        if click.get_current_context().meta.get(options.DEBUG):
            note(without_secrets("".join(traceback.format_exception(error))))

    results: list[CheckResult] = []
    with _ended_by_sigterm_as_by_ctrl_c(), ExitStack() as stack:
        doctor = Doctor(call.folder, spark=not no_spark, token=RandomIds().new()[:12], stack=stack)
        stack.callback(doctor.remove_all)
        for each in run_checks(doctor.checks(), unexpected):
            results.append(each)
            if not call.is_json:
                print_all(_lines(each))
    document = {"healthy": is_healthy(results), "checks": results}
    call.answer(document, map(Note, _summary(results)))
    if not is_healthy(results):
        call.end()


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


def _lines(result: CheckResult) -> Iterator[Text]:
    first, *more = result.message.split("\n")
    outcome = (f"{result.outcome.value:<{_FIRST}}", _STYLES[result.outcome])
    yield Text.assemble(outcome, f"{result.check:<{_SECOND}}{first}")
    advice = [result.advice] if result.advice else []
    yield from (Text(f"{_INDENT}{line}") for line in (*more, *advice))


def _summary(results: Sequence[CheckResult]) -> Iterator[str]:
    count = sum(each.outcome is Outcome.BROKEN for each in results)
    warned = sum(each.outcome is Outcome.WARNING for each in results)
    if count:
        yield f"{count} of {len(results)} checks failed."
    elif warned:
        yield f"Nothing is broken; {warned} of {len(results)} have a warning."
