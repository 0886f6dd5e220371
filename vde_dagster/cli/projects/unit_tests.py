"""`vde test` and `vde create-test`: run the unit tests of models, and write one from live rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.spelling import vde
from vde_dagster.core.errors import Refused

if TYPE_CHECKING:
    from vde_dagster.app.unit_tests.creating import Created, Wanted
    from vde_dagster.app.unit_tests.running import UnitTestResult
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.columns import Column
    from vde_dagster.core.graph.graph import Node
    from vde_dagster.core.names import ModelName
    from vde_dagster.core.time.intervals import Interval


NO_TEST_RAN: Final = 5
"""The exit code of pytest for this, too: a pipeline that tests nothing is not taken as passed."""


@options.command("test")
@click.argument("wanted", metavar="[TEST]...", nargs=-1)
@click.option(
    "--engine",
    type=click.Choice(["auto", "duckdb", "spark"]),
    default="auto",
    show_default=True,
    help="auto: DuckDB for plain queries, Spark for others. With duckdb the others are skipped.",
)
def test_command(call: Call, *, wanted: tuple[str, ...], engine: str) -> None:
    """Run the tests in the project's folder tests: all of them, or those named.

    TEST is a file, FILE::NAME, or the name of a test; in a name, * stands for any characters.
    Nothing is read from the catalog, and nothing is written.

    Exit codes: 0 if all tests passed, 1 if a test failed or could not be computed, 5 if no test was
    run.

    For example:

        vde test "*revenue*"
    """
    from vde_dagster.app.unit_tests.running import Outcome, result_lines, summary
    from vde_dagster.cli.facts import unit_test_facts

    def report(result: UnitTestResult) -> None:
        if not call.is_json:
            click.echo("\n".join(result_lines(result)))

    results = run(call.project, wanted, engine=engine, report=report)
    call.answer(
        unit_test_facts(results),
        [summary(results)] if results else [],
        otherwise=f"There are no unit tests. `{vde('create-test', 'MODEL')}` writes one.",
    )
    if any(each.outcome in (Outcome.FAILED, Outcome.ERROR) for each in results):
        call.end()
    if all(each.outcome is Outcome.NOT_RUN for each in results):
        call.end(NO_TEST_RAN)


def run(
    project: VdeProject,
    wanted: Sequence[str] = (),
    *,
    engine: str = "auto",
    again: bool = True,
    report: Callable[[UnitTestResult], None] = lambda _: None,
) -> tuple[UnitTestResult, ...]:
    """Run a project's tests, and return how they ended; none where there are none.

    Raises:
        ProjectInvalid: Something is wrong in the files of models or of tests.
        Refused: There is no test of a name.
        SetupError: A test needs Spark, which is missing.
    """
    from vde_dagster.app.unit_tests.before_plan import run_project_tests
    from vde_dagster.app.unit_tests.running import Engines

    def engines() -> Engines:
        return Engines(
            engine=None if engine == "duckdb" else project.engine,
            quick=None if engine == "spark" else project.quick_answers,
        )

    return run_project_tests(
        project.configuration,
        lambda: project.files.graph,
        engines,
        wanted,
        again=again,
        report=report,
    )


def run_before_plan(
    project: VdeProject, *, refuses: bool, output: str, may_skip: bool = True
) -> tuple[UnitTestResult, ...]:
    """Run a project's tests before a plan is shown; what fails is printed, too.

    Args:
        project: The project.
        refuses: Whether the plan is to be applied or saved. Otherwise no Spark is started: tests
            that need it are not run.
        output: text, or json, which prints nothing here.
        may_skip: Whether the command has the option --skip-tests.

    Raises:
        Refused: A test did not pass, and the plan was to be applied or saved.
    """
    from vde_dagster.app.unit_tests.before_plan import not_passed, require_passed
    from vde_dagster.app.unit_tests.running import summary

    results = run(project, engine="auto" if refuses else "duckdb", again=False)
    if refuses:
        nothing = "Nothing was planned or written."
        require_passed(results, nothing=nothing, may_skip=may_skip)
    if results and output == "text":
        click.echo("\n".join([*not_passed(results), summary(results)]))
    return results


_NAME: Final = re.compile(r"[A-Za-z0-9_]+")


@options.command("create-test")
@options.MODEL
@click.option(
    "--query",
    "queries",
    multiple=True,
    metavar="TABLE=SQL",
    help="Take the rows of TABLE, which the model reads, from this query over models. Repeatable.",
)
@options.START
@options.END
@options.limit(10, "Take at most this many rows of each table.")
@click.option(
    "--name", default=None, metavar="NAME", help="The test's name; test_MODEL by default."
)
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@options.ENVIRONMENT
def create_test_command(
    call: Call,
    *,
    model: ModelName,
    queries: tuple[str, ...],
    start: datetime | None,
    end: datetime | None,
    limit: int,
    name: str | None,
    overwrite: bool,
    environment: str,
) -> None:
    """Write tests/NAME.yaml: input rows of MODEL from an environment, and the rows that it returns.

    The test runs before it is written, so it passes. Review the expected rows: they show what the
    model does, which may not be what it should do.

    For a model with intervals it uses the last one that could be evaluated now, unless --start and
    --end name another. Without --query it takes the first rows of each input: of a model those of
    the range, of a source those whose time column is in the range.

    For example:

        vde create-test mart.revenue --name small_orders
    """
    if name is not None and not _NAME.fullmatch(name):
        raise click.UsageError(f"--name {name!r} is not a valid name: use letters, digits and _.")
    from vde_dagster.app.unit_tests.creating import Wanted

    node = _tested(call, model)
    wanted = Wanted(
        name=name or f"test_{node.name.name}",
        model=node.name,
        interval=_interval(call, node, start, end),
        execution_time=call.services.clock.now().replace(microsecond=0),
        queries=dict(_query(each, catalog=call.catalog) for each in queries),
    )
    made = _written(call.project, wanted, environment=environment, limit=limit, overwrite=overwrite)
    counts = {str(each): count for each, count in made.inputs.items()}
    file = wanted.path.as_posix()
    facts = {"model": str(wanted.model), "file": file, "name": wanted.name}
    given = ", ".join(f"{count} of {each}" for each, count in counts.items()) or "no rows"
    lines = (
        f"{file} is written: {given}; {made.rows} expected. It passes:",
        f"  {call.vde('test', f'{file}::{wanted.name}')}",
    )
    call.answer(facts | {"inputs": counts, "rows": made.rows}, lines)


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
    from vde_dagster.cli.looks.query import ask
    from vde_dagster.project.file_writing import read_as_written, replace_text

    path = project.configuration.folder / wanted.path
    before = read_as_written(path)
    if before is not None and not overwrite:
        raise Refused(
            f"{wanted.path} exists already, and nothing was written",
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


def _tested(call: Call, name: ModelName) -> Node:
    """The model of a name, which computes something.

    Raises:
        Refused: There is none, or it computes nothing.
    """
    from vde_dagster.core.model.model import PythonFunction, Query

    node = call.model(call.project.files.graph, name)
    if not isinstance(node.model.body, Query | PythonFunction):
        raise Refused(
            f"{node.name} is of kind {node.model.kind.keyword}: it computes nothing",
            advice="Test a model that reads it.",
        )
    return node


def _interval(
    call: Call, node: Node, start: datetime | None, end: datetime | None
) -> Interval | None:
    """The range that is computed; None for a model that has none, unless one is asked for.

    Raises:
        Refused: The model is not due yet, and no range was given.
    """
    from vde_dagster.app.inspect.rendering import bind_models, last_interval

    asked = options.asked_range(node.model, start, end)
    if asked is not None or not node.model.kind.is_by_interval:
        return asked
    return last_interval(call.services, bind_models(call.project, None), node)


def _query(text: str, *, catalog: str) -> tuple[ModelName, str]:
    table, found, sql = text.partition("=")
    if not found or not sql.strip():
        raise click.UsageError(f"--query {text!r} is not TABLE=SQL.")
    return options.model(table.strip()).within(catalog), sql.strip()
