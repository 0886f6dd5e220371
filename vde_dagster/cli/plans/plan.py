"""`vde plan`: compares the files with an environment, and applies the difference."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.options import (
    SKIP_TESTS,
    applying_flags,
    asked_options,
    plan_flags,
)
from vde_dagster.cli.plans import deciding
from vde_dagster.cli.printing import console, note, print_all, print_json
from vde_dagster.cli.projects.unit_tests import run_before_plan
from vde_dagster.core.errors import Refused
from vde_dagster.core.planning.option_table import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vde_dagster.app.evaluate.evaluated import Evaluated
    from vde_dagster.app.inspect.interval_report import Waiting
    from vde_dagster.app.unit_tests.running import UnitTestResult
    from vde_dagster.cli.looks.built import Built
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.planning.options import PlanOptions
    from vde_dagster.core.planning.plan import ModelChange, Plan


@options.command("plan")
@click.argument("environment", type=options.environment, required=False, metavar="[ENV]")
@applying_flags
@plan_flags
@SKIP_TESTS
@deciding.CATEGORIZE
@deciding.DECIDE
@options.CONCURRENCY
@options.FAIL_FAST
def plan_command(
    call: Call,
    *,
    environment: str | None,
    auto_apply: bool,
    no_apply: bool,
    explain: bool,
    save: Path | None,
    skip_tests: bool,
    categorize: str | None,
    decided: tuple[tuple[str, str], ...],
    models: int | None,
    fail_fast: bool,
    **flags: object,
) -> None:
    """Compare the project's files with an environment, and apply the difference.

    The plan shows changed models with their category, the versions that ENV would show, and the
    intervals to compute. Without ENV it is for the default_environment of vde.yaml, or for prod.

    On a terminal it asks before it applies; elsewhere it applies only with --auto-apply. The unit
    tests run first: a failed test refuses a plan that would be applied or saved. An empty plan ends
    without starting Spark.

    If a model fails, its downstream models are skipped and all others are computed. Views move
    together or not at all. Repeat an interrupted plan to finish it: nothing is computed twice. If
    another process changes ENV meanwhile, nothing is applied.

    For example:

        vde plan dev --select-model mart.revenue+ --no-apply
    """
    goes_to = environment or _default_environment(call)
    options_asked = asked_options(goes_to, flags)
    applying = {"auto_apply": auto_apply, "no_apply": no_apply, "explain": explain, "save": save}
    asked = replace(Asked.of(call, applying), models=models, fail_fast=fail_fast)
    project, configuration = call.project, call.project.configuration
    plan, questions = deciding.decided_plan(
        lambda each: make_plan(project, goes_to, each),
        replace(
            options_asked,
            strict_columns=configuration.strict_columns,
            decisions=deciding.decisions_of(decided, catalog=call.catalog),
        ),
        deciding.mode_of(configuration, goes_to, categorize),
        asks=not (call.is_json or no_apply or explain) and _on_terminal(),
    )
    tested = None
    if not (plan.is_empty or skip_tests):
        may_be_applied = asked.applies or (asked.asks and not call.is_json and _on_terminal())
        writes = may_be_applied or asked.save is not None
        tested = run_before_plan(project, refuses=writes, output=call.output) or None
    carry_out(asked, plan, questions, tested=tested)


def _default_environment(call: Call) -> str:
    """The environment of a plan that names none.

    Production if the project cannot be read: its problems are reported after those of the command
    line.
    """
    from vde_dagster.core.errors import ProjectInvalid
    from vde_dagster.core.names import PRODUCTION

    try:
        return call.project.configuration.default_environment
    except ProjectInvalid:
        return PRODUCTION


def carry_out(
    asked: Asked,
    plan: Plan,
    questions: Sequence[ModelChange] = (),
    *,
    tested: Sequence[UnitTestResult] | None = None,
) -> None:
    """Show a plan, and apply or save it as was asked for.

    Args:
        asked: What is done with the plan.
        plan: The plan.
        questions: The changes that a person has to decide about.
        tested: How the unit tests that were run before it ended; None where none were run.

    Raises:
        Refused: It cannot be applied, or decisions are missing; nothing was written.
    """
    from vde_dagster.app.apply.saved_plans import save_plan
    from vde_dagster.app.inspect.interval_report import left_by_plan, wait_texts
    from vde_dagster.app.plan.plan_checks import sources_without_time
    from vde_dagster.cli.facts import plan_facts, unit_test_facts

    call, project = asked.call, asked.call.project
    waits_for = [str(each) for each in sources_without_time(project.services, plan)]
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
    if call.is_json:
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
        shows = "this project" if plan.taken is None else f"what {plan.taken} shows"
        print_built(project, plan, done, shows=shows)
    elif asked.save is not None:
        again = call.vde("apply", asked.save, *_at_once(asked))
        click.echo(f"Saved. To apply it: {again}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is done with a plan: it is applied, applied after a question, saved or only shown.

    ``models`` is how many are evaluated at once, None for what the project says. With ``fail_fast``
    none begins after a failure.
    """

    call: Call
    applies: bool
    asks: bool
    explain: bool
    save: Path | None
    models: int | None = None
    fail_fast: bool = False

    @classmethod
    def of(cls, call: Call, flags: Mapping[str, Any]) -> Asked:
        """What the options of `applying_flags` say.

        Raises:
            click.UsageError: They exclude each other.
        """
        save, explain, shown = flags["save"], flags["explain"], flags["no_apply"]
        if flags["auto_apply"] and (shown or save or explain):
            other = "--save" if save else "--no-apply" if shown else "--explain"
            raise click.UsageError(f"--auto-apply and {other} cannot be combined.")
        return cls(
            call=call,
            applies=flags["auto_apply"],
            asks=not any(flags[each] for each in ("auto_apply", "no_apply", "explain", "save")),
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
    if asked.call.is_json:
        return
    from vde_dagster.cli.plans.plan_stages import stage_lines

    show(plan, waiting)
    if asked.explain:
        print_all(stage_lines(plan))


def _refuse_hopeless(asked: Asked, plan: Plan, waits_for: list[str]) -> None:
    """Refuse to apply a plan that cannot be applied now.

    Raises:
        Refused: The clock has no time, or there is nothing to do but to restore a table.
    """
    from vde_dagster.app.plan.plan_checks import lost_problems, no_time_text

    if waits_for:
        if (asked.applies or asked.save is not None) and not plan.is_empty:
            raise Refused(f"nothing was written: {no_time_text(waits_for)}")
        note(f"vde: {no_time_text(waits_for)}")
    if asked.applies and plan.lost_tables and plan.is_empty:
        raise Refused("\n".join(lost_problems(plan, plan.lost_tables)))


def make_plan(project: VdeProject, environment: str, options: PlanOptions | None = None) -> Plan:
    """The plan of a project for an environment; unfinished promotions are finished first."""
    from vde_dagster.app.plan.planning import plan_environment
    from vde_dagster.app.promote.promotion import finish_promotions
    from vde_dagster.core.planning.options import PlanOptions

    graph = project.files.graph
    if finish_promotions(project.services, environment):
        note(f"vde: finished an interrupted promotion of {environment}.")
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
    from vde_dagster.cli.plans.progress import applying
    from vde_dagster.core.planning.scheduling import Concurrency

    at_once = models if models is not None else project.configuration.concurrency
    concurrency = Concurrency(models=at_once, fail_fast=fail_fast)
    with applying(plan, project.services.engine) as report:
        if not plan.backfills:
            return apply_plan(project.services, plan, report)
        from vde_dagster.orchestration.jobs.runs import run_plan

        return run_plan(project, plan, report, concurrency=concurrency)


def show(plan: Plan, waiting: Sequence[Waiting] = (), *, of_run: bool = False) -> None:
    """Print a plan or run for people, and what models wait for that it does not evaluate."""
    from vde_dagster.app.inspect.interval_report import waiting_lines
    from vde_dagster.cli.plans.plan_view import print_plan, print_work
    from vde_dagster.core.planning.plan_text import nothing_to_plan, nothing_to_run, remarks

    lines = waiting_lines(waiting)
    if plan.is_empty:
        waits = bool(waiting)
        nothing = f"{nothing_to_run(plan, waits=waits)}."
        lines = [nothing if of_run else nothing_to_plan(plan, waits=waits), *remarks(plan), *lines]
    elif of_run:
        print_work(plan, console())
    else:
        print_plan(plan, console())
    print_all(lines)


def _wanted(plan: Plan, asked: Asked) -> bool:
    """Whether the user at the terminal agrees; False without a terminal."""
    if asked.call.is_json:
        return False
    if not _on_terminal():
        words = [*plan.command, *words_of(plan.options), *_at_once(asked), "--auto-apply"]
        again = asked.call.vde(*words)
        click.echo(f"To apply it: {again}")
        return False
    return click.confirm(f"Apply this plan to {plan.environment}?", default=False)


def _at_once(asked: Asked) -> list[str]:
    """The words that say how many models are evaluated at once, and what a failure ends."""
    models = [] if asked.models is None else ["--concurrency", str(asked.models)]
    return [*models, *(["--fail-fast"] if asked.fail_fast else [])]


def _on_terminal() -> bool:
    """Whether there is a user to ask."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def built(project: VdeProject, plan: Plan, done: tuple[Evaluated, ...]) -> Sequence[Built]:
    """What a run built."""
    if not done:
        return ()
    from vde_dagster.app.binding import bind_plan
    from vde_dagster.cli.looks.built import built_by

    return built_by(project.services, bind_plan(plan), done)


def print_built(
    project: VdeProject, plan: Plan, done: tuple[Evaluated, ...], *, shows: str = "this project"
) -> None:
    """Print what a run built, and what the environment shows now."""
    from vde_dagster.cli.looks.built import as_table

    if done:
        print_all([as_table(built(project, plan, done), title="What was built")])
    click.echo(f"{plan.environment} shows {shows}.")
