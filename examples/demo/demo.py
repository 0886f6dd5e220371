"""`./run demo`: real flights in a folder of the user's, from landing to query results."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import demo_lifecycle
from demo_sources import land, require_data, source_facts
from demo_story import Chapter, tell

from vde_dagster.cli import begin_process, options
from vde_dagster.cli.commands import Reporting
from vde_dagster.cli.printing import console, instant, note, print_all, print_json
from vde_dagster.cli.projects.examples import copied_example
from vde_dagster.cli.spelling import vde

if TYPE_CHECKING:
    from vde_dagster.cli.looks.built import Built
    from vde_dagster.cli.looks.query import Answer
    from vde_dagster.composition import VdeProject

EXAMPLE: Final = "nyc_flights"
_ENVIRONMENT: Final = "prod"
_MOST_ROWS: Final = 50
# The first query of a JVM takes 3 s to load its classes: that is done during the landing.
_FIRST_QUERY: Final = (
    "SELECT id % 3 AS k, SUM(CAST(XXHASH64(id) AS DECIMAL(20, 0))) AS h FROM RANGE(1000) GROUP BY 1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The result of one file in ``queries/``; the title is its first comment."""

    file: str
    title: str
    answer: Answer


@click.command("demo", cls=Reporting)
@click.argument(
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    required=False,
    metavar="[DIR]",
)
@click.option(
    "--example",
    type=click.Choice([EXAMPLE, demo_lifecycle.EXAMPLE]),
    default=EXAMPLE,
    show_default=True,
    help="Which example.",
)
@click.option(
    "--until",
    type=options.moment,
    default="2013-01-04",
    show_default=True,
    help="Load the source data known at this instant (UTC, a whole hour).",
)
@click.option(
    "--story/--no-story",
    default=True,
    help="Go on after the build: dev, an edit, late flights, a refactoring, a rollback.",
)
@options.FORMAT
@options.WITH_DEBUG
def command(
    *, folder: Path | None, example: str, until: datetime, story: bool, output: str
) -> None:
    """Copy the flights example to DIR (./nyc_flights), load three days of sources, and build prod.

    Then it goes on with what environments are for, in six chapters: a dev environment, an edit
    built in it, its promotion, three more hours with late flights, a refactoring that changes no
    row, and a rollback.

    The example customer_lifecycle tells with a few events how late ones are loaded, from four raw
    tables to the state of each account; --until and --story are not for it.

    Running it again continues: files that you edited stay as they are, and nothing is loaded or
    built twice.
    """
    folder = folder or Path(example)
    if example == demo_lifecycle.EXAMPLE:
        from vde_dagster.lakehouse.spark.java import find_java

        find_java()
        demo_lifecycle.tell(folder, output)
        return
    from vde_dagster.composition import VdeProject
    from vde_dagster.lakehouse.spark.java import find_java

    require_data()
    find_java()
    phases = Phases()
    for kept in copied_example(EXAMPLE, folder).kept:
        note(f"Kept your edit of {folder / kept}.")
    project = VdeProject.load(folder)
    with warming(project) as warm:
        with phases.measured("landing"):
            land(project, folder, until)
        with phases.measured("planning and building"):
            _build(project, warm, output)
        models = _models(project)
        if output == "text":
            _print_models(models)
        with phases.measured("querying"):
            warm()
            shown = [_ask(project, path) for path in sorted((folder / "queries").glob("*.sql"))]
        if output == "text":
            _print_answers(shown)
        chapters: Sequence[Chapter] = ()
        if story:
            with phases.measured("story"):
                chapters = tell(folder, until, output)
    if output == "json":
        facts: dict[str, object] = {"project": str(folder), "environment": _ENVIRONMENT}
        facts |= {"until": instant(until), "sources": source_facts(project)}
        late = [each for chapter in chapters[3:4] for each in chapter.computed]
        facts["late"] = late
        facts["chapters"] = chapters
        print_json(facts | _facts(folder, models, shown, phases))
    else:
        _print_end(folder, phases)


