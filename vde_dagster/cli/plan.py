"""`vde plan`: compares the files with an environment, and applies the difference."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import deciding, options
from vde_dagster.cli.plan_flags import (
    SKIP_TESTS,
    applying_flags,
    asked_options,
    plan_flags,
)
from vde_dagster.cli.printing import console, note, print_json
from vde_dagster.cli.spelling import there, vde
from vde_dagster.cli.unit_tests import run_before_plan
from vde_dagster.core.errors import Refused
from vde_dagster.core.planning.option_table import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vde_dagster.app.evaluate.evaluated import Evaluated
    from vde_dagster.app.inspect.interval_report import Waiting
    from vde_dagster.app.unit_tests.running import UnitTestResult
    from vde_dagster.cli.built import Built
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.planning.options import PlanOptions
    from vde_dagster.core.planning.plan import ModelChange, Plan


@click.command("plan")
@click.argument("environment", type=options.environment, required=False, metavar="[ENV]")
@applying_flags
@plan_flags
@SKIP_TESTS
@deciding.CATEGORIZE
@deciding.DECIDE
@options.CONCURRENCY
@options.FAIL_FAST
@options.shared
def command(
    environment: str | None,
    *,
    auto_apply: bool,
    no_apply: bool,
    explain: bool,
    save: Path | None,
    skip_tests: bool,
    categorize: str | None,
    decided: tuple[tuple[str, str], ...],
    models: int | None,
    fail_fast: bool,
    output: str,
    folder: Path,
    **flags: object,
) -> None:
    """Compare the project's files with an environment, and apply the difference.

    Without ENV that is the default_environment of vde.yaml, and prod if it names none.

    Shows which models differ and how, which versions the environment would show, and which
    intervals have to be computed. On a terminal it asks before it applies anything. Without one it
    applies only with --auto-apply. If there is nothing to do, it ends without starting Spark.
    """
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.names import PRODUCTION

    found = None if environment else _readable(folder)
    default = PRODUCTION if found is None else found.configuration.default_environment
    goes_to = environment or default
    options_asked = asked_options(goes_to, flags)
    asked = replace(
        Asked.of(
            folder, output, auto_apply=auto_apply, no_apply=no_apply, explain=explain, save=save
        ),
        models=models,
        fail_fast=fail_fast,
    )
    project = found or VdeProject.load(folder)
    configuration = project.configuration
    plan, questions = deciding.decided_plan(
        lambda each: make_plan(project, goes_to, each),
        replace(
            options_asked,
            strict_columns=configuration.strict_columns,
            decisions=deciding.decisions_of(decided, catalog=configuration.catalog.name),
        ),
        deciding.mode_of(configuration, goes_to, categorize),
        asks=output == "text" and not (no_apply or explain) and _on_terminal(),
    )
    tested = None
    if not (plan.is_empty or skip_tests):
        may_be_applied = asked.applies or (asked.asks and output == "text" and _on_terminal())
        writes = may_be_applied or asked.save is not None
        tested = run_before_plan(project, refuses=writes, output=output) or None
    carry_out(project, plan, asked, questions, tested=tested)


def _readable(folder: Path) -> VdeProject | None:
    """The project, which says where a plan goes that names no environment.

    None if it cannot be read: its problems are reported after those of the command line.
    """
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.errors import ProjectInvalid

    try:
        return VdeProject.load(folder)
    except ProjectInvalid:
        return None


def carry_out(
    project: VdeProject,
    plan: Plan,
    asked: Asked,
    questions: Sequence[ModelChange] = (),
    *,
    tested: Sequence[UnitTestResult] | None = None,
) -> None:
    """Show a plan, and apply or save it as was asked for.

    Args:
        project: The project.
        plan: The plan.
        asked: What is done with it.
        questions: The changes that a person has to decide about.
        tested: How the unit tests that were run before it ended; None where none were run.

    Raises:
        Refused: It cannot be applied, or decisions are missing; nothing was written.
    """
    from vde_dagster.app.apply.saved_plans import save_plan
    from vde_dagster.app.inspect.interval_report import left_by_plan, wait_texts
    from vde_dagster.cli.facts import plan_facts, unit_test_facts

    waits_for = _without_time(project, plan)
    waiting = left_by_plan(project.services, plan)
    _show(asked, plan, waiting)
    deciding.report_undecided(questions, refuse=asked.save is not None or asked.acts)
    _refuse_hopeless(asked, plan, waits_for)
    if asked.save is not None:
        save_plan(project.configuration, plan, asked.save)
    applied = not (plan.is_empty or waits_for) and asked.is_wanted(plan)
    done: tuple[Evaluated, ...] = ()
    if applied:
        done = apply(project, plan, models=asked.models, fail_fast=asked.fail_fast)
    if asked.output == "json":
        more = {
            "missing_clock_sources": waits_for,
            "undecided": [each.name for each in questions],
            "saved": asked.save,
            "waits": wait_texts(waiting),
            "tests": None if tested is None else unit_test_facts(tested),
            "applied": applied,
            "built": built(project, plan, done),
        }
        print_json(plan_facts(plan, explain=asked.explain) | more)
    elif applied:
        print_built(project, plan, done, shows=_shows(plan))
    elif asked.save is not None:
        again = vde("apply", asked.save, *_at_once(asked), *there(asked.folder))
        click.echo(f"Saved. To apply it: {again}")


def _shows(plan: Plan) -> str:
    """What an environment shows once a plan is applied."""
    return "this project" if plan.taken is None else f"what {plan.taken} shows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is done with a plan: it is applied, applied after a question, saved or only shown.

    ``models`` is how many are evaluated at once, None for what the project says. With ``fail_fast``
    none begins after a failure.
    """

    folder: Path
    output: str
    applies: bool
    asks: bool
    explain: bool
    save: Path | None
    models: int | None = None
    fail_fast: bool = False

    @classmethod
    def of(
        cls,
        folder: Path,
        output: str,
        *,
        auto_apply: bool,
        no_apply: bool,
        explain: bool,
        save: Path | None,
    ) -> Asked:
        """What the options of a command say.

        Raises:
            click.UsageError: They exclude each other.
        """
        if auto_apply and (no_apply or save or explain):
            other = "--save" if save else "--no-apply" if no_apply else "--explain"
            raise click.UsageError(f"--auto-apply and {other} exclude each other.")
        return cls(
            folder=folder,
            output=output,
            applies=auto_apply,
            asks=not (auto_apply or no_apply or explain or save),
            explain=explain,
            save=save,
        )

    @property
    def acts(self) -> bool:
        """Whether the plan is applied, perhaps after a question."""
        return self.applies or self.asks

    def is_wanted(self, plan: Plan) -> bool:
        """Whether the plan is applied; asks where that was not said."""
        return self.applies or (self.asks and _wanted(plan, self))


