"""`vde ci`: the steps of a pull request, one command each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.facts import fields_of, plan_facts
from vde_dagster.cli.printing import print_json
from vde_dagster.core.errors import Conflict, Refused, VdeError

if TYPE_CHECKING:
    from datetime import datetime

    from vde_dagster.app.apply.saved_plans import PullRequestFiles
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
    help="Where the steps keep shared files; .vde/ci in the project by default.",
)
_BEGUN: Final = "its step was started and not finished: the step's output has the reason"
"""Why a request is not built whose step is at work, or was ended by a fault or from outside."""


def _named(of: tuple[click.Context, click.Parameter, str]) -> str:
    from vde_dagster.core.planning.pull_request import request_environment

    return options.environment(request_environment(of[2]))


@click.group("ci")
def ci_command() -> None:
    """Build and show what a pull request changes, promote it when it is approved, and clean up.

    REQUEST is the number of the request; its environment is pr_REQUEST. Each step can run on
    another machine. The steps share two files, in the folder that --files names.
    """


@options.command("plan", ci_command, "Test, build the request's environment, save its promotion.")
@_REQUEST
@click.option(
    "--target",
    type=options.environment,
    default="prod",
    metavar="ENV",
    help="The environment to promote the request to; prod by default.",
)
@options.bound(
    "start", "Compute no interval before this instant, in UTC, in the request's environment."
)
@options.bound("end", "Compute no interval after this instant: a date means the whole day.")
@_FILES
def plan(
    call: Call,
    *,
    environment: str,
    target: str,
    start: datetime | None,
    end: datetime | None,
    kept: Path | None,
) -> None:
    """Run the unit tests, build the environment of the request, and save the plan to promote it.

    --start and --end limit what is computed for the request; the promotion fills the rest. The exit
    code is 1 if a test fails, a change is refused, or models wait for another environment. Then
    nothing can be promoted, and the summary of `vde ci comment` says why.

    For example:

        vde ci plan 42 --start 2024-01-01
    """
    if environment == target:
        raise click.UsageError(f"--target {target} is the request's own environment.")
    from vde_dagster.app.inspect.pull_request import unbuilt_models
    from vde_dagster.core.planning.options import PlanOptions
    from vde_dagster.core.planning.pull_request import PullRequest, refuse_unbuilt

    project = call.project
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
        if failed.waits and call.is_json:
            _show(call, failed, None)
        raise
    files.save(configuration, request, promotion)
    _show(call, request, promotion)


@options.command("comment", ci_command, "Print the request's summary, in Markdown.")
@_REQUEST
@_FILES
def comment(call: Call, *, environment: str, kept: Path | None) -> None:
    """Print a summary of the request in Markdown, as a comment for reviewers.

    It has the unit tests, changed models with categories and columns, and the intervals to compute.
    It also compares the rows of each changed model in both environments.

    For example:

        vde ci comment 42
    """
    from vde_dagster.app.apply.saved_plans import load_plan

    project = call.project
    files = _files(project, environment, kept)
    request = files.read()
    promotion = load_plan(project.configuration, files.plan) if request.is_built else None
    _show(call, request, promotion)


@options.command("apply", ci_command, "Promote the request as it was approved.")
@_REQUEST
@_FILES
def apply(call: Call, *, environment: str, kept: Path | None) -> None:
    """Promote the request as approved, with the plan that `vde ci plan` saved.

    Intervals that the request's environment has are reused. If the target has changed since,
    nothing is written: `vde ci plan` makes a new plan, which needs a new approval.

    For example:

        vde ci apply 42
    """
    from vde_dagster.app.apply.saved_plans import left_of, load_plan
    from vde_dagster.cli.plans.taking import apply_left
    from vde_dagster.core.planning.pull_request import planning_again

    project = call.project
    files = _files(project, environment, kept)
    request = files.read()
    if not request.is_built:
        raise Refused(
            f"{environment} is not built: {request.failure}",
            advice=f"Fix that, then run {planning_again(environment)} again.",
        )
    try:
        promotion, before = left_of(project.services, load_plan(project.configuration, files.plan))
    except Conflict as error:
        again = planning_again(environment)
        raise Conflict(
            error.message, advice=f"Run {again}, and have the new plan approved."
        ) from error
    already = f"{environment} is already promoted: {request.target} shows its versions."
    apply_left(
        call, promotion, already=already if before else "", shows=f"what {environment} shows"
    )


@options.command("clean", ci_command, "Remove the request's environment.")
@_REQUEST
@_FILES
def clean(call: Call, *, environment: str, kept: Path | None) -> None:
    """Remove the environment of the request and its files, when the request is closed.

    Its tables stay until `vde janitor` finds that nothing else refers to them. A missing
    environment is not an error.

    For example:

        vde ci clean 42
    """
    from vde_dagster.app.promote.promotion import remove_environment

    project = call.project
    is_there = environment in project.services.state.environments()
    if is_there:
        remove_environment(project.services, environment)
    _files(project, environment, kept).remove()
    said = f"{environment} is removed." if is_there else f"There is no {environment}."
    call.answer({"environment": environment, "removed": is_there}, [said])


def _files(project: VdeProject, environment: str, kept: Path | None) -> PullRequestFiles:
    from vde_dagster.app.apply.saved_plans import PullRequestFiles

    folder = kept or project.configuration.folder / ".vde" / "ci"
    return PullRequestFiles(folder=folder, environment=environment)


def _tested(project: VdeProject) -> int | None:
    """How many unit tests of the project passed; None where there are none."""
    from vde_dagster.cli.projects.unit_tests import run_before_plan

    return len(run_before_plan(project, refuses=True, may_skip=False, output="json")) or None


def _build(project: VdeProject, environment: str, chosen: PlanOptions) -> tuple[BuiltRows, ...]:
    """Let an environment show the project's files. Missing decisions are named."""
    from vde_dagster.cli.plans import deciding
    from vde_dagster.cli.plans.plan import apply as applied
    from vde_dagster.cli.plans.plan import built, make_plan
    from vde_dagster.core.planning.pull_request import BuiltRows

    made, questions = deciding.decided_plan(
        lambda each: make_plan(project, environment, each),
        chosen,
        deciding.mode_of(project.configuration, environment, None),
        asks=False,
    )
    deciding.report_undecided(questions, refuse=True)
    return tuple(
        BuiltRows(model=each.model, intervals=each.intervals, rows=each.rows)
        for each in built(project, made, applied(project, made))
    )


def _promotion(project: VdeProject, request: PullRequest) -> Plan:
    from vde_dagster.app.promote.taking import plan_promotion

    return plan_promotion(project.services, request.environment, request.target)


def _show(call: Call, request: PullRequest, promotion: Plan | None) -> None:
    from vde_dagster.app.inspect.pull_request import compared_rows
    from vde_dagster.core.planning.pull_request import request_markdown

    rows = compared_rows(call.services, request) if request.is_built else ()
    if call.is_json:
        shown = None if promotion is None else plan_facts(promotion)
        print_json(fields_of(request) | {"promotion": shown, "rows": rows})
    else:
        click.echo(request_markdown(request, promotion, rows), nl=False)