class Phases:
    """How long each phase took, in the order in which they ran."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._started = time.monotonic()

    @property
    def total(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @contextmanager
    def measured(self, phase: str) -> Iterator[None]:
        """Measure what runs inside."""
        started = time.monotonic()
        yield
        self.seconds[phase] = time.monotonic() - started


@contextmanager
def warming(project: VdeProject) -> Iterator[Callable[[], None]]:
    """Start Spark in a thread; the yielded function waits for it and raises what it raised."""
    failed: list[Exception] = []

    engine = project.engine

    def start() -> None:
        try:
            engine.fetch(_FIRST_QUERY, limit=1)
        except Exception as error:  # raised again where it is waited for
            failed.append(error)

    thread = threading.Thread(target=start, name="spark start", daemon=True)
    thread.start()

    def wait() -> None:
        thread.join()
        if failed:
            raise failed[0]

    yield wait


def _build(project: VdeProject, warm: Callable[[], None], output: str) -> None:
    from vde_dagster.cli.plans.plan import apply, make_plan
    from vde_dagster.cli.plans.plan_view import print_plan

    plan = make_plan(project, _ENVIRONMENT)
    if plan.is_empty:
        note(f"Nothing to do: {_ENVIRONMENT} is up to date.")
        return
    if output == "text":
        print_plan(plan, console())
    warm()
    apply(project, plan)


def _models(project: VdeProject) -> Sequence[Built]:
    from vde_dagster.app.binding import bind_environment
    from vde_dagster.cli.looks.built import built_by_environment

    binding = bind_environment(project.services, _ENVIRONMENT)
    assert binding is not None, "it was just promoted"
    return built_by_environment(project.services, binding)


def _ask(project: VdeProject, path: Path) -> Shown:
    from vde_dagster.cli.looks.query import ask

    sql = path.read_text("utf-8")
    first = sql.lstrip().splitlines()[0] if sql.strip() else ""
    title = first.removeprefix("--").strip() if first.startswith("--") else path.stem
    answer = ask(project, sql, environment=_ENVIRONMENT, limit=_MOST_ROWS)
    return Shown(file=path.name, title=title, answer=answer)


def _facts(
    folder: Path, models: Sequence[Built], shown: Sequence[Shown], phases: Phases
) -> dict[str, object]:
    from vde_dagster.cli.projects.ui import address

    return {
        "models": models,
        "queries": [
            {"file": each.file, "title": each.title, **each.answer.as_json()} for each in shown
        ],
        "ui": {"command": vde("ui", "--project", folder), "address": address()},
        "seconds": {phase: round(took, 3) for phase, took in phases.seconds.items()}
        | {"total": round(phases.total, 3)},
    }


def _print_models(models: Sequence[Built]) -> None:
    from vde_dagster.cli.looks.built import as_table

    print_all([as_table(models, title=f"What {_ENVIRONMENT} shows")])


def _print_answers(shown: Sequence[Shown]) -> None:
    from vde_dagster.cli.looks.query import as_table

    for each in shown:
        print_all([as_table(each.answer, title=each.title)])


def _print_end(folder: Path, phases: Phases) -> None:
    from vde_dagster.cli.projects.ui import address

    took = ", ".join(f"{phase} {seconds:.0f} s" for phase, seconds in phases.seconds.items())
    click.echo(f"Done in {phases.total:.0f} s ({took}).\n")
    click.echo(f"See it in Dagster:    {vde('ui', '--project', folder)}")
    click.echo(f"                      {address()}")
    click.echo(f"Bring it up to date:  {vde('run', _ENVIRONMENT, '--project', folder)}")
    click.echo(f"Change a model:       {vde('plan', _ENVIRONMENT, '--project', folder)}")


if __name__ == "__main__":
    begin_process()
    command(prog_name="demo")