def _show(asked: Asked, plan: Plan, waiting: Sequence[Waiting]) -> None:
    """Print a plan, and its stages where they were asked for; JSON is printed at the end."""
    if asked.output != "text":
        return
    from vde_dagster.cli.plan_stages import print_stages

    show(plan, waiting)
    if asked.explain:
        print_stages(plan)


def _refuse_hopeless(asked: Asked, plan: Plan, waits_for: list[str]) -> None:
    """Refuse to apply a plan that cannot be applied now.

    Raises:
        Refused: The clock has no time, or there is nothing to do but to restore a table.
    """
    from vde_dagster.app.plan.plan_checks import lost_problems, no_time_text

    if waits_for:
        acts = asked.applies or asked.save is not None
        _wait(no_time_text(waits_for), asked=acts and not plan.is_empty)
    if asked.applies and plan.lost_tables and plan.is_empty:
        raise Refused("\n".join(lost_problems(plan, plan.lost_tables)))


def make_plan(project: VdeProject, environment: str, options: PlanOptions | None = None) -> Plan:
    """The plan of a project for an environment; unfinished promotions are finished first."""
    from vde_dagster.app.plan.planning import plan_environment
    from vde_dagster.app.promote.promotion import finish_promotions
    from vde_dagster.core.planning.options import PlanOptions

    graph = project.files.graph
    if finish_promotions(project.services, environment):
        note(f"vde: a promotion of {environment} had begun and was not finished; it is now.")
    chosen = options or PlanOptions(strict_columns=project.configuration.strict_columns)
    return plan_environment(project.services, graph, environment, chosen)


