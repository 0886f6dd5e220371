"""`vde ci`: the steps of a pull request, one command each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from vde_dagster.cli import options, timing
from vde_dagster.cli.facts import fields_of, plan_facts
from vde_dagster.cli.printing import print_json
from vde_dagster.core.errors import Conflict, Refused, VdeError

if TYPE_CHECKING:
    from datetime import datetime

    from vde_dagster.app.apply.saved_plans import PullRequestFiles
    from vde_dagster.app.evaluate.evaluated import Evaluated
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.planning.options import PlanOptions
    from vde_dagster.core.planning.plan import Plan
    from vde_dagster.core.planning.pull_request import BuiltRows, PullRequest

    Command = TypeVar("Command", bound=Callable[..., object])

_REQUEST: Final = click.argument("environment", metavar="REQUEST", callback=lambda *of: _named(of))
_FILES: Final = click.option(
    "--files",
    "kept",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    metavar="DIR",
    help="Where the steps leave files for each other; .vde/ci in the project by default.",
)
_BEGUN: Final = "its step was begun and did not come to its end: what that printed says why"
"""Why a request is not built whose step is at work, or was ended by a fault or from outside."""


def _named(of: tuple[click.Context, click.Parameter, str]) -> str:
    from vde_dagster.core.planning.pull_request import request_environment

    return options.environment(request_environment(of[2]))


@click.group("ci")
def command() -> None:
    """Build and show what a pull request changes, promote it when it is approved, and clean up.

    REQUEST is the request's number; its environment is called pr_REQUEST.
    """


@command.command("plan", short_help="Test, build the request's environment, save its promotion.")
@_REQUEST
@click.option(
    "--target",
    type=options.environment,
    default="prod",
    metavar="ENV",
    help="The environment that the request is for; prod by default.",
)
@click.option(
    "--start",
    type=options.moment,
    metavar="INSTANT",
    help="Compute no interval before this instant, in UTC, in the request's environment.",
)
@click.option(
    "--end",
    type=timing.end_moment,
    metavar="INSTANT",
    help="Compute no interval after this instant: a date means the whole day.",
)
@_FILES
@options.shared
def plan(
    environment: str,
    *,
    target: str,
    start: datetime | None,
    end: datetime | None,
    kept: Path | None,
    output: str,
    folder: Path,
) -> None:
    """Run the unit tests, build the environment of the request, and save the plan to promote it.

    What was refused or failed is in the summary of `vde ci comment`, too; then the exit code is 1,
    and nothing can be promoted.
    """
    if environment == target:
        raise click.UsageError(f"--target {target} is the request's own environment.")
    from vde_dagster.app.inspect.pull_request import unbuilt_models
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.planning.options import PlanOptions
    from vde_dagster.core.planning.pull_request import PullRequest, refuse_unbuilt

    project = VdeProject.load(folder)
    files = _files(project, environment, kept)
    request = PullRequest(environment=environment, target=target)
    configuration = project.configuration
    chosen = PlanOptions(start=start, end=end, strict_columns=configuration.strict_columns)
    # Whatever ends this step, nothing of an earlier one can be promoted in its place.
    files.save(configuration, replace(request, failure=_BEGUN), None)
    try:
        request = replace(request, tests=_tested(project))
        request = replace(request, built=_build(project, environment, chosen))
        request = replace(request, waits=unbuilt_models(project.services, request))
        refuse_unbuilt(request)
        promotion = _promotion(project, request)
    except VdeError as error:
        failed = replace(request, failure=str(error))
        files.save(configuration, failed, None)
        if failed.waits and output == "json":
            _show(project, failed, None, output)
        raise
    files.save(configuration, request, promotion)
    _show(project, request, promotion, output)


@command.command("comment", short_help="Print the request's summary, in Markdown.")
@_REQUEST
@_FILES
@options.shared
def comment(environment: str, *, kept: Path | None, output: str, folder: Path) -> None:
    """Print what the request changes, computes and has built, as a comment for its reviewers."""
    from vde_dagster.app.apply.saved_plans import load_plan
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    files = _files(project, environment, kept)
    request = files.read()
    promotion = load_plan(project.configuration, files.plan) if request.is_built else None
    _show(project, request, promotion, output)


@command.command("apply", short_help="Promote the request as it was approved.")
@_REQUEST
@_FILES
@options.shared
def apply(environment: str, *, kept: Path | None, output: str, folder: Path) -> None:
    """Apply the plan that `vde ci plan` saved: it promotes what the reviewers have seen.

    Nothing that the environment of the request has is computed again. If what it is for has
    changed since, nothing is written: `vde ci plan` makes a new plan, to be approved again.
    """
    from vde_dagster.app.apply.saved_plans import left_of, load_plan
    from vde_dagster.app.inspect.interval_report import left_by_plan
    from vde_dagster.cli.plan import apply as applied
    from vde_dagster.cli.plan import built, print_built, show
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.planning.pull_request import planning_again

    project = VdeProject.load(folder)
    files = _files(project, environment, kept)
    request = files.read()
    if not request.is_built:
        raise Refused(
            f"{environment} is not built: {request.failure}",
            advice=f"Mend that, and run {planning_again(environment)} again.",
        )
    try:
        promotion, before = left_of(project.services, load_plan(project.configuration, files.plan))
    except Conflict as error:
        again = planning_again(environment)
        raise Conflict(
            error.message, advice=f"Run {again} again, and let it be approved again."
        ) from error
    if output == "text" and before:
        click.echo(f"{environment} was promoted already: {request.target} shows what it has.")
    elif output == "text":
        show(promotion, left_by_plan(project.services, promotion))
    done = () if promotion.is_empty else applied(project, promotion)
    if output == "json":
        more = {"already_applied": before, "applied": not promotion.is_empty}
        print_json(plan_facts(promotion) | more | {"built": built(project, promotion, done)})
    elif not promotion.is_empty:
        print_built(project, promotion, done, shows=f"what {environment} shows")


@command.command("clean", short_help="Remove the request's environment.")
@_REQUEST
@_FILES
@options.shared
def clean(environment: str, *, kept: Path | None, output: str, folder: Path) -> None:
    """Remove the environment of the request and its files, when the request is closed.

    What it built stays until `vde janitor` finds that nothing else refers to it. It is no error if
    there is no such environment.
    """
    from vde_dagster.app.promote.promotion import remove_environment
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    is_there = environment in project.services.state.environments()
    if is_there:
        remove_environment(project.services, environment)
    _files(project, environment, kept).remove()
    if output == "json":
        print_json({"environment": environment, "removed": is_there})
    else:
        click.echo(f"{environment} is removed." if is_there else f"There is no {environment}.")


def _files(project: VdeProject, environment: str, kept: Path | None) -> PullRequestFiles:
    from vde_dagster.app.apply.saved_plans import PullRequestFiles

    folder = kept or project.configuration.folder / ".vde" / "ci"
    return PullRequestFiles(folder=folder, environment=environment)


def _tested(project: VdeProject) -> int | None:
    """How many unit tests of the project passed; None where there are none."""
    from vde_dagster.cli.unit_tests import run_before_plan

    return len(run_before_plan(project, refuses=True, may_skip=False, output="json")) or None


def _build(project: VdeProject, environment: str, chosen: PlanOptions) -> tuple[BuiltRows, ...]:
    """Let an environment show the project's files. Whoever has to decide something is named."""
    from vde_dagster.cli import deciding
    from vde_dagster.cli.plan import apply as applied
    from vde_dagster.cli.plan import make_plan

    made, questions = deciding.decided_plan(
        lambda each: make_plan(project, environment, each),
        chosen,
        deciding.mode_of(project.configuration, environment, None),
        asks=False,
    )
    deciding.report_undecided(questions, refuse=True)
    if made.is_empty:
        return ()
    return _built(project, made, applied(project, made))


def _built(project: VdeProject, made: Plan, done: Sequence[Evaluated]) -> tuple[BuiltRows, ...]:
    from vde_dagster.app.binding import bind_plan
    from vde_dagster.cli.built import built_by
    from vde_dagster.core.planning.pull_request import BuiltRows

    built = built_by(project.services, bind_plan(made), done)
    return tuple(
        BuiltRows(model=each.model, intervals=each.intervals, rows=each.rows) for each in built
    )


def _promotion(project: VdeProject, request: PullRequest) -> Plan:
    from vde_dagster.app.promote.taking import plan_promotion

    return plan_promotion(project.services, request.environment, request.target)


def _show(project: VdeProject, request: PullRequest, promotion: Plan | None, output: str) -> None:
    from vde_dagster.app.inspect.pull_request import compared_rows
    from vde_dagster.core.planning.pull_request import request_markdown

    rows = compared_rows(project.services, request) if request.is_built else ()
    if output == "json":
        shown = None if promotion is None else plan_facts(promotion)
        document = fields_of(request)
        print_json(document | {"promotion": shown, "rows": rows})
    else:
        click.echo(request_markdown(request, promotion, rows), nl=False)
