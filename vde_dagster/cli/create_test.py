"""`vde create-test`: write a unit test of a model from live rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options, timing
from vde_dagster.cli.model_choice import chosen
from vde_dagster.cli.printing import print_json
from vde_dagster.cli.spelling import vde
from vde_dagster.core.errors import Refused

if TYPE_CHECKING:
    from vde_dagster.app.unit_tests.creating import Created, Wanted
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.columns import Column
    from vde_dagster.core.graph.graph import Node
    from vde_dagster.core.names import ModelName
    from vde_dagster.core.time.intervals import Interval

_ROWS: Final = 10
_NAME: Final = re.compile(r"[A-Za-z0-9_]+")


@click.command("create-test")
@click.argument("model", type=options.model)
@click.option(
    "--query",
    "queries",
    multiple=True,
    metavar="TABLE=SQL",
    help="Take the rows of TABLE, which the model reads, from this query over models. Repeatable.",
)
@timing.START
@timing.END
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=_ROWS,
    show_default=True,
    help="Take at most this many rows of each table.",
)
@click.option(
    "--name", default=None, metavar="NAME", help="The test's name; test_MODEL by default."
)
@click.option("--overwrite", is_flag=True, help="Replace a file that is there.")
@options.ENVIRONMENT
@options.shared
def command(
    model: ModelName,
    *,
    queries: tuple[str, ...],
    start: datetime | None,
    end: datetime | None,
    limit: int,
    name: str | None,
    overwrite: bool,
    environment: str,
    output: str,
    folder: Path,
) -> None:
    """Write tests/NAME.yaml: rows that MODEL reads in an environment, and what it returns for them.

    The test is run before it is written, so it passes. Of a model with intervals it is the last one
    that could be evaluated now, unless --start and --end say another one. Look at what is expected:
    it is what the model does, which need not be what it should do.
    """
    if name is not None and not _NAME.fullmatch(name):
        raise click.UsageError(f"--name {name!r} is no name: use letters, digits and _.")
    from vde_dagster.app.unit_tests.creating import Wanted
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    catalog = project.configuration.catalog.name
    node = _tested(project, model)
    wanted = Wanted(
        name=name or f"test_{node.name.name}",
        model=node.name,
        interval=_interval(project, node, start, end),
        execution_time=project.services.clock.now().replace(microsecond=0),
        queries=dict(_query(each, catalog=catalog) for each in queries),
    )
    made = _written(project, wanted, environment=environment, limit=limit, overwrite=overwrite)
    _report(wanted, made, output=output, folder=folder)


def _written(
    project: VdeProject, wanted: Wanted, *, environment: str, limit: int, overwrite: bool
) -> Created:
    """Write the file of a test, once it passed.

    Raises:
        Refused: There is such a file, and it is not to be replaced; or the test cannot be made.
    """
    from vde_dagster.app.binding import bind_environment
    from vde_dagster.app.unit_tests.creating import create_test
    from vde_dagster.app.unit_tests.running import Engines
    from vde_dagster.cli.query import ask
    from vde_dagster.project.file_writing import read_as_written, replace_text

    path = project.configuration.folder / wanted.path
    before = read_as_written(path)
    if before is not None and not overwrite:
        raise Refused(
            f"{wanted.path} is there already, and nothing was written",
            advice="Choose another --name; --overwrite replaces the file.",
        )

    def fetch(sql: str) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
        answer = ask(project, sql, environment=environment, limit=limit)
        return answer.columns, answer.rows

    binding = bind_environment(project.services, environment)

    def recorded(name: ModelName) -> Sequence[Column]:
        key = binding.snapshots[name].key if binding and name in binding.snapshots else None
        held = project.services.state.holdings([key] if key is not None else [])
        return next((each.columns for each in held.values()), ())

    engines = Engines(engine=project.engine, quick=project.quick_answers)
    made = create_test(
        project.configuration, project.files.graph, wanted, fetch, engines, recorded=recorded
    )
    path.parent.mkdir(exist_ok=True)
    replace_text(path, before, made.text)
    return made


def _report(wanted: Wanted, made: Created, *, output: str, folder: Path) -> None:
    """Print what was written, and how it is run."""
    counts = {str(each): count for each, count in made.inputs.items()}
    file = wanted.path.as_posix()
    if output == "json":
        facts = {"model": str(wanted.model), "file": file, "name": wanted.name}
        print_json(facts | {"inputs": counts, "rows": made.rows})
        return
    given = ", ".join(f"{count} of {each}" for each, count in counts.items()) or "no rows"
    click.echo(f"{file} is written: {given}; {made.rows} expected. It passes:")
    there: list[str | Path] = [] if folder == Path() else ["--project", folder]
    click.echo(f"  {vde('test', f'{file}::{wanted.name}', *there)}")


def _tested(project: VdeProject, name: ModelName) -> Node:
    """The model of a name, which computes something.

    Raises:
        Refused: There is none, or it computes nothing.
    """
    from vde_dagster.core.model.model import PythonFunction, Query

    node = chosen(
        project.files.graph,
        name,
        catalog=project.configuration.catalog.name,
        where="this project",
    )
    if not isinstance(node.model.body, Query | PythonFunction):
        raise Refused(
            f"{node.name} is of kind {node.model.kind.keyword}: it computes nothing",
            advice="Test a model that reads it.",
        )
    return node


def _interval(
    project: VdeProject, node: Node, start: datetime | None, end: datetime | None
) -> Interval | None:
    """The range that is computed; None for a model that has none, unless one is asked for.

    Raises:
        Refused: The model is not due yet, and no range was given.
    """
    from vde_dagster.app.inspect.rendering import bind_models, last_interval, whole_units

    if start is not None or end is not None:
        return whole_units(node.model, timing.one_range(start, end))
    if not node.model.kind.is_by_interval:
        return None
    return last_interval(project.services, bind_models(project, None), node)


def _query(text: str, *, catalog: str) -> tuple[ModelName, str]:
    table, found, sql = text.partition("=")
    if not found or not sql.strip():
        raise click.UsageError(f"--query {text!r} is no TABLE=SQL.")
    return options.model(table.strip()).within(catalog), sql.strip()
