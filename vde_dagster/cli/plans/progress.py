"""Progress of applying a plan: a bar on a terminal, else one line per finished unit of work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import TYPE_CHECKING, Final

from vde_dagster.app.inspect.unit_text import LOOK_SECONDS, progress_text, watched
from vde_dagster.cli.printing import console, note
from vde_dagster.core.planning.plan_text import work_units
from vde_dagster.core.time.intervals import ALWAYS, format_instant

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from vde_dagster.app.apply.applying import Report
    from vde_dagster.app.evaluate.evaluated import Evaluated
    from vde_dagster.core.planning.plan import Plan
    from vde_dagster.ports.engine import Engine, EngineProgress


LINE_LOOKS: Final = 30
"""Without a terminal: every how many looks at an engine at work there is a line."""
_Shown = tuple["Report", Callable[["EngineProgress"], None]]
"""What is called with a unit of work that is done, and with what the engine is doing."""


@contextmanager
def applying(plan: Plan, engine: Engine) -> Iterator[Report]:
    """Reports each unit of work while a plan is applied, and meanwhile what the engine is doing."""
    screen = console(err=True)
    shown = _on_terminal(plan, screen) if screen.is_terminal else _in_lines()
    with ExitStack() as stack:
        report, seen = stack.enter_context(shown)
        if plan.backfills:
            stack.enter_context(watched(engine.progress, seen, seconds=LOOK_SECONDS))
        yield report


@contextmanager
def _in_lines() -> Iterator[_Shown]:
    looks = count(1)

    def seen(found: EngineProgress) -> None:
        line = progress_text(found)
        if line and next(looks) % LINE_LOOKS == 0:
            note(line)

    yield lambda done: note("\n".join([_line(done), *done.warnings])), seen


def bar_on(screen: Console) -> Progress:
    """A bar on a terminal, which leaves nothing behind."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=screen,
        transient=True,
    )


@contextmanager
def _on_terminal(plan: Plan, screen: Console) -> Iterator[_Shown]:
    with bar_on(screen) as bar:
        begins = "starting Spark" if plan.backfills else "moving views"
        task = bar.add_task(begins, total=work_units(plan))

        def report(done: Evaluated) -> None:
            message = f"{done.key.model}{' (reused)' if done.reused else ''}"
            bar.update(task, advance=len(done.entries), description=message)
            for warning in done.warnings:
                screen.print(warning, style="yellow", markup=False, soft_wrap=True)

        def seen(found: EngineProgress) -> None:
            line = progress_text(found, most=1)
            if line:
                bar.update(task, description=line)

        yield report, seen


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
