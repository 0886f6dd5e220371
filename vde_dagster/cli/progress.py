"""Progress of applying a plan: a bar on a terminal, else one line per finished unit of work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vde_dagster.cli.printing import console, note
from vde_dagster.core.planning.plan_text import work_units
from vde_dagster.core.time.intervals import ALWAYS, format_instant

if TYPE_CHECKING:
    from vde_dagster.app.apply.applying import Report
    from vde_dagster.app.evaluate.evaluated import Evaluated
    from vde_dagster.core.planning.plan import Plan


@contextmanager
def applying(plan: Plan) -> Iterator[Report]:
    """Reports each unit of work while a plan is applied."""
    screen = console(err=True)
    if not screen.is_terminal:
        yield lambda done: note(_line(done))
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=screen,
        transient=True,
    )
    with bar:
        begins = "starting Spark" if plan.backfills else "moving views"
        task = bar.add_task(begins, total=work_units(plan))

        def report(done: Evaluated) -> None:
            message = f"{done.key.model}{' (reused)' if done.reused else ''}"
            bar.update(task, advance=len(done.entries), description=message)

        yield report


def _line(done: Evaluated) -> str:
    facts: dict[str, object] = {"model": done.key.model, "version": done.key.version[:8]}
    if done.interval != ALWAYS:
        facts["start"] = format_instant(done.interval.start).replace(" ", "T")
        facts["end"] = format_instant(done.interval.end).replace(" ", "T")
    facts |= {"intervals": len(done.entries), "rows": done.rows, "seconds": f"{done.seconds:.1f}"}
    if done.saved is not None:
        saved = done.saved
        facts |= {"kept": saved.intervals, "saved_rows": saved.rows}
        if saved.seconds is not None:
            facts["saved_seconds"] = f"{saved.seconds:.1f}"
    message = "reused" if done.reused else "built"
    return f"{message} " + " ".join(f"{key}={value}" for key, value in facts.items())
