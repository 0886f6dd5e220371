"""`vde test`: run the unit tests of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import note, print_json
from vde_dagster.cli.spelling import vde

if TYPE_CHECKING:
    from vde_dagster.app.unit_tests.running import UnitTestResult
    from vde_dagster.composition import VdeProject


NO_TEST_RAN: Final = 5
"""The exit code of pytest for this, too: a pipeline that tests nothing is not taken as passed."""


@click.command("test")
@click.argument("wanted", metavar="[TEST]...", nargs=-1)
@click.option(
    "--engine",
    type=click.Choice(["auto", "duckdb", "spark"]),
    default="auto",
    show_default=True,
    help="auto: DuckDB for plain queries, Spark for all others. With duckdb these are not run.",
)
@options.shared
@click.pass_context
def command(
    ctx: click.Context, *, wanted: tuple[str, ...], engine: str, output: str, folder: Path
) -> None:
    """Run the tests in the project's folder tests: all of them, or those that are named.

    TEST is a file, FILE::NAME, or the name of a test; in a name, * stands for any characters.
    Nothing is read from the catalog, and nothing is written. Exit code 1 if a test fails, 5 if no
    test was run.
    """
    from vde_dagster.app.unit_tests.running import Outcome, result_lines, summary
    from vde_dagster.cli.facts import unit_test_facts
    from vde_dagster.composition import VdeProject

    def report(result: UnitTestResult) -> None:
        if output == "text":
            click.echo("\n".join(result_lines(result)))

    project = VdeProject.load(folder)
    results = run(project, wanted, engine=engine, report=report)
    if output == "json":
        print_json(unit_test_facts(results))
    elif results:
        click.echo(summary(results))
    else:
        note(f"There are no unit tests. `{vde('create-test', 'MODEL')}` writes one.")
    if any(each.outcome in (Outcome.FAILED, Outcome.ERROR) for each in results):
        ctx.exit(1)
    if all(each.outcome is Outcome.NOT_RUN for each in results):
        ctx.exit(NO_TEST_RAN)


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
        SetupError: A test needs Spark, which is not there.
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
        nothing = "Nothing was planned, nothing was written."
        require_passed(results, nothing=nothing, may_skip=may_skip)
    if results and output == "text":
        click.echo("\n".join([*not_passed(results), summary(results)]))
    return results