def apply(
    project: VdeProject, plan: Plan, *, models: int | None = None, fail_fast: bool = False
) -> tuple[Evaluated, ...]:
    """Apply a plan with progress on standard error.

    One that computes nothing moves views alone, without Dagster, whose start would take longer than
    all else. What they show then, Dagster hears from its status sensor.

    Args:
        project: The project.
        plan: The plan.
        models: How many are evaluated at once; None for what the project says.
        fail_fast: Whether none begins after a failure.
    """
    if plan.is_empty:
        return ()
    from vde_dagster.app.apply.applying import apply_plan
    from vde_dagster.cli.progress import applying
    from vde_dagster.core.planning.scheduling import Concurrency

    at_once = models if models is not None else project.configuration.concurrency
    concurrency = Concurrency(models=at_once, fail_fast=fail_fast)
    with applying(plan, project.services.engine) as report:
        if not plan.backfills:
            return apply_plan(project.services, plan, report)
        from vde_dagster.orchestration.jobs import run_plan

        return run_plan(project, plan, report, concurrency=concurrency)


def show(plan: Plan, waiting: Sequence[Waiting] = ()) -> None:
    """Print a plan for people, and what models wait for that it does not evaluate."""
    from vde_dagster.app.inspect.interval_report import waiting_lines
    from vde_dagster.cli.plan_view import print_plan
    from vde_dagster.core.planning.plan_text import nothing_to_plan, remarks

    if plan.is_empty:
        click.echo(nothing_to_plan(plan, waits=bool(waiting)))
        for line in remarks(plan):
            click.echo(line)
    else:
        print_plan(plan, console())
    for line in waiting_lines(waiting):
        click.echo(line)


def _wanted(plan: Plan, asked: Asked) -> bool:
    """Whether the person at the terminal agrees; without a terminal nobody does."""
    if asked.output == "json":
        return False
    if not _on_terminal():
        again = vde(*_again(plan), *_at_once(asked), "--auto-apply", *there(asked.folder))
        click.echo(f"To apply it: {again}")
        return False
    return click.confirm(f"Apply this plan to {plan.environment}?", default=False)


def _again(plan: Plan) -> list[str]:
    """The command that makes a plan again, with its options."""
    return [*plan.command, *words_of(plan.options)]


def _at_once(asked: Asked) -> list[str]:
    """The words that say how many models are evaluated at once, and what a failure ends."""
    models = [] if asked.models is None else ["--concurrency", str(asked.models)]
    return [*models, *(["--fail-fast"] if asked.fail_fast else [])]


def _on_terminal() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _without_time(project: VdeProject, plan: Plan) -> list[str]:
    """The sources that the project's clock waits for."""
    from vde_dagster.app.plan.plan_checks import sources_without_time

    return [str(each) for each in sources_without_time(project.services, plan)]


def _wait(text: str, *, asked: bool) -> None:
    """Say what the project's clock waits for. Applying would build nothing that depends on time."""
    if asked:
        raise Refused(f"nothing was written: {text}")
    note(f"vde: {text}")


def built(project: VdeProject, plan: Plan, done: tuple[Evaluated, ...]) -> Sequence[Built]:
    """What a run built."""
    if not done:
        return ()
    from vde_dagster.app.binding import bind_plan
    from vde_dagster.cli.built import built_by

    return built_by(project.services, bind_plan(plan), done)


def print_built(
    project: VdeProject, plan: Plan, done: tuple[Evaluated, ...], *, shows: str = "this project"
) -> None:
    """Print what a run built, and what the environment shows now."""
    from vde_dagster.cli.built import as_table

    if done:
        console().print(as_table(built(project, plan, done), title="What was built"))
    click.echo(f"{plan.environment} shows {shows}.")
